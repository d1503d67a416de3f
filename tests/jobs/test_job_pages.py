"""The pages of a job, as a person without JavaScript uses them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from jobs import clock, editing, stored
from jobs.models import Job, Team, User
from jobs.schedules import schedules
from tests import make
from tests.pages import Browser, Page, typed

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(editor: User) -> Browser:
    return Browser(editor)


# ── the page ─────────────────────────────────────────────────────────────────────────────


def test_the_page_shows_the_definition_and_the_next_ten_moments(browser: Browser) -> None:
    page = browser.send("/jobs/new/", typed(runbook="Call the ledger."))
    assert "Monday to Friday at 18:00" in page.words
    for tab, words in (
        ("settings", "POST https://ledger.example/settle"),
        ("notes", "Call the ledger."),
    ):
        assert words in browser.get(f"{page.url}?tab={tab}").words
    assert len(browser.get(f"{page.url}?tab=schedule").all("time")) >= 10


def test_a_job_without_a_moment_to_come_is_finished(browser: Browser, team: Team) -> None:
    soon = schedules.canonical_instant(clock.now() + timedelta(days=1))
    job = make.job(team, schedule={"at": soon})
    job.due.delete()
    assert "never again" in browser.get(f"/jobs/{job.id}/").words


def test_the_versions_say_who_changed_what(browser: Browser) -> None:
    browser.send("/jobs/new/", typed())
    job = Job.objects.get()
    edit = f"/jobs/{job.id}/edit/"
    kept = "Authorization: ********\nAccept: text/plain"
    browser.send(edit, typed(timeout="60", headers=kept, version="1"))
    page = browser.get(f"/jobs/{job.id}/?tab=versions")
    assert "Version 2" in page.words
    assert "by editor" in page.words
    assert "from 300 → to 60" in page.words
    assert "from application/json → to text/plain" in page.words
    assert "target.headers.Accept" in page.words
    assert "sealed:" not in page.html


def test_the_versions_tell_schedules_in_words(browser: Browser, team: Team, editor: User) -> None:
    job = make.job(team, schedule={"cron": "0 18 * * 1-5"})
    later = make.definition(
        schedule=[
            {"cron": "0 18 * * 1-5", "timezone": "Asia/Kolkata", "dst": "wall"},
            {"every": 5400, "anchor": "2026-01-01T00:00:00Z"},
        ]
    )
    editing.edit(job.id, later, by=editor)
    page = browser.get(f"/jobs/{job.id}/?tab=versions")
    assert (
        "from cron 0 18 * * 1-5, UTC → to cron 0 18 * * 1-5, Asia/Kolkata, following" in page.words
    )
    assert "Every 90 minutes, counted from 2026-01-01T00:00:00Z" in page.words
    assert '{"cron"' not in page.all("ol", class_="versions")[0].text


def test_a_clock_is_named_in_the_list_also_where_it_is_utc(browser: Browser, team: Team) -> None:
    make.job(team, schedule={"cron": "0 18 * * 1-5"})
    assert "0 18 * * 1-5 UTC" in browser.get("/jobs/").words


def test_a_mirror_of_a_row_without_a_time_shows_no_schedule(browser: Browser, team: Team) -> None:
    job = make.job(team)
    never = [{"at": "1970-01-01T00:00:00Z"}]
    Job.objects.filter(id=job.id).update(schedule=never, periodic_task_id=1)
    for path in ("/jobs/", f"/jobs/{job.id}/"):
        page = browser.get(path)
        assert "No schedule" in page.words
        assert "1970" not in page.words


def test_whoever_registered_in_the_browser_is_told_to_make_the_secret(browser: Browser) -> None:
    page = browser.send("/jobs/new/", typed())
    words = browser.get(f"{page.url}?tab=settings").words
    assert "Make a secret for the target to check them by; it is shown once." in words


def test_a_job_whose_zone_is_gone_is_still_shown(browser: Browser, team: Team) -> None:
    job = make.job(team)
    lost = [{"cron": "0 3 1 1 *", "timezone": "Gone/Away", "dst": "once"}]
    Job.objects.filter(id=job.id).update(schedule=lost)
    assert "0 3 1 1 *" in browser.get("/jobs/").words
    assert browser.get(f"/jobs/{job.id}/").status == 200
    assert "not a known time zone" in browser.get(f"/jobs/{job.id}/?tab=schedule").words
    assert "cannot be edited here" in browser.get(f"/jobs/{job.id}/edit/").words


# ── edit ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "schedule",
    [
        {"cron": "*/7 3 L * *", "timezone": "Asia/Kolkata", "dst": "wall"},
        {"every": 5400, "anchor": "2026-01-01T00:00:00.500000Z"},
        {"at": "2999-01-01T00:00:00Z"},
        [{"cron": "0 1 * * *"}, {"every": 90, "anchor": "2026-01-01T00:00:00Z"}],
    ],
)
@pytest.mark.parametrize(
    "changes",
    [
        {"idempotent": False, "retry_unsent": True, "description": "two\nlines ", "runbook": "\nx"},
        {
            "target": {
                "type": "http",
                "method": "GET",
                "url": "https://a.example",
                "body": [1, "ü", None],
            }
        },
    ],
)
def test_saving_the_form_as_it_was_opened_changes_nothing(
    browser: Browser, team: Team, schedule: object, changes: dict[str, Any]
) -> None:
    job = make.job(team, schedule=schedule, **changes)
    before = stored.shape(Job.objects.get())
    page = browser.get(f"/jobs/{job.id}/edit/")
    answer = browser.send(f"/jobs/{job.id}/edit/", as_it_stands(page))
    assert answer.status == 200, answer.words
    assert stored.shape(Job.objects.get()) == before
    assert job.jobversion_set.count() == 1


def test_a_one_off_that_has_fired_can_still_be_described(browser: Browser, team: Team) -> None:
    job = make.job(team, schedule={"at": "2999-01-01T00:00:00Z"})
    past = [{"at": "2020-01-01T00:00:00Z"}]
    Job.objects.filter(id=job.id).update(schedule=past)
    fields = as_it_stands(browser.get(f"/jobs/{job.id}/edit/"))
    answer = browser.send(f"/jobs/{job.id}/edit/", {**fields, "description": "It was once."})
    assert answer.status == 200, answer.words
    assert Job.objects.get().description == "It was once."


def test_a_secret_is_not_sent_to_another_host(browser: Browser) -> None:
    browser.send("/jobs/new/", typed())
    job = Job.objects.get()
    masked = typed(headers="Authorization: ********", url="https://evil.example/", version="1")
    page = browser.send(f"/jobs/{job.id}/edit/", masked)
    assert page.status == 422
    assert "another host" in page.error("headers")


def test_an_edit_of_what_somebody_else_changed_is_refused_with_who(
    browser: Browser, team: Team
) -> None:
    job = make.job(team)
    fields = as_it_stands(browser.get(f"/jobs/{job.id}/edit/"))
    editing.pause(job.id, editing.Pause("a move"), by=make.operator(team))
    page = browser.send(f"/jobs/{job.id}/edit/", {**fields, "name": "renamed"})
    assert page.status == 409
    assert "operator changed this job" in page.words
    assert page.value("name") == "renamed"
    assert Job.objects.get().name == job.name
    again = browser.send(f"/jobs/{job.id}/edit/", {**fields, "name": "renamed"})
    assert again.status == 409, "sending it once more is no way round"


def test_a_paused_job_stays_paused_through_an_edit(browser: Browser, team: Team) -> None:
    job = make.job(team)
    editing.pause(job.id, editing.Pause("a move"), by=None)
    fields = as_it_stands(browser.get(f"/jobs/{job.id}/edit/"))
    browser.send(f"/jobs/{job.id}/edit/", {**fields, "description": "moved"})
    job.refresh_from_db()
    assert (job.paused, job.paused_reason, job.description) == (True, "a move", "moved")


def test_the_next_moments_are_skipped_by_a_page_and_taken_back(
    browser: Browser, team: Team
) -> None:
    job = make.job(team)
    refused = browser.post(f"/jobs/{job.id}/skip/", count="2", reason=" ")
    assert (refused.status, "Skipping needs a reason" in refused.words) == (422, True)
    page = browser.post(f"/jobs/{job.id}/skip/", count="2", reason="Stocktaking.")
    assert "leaves out its next 2 moments." in page.words
    assert "will be skipped: Stocktaking." in page.words
    fields = as_it_stands(browser.get(f"/jobs/{job.id}/edit/"))
    browser.send(f"/jobs/{job.id}/edit/", {**fields, "description": "counted"})
    job.refresh_from_db()
    assert (job.skip_next, job.skip_reason, job.description) == (2, "Stocktaking.", "counted")
    page = browser.post(f"/jobs/{job.id}/skip/", count="0")
    assert "skips nothing." in page.words
    assert "will be skipped" not in page.words
    editing.pause(job.id, editing.Pause("a move"), by=None)
    page = browser.post(f"/jobs/{job.id}/skip/", count="1", reason="x")
    assert "Resume it first." in page.words


def test_the_window_and_the_spread_are_set_by_the_page(browser: Browser, team: Team) -> None:
    job = make.job(team)
    fields = as_it_stands(browser.get(f"/jobs/{job.id}/edit/"))
    given = {"starts_at": "2030-01-01T00:00:00Z", "max_runs": "3", "spread": "600"}
    page = browser.send(f"/jobs/{job.id}/edit/", {**fields, **given})
    assert "Saved." in page.words
    assert "3, of which it has had 0" in browser.get(f"{page.url}?tab=settings").words
    wrong = {**fields, "ends_at": "2020-01-01T00:00:00Z"}
    fields = as_it_stands(browser.get(f"/jobs/{job.id}/edit/"))
    page = browser.send(f"/jobs/{job.id}/edit/", {**fields, "ends_at": wrong["ends_at"]})
    assert page.status == 422
    assert "lies before starts_at" in page.words


# ── pause, resume, delete ────────────────────────────────────────────────────────────────


def test_a_pause_needs_a_reason_and_says_what_will_not_fire(browser: Browser, team: Team) -> None:
    job = make.job(team)
    assert "would not fire" in browser.get(f"/jobs/{job.id}/").words
    page = browser.post(f"/jobs/{job.id}/pause/", reason=" ")
    assert page.status == 422
    assert "needs a reason" in page.error("reason")
    page = browser.post(f"/jobs/{job.id}/pause/", reason="The ledger moves.")
    assert "is paused." in page.words
    assert "The ledger moves." in page.words
    job.refresh_from_db()
    assert job.paused and job.paused_until is None


@pytest.mark.parametrize(
    ("until", "said"),
    [
        ("tomorrow", "not an instant"),
        ("2999-01-01T00:00", "offset"),
        ("2020-01-01T00:00:00Z", "over"),
        ("0h", "over"),
        ("90", "2h, 1d"),
        ("-2h", "2h, 1d"),
        ("soon", "2h, 1d"),
    ],
)
def test_a_pause_ends_at_an_instant_to_come(
    browser: Browser, team: Team, until: str, said: str
) -> None:
    job = make.job(team)
    page = browser.post(f"/jobs/{job.id}/pause/", reason="why", until=until)
    assert page.status == 422
    assert said in page.error("until")
    assert page.value("reason") == "why"
    job.refresh_from_db()
    assert not job.paused


@pytest.mark.parametrize(
    ("typed", "length"),
    [
        ("2h", timedelta(hours=2)),
        ("1 d", timedelta(days=1)),
        ("1h 30m", timedelta(minutes=90)),
        ("999999d 999999h 999999m 999999999s", None),
    ],
)
def test_a_pause_may_end_so_long_from_now(
    browser: Browser, team: Team, typed: str, length: timedelta | None
) -> None:
    job = make.job(team)
    before = clock.now().replace(microsecond=0)
    browser.post(f"/jobs/{job.id}/pause/", reason="why", until=typed)
    job.refresh_from_db()
    assert job.paused_until is not None
    if length is not None:
        assert before + length <= job.paused_until <= clock.now() + length


def test_what_lies_under_a_pause_for_good_is_not_counted(browser: Browser, team: Team) -> None:
    job = make.job(team)
    for until, counted in (("2h", True), ("9999-12-31T00:00:00Z", False)):
        browser.post(f"/jobs/{job.id}/pause/", reason="why", until=until)
        words = browser.get(f"/jobs/{job.id}/").words
        assert "Paused until" in words
        assert ("Under it" in words or "lies under it" in words) == counted
        browser.post(f"/jobs/{job.id}/resume/")


def test_a_job_is_paused_until_an_instant_and_resumed_by_hand(browser: Browser, team: Team) -> None:
    job = make.job(team)
    browser.post(f"/jobs/{job.id}/pause/", reason="why", until="2999-01-01T01:00:00+01:00")
    job.refresh_from_db()
    assert schedules.canonical_instant(job.paused_until or clock.now()) == "2999-01-01T00:00:00Z"
    page = browser.post(f"/jobs/{job.id}/resume/")
    assert "is active again" in page.words
    job.refresh_from_db()
    assert not job.paused


def test_a_job_is_deleted_once_its_name_is_typed(browser: Browser, team: Team) -> None:
    job = make.job(team)
    page = browser.post(f"/jobs/{job.id}/delete/", name="something")
    assert page.status == 422
    assert "is not its name" in page.error("name")
    page = browser.post(f"/jobs/{job.id}/delete/", name=job.name)
    assert page.url == "/jobs/"
    assert "is deleted" in page.words
    assert browser.get(f"/jobs/{job.id}/").status == 410


def test_who_comes_after_a_delete_is_told_so(
    browser: Browser, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = make.job(team)
    really = editing.resume

    def late(job_id: object, *, by: User | None) -> Job:
        editing.delete(job.id, by=None)
        return really(job.id, by=by)

    monkeypatch.setattr(editing, "resume", late)
    page = browser.post(f"/jobs/{job.id}/resume/")
    assert page.url == "/jobs/"
    assert "deleted rotate-certificates meanwhile" in page.words


def test_a_mirrored_job_is_read_only_and_says_why(browser: Browser, team: Team) -> None:
    job = editing.register(team, make.definition(), by=None, periodic_task_id=7)
    page = browser.get(f"/jobs/{job.id}/")
    assert "mirrors a PeriodicTask row" in page.words
    links = {link.attrs["href"] for link in page.all("a")}
    assert f"/jobs/{job.id}/edit/" not in links
    for path in ("edit", "pause", "resume", "delete"):
        answer = browser.post(f"/jobs/{job.id}/{path}/", reason="x", name=job.name)
        assert answer.url == f"/jobs/{job.id}/"
        assert "edit that row in the admin" in answer.words
    job.refresh_from_db()
    assert (job.version, job.deleted_at) == (1, None)


def as_it_stands(page: Page) -> dict[str, str]:
    """The fields that a browser sends for this page's form, untouched."""
    fields: dict[str, str] = {}
    for box in page.all("input"):
        kind = box.attrs.get("type", "text")
        if kind not in ("radio", "checkbox") or "checked" in box.attrs:
            empty = "on" if kind in ("radio", "checkbox") else ""
            fields[box.attrs.get("name", "")] = box.attrs.get("value", empty)
    for area in page.all("textarea"):
        # A browser drops one newline after the tag and sends CRLF.
        fields[area.attrs["name"]] = area.text.removeprefix("\n").replace("\n", "\r\n")
    name = ""
    for element in page.elements:
        name = element.attrs["name"] if element.tag == "select" else name
        if element.tag == "option" and "selected" in element.attrs:
            fields[name] = element.attrs["value"]
    return {name: value for name, value in fields.items() if name and name != "q"}
