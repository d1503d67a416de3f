"""Signing in, registering a job and the moments shown meanwhile, without JavaScript."""

from __future__ import annotations

import pytest

from jobs import clock
from jobs.models import Job, Team, User
from jobs.reading import NAME_LENGTH
from jobs.schedules import schedules
from tests import make
from tests.pages import Browser, typed

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(editor: User) -> Browser:
    return Browser(editor)


# ── sign in and out ──────────────────────────────────────────────────────────────────────


def test_whoever_signs_in_comes_to_the_page_they_asked_for() -> None:
    make.person("somebody", password="open-sesame")
    browser = Browser()
    page = browser.get("/jobs/new/")
    assert page.url == "/sign-in/?next=/jobs/new/"
    token = page.all("input", name="csrfmiddlewaretoken")[0].attrs["value"]
    fields = {"username": "somebody", "password": "open-sesame", "next": "/jobs/new/"}
    answer = browser.client.post("/sign-in/", {**fields, "csrfmiddlewaretoken": token})
    assert (answer.status_code, answer.headers.get("Location")) == (302, "/jobs/new/")


def test_a_wrong_password_is_told_so_and_the_name_stays(editor: User) -> None:
    browser = Browser()
    token = browser.get("/sign-in/").all("input", name="csrfmiddlewaretoken")[0].attrs["value"]
    page = browser.send(
        "/sign-in/", {"username": "editor", "password": "no", "csrfmiddlewaretoken": token}
    )
    assert "correct username" in page.words
    assert page.value("username") == "editor"


def test_signing_out_is_a_post(browser: Browser) -> None:
    assert browser.client.get("/sign-out/").status_code == 405
    assert browser.post("/sign-out/").url == "/sign-in/"


# ── register ─────────────────────────────────────────────────────────────────────────────


def test_a_job_is_registered_as_it_was_typed(browser: Browser, editor: User) -> None:
    page = browser.send("/jobs/new/", typed(timeout="60", catch_up_policy="all"))
    job = Job.objects.get()
    assert page.url == f"/jobs/{job.id}/"
    assert "settle is registered." in page.words
    assert job.schedule == [{"cron": "0 18 * * 1-5", "timezone": "America/New_York", "dst": "once"}]
    assert job.target["body"] == {"book": "EQ"}
    assert (job.timeout, job.max_attempts, job.catch_up_policy) == (60, 5, "all")
    assert job.catch_up_window == 3600, "the default of a job that is safe to repeat"
    assert job.jobversion_set.get().by == editor


def test_the_secret_header_is_sealed_and_never_shown(browser: Browser) -> None:
    page = browser.send("/jobs/new/", typed())
    job = Job.objects.get()
    assert job.target["headers"]["Authorization"].startswith("sealed:")
    edit = browser.get(f"/jobs/{job.id}/edit/")
    assert "very-secret" not in page.html
    page = browser.get(f"/jobs/{job.id}/?tab=settings")
    assert "Authorization: ********" in page.words
    assert "Authorization: ********" in edit.value("headers")
    for shown in (page, edit):
        assert "very-secret" not in shown.html
        assert "sealed:" not in shown.html


