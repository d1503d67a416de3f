"""How a person wants the pages: kept on the server, so that the first paint is right."""

from __future__ import annotations

import pytest
from django.conf import LazySettings
from django.db import IntegrityError, transaction
from django.test import Client

from jobs.models import Preference, User
from runs.states import State
from tests import make
from tests.pages import Browser

pytestmark = pytest.mark.django_db

SAID = {"timezone": "Asia/Tokyo", "theme": "dark", "density": "compact", "keys": ""}


@pytest.fixture
def reader() -> User:
    return make.viewer(make.team())


def html(page_of: Browser) -> dict[str, str]:
    """The attributes of the page's root, by which the style sheet and the scripts go."""
    return page_of.get("/runs/").all("html")[0].attrs


def test_the_pages_are_as_the_person_wants_them_on_every_device(reader: User) -> None:
    here, there = Browser(reader), Browser(reader)
    assert html(here)["data-theme"] == "system"
    page = here.send("/settings/", {**SAID, "next": "/runs/"})
    assert page.url == "/runs/" and "Saved." in page.words
    wanted = {
        "lang": "en",
        "data-zone": "Asia/Tokyo",
        "data-theme": "dark",
        "data-density": "compact",
        "data-keys": "no",
    }
    assert html(there) == wanted
    assert html(Browser(make.operator(make.team())))["data-theme"] == "system"


def test_what_is_no_choice_is_refused_and_named(reader: User) -> None:
    browser = Browser(reader)
    for name, value in (("theme", "neon"), ("density", ""), ("timezone", "Mars/Base")):
        page = browser.send("/settings/", {**SAID, name: value})
        assert page.status == 422
        assert page.error(name)
    assert not Preference.objects.exists()


@pytest.mark.parametrize("column", ["theme", "density"])
def test_the_database_keeps_no_other_choice(reader: User, column: str) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Preference.objects.create(user=reader, **{column: "neon"})


def test_the_page_of_settings_lists_the_keys_for_who_has_no_javascript(reader: User) -> None:
    page = Browser(reader).get("/settings/")
    assert {"/", "?", "j", "x"} <= {key.text for key in page.all("kbd")}
    help_button = page.all("a", data_opens="keys")[0]
    assert help_button.attrs["href"] == "/settings/#keys-list"


def test_title_and_icon_show_what_waits_for_a_person(reader: User) -> None:
    browser = Browser(reader)
    calm = browser.get("/runs/")
    assert calm.all("title")[0].text == "Runs · Onebeat"
    assert calm.all("link", id="icon")[0].attrs["href"].endswith("icon.svg")
    make.run(make.job(make.team()), State.REVIEW)
    page = browser.get("/runs/")
    assert page.all("title")[0].text == "(1) Runs · Onebeat"
    assert page.all("link", id="icon")[0].attrs["href"].endswith("icon-review.svg")


def test_a_session_that_ended_leads_from_a_fragment_to_sign_in(reader: User) -> None:
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/review/?job=1"}
    answer = Client().get("/review/live/", headers=headers)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["HX-Redirect"] == "/sign-in/?next=%2Freview%2F%3Fjob%3D1"
    elsewhere = {**headers, "HX-Current-URL": "https://evil.example/review/"}
    answer = Client().get("/review/live/", headers=elsewhere)
    assert answer.headers["HX-Redirect"] == "/sign-in/?next=%2F"
    assert Client().get("/review/live/").status_code == 302, "a browser itself follows"


def test_the_counts_of_every_page_are_polled(reader: User) -> None:
    client = Client()
    client.force_login(reader)
    assert 'data-tag="//beats"' in client.get("/runs/").content.decode()
    assert client.get("/counts/", headers={"HX-PTag": "//beats"}).status_code == 304
    make.run(make.job(make.team()), State.REVIEW)
    answer = client.get("/counts/", headers={"HX-PTag": "//beats"})
    assert answer.status_code == 200 and answer.headers["HX-PTag"] == "1//beats"
    html = answer.content.decode()
    assert 'hx-target="#count-review"' in html and 'data-tag="1//beats"' in html
    assert 'data-review="1"' in html


def test_how_long_things_are_kept_stands_where_one_looks_for_it(
    reader: User, settings: LazySettings
) -> None:
    settings.KEEP_RUNS_DAYS = 41
    browser = Browser(reader)
    assert "kept for 41 days after their end" in browser.get("/runs/").words
    assert "Runs41 days after their end" in browser.get("/settings/").words
