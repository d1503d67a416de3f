"""Channels at every door: made, changed, tested, deleted; what they may be, and who sees what."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import LazySettings
from django.core import mail
from django.utils.html import escape

from jobs import clock, sealing
from jobs.definitions.definitions import DefinitionError
from jobs.models import Job, Team, User
from runs.channels import editing as channels
from runs.channels import notify, outbox
from runs.channels.messages import OF_TEAM
from runs.models import Channel, Delivery, Message
from runs.states import State
from tests import make
from tests.api import Api
from tests.pages import Browser

pytestmark = pytest.mark.django_db

MAIL = {"name": "ops", "way": "mail", "address": "ops@example.org", "kinds": ["dead", "review"]}
HOOK = {**MAIL, "name": "hook", "way": "webhook", "address": "https://hooks.example/T0/secret"}


@pytest.fixture(autouse=True)
def mails(settings: LazySettings) -> None:
    settings.EMAIL_URL = "smtp://mail.example"


@pytest.fixture
def admin(team: Team) -> User:
    return make.admin(team)


@pytest.fixture
def staff(team: Team) -> User:
    user = make.admin(team, "staff")
    user.is_staff = True
    user.save()
    return user


# ── the rule ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({}, ["name", "way", "kinds"]),
        ({**MAIL, "name": " \n"}, ["name"]),
        ({**MAIL, "name": "a\x00b"}, ["name"]),
        ({**MAIL, "name": "a\u202eb"}, ["name"]),
        ({**MAIL, "name": "\u3164"}, ["name"]),
        ({**MAIL, "name": "x" * 121}, ["name"]),
        ({**MAIL, "way": "pigeon"}, ["way"]),
        ({**MAIL, "way": ["mail"]}, ["way"]),
        ({**MAIL, "address": "nobody"}, ["address"]),
        ({**MAIL, "address": "a@example.org\nBcc: b@example.org"}, ["address"]),
        ({**MAIL, "address": ""}, ["address"]),
        ({**MAIL, "address": 7}, ["address"]),
        ({**MAIL, "address": " ".join(f"a{n}@example.org" for n in range(21))}, ["address"]),
        ({**HOOK, "address": "ftp://hooks.example/"}, ["address"]),
        ({**HOOK, "address": "http://127.0.0.1/"}, ["address"]),
        ({**HOOK, "address": "https://user:pw@hooks.example/"}, ["address"]),
        ({**MAIL, "kinds": []}, ["kinds"]),
        ({**MAIL, "kinds": "dead"}, ["kinds"]),
        ({**MAIL, "kinds": ["nonsense"]}, ["kinds"]),
        ({**MAIL, "kinds": ["restored"]}, ["kinds"]),  # which the platform's staff hear
        ({**MAIL, "per_minute": 0}, ["per_minute"]),
        ({**MAIL, "per_minute": 61}, ["per_minute"]),
        ({**MAIL, "per_minute": True}, ["per_minute"]),
        ({**MAIL, "per_minute": "6"}, ["per_minute"]),
    ],
)
def test_what_is_no_channel_is_refused_by_field(given: dict[str, Any], fields: list[str]) -> None:
    with pytest.raises(DefinitionError) as refused:
        channels.read(given, installation=False)
    assert list(dict.fromkeys(problem.field for problem in refused.value.problems)) == fields
    assert all(problem.message for problem in refused.value.problems)


def test_a_team_has_so_many_channels_and_no_more(
    team: Team, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "MOST_OF_A_TEAM", 1)
    api = Api.of(team, admin)
    assert api.post("channels/", MAIL).status == 201
    refused = api.post("channels/", HOOK)
    assert (refused.status, refused.fields) == (400, ["name"])


def test_kinds_are_kept_once_and_in_order() -> None:
    wanted = channels.read({**MAIL, "kinds": ["dead", "review", "dead"]}, installation=False)
    assert wanted.kinds == ("review", "dead")


# ── the API ──────────────────────────────────────────────────────────────────────────────


def test_a_webhooks_secret_is_told_once_and_stored_sealed(
    team: Team, admin: User, settings: LazySettings
) -> None:
    api = Api.of(team, admin)
    made = api.post("channels/", HOOK)
    assert made.status == 201, made.body
    secret = made.body.pop("secret")
    assert secret.startswith("whsec_")
    stored = Channel.objects.get().secret
    assert sealing.unseal(stored, settings.SEALING_KEYS) == secret
    assert api.get(made.headers["Location"]).body == made.body
    assert made.body["kinds"] == ["review", "dead"]
    assert "secret" not in api.post("channels/", MAIL).body
    renewed = api.post(f"channels/{made.body['id']}/secret/").body["secret"]
    assert renewed != secret


def test_who_only_reads_does_not_see_the_path_of_a_url(team: Team, admin: User) -> None:
    Api.of(team, admin).post("channels/", HOOK)
    (seen,) = Api.of(team, make.viewer(team)).get("channels/").body["results"]
    assert seen["address"] == "https://hooks.example/…"
    (seen,) = Api.of(team, admin).get("channels/").body["results"]
    assert seen["address"] == HOOK["address"]


def test_another_host_gets_another_secret(team: Team, admin: User) -> None:
    api = Api.of(team, admin)
    where = f"channels/{api.post('channels/', HOOK).body['id']}/"
    same = api.put(where, {**HOOK, "address": "https://hooks.example/other"})
    assert (same.status, "secret" in same.body) == (200, False)
    other = api.put(where, {**HOOK, "address": "https://evil.example/"})
    assert other.body["secret"].startswith("whsec_")
    by_mail = api.put(where, MAIL)
    assert "secret" not in by_mail.body and Channel.objects.get().secret == ""
    assert api.put(where, HOOK).body["secret"].startswith("whsec_")
    assert api.post(where + "secret/").status == 200
    api.put(where, MAIL)
    refused = api.post(where + "secret/")
    assert (refused.status, refused.fields) == (400, ["way"])


def test_problems_name_their_fields(team: Team, admin: User) -> None:
    api = Api.of(team, admin)
    assert api.post("channels/", {**MAIL, "address": "x", "colour": "red"}).fields == ["colour"]
    assert api.post("channels/", {**MAIL, "address": "x", "kinds": []}).fields == [
        "address",
        "kinds",
    ]
    api.post("channels/", MAIL)
    taken = api.post("channels/", MAIL)
    assert (taken.status, taken.fields) == (400, ["name"])
    assert api.post("channels/", {**MAIL, "team": "elsewhere"}).status == 404


def test_only_staff_make_and_see_the_platforms_channels(
    team: Team, admin: User, staff: User
) -> None:
    platform = {**MAIL, "team": None, "kinds": ["restored", "audit"]}
    assert Api.of(team, admin).post("channels/", platform).status == 403
    made = Api.of(team, staff).post("channels/", platform)
    assert (made.status, made.body["team"]) == (201, None)
    where = f"channels/{made.body['id']}/"
    assert Api.of(team, admin).get("channels/").body["results"] == []
    assert Api.of(team, admin).get(where).status == 404
    assert Api.of(team, staff).get(where).status == 200
    assert Api.of(team, staff).delete(where).status == 204


def test_a_test_says_what_came_of_it_and_so_many_a_minute(team: Team, admin: User) -> None:
    api = Api.of(team, admin)
    where = f"channels/{api.post('channels/', MAIL).body['id']}/"
    answer = api.post(where + "test/")
    assert (answer.status, answer.body["answer"]) == (200, "The mail server took it.")
    assert answer.body["sent_at"] is not None
    for _ in range(notify.TESTS_A_MINUTE - 1):
        api.post(where + "test/")
    refused = api.post(where + "test/")
    assert (refused.status, refused.headers["Retry-After"]) == (429, "60")
    sent = api.get(where + "deliveries/").body["results"]
    assert len(sent) == len(mail.outbox) == notify.TESTS_A_MINUTE
    assert {one["test"] for one in sent} == {True}


def test_what_was_given_up_is_tried_anew_when_asked(
    team: Team, admin: User, settings: LazySettings
) -> None:
    api = Api.of(team, admin)
    channel = make.channel(team, "dead")
    outbox.of_runs([make.run(make.job(team), State.DEAD).id])
    notify.pack()
    Delivery.objects.update(given_up_at=clock.now(), next_at=None, answer="No.")
    assert notify.deliver(1) == 0
    where = f"channels/{channel.id}/"
    assert api.get(where + "deliveries/").body["results"][0]["given_up_at"] is not None
    assert api.post(where + "retry/").body == {"deliveries": 1}
    assert notify.deliver(1) == 1
    assert api.post(where + "retry/").body == {"deliveries": 0}


def test_a_deleted_channel_takes_its_messages_along(team: Team, admin: User) -> None:
    channel = make.channel(team, "dead")
    outbox.of_runs([make.run(make.job(team), State.DEAD).id])
    assert Api.of(team, admin).delete(f"channels/{channel.id}/").status == 204
    assert Message.objects.count() == 0


# ── the pages ────────────────────────────────────────────────────────────────────────────


def typed(**changes: Any) -> list[tuple[str, str]]:
    fields = {"scope": "team", "team": "payments", **MAIL, "per_minute": "6", **changes}
    return [
        (name, one)
        for name, value in fields.items()
        for one in (value if isinstance(value, list) else [value])
    ]


def send(browser: Browser, path: str, fields: list[tuple[str, str]]) -> Any:
    token = browser.get("/channels/").all("input", name="csrfmiddlewaretoken")[0].attrs["value"]
    data: dict[str, Any] = {"csrfmiddlewaretoken": token}
    for name, value in fields:
        data.setdefault(name, []).append(value)
    return browser._page(browser.client.post(path, data, follow=True))


def test_a_channel_is_made_tested_changed_and_deleted_on_its_pages(team: Team, admin: User) -> None:
    browser = Browser(admin)
    first = browser.get("/channels/").words
    assert "Nobody is told of anything yet." in first
    assert "A review was passed on" in first, "as the decision itself is called"
    page = send(browser, "/channels/", typed())
    channel = Channel.objects.get()
    assert page.url == f"/channels/{channel.id}/"
    assert "Nothing was sent yet." in page.words
    tested = browser.post(page.url + "test/")
    assert "The test was taken. The answer: The mail server took it." in tested.words
    changed = send(browser, page.url, typed(name="night", kinds=list(OF_TEAM)))
    assert "night" in changed.words
    assert Channel.objects.get().kinds == list(OF_TEAM)
    gone = browser.post(page.url + "delete/")
    assert (gone.url, Channel.objects.count()) == ("/channels/", 0)


def test_a_page_says_what_is_wrong_at_each_field_and_keeps_what_was_typed(
    team: Team, admin: User
) -> None:
    browser = Browser(admin)
    page = send(browser, "/channels/", typed(address="nobody", kinds=[], per_minute="x"))
    assert page.status == 422
    assert "nobody" in page.error("address")
    assert "nothing would ever be told" in page.error("kinds")
    assert "from 1 to 60" in page.error("per_minute")
    assert page.value("address") == "nobody"
    assert Channel.objects.count() == 0
    make.channel(team, "dead")
    assert "is taken" in send(browser, "/channels/", typed()).error("name")


def test_the_page_shows_a_webhooks_secret_once(team: Team, admin: User) -> None:
    browser = Browser(admin)
    page = send(browser, "/channels/", typed(**HOOK))
    secret = page.all("code", id="signing-secret")[0].text
    assert secret.startswith("whsec_")
    where = f"/channels/{Channel.objects.get().id}/"
    assert "whsec_" not in browser.get(where).html
    renewed = browser.post(where + "secret/").all("code", id="signing-secret")[0].text
    assert renewed != secret


def test_staff_make_a_channel_for_themselves(team: Team, staff: User, admin: User) -> None:
    fields = {"scope": "*", "team": "", "kinds": ["overdue", "restored"]}
    page = send(Browser(staff), "/channels/", typed(**fields))
    assert "A channel of the platform's staff" in page.words
    assert Channel.objects.get().team is None
    assert Browser(admin).get(page.url).status == 404
    refused = send(Browser(admin), "/channels/", typed(**fields))
    assert refused.status == 403


def test_the_answer_of_a_receiver_is_shown_as_text(team: Team, admin: User) -> None:
    channel = make.channel(team, "dead")
    bad = "<script>alert(1)</script>"
    Delivery.objects.create(channel=channel, created_at=clock.now(), answer=bad)
    html = Browser(admin).get(f"/channels/{channel.id}/").html
    assert bad not in html and escape(bad) in html


def test_a_job_that_is_renamed_is_told_by_its_new_name(team: Team) -> None:
    job = make.job(team)
    make.channel(team, "dead")
    outbox.of_runs([make.run(job, State.DEAD).id])
    Job.objects.filter(id=job.id).update(name="renamed")
    notify.deliver(1)
    assert "renamed" in mail.outbox[0].subject
