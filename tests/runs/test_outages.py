"""All beats are away for ten minutes and come back, by a virtual clock: each catch-up does what it
says, for jobs that are safe to repeat and for those that are not, and every moment that does not
fire has its row. What is right is worked out here from the enumeration alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest

from jobs import editing
from jobs.editing import Pause
from jobs.models import Due, Job
from runs.audits import audit
from runs.models import Run
from tests import make
from tests.jobs import enumeration
from tests.runs.playing import MINUTE, Beat
from tests.virtual_clock import VirtualClock

START = datetime(2026, 3, 29, 0, 50, tzinfo=UTC)  # while Berlin's clock leaves out an hour
AWAY = START + 5 * MINUTE
BACK = AWAY + 10 * MINUTE + timedelta(seconds=4)
END = BACK + 5 * MINUTE
GRACE = timedelta(seconds=10)
POLICIES = ("last", "all", "none", "ask")
BERLIN = "Europe/Berlin"


@dataclass(frozen=True)
class Fates:
    """What becomes of moments: these fire, these are put before a person, these are recorded."""

    fire: list[datetime]
    ask: list[datetime]
    skipped: list[datetime]


def right(policy: str, window: timedelta, limit: int, due: list[datetime]) -> Fates:
    """What TIME says of the moments that have come when the beats are BACK."""
    missed = [moment for moment in due if BACK - moment >= GRACE]
    on_time = [moment for moment in due if moment not in missed]
    young = [moment for moment in missed if BACK - moment < window]
    match policy:
        case "last":
            chosen = [] if on_time else young[-1:]
        case "none":
            chosen = []
        case _:
            chosen = young[:limit]
    skipped = [moment for moment in missed if moment not in chosen]
    if policy == "ask":
        return Fates(on_time, chosen, skipped)
    return Fates(chosen + on_time, [], skipped)


def found(job: Job, after: datetime, until: datetime, *, expression: str) -> Fates:
    """What did become of them; a record of several moments is taken apart."""
    rows = Run.objects.filter(job=job, due_at__gt=after, due_at__lte=until).order_by("due_at")
    skipped: list[datetime] = []
    for row in rows.filter(state="SKIPPED"):
        assert row.due_at is not None and row.skipped_until is not None
        before = row.due_at - MINUTE
        named = enumeration.moments(expression, BERLIN, "once", before, row.skipped_until)
        assert len(named) == row.skipped_count
        assert row.reason
        skipped += named
    asked = rows.filter(state="REVIEW", review_class="missed")
    fired = rows.filter(state="CLAIMED")
    assert rows.count() == len(rows.filter(state="SKIPPED")) + len(asked) + len(fired)
    return Fates(_moments(fired), _moments(asked), sorted(skipped))


def _moments(rows: Any) -> list[datetime]:
    return list(rows.values_list("due_at", flat=True))


def away_and_back(clock: VirtualClock) -> None:
    Beat(clock).play(START, AWAY)
    Beat(clock).tick(BACK)


WINDOWS_AND_LIMITS = ((3600, 100), (330, 100), (3600, 3), (330, 2))


@pytest.mark.parametrize("expression", ["* * * * *", "*/4 * * * *", "30 2 * * *"])
def test_each_catch_up_does_what_it_says(expression: str, virtual_clock: VirtualClock) -> None:
    virtual_clock.stand_at(START)
    jobs = {
        said: a_job(expression, *said)
        for said in product(POLICIES, WINDOWS_AND_LIMITS, (True, False))
    }
    away_and_back(virtual_clock)
    due = enumeration.moments(expression, BERLIN, "once", AWAY, BACK)
    for (policy, (window, limit), safe), job in jobs.items():
        expected = right(policy, timedelta(seconds=window), limit, due)
        told = (policy, window, limit, safe)
        assert found(job, AWAY, BACK, expression=expression) == expected, told

    Beat(virtual_clock).play(BACK, END)
    virtual_clock.stand_at(END + audit.SETTLED)
    assert audit.report(START).gaps == []
    later = enumeration.moments(expression, BERLIN, "once", BACK, END)
    for job in jobs.values():
        assert found(job, BACK, END, expression=expression) == Fates(later, [], [])


def a_job(expression: str, policy: str, bounds: tuple[int, int], safe: bool) -> Job:
    catch_up = dict(zip(("window", "limit"), bounds, strict=True))
    return make.job(
        make.team(),
        name=f"{policy} {bounds} {safe}",
        schedule={"cron": expression, "timezone": BERLIN},
        idempotent=safe,
        catch_up={"policy": policy, **catch_up},
    )


def test_the_defaults_by_the_answer_to_idempotent(virtual_clock: VirtualClock) -> None:
    """Safe to repeat: the newest of the last hour; else a person is asked about each."""
    virtual_clock.stand_at(START)
    schedule = {"cron": "*/2 * * * *", "timezone": BERLIN}
    safe, unsafe = (
        make.job(make.team(), name=f"{safe}", schedule=schedule, idempotent=safe)
        for safe in (True, False)
    )
    away_and_back(virtual_clock)
    due = enumeration.moments("*/2 * * * *", BERLIN, "once", AWAY, BACK)
    assert found(safe, AWAY, BACK, expression="*/2 * * * *") == Fates(due[-1:], [], due[:-1])
    assert found(unsafe, AWAY, BACK, expression="*/2 * * * *") == Fates([], due, [])


def test_what_people_did_meanwhile_counts_from_then(virtual_clock: VirtualClock) -> None:
    """The web is up while the beats are away: an edit and a pause leave what was due before them
    due, and nothing that lies under a pause."""
    virtual_clock.stand_at(START)
    changes: dict[str, Any] = {"catch_up": {"policy": "all"}, "schedule": {"cron": "* * * * *"}}
    names = ("edited", "paused", "paused and resumed", "deleted")
    edited, paused, resumed, deleted = (
        make.job(make.team(), name=name, **changes) for name in names
    )
    Beat(virtual_clock).play(START, AWAY)
    virtual_clock.stand_at(AWAY + 3.5 * MINUTE)
    twice = make.definition(name="edited", **{**changes, "schedule": {"cron": "*/2 * * * *"}})
    editing.edit(edited.id, twice, by=None)
    for job in (paused, resumed):
        editing.pause(job.id, Pause("moving"), by=None)
    editing.delete(deleted.id, by=None)
    virtual_clock.stand_at(AWAY + 6.5 * MINUTE)
    editing.resume(resumed.id, by=None)
    Beat(virtual_clock).tick(BACK)

    def minutes(job: Job) -> list[int]:
        fired = found(job, AWAY, BACK, expression="* * * * *").fire
        return [(moment - AWAY) // MINUTE for moment in fired]

    assert minutes(edited) == [1, 2, 3, 5, 7, 9]
    assert minutes(paused) == minutes(deleted) == [1, 2, 3]
    assert minutes(resumed) == [1, 2, 3, 7, 8, 9, 10]
    assert not Due.objects.filter(job__in=(paused, deleted)).exists()
    virtual_clock.stand_at(BACK + audit.SETTLED)
    assert audit.report(START).gaps == []
    assert set(Counter(Run.objects.values_list("job_id", "due_at")).values()) == {1}
