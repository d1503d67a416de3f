"""The sentence, the tiles' numbers, and who counts as fine."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import clock, editing, holds
from jobs.models import Due, Job, Team
from runs.dashboard.overview import standing
from runs.dashboard.overview.standing import Standing
from runs.dashboard.stances import job_standing
from runs.models import Run, Tried
from runs.states import Origin, State
from tests import make
from tests.dashboard import history

pytestmark = pytest.mark.django_db


def of(team: Team) -> Standing:
    return standing.of([team.id])


def fine_job(team: Team, name: str) -> Job:
    job = make.job(team, name=name)
    make.run(job, State.SUCCEEDED)
    return job


def test_nothing_is_wrong(team: Team) -> None:
    assert of(team).sentence == "There are no jobs yet."
    fine_job(team, "one")
    assert of(team).sentence == "Nothing is wrong; 1 of 1 job is fine."
    fine_job(team, "two")
    assert of(team).sentence == "Nothing is wrong; 2 of 2 jobs are fine."


def test_before_a_job_has_run_no_number_of_fine_ones_alarms(team: Team) -> None:
    make.job(team, name="new")
    make.job(team, name="off", paused=True)
    assert of(team).sentence == "Nothing is wrong."


def test_the_sentence_says_what_is_wrong_worst_first(team: Team) -> None:
    fine_job(team, "fine")
    for name in ("one", "two"):
        make.run(make.job(team, name=name, idempotent=False), State.REVIEW)
    make.run(make.job(team, name="three"), State.DEAD)
    late = {"due_at": clock.now() - timedelta(minutes=1), "origin": Origin.SCHEDULE}
    make.run(fine_job(team, "four"), State.CLAIMED, **late)
    assert of(team).sentence == (
        "2 runs wait for a decision, 3 jobs are failing, 1 job is late, 1 dead letter waits; "
        "1 of 5 jobs is fine."
    )


def test_fine_counts_only_what_is_fine(team: Team) -> None:
    fine_job(team, "fine")
    make.job(team, name="never ran")
    paused = fine_job(team, "paused")
    editing.pause(paused.id, editing.Pause("why"), by=None)
    Due.objects.filter(job=fine_job(team, "ended")).delete()
    retrying = fine_job(team, "retrying")
    make.run(retrying, State.RETRYING)
    mended = make.job(team, name="succeeds again, but its dead letter waits")
    make.run(mended, State.DEAD)
    make.run(mended, State.SUCCEEDED)
    found = of(team).jobs
    assert found.places == {"fine": 1, "new": 1, "paused": 1, "ended": 1, "trouble": 2}
    assert (found.total, found.fine, found.failing, found.paused) == (6, 1, 0, 1)
    assert found.others == ["1 paused", "1 not run yet", "1 ended"]
    holds.begin(team, "A move.", by=None)
    assert of(team).jobs.places == {"held": 4, "paused": 1, "ended": 1}


def test_a_paused_job_that_fails_is_in_both_lists(team: Team) -> None:
    job = make.job(team, name="both")
    make.run(job, State.DEAD)
    editing.pause(job.id, editing.Pause("why"), by=None)
    found = of(team).jobs
    assert (found.failing, found.paused, found.fine) == (1, 1, 0)


def test_runs_at_rest_and_under_way(team: Team) -> None:
    old = clock.now() - timedelta(hours=3)
    job, other = make.job(team, name="a"), make.job(team, name="b")
    for column in ({"review_at": old}, {}):
        make.run(job, State.REVIEW, **column)
    for reason in ("Answered 500.", "Answered 500.", "No route."):
        make.run(other, State.DEAD, reason=reason)
    for state in (State.WAITING, State.CLAIMED, State.ENQUEUED, State.RUNNING, State.RETRYING):
        make.run(job, state)
    make.run(job, State.SUCCEEDED)
    make.run(make.job(make.team("elsewhere")), State.REVIEW)
    found = of(team)
    assert (found.review.count, found.review.oldest) == (2, old)
    assert (found.dead.count, found.dead.groups) == (3, 2)
    assert found.in_flight.count == 5


def test_counts_end_at_the_cap(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing, "MOST", 2)
    job = make.job(team)
    for _ in range(4):
        make.run(job, State.REVIEW)
        make.run(job, State.RUNNING)
    found = of(team)
    assert found.review.words == found.in_flight.words == "2+"
    assert found.sentence.startswith("2+ runs wait for a decision")


def test_however_many_jobs_three_statements(team: Team) -> None:
    for place in range(5):
        make.run(make.job(team, name=f"job {place}"), State.REVIEW)
    with CaptureQueriesContext(connection) as asked:
        of(team)
    assert len(asked) == 3


def test_history_is_never_read(team: Team) -> None:
    """Seen in the plan; of a few rows any index may seem as good as another."""
    history.jobs(team, 10)
    history.runs(team, 600)
    history.analyzed()
    with connection.cursor() as cursor:
        cursor.execute("explain " + standing._COUNT, {"teams": f"{{{team.id}}}", "most": 10})
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Seq Scan on runs_run" not in plan
    assert "runs_run_pkey" not in plan, "every branch has a partial index of its own"


def test_what_has_been_tried_is_written_down_and_not_looked_for_again(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_standing, "_WORTH_KNOWING", 1)
    for name in ("one", "two"):
        fine_job(team, name)
    make.job(team, name="new")
    make.run(make.job(make.team("other")), State.SUCCEEDED)
    assert not Tried.objects.exists()
    first = of(team)
    assert set(Tried.objects.values_list("job__name", flat=True)) == {"one", "two"}
    assert of(team) == first
    assert (first.jobs.fine, first.jobs.places["new"]) == (2, 1)
    make.run(Job.objects.get(name="new"), State.SUCCEEDED)
    assert of(team).jobs.fine == 3
    Run.objects.filter(job__name="one").delete()
    assert of(team).jobs.fine == 3, "what was tried does not become new when its runs are pruned"


def test_very_many_jobs_are_counted_once_a_minute_and_it_says_when(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = clock.now()

    def lately(later: timedelta = timedelta()) -> tuple[int, datetime | None]:
        found = standing.lately([team.id], now + later)
        return found.jobs.total, found.at

    fine_job(team, "one")
    assert lately() == (1, None)
    fine_job(team, "two")
    assert lately() == (2, None), "few are counted each time"
    monkeypatch.setattr(standing, "LARGE", 2)
    assert lately() == (2, now)
    fine_job(team, "three")
    assert lately(timedelta(seconds=9)) == (2, now)
    assert standing.lately([make.team("other").id], now).at is None
    cache.clear()
    assert lately() == (3, now)
