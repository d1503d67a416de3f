"""What the form of a job says while it is filled in, beside its moments."""

from __future__ import annotations

import pytest

from jobs.models import Job, Team, User
from tests import make
from tests.pages import Browser, Page, typed

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(editor: User) -> Browser:
    return Browser(editor)


@pytest.fixture
def job(team: Team) -> Job:
    return make.job(team, name="settle", timeout=300)


def edited(browser: Browser, job: Job, **changes: str) -> dict[str, str]:
    """The fields of the job's form as they stand on its page, with these changes."""
    page = browser.get(f"/jobs/{job.id}/edit/")
    found = {
        one.attrs["name"]: one.attrs.get("value", "")
        for one in page.all("input")
        if one.attrs.get("type") in ("text", "hidden")
        or (one.attrs.get("type") == "radio" and "checked" in one.attrs)
    }
    texts = {one.attrs["name"]: one.text.removeprefix("\n") for one in page.all("textarea")}
    return {**found, **texts, "method": "POST", "dst": "once", "overlap": "allow", **changes}


def headings(page: Page) -> list[str]:
    return [one.text for one in page.all("legend") if one.text]


def test_it_has_four_parts(browser: Browser) -> None:
    parts = headings(browser.get("/jobs/new/"))
    wanted = ["What", "When", "If something goes wrong", "Who hears"]
    assert [part for part in parts if part in wanted] == wanted


def test_whether_it_is_safe_to_repeat_is_not_preselected(browser: Browser) -> None:
    radios = browser.get("/jobs/new/").all("input", name="idempotent")
    assert len(radios) == 2
    assert not any("checked" in radio.attrs for radio in radios)


def test_the_waits_follow_what_is_typed(browser: Browser) -> None:
    assert "Waits at most 10 s, 20 s, 40 s, 1 m 20 s" in browser.get("/jobs/new/").words
    page = browser.send("/jobs/preview/target/", typed(max_attempts="3", backoff="60", timeout="1"))
    assert "Waits at most 1 m, 2 m between its 3 attempts" in page.words
    assert "given up after 3 m 3 s at the latest" in page.words
    assert page.all("hx-partial", hx_target="#waits")
    never = browser.send("/jobs/preview/target/", typed(idempotent="no"))
    assert "Not tried again by itself" in never.words
    wrong = browser.send("/jobs/preview/target/", typed(max_attempts="lots"))
    assert "Write whole numbers" in wrong.words


def test_a_load_check_names_the_fullest_minute(browser: Browser, team: Team, editor: User) -> None:
    alone = browser.get("/jobs/preview/?schedule_kind=cron&cron=7 5 * * *&timezone=UTC")
    assert "Load check: no other job has its next moment in these minutes" in alone.words
    for number in range(3):
        crowd = {"cron": "7 5 * * *", "timezone": "UTC"}
        make.job(team, name=f"other {number}", schedule=crowd, by=editor)
    full = browser.get("/jobs/preview/?schedule_kind=cron&cron=7 5 * * *&timezone=UTC")
    assert "Load check: at least 3 other jobs in this minute" in full.words


def test_both_day_fields_are_remarked_on(browser: Browser) -> None:
    page = browser.get("/jobs/preview/?schedule_kind=cron&cron=0 5 13 * 5&timezone=UTC")
    assert "Day of month and day of week are both set" in page.words


def test_saving_says_first_what_it_changes(browser: Browser, job: Job) -> None:
    assert "What saving changes Nothing yet." in browser.get(f"/jobs/{job.id}/edit/").words
    where = f"/jobs/preview/target/?job={job.id}"
    same = browser.send(where, edited(browser, job))
    assert "Nothing yet." in same.words
    fields = edited(browser, job, timeout="60", cron="0 4 1 1 *")
    page = browser.send(where, fields)
    shown = {one.text for one in page.all("code")}
    assert {"timeout", "schedule"} <= shown
    assert [one.text for one in page.all("del") if "300" in one.text]
    wrong = browser.send(where, edited(browser, job, timeout="soon"))
    assert "What stands above is not in order yet." in wrong.words
    job.refresh_from_db()
    assert (job.timeout, job.version) == (300, 1), "nothing was saved"


def test_without_javascript_the_preview_says_it_too(browser: Browser, job: Job) -> None:
    fields = edited(browser, job, timeout="60", preview="1")
    page = browser.send(f"/jobs/{job.id}/edit/", fields)
    assert [one.text for one in page.all("ins") if "60" in one.text]
    job.refresh_from_db()
    assert job.version == 1


def test_a_secret_is_not_shown_among_the_changes(browser: Browser, team: Team) -> None:
    called = {"type": "http", "url": "https://ledger.example/x"}
    job = make.job(team, name="x", target={**called, "headers": {"Authorization": "very-secret"}})
    fields = edited(browser, job, headers="Authorization: another-secret")
    page = browser.send(f"/jobs/preview/target/?job={job.id}", fields)
    assert "target.headers.Authorization" in {one.text for one in page.all("code")}
    assert "secret" not in page.words


def test_another_teams_job_is_not_compared_with(job: Job) -> None:
    other = Browser(make.outsider())
    assert other.send(f"/jobs/preview/target/?job={job.id}", typed()).status == 404


def test_it_says_who_hears(browser: Browser, team: Team) -> None:
    assert "Nobody is told of anything" in browser.get("/jobs/new/").words
    make.channel(team, "dead", "review")
    make.channel(make.team("elsewhere"), "dead")
    page = browser.get("/jobs/new/")
    assert "a run waits for a decision" in page.words
    assert len([one for one in page.all("a") if one.attrs["href"].startswith("/channels/")]) == 2


def test_folded_parts_open_where_something_is_unusual(browser: Browser, team: Team) -> None:
    plain = make.job(team, name="a", overlap="skip")
    unusual = make.job(team, name="b", overlap="skip", decide_by=60)

    def opened(job: Job) -> int:
        parts = browser.get(f"/jobs/{job.id}/edit/").all("details", class_="more")
        return sum("open" in part.attrs for part in parts)

    assert (opened(plain), opened(unusual)) == (0, 1)
    assert opened(make.job(team, name="c", overlap="queue", idempotent=False)) == 0
    assert opened(make.job(team, name="d", overlap="queue", idempotent=True)) == 1
    wrong = browser.send("/jobs/new/", typed(deadline="soon"))
    assert [part for part in wrong.all("details", class_="more") if "open" in part.attrs]


@pytest.mark.parametrize(
    ("typed_as", "seconds"),
    [("5400", 5400), ("1 h 30 m", 5400), ("90m", 5400), ("2d", 172_800), (" 45 S ", 45)],
)
def test_lengths_of_time_are_typed_in_units_too(
    browser: Browser, typed_as: str, seconds: int
) -> None:
    browser.send("/jobs/new/", typed(decide_by=typed_as, timeout="2 m"))
    job = Job.objects.get()
    assert (job.decide_by, job.timeout) == (seconds, 120)


@pytest.mark.parametrize("wrong", ["soon", "1 h 30", "-5 m", "1.5 h", "h", "9999999 d"])
def test_what_is_no_length_of_time_is_refused_at_its_field(browser: Browser, wrong: str) -> None:
    page = browser.send("/jobs/new/", typed(decide_by=wrong))
    assert (page.status, bool(page.error("decide_by"))) == (422, True)
    assert page.value("decide_by") == wrong
    assert not browser.send("/jobs/new/", typed(max_attempts="5 m")).error("decide_by")
    assert not Job.objects.exists()