def test_the_answer_about_repeating_is_not_given_for_anybody(browser: Browser) -> None:
    radios = browser.get("/jobs/new/").all("input", name="idempotent")
    assert [radio.attrs["value"] for radio in radios] == ["yes", "no"]
    assert not any("checked" in radio.attrs for radio in radios)
    page = browser.send("/jobs/new/", typed(idempotent=""))
    assert page.status == 422
    assert "repeated without harm" in page.error("idempotent")
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "field", "said"),
    [
        ({"cron": "0 25 * * *"}, "cron", "hour"),
        ({"cron": ""}, "cron", "is required. Write five fields"),
        ({"timezone": "Nowhere/At_All"}, "timezone", "not a known time zone"),
        ({"url": ""}, "url", "is required. Write it as https://host/path"),
        ({"url": "https://a.example:22/"}, "url", "'https://a.example:22/' names port 22"),
        ({"url": "https://a.example:99999/"}, "url", "names 99999, which is no port"),
        ({"schedule_kind": "every", "every": ""}, "every", "is required. Give"),
        ({"schedule_kind": "at", "at": ""}, "at", "is required. Write it as"),
        ({"cron": "0 0 30 2 *"}, "cron", "'0 0 30 2 *' never fires. Choose a day"),
        ({"idempotent": ""}, "idempotent", "Answer Yes or No"),
        ({"target_kind": "task", "task_name": "demo.hello", "args": "[1, 2]"}, "args", "too many"),
        ({"timezone": "europe/berlin"}, "timezone", "Write Europe/Berlin"),
        ({"schedule_kind": "every", "every": "soon"}, "every", "soon"),
        ({"schedule_kind": "every", "every": "0"}, "every", "no interval"),
        ({"schedule_kind": "at", "at": "2030-01-01T00:00"}, "at", "offset"),
        ({"schedule_kind": "at", "at": "2020-01-01T00:00:00Z"}, "at", "never fires"),
        ({"schedule_kind": "several", "several": "[{]"}, "several", "JSON"),
        ({"schedule_kind": "several", "several": '[{"cron": "x"}]'}, "several", "x"),
        ({"schedule_kind": ""}, "schedule_kind", "required"),
        ({"name": " "}, "name", "required"),
        ({"name": "x" * 121}, "name", "121"),
        ({"url": "ftp://x.example"}, "url", "ftp"),
        ({"headers": "no colon here"}, "headers", "Line 1"),
        ({"headers": "A: 1\nA: 2"}, "headers", "twice"),
        ({"headers": "Host: evil.example"}, "headers", "connection"),
        ({"body": '{"a": 1, "a": 2}'}, "body", "twice"),
        ({"url": "https://a.example/{{day}}"}, "url", "{{day}}' is no value of a moment"),
        ({"body": '{"at": "{{due"}'}, "body", "nothing closes"),
        ({"headers": "X-Token: {{key}}"}, "headers", "sealed"),
        ({"body": "NaN"}, "body", "not a JSON number"),
        ({"body": "[" * 5000}, "body", "deep"),
        ({"target_kind": "task", "task_name": "no.such"}, "task_name", "no.such"),
        ({"target_kind": "task", "task_name": "demo.hello", "args": "{}"}, "args", "list"),
        ({"target_kind": ""}, "target_kind", "required"),
        ({"max_attempts": "0"}, "max_attempts", "1 to 100"),
        ({"backoff": "-1"}, "backoff", "0 to"),
        ({"timeout": "9" * 5000}, "timeout", "1 to 3600"),
        ({"catch_up_limit": "many"}, "catch_up_limit", "1 to 1000"),
        ({"catch_up_policy": "some"}, "catch_up_policy", "choices"),
        ({"queue": "vip"}, "queue", "choices"),
        ({"team": "elsewhere"}, "team", "team"),
        ({"description": "a\x00b"}, "description", "Null"),
    ],
)
def test_what_is_wrong_stands_at_its_field_and_nothing_typed_is_lost(
    browser: Browser, wrong: dict[str, str], field: str, said: str
) -> None:
    fields = typed(**wrong)
    page = browser.send("/jobs/new/", fields)
    assert page.status == 422
    assert said in page.error(field), page.words
    assert not Job.objects.exists()
    for name in ("name", "cron", "timezone", "url", "headers", "body"):
        if "\x00" not in fields[name]:
            assert page.value(name) == fields[name]


def test_what_is_wrong_is_listed_in_the_order_of_the_page(browser: Browser) -> None:
    wrong = {"queue": "vip", "timeout": "0", "idempotent": "", "cron": "x", "url": "", "name": ""}
    page = browser.send("/jobs/new/", typed(team="elsewhere", max_attempts="0", **wrong))
    banner = page.all("div", class_="errors banner")[0].text
    labels = ["Team", "Name", "URL", "Expression", "Is it safe to repeat?", "Time-out (s)"]
    places = [banner.index(label) for label in [*labels, "Attempts at most", "Queue"]]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("fields", "label"),
    [
        ("schedule_kind=cron&cron=x&timezone=UTC", "Expression"),
        ("schedule_kind=cron&cron=@hourly&timezone=Mars", "Time zone"),
        ("schedule_kind=every&every=x", "Every"),
        ("schedule_kind=at&at=x", "At"),
        ("schedule_kind=several&several=x", "Schedules"),
    ],
)
def test_the_preview_sends_to_the_field_by_its_label(
    browser: Browser, fields: str, label: str
) -> None:
    assert f"No moments: see “{label}”." in browser.get(f"/jobs/preview/?{fields}").words


def test_a_name_that_the_team_has_is_refused_at_its_field(browser: Browser, team: Team) -> None:
    make.job(team, name="settle")
    page = browser.send("/jobs/new/", typed())
    assert page.status == 422
    assert "already" in page.error("name")


def test_a_mask_that_stands_for_no_secret_is_refused(browser: Browser) -> None:
    page = browser.send("/jobs/new/", typed(headers="Authorization: ********"))
    assert page.status == 422
    assert "not there" in page.error("headers")


def test_whoever_edits_in_no_team_is_told_what_to_do(team: Team) -> None:
    page = Browser(make.operator(team)).get("/jobs/new/")
    assert page.status == 403
    assert "Ask an admin" in page.words


# ── the moments while typing ─────────────────────────────────────────────────────────────


def test_the_preview_shows_ten_moments_in_the_zone_and_in_utc(browser: Browser) -> None:
    page = browser.get(
        "/jobs/preview/?schedule_kind=cron&cron=0+18+*+*+*&timezone=America/New_York"
    )
    times = page.all("time")
    now = clock.now()
    found = schedules.parse({"cron": "0 18 * * *", "timezone": "America/New_York"}, now=now)
    wanted = [schedules.canonical_instant(at) for at in schedules.moments(found, now, 10)]
    assert [time.attrs["datetime"] for time in times] == wanted
    assert page.words.count("18:00") >= 10
    assert "UTC-05:00" in page.words or "UTC-04:00" in page.words


