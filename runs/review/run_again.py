"""Run a run in review once more: the same run, with its key or, by explicit choice, a new one."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from django.conf import settings

from jobs import clock
from jobs.models import Job
from jobs.schedules.instants import canonical_instant
from runs import decisions
from runs.decisions import Move, Plan
from runs.models import Attempt, ProbeAnswer, Run
from runs.review import facts, probe
from runs.review.facts import Tried

RISK = (
    "A new key tells the target that this is another effect: if the first one took place after "
    "all, it takes place twice."
)
_AGAIN = re.compile(r"(?P<key>.*):again:(?P<count>[0-9]+)", re.DOTALL)


class NotYetSettled(Exception):
    """The effect could still be under way, so that nobody can say yet that it did not happen.
    `until`: when that is over."""

    def __init__(self, until: datetime) -> None:
        self.until = until
        super().__init__(
            "The call could still be under way, and what the probe says now may be different "
            f"then. Run it again from {canonical_instant(until)} on."
        )


class Happened(Exception):
    """The probe says that the effect took place. `answer` is what it said."""

    def __init__(self, answer: ProbeAnswer) -> None:
        self.answer = answer
        detail = f" “{answer.detail}”" if answer.detail else ""
        super().__init__(
            f"The probe says that it happened{detail}. Run again, it would happen twice: mark it "
            "done, or close it."
        )


def plan(*, new_key: bool, said: str, answer: ProbeAnswer | None) -> Plan:
    """One more attempt, behind whatever is in its way. `answer`: what the probe has just said.
    Made under the locks, it raises Happened and NotYetSettled."""

    def planned(job: Job, run: Run) -> Move:
        refuse_early(run)
        if answer is not None and answer.key == run.key and answer.answer == probe.HAPPENED:
            raise Happened(answer)
        # The class stays: taken back before it starts, the run is in review as before.
        moved = decisions.once_more(reason=said)(job, run)
        return _under_new_key(moved, run) if new_key else moved

    return planned


def refuse_early(run: Run) -> None:
    """Raises NotYetSettled. Only where a probe is asked: its «did not» proves nothing while the
    call may be on its way. Where a person alone looks, the page says until when it may be."""
    until = locked_until(run, list(run.attempts.all())) if run.job.probe else None
    if until is not None and clock.now() < until:
        raise NotYetSettled(until)


def locked_until(run: Run, attempts: list[Attempt]) -> datetime | None:
    """The settling time after the last moment at which an effect could still be under way; None
    where none could."""
    until = under_way_until(run, attempts)
    return until and until + timedelta(seconds=settings.SETTLING)


def under_way_until(run: Run, attempts: list[Attempt]) -> datetime | None:
    """The last moment at which the effect of any attempt could still be under way."""
    found = (facts.under_way_until(tried(one), run.timeout) for one in attempts)
    return max((at for at in found if at is not None), default=None)


def tried(attempt: Attempt) -> Tried:
    """What an attempt left behind."""
    return Tried(
        attempt.outcome,
        attempt.started_at,
        attempt.intent_at,
        attempt.ended_at,
        attempt.lease_until,
        attempt.answer,
    )


def next_key(key: str) -> str:
    """`<key>:again:<n>`: the n-th key that people chose for the same effect."""
    again = _AGAIN.fullmatch(key)
    return f"{again['key']}:again:{int(again['count']) + 1}" if again else f"{key}:again:1"


def _under_new_key(moved: Move, run: Run) -> Move:
    key = next_key(run.key)
    return Move(moved.to, {**moved.changes, "key": key, "snapshot": _put(run, key)})


def _put(run: Run, key: str) -> Any:
    """What it calls with the new key wherever the old one was filled in: as it is, or
    percent-encoded."""
    pairs = ((run.key, key), (quote(run.key, safe=""), quote(key, safe="")))

    def within(value: Any) -> Any:
        match value:
            case str():
                for old, new in pairs:
                    value = value.replace(old, new)
                return value
            case list():
                return [within(item) for item in value]
            case dict():
                return {name: within(item) for name, item in value.items()}
            case _:
                return value

    return within(run.snapshot)
