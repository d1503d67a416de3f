"""Where the births of a claim go: CLAIMED, WAITING or SKIPPED, by what else of the job is active,
waits or is in review. Under the locks of their due rows; two statements a batch, and the second
only where runs are to stop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID

import structlog

from jobs.schedules.catch_up import GRACE
from runs import overlap, standing, transitions
from runs.birth import Birth
from runs.overlap import Fire, Replace, Rule, Situation, Skip, Standing, Wait
from runs.states import State

log = structlog.get_logger("onebeat.claim")

REPLACED = "Skipped: a later moment came before it could start."
STOPPED = "Cancelled: the next moment came, and takes its place."


def placed(
    cursor: Any, births: Sequence[Birth], rules: Mapping[UUID, Rule], now: datetime
) -> list[Birth]:
    """The births, each where it goes; those of a moment that has a run already are left out.
    `rules` are those of the jobs whose runs take turns: of others nothing is read."""
    turns = [birth for birth in births if birth.job_id in rules]
    if not turns:
        return list(births)
    found = standing.of_moments(cursor, [(birth.job_id, birth.due_at) for birth in turns])
    queues = [
        Queue(rules[job_id], found.get(job_id, Situation()), now).taking(group)
        for job_id, group in groupby(turns, key=lambda birth: birth.job_id)
    ]
    active = _stop(cursor, [run.id for queue in queues for run in queue.stops], now)
    ours = [birth for queue in queues for birth in queue.settled(active)]
    return [*(birth for birth in births if birth.job_id not in rules), *ours]


@dataclass
class Queue:
    """One job's births in the order of their moments. `stops`: runs that are to stop; the birth
    `heir` starts if none of them is active after that."""

    rule: Rule
    situation: Situation
    now: datetime
    births: list[Birth] = field(default_factory=list)
    stops: tuple[Standing, ...] = ()
    heir: UUID | None = None

    def taking(self, births: Any) -> Queue:
        for birth in sorted(births, key=lambda birth: birth.due_at):
            if birth.state is State.SKIPPED or birth.due_at not in self.situation.taken:
                self._take(birth)
        return self

    def settled(self, active: Mapping[UUID, str]) -> list[Birth]:
        """The births; the heir waits where a run that is to stop has not yet."""
        behind = next((run for run in self.stops if active.get(run.id) == State.RUNNING), None)
        if behind is None:
            return self.births
        waits = Wait(f"Waits for {behind.name}, which is asked to stop.", behind.id)
        fate = overlap.within_limit(waits, self.rule, self.situation)
        return [_as(birth, fate) if birth.id == self.heir else birth for birth in self.births]

    def _take(self, birth: Birth) -> None:
        if birth.state is State.CLAIMED:
            made_up = birth.due_at <= self.now - GRACE
            fate = overlap.of_moment(birth.due_at, self.rule, self.situation, made_up=made_up)
            birth = self._replacing(birth, fate) if isinstance(fate, Replace) else _as(birth, fate)
            self._alarm(birth, fate)
        self.births.append(birth)
        self.situation = _with(self.situation, birth)

    def _replacing(self, birth: Birth, fate: Replace) -> Birth:
        """The birth in the place of the runs that are to stop, some of which may be births too."""
        ids = {run.id for run in fate.stop}
        unborn = {other.id for other in self.births} & ids
        self.births = [
            _as(other, Skip(REPLACED, birth.id)) if other.id in unborn else other
            for other in self.births
        ]
        self.stops += tuple(run for run in fate.stop if run.id not in unborn)
        left = tuple(run for run in self.situation.active if run.id not in ids)
        self.situation = replace(self.situation, active=left)
        if left:
            waits = overlap.in_the_way(birth.due_at, self.rule, self.situation)
            assert waits is not None  # what is left is active
            return _as(birth, overlap.within_limit(waits, self.rule, self.situation))
        self.heir = birth.id
        return birth

    def _alarm(self, birth: Birth, fate: overlap.Fate) -> None:
        if isinstance(fate, Skip) and fate.alarm:
            log.error("claim.queue_full", job=str(birth.job_id), moment=str(birth.due_at))


def _as(birth: Birth, fate: Fire | Wait | Skip) -> Birth:
    match fate:
        case Fire():
            return birth
        case Wait(reason, blocked_by):
            return replace(birth, state=State.WAITING, reason=reason, blocked_by=blocked_by)
        case Skip(reason, blocked_by):
            return birth.skipped(reason, blocked_by=blocked_by)


def _with(situation: Situation, birth: Birth) -> Situation:
    run = Standing(birth.id, birth.due_at, idempotent=birth.idempotent)
    match birth.state:
        case State.CLAIMED:
            return situation.with_active(run)
        case State.WAITING:
            return situation.with_waiting(run)
        case State.REVIEW:
            return situation.with_review(run)
        case _:
            return situation


# Of one whose target will report nobody works here: its lease is over, and rescue ends it.
# Blocks where somebody else has a run just now: at most as long as a broker takes to confirm.
_STOP = """
update runs_run
   set stop_asked_at = coalesce(stop_asked_at, %(now)s),
       state = case when state = 'RUNNING' then state else 'CANCELLED' end,
       finished_at = case when state = 'RUNNING' then null else %(now)s::timestamptz end,
       reason = case when state = 'RUNNING' then reason else %(reason)s end,
       send_at = null,
       passed = case when state = 'RUNNING' then passed
                     else runs_passed(passed, 'CANCELLED', %(now)s, '') end,
       lease_until = case when accepted_at is null then lease_until
                          when state = 'RUNNING' then %(now)s::timestamptz end
 where id = any(%(runs)s) and idempotent
   and state in ('CLAIMED', 'ENQUEUED', 'RETRYING', 'RUNNING')
returning id, state
"""


def _stop(cursor: Any, run_ids: Sequence[UUID], now: datetime) -> dict[UUID, str]:
    """Ask the running ones to stop and take back the others: what each is now."""
    if not run_ids:
        return {}
    cursor.execute(_STOP, {"runs": list(run_ids), "now": now, "reason": STOPPED})
    states: dict[UUID, str] = dict(cursor.fetchall())
    cancelled = [run_id for run_id, state in states.items() if state == State.CANCELLED]
    transitions.told(State.CANCELLED, cancelled, by="overlap")
    return states