def test_the_preview_says_what_a_change_of_the_clock_does(browser: Browser) -> None:
    now = clock.now()
    march = "30 2 25-31 3 *"  # each spring 02:30 does not exist on one of these days
    page = browser.get(f"/jobs/preview/?schedule_kind=cron&cron={march}&timezone=Europe/Berlin")
    found = schedules.parse({"cron": march, "timezone": "Europe/Berlin"}, now=now)
    notes = [moment.note for moment in schedules.preview(found, now, 10) if moment.note]
    assert notes
    assert all(note in page.words for note in notes)


def test_the_preview_puts_an_error_at_its_field(browser: Browser) -> None:
    page = browser.get("/jobs/preview/?schedule_kind=cron&cron=61+*+*+*+*&timezone=UTC")
    assert page.status == 200
    cron = page.all("hx-partial", hx_target="#id_cron_error")
    zone = page.all("hx-partial", hx_target="#id_timezone_error")
    assert "61" in cron[0].text
    assert not zone[0].text.strip()


def test_the_preview_warns_of_two_day_fields(browser: Browser) -> None:
    page = browser.get("/jobs/preview/?schedule_kind=cron&cron=0+0+13+*+5&timezone=UTC")
    assert "either is enough" in page.words


def test_without_javascript_a_button_previews_and_keeps_what_was_typed(browser: Browser) -> None:
    page = browser.send("/jobs/new/", typed(preview="1", idempotent="", every="7"))
    assert page.status == 200
    assert len(page.all("time")) == 10
    assert page.value("cron") == "0 18 * * 1-5"
    assert page.value("every") == "7"
    assert page.error("idempotent") == "", "a preview is no attempt to save"
    assert not Job.objects.exists()


def test_htmx_leaves_the_page_when_the_session_is_over() -> None:
    answer = Browser().client.get(
        "/jobs/preview/",
        headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/jobs/new/"},
    )
    assert answer.status_code == 204
    assert answer.headers["HX-Redirect"] == "/sign-in/?next=%2Fjobs%2Fnew%2F"


# ── the target at its next moment ────────────────────────────────────────────────────────

TEMPLATED = {"url": "https://a.example/{{date}}", "body": '{"at": "{{due}}", "key": "{{key}}"}'}


def test_the_target_is_shown_as_it_will_be_called(browser: Browser, team: Team) -> None:
    job = make.job(team)
    page = browser.send(f"/jobs/preview/target/?job={job.id}", typed(**TEMPLATED))
    now = clock.now()
    schedule = {"cron": "0 18 * * 1-5", "timezone": "America/New_York"}
    (moment,) = schedules.moments(schedules.parse(schedule, now=now), now, 1)
    due = schedules.canonical_instant(moment)
    assert f"https://a.example/{due[:10]}" in page.words
    assert f'"at": "{due}", "key": "{job.id}:{due}"' in page.words
    assert "very-secret" not in page.html
    assert "18:00:00" in page.words


def test_a_target_without_values_is_not_shown_again(browser: Browser) -> None:
    for fields in (typed(), typed(**TEMPLATED, cron="no")):
        assert not browser.send("/jobs/preview/target/", fields).all("h2")


def test_why_nothing_is_filled_in_is_said(browser: Browser) -> None:
    page = browser.send("/jobs/preview/target/", typed(url="https://a.example/{{day}}"))
    assert "Not filled in" in page.words and "{{due_local}}" in page.words


def test_without_javascript_the_button_shows_the_target_too(browser: Browser) -> None:
    page = browser.send("/jobs/new/", typed(preview="1", **TEMPLATED))
    assert "What it calls at" in page.words
    assert page.value("url") == TEMPLATED["url"]


def test_the_page_of_a_job_shows_its_target_as_it_was_written(browser: Browser) -> None:
    browser.send("/jobs/new/", typed(**TEMPLATED))
    job = Job.objects.get()
    assert job.templated
    assert "https://a.example/{{date}}" in browser.get(f"/jobs/{job.id}/?tab=settings").words
    assert "What it calls at" in browser.get(f"/jobs/{job.id}/edit/").words


def test_all_that_is_wrong_with_a_schedule_is_told_at_once(browser: Browser) -> None:
    page = browser.post("/jobs/new/", **typed(cron="61 * * * *", timezone="Europe/Berlinn"))
    assert page.status == 422
    assert "Europe/Berlinn" in page.error("timezone")
    assert page.error("cron")


def test_the_field_of_the_name_takes_as_much_as_the_rule(browser: Browser) -> None:
    (name,) = browser.get("/jobs/new/").all("input", name="name")
    assert name.attrs["maxlength"] == str(NAME_LENGTH)
