"""A replay is carried on by any beat: its next runs go, so many a minute, the oldest moment first.

It gives way: where a run, a review or a hold is in the way of the next, none goes, so that no
moment of the schedule is ever dropped for one that waits. Each turn is one transaction, so that a
beat that dies in it leaves nothing half done. Locks: the replay, then the job's, then runs by id.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models.functions import Now

from jobs import clock, holds
from jobs.models import Due, Job
from runs import decisions, overlap, release, standing, transitions
from runs.letters.batch import told
from runs.letters.groups import BATCH, record
from runs.models import Decision, Replay, ReplayItem, Run
from runs.models.replay import Going, Result
from runs.overlap import Standing
from runs.states import UNDER_WAY, State

_SAVED_UP = timedelta(seconds=2)  # of its pace, at most, is made up for when a beat comes late

log = structlog.get_logger("onebeat.replay")


@dataclass
class Turn:
    """What one turn does with the next items: runs that go, runs that are passed over with the
    reason, and what is in the way of the next."""

    go: list[Run] = field(default_factory=list)
    passed: list[Run] = field(default_factory=list)
    waits: str = ""


def advance_all() -> int:
    """Carry on every replay whose time has come; how many runs went."""
    ready = Replay.objects.filter(state=Going.OPEN, next_at__lte=Now()).order_by("next_at")
    return sum(advance(replay_id) for replay_id in ready.values_list("id", flat=True)[:100])


@transaction.atomic
def advance(replay_id: UUID) -> int:
    """Send the next runs of a replay again, as many as its pace allows; none where another beat
    has it, or something else has its job. How many."""
    mine = Replay.objects.select_for_update(of=("self",), skip_locked=True)
    replay = mine.select_related("by", "second").filter(id=replay_id, state=Going.OPEN).first()
    job = release.try_lock(replay.job_id) if replay else None
    if replay is None or job is None or _is_due(job):
        return 0
    if job.deleted_at is not None:
        _set(replay, state=Going.CANCELLED, reason="Its job was deleted.", finished_at=Now())
    elif hold := holds.over(job.team_id):
        _set(replay, reason=hold.words)
    elif replay.trying and (first := _first(replay)):
        _look_at(replay, first)
    elif room := _room(replay, clock.now()):
        turn = _turn(replay, job, room)
        _move(replay, job, turn)
        _go_on(replay, turn, clock.now())
        return len(turn.go)
    return 0


def _is_due(job: Job) -> bool:
    """Whether a moment of the schedule would find the run that goes now in its way."""
    return job.takes_turns and Due.objects.filter(job=job, at__lte=Now()).exists()


def _first(replay: Replay) -> Run | None:
    tried = replay.items.filter(result=Result.REPLAYED).order_by("place")
    return Run.objects.defer("snapshot").filter(id__in=tried.values("run_id")[:1]).first()


def _look_at(replay: Replay, first: Run) -> None:
    """Whether the run that was tried first lets the others go."""
    if first.state == State.SUCCEEDED:
        _set(replay, trying=False, reason="")
    elif first.state in UNDER_WAY:
        _set(replay, reason=f"Waits for the first one to succeed: run {first.id}.")
    else:
        became = "has died again" if first.state == State.DEAD else f"is {first.state}"
        failed = f"The first one did not succeed: run {first.id} {became}. {first.reason}"
        anyway = "Resume to go on all the same, or cancel."
        _set(replay, state=Going.PAUSED, reason=f"{failed} {anyway}")


def _room(replay: Replay, now: datetime) -> int:
    """How many may go now."""
    if replay.next_at > now:
        return 0
    room = 1 + int((now - _since(replay, now)) / _gap(replay))
    return 1 if replay.trying else min(room, BATCH)


def _since(replay: Replay, now: datetime) -> datetime:
    return max(replay.next_at, now - _SAVED_UP)


def _gap(replay: Replay) -> timedelta:
    return timedelta(minutes=1) / replay.per_minute


def _turn(replay: Replay, job: Job, room: int) -> Turn:
    next_ones = replay.items.filter(result=Result.TO_COME).order_by("place")
    run_ids = list(next_ones.values_list("run_id", flat=True)[:BATCH])
    rows = Run.objects.select_for_update().filter(id__in=run_ids).defer("snapshot")
    locked = {run.id: run for run in rows.order_by("id")}
    turn, situation = Turn(), standing.of_locked(job)
    for run in (locked[run_id] for run_id in run_ids if run_id in locked):
        if not _dead_as_of(replay, run):
            turn.passed.append(run)
            continue
        order = run.due_at or run.created_at
        waits = overlap.in_the_way(order, release.rule_of(job), situation)
        if waits or len(turn.go) == room:
            turn.waits = waits.reason if waits and not turn.go else ""
            break
        turn.go.append(run)
        situation = situation.with_active(Standing(run.id, order))
    return turn


def _dead_as_of(replay: Replay, run: Run) -> bool:
    """One that was tried since, and died again, was not chosen like this."""
    return run.state == State.DEAD and run.died_at is not None and run.died_at <= replay.as_of


def _move(replay: Replay, job: Job, turn: Turn) -> None:
    gone = [run.id for run in turn.go]
    anew = {**decisions.ANEW, "serial": job.serial}
    transitions.move_dead(gone, State.CLAIMED, **anew)
    who: dict[str, Any] = {"note": replay.note, "by": replay.by, "second": replay.second}
    record("replay", job, turn.go, State.CLAIMED, **who)
    replay.items.filter(run_id__in=gone).update(result=Result.REPLAYED, at=Now())
    if turn.passed:
        _pass_over(replay, turn.passed)


def _pass_over(replay: Replay, runs: list[Run]) -> None:
    """Say of each what became of it before its turn came, and by whom."""
    newest = Decision.objects.filter(run__in=[run.id for run in runs]).order_by("run_id", "-at")
    last = {one.run_id: one for one in newest.distinct("run_id").select_related("by")}
    of, now = {run.id: run for run in runs}, clock.now()
    items = list(replay.items.filter(run_id__in=of))
    for item in items:
        item.result, item.reason = Result.PASSED, _why(of[item.run_id], last.get(item.run_id))
        item.at = now
    ReplayItem.objects.bulk_update(items, ("result", "reason", "at"))


def _why(run: Run, last: Decision | None) -> str:
    again = "has died again since" if run.state == State.DEAD else f"is {run.state} by now"
    who = f": {last.by.get_username()} decided “{decisions.said(last)}”" if last and last.by else ""
    return f"It {again}{who}."


def _go_on(replay: Replay, turn: Turn, now: datetime) -> None:
    """Write down how far the replay has come, and when the next may go."""
    changes: dict[str, Any] = {
        "replayed": replay.replayed + len(turn.go),
        "passed": replay.passed + len(turn.passed),
        "next_at": _since(replay, now) + len(turn.go) * _gap(replay) if turn.go else replay.next_at,
        "reason": turn.waits,
    }
    if not replay.items.filter(result=Result.TO_COME).exists():
        changes |= {"state": Going.DONE, "finished_at": Now()}
    _set(replay, **changes)
    if turn.go or turn.passed:
        log.info("replay.advanced", **told(replay), runs=len(turn.go), passed=len(turn.passed))


def _set(replay: Replay, **changes: Any) -> None:
    """Nothing is written where nothing has changed."""
    if any(getattr(replay, name) != value for name, value in changes.items()):
        Replay.objects.filter(id=replay.id).update(**changes)
