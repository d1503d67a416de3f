"""Audits are kept team by team, shown to the team alone, and asked for over the API."""

from __future__ import annotations

from copy import copy
from datetime import timedelta

import pytest

from jobs import clock
from jobs.models import Team
from jobs.schedules.instants import canonical_instant
from runs import housekeeping
from runs.audits import kept as audits
from runs.models import AuditReport, Run
from runs.models.run import new_id
from runs.states import Origin, State
from tests import make
from tests.api import Api
from tests.pages import Browser
from tests.runs.histories import MINUTE, aged, minutely, noon

pytestmark = pytest.mark.django_db


def with_a_gap() -> str:
    """A job of every minute that has run at each of the last hours, but for one moment, which is
    returned."""
    job = aged(minutely(), timedelta(hours=4))
    missing, last = noon() - 30 * MINUTE, clock.now().replace(second=0, microsecond=0)
    due = [last - back * MINUTE for back in range(4 * 60)]
    one = make.run(job, State.SUCCEEDED, origin=Origin.SCHEDULE, due_at=due[0])
    rows = [(new_id(), moment) for moment in due[1:] if moment != missing]
    copies: list[Run] = [copy(one) for _ in rows]
    for run, (run_id, moment) in zip(copies, rows, strict=True):
        run.id, run.due_at, run.key = run_id, moment, f"{job.id}:{moment}"
    Run.objects.bulk_create(copies)
    return canonical_instant(missing)


def test_each_team_has_its_row_and_the_whole_is_told(team: Team) -> None:
    missing = with_a_gap()
    make.team("quiet")

    whole = audits.kept(clock.now() - timedelta(hours=3))

    assert [gap.kind for gap in whole.gaps if missing in gap.as_json()["moments"]] == ["missing"]
    ours, quiet = AuditReport.objects.order_by("team__slug")
    assert (ours.team.slug, quiet.team.slug) == ("payments", "quiet")
    assert ours.gaps == [gap.as_json() for gap in whole.gaps]
    assert (quiet.gaps, quiet.jobs, quiet.due) == ([], 0, 0)
    assert (whole.jobs, whole.due, whole.runs) == (ours.jobs, ours.due, ours.runs)
    assert ours.runs == Run.objects.filter(due_at__gt=ours.since, due_at__lte=ours.until).count()


def test_audits_are_kept_as_long_as_runs(team: Team) -> None:
    audits.kept(clock.now() - timedelta(hours=1))
    AuditReport.objects.update(made_at=clock.now() - timedelta(days=4_000))
    housekeeping.daily_audit()
    assert AuditReport.objects.count() == 1


def test_the_page_names_each_gap_with_its_job(browser: Browser, team: Team) -> None:
    assert "no audit yet" in browser.get("/audit/firings/").words
    missing = with_a_gap()
    audits.kept(clock.now() - timedelta(hours=3))
    page = browser.get("/audit/firings/")
    (job,) = {run.job_id for run in Run.objects.all()}
    assert page.all("time", datetime=missing)
    assert page.all("a", href=f"/jobs/{job}/")
    last = AuditReport.objects.get()
    assert "no earlier audits" in browser.get(f"/audit/firings/?before={last.id}").words
    assert browser.get("/audit/firings/?before=x").status == 200


def test_another_teams_audits_are_not_there(team: Team) -> None:
    with_a_gap()
    audits.kept(clock.now() - timedelta(hours=3))
    outsider = make.outsider()
    assert "missing" not in Browser(outsider).get("/audit/firings/").words
    answer = Api.of(make.team("elsewhere"), outsider).get("audit/reports/")
    assert [row["team"] for row in answer.body["results"]] in ([], ["elsewhere"])


def test_the_api_compares_a_window_now(api: Api, team: Team) -> None:
    missing = with_a_gap()
    minutely_elsewhere = make.job(make.team("elsewhere"))
    since = canonical_instant(noon() - timedelta(hours=1))
    until = canonical_instant(noon())
    found = api.get(f"audit/?since={since}&until={until}").body
    assert (found["since"], found["until"]) == (since, until)
    assert (found["due"], found["runs"]) == (60, 59)
    (gap,) = found["gaps"]
    assert (gap["kind"], gap["moments"]) == ("missing", [missing])
    assert gap["job"] != str(minutely_elsewhere.id)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("since=yesterday", "since"),
        ("since=2026-01-01T00:00:00", "since"),
        ("until=x", "until"),
        ("since=2999-01-01T00:00:00Z", "since"),
        ("since=2001-01-01T00:00:00Z", "since"),
        ("from=2026-01-01T00:00:00Z", "from"),
    ],
)
def test_a_window_that_is_none_is_refused(api: Api, team: Team, query: str, field: str) -> None:
    answer = api.get(f"audit/?{query}")
    assert (answer.status, answer.fields) == (400, [field])


def test_the_api_lists_what_was_kept(api: Api, team: Team) -> None:
    with_a_gap()
    audits.kept(clock.now() - timedelta(hours=3))
    (row,) = api.get("audit/reports/").body["results"]
    assert (row["team"], [gap["kind"] for gap in row["gaps"]]) == ("payments", ["missing"])
