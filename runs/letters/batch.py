"""Many dead runs sent again, so many a minute: each the same run with the same key.

`begin` stores which ones; any beat carries it on (replaying.py) until it is paused, cancelled or
done.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import structlog
from django.db import IntegrityError, transaction
from django.db.models import Count
from django.db.models.functions import Now

from jobs import clock, editing, events
from jobs.models import Job, User
from runs import decisions, error_groups, subjects
from runs.letters.groups import MOST, Choice
from runs.models import Replay, ReplayItem, Run
from runs.models.replay import NOT_OVER, Going, Result
from runs.states import State

_TOO_OLD = "Nobody approved it in time. Ask again."

log = structlog.get_logger("onebeat.replay")


class AlreadyOpen(Exception):
    """The group has a replay that is not over: `replay`."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        who = f", begun by {replay.by.get_username()}," if replay.by else ""
        super().__init__(
            f"A replay of this group{who} is {replay.state}, with {replay.left} to go. "
            "Wait until it is over, or cancel it."
        )


class NotYours(Exception):
    """Nobody approves what they asked for themselves."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        super().__init__("This is your own request: a second person approves it.")


class NotApproved(Exception):
    """It waits for a second person and can only be approved or cancelled."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        super().__init__("This replay waits for a second person. Nothing goes before.")


class Over(Exception):
    """The replay is over: it can be neither approved, paused, resumed nor cancelled."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        said = f"This replay is {replay.state} already. {replay.reason}".strip()
        super().__init__(_TOO_OLD if replay.state == Going.ASKED else said)


class NothingDead(Exception):
    """There is nothing to replay."""

    def __init__(self) -> None:
        super().__init__("No run of this group is dead any more. Nothing was begun.")


def begin(
    choice: Choice,
    *,
    by: User | None,
    note: str = "",
    per_minute: int = 60,
    try_first: bool = False,
) -> Replay:
    """A replay of the chosen dead runs, carried on by the beats from now on, or once a second
    person approves it. `try_first`: nothing more goes until the first one has succeeded. Raises
    Differs, NothingDead, AlreadyOpen, editing.Gone."""
    sample = choice.rows.select_related("job__team").defer("snapshot").first()
    if sample is None:
        choice.check(0)
        raise NothingDead
    if sample.job.deleted_at is not None:
        raise editing.Gone
    _forget_old_requests(choice.group)
    try:
        with transaction.atomic():
            replay = _created(choice, sample, by, note.strip(), per_minute, try_first)
            choice.check(_with_items(replay, choice))
            if wants_second(sample.job, replay.count):
                _set_asked(replay)
            counted = f"{replay.count} run{'' if replay.count == 1 else 's'}"
            _recorded("replay.begun", replay, sample.job, by, f"{counted}. {note}")
    except IntegrityError as error:
        raise _open_one(choice.group, error) from None
    log.info("replay.begun", **told(replay), runs=replay.count)
    return replay


def wants_second(job: Job, count: int) -> bool:
    """Whether so many runs of this job go again only when a second person approves."""
    return count > 1 and (job.critical or job.team.two_pairs_of_eyes)


def _set_asked(replay: Replay) -> None:
    replay.state, replay.reason = Going.ASKED, "Waits for a second person to approve it."
    replay.save(update_fields=["state", "reason"])


def _forget_old_requests(group: UUID) -> None:
    """What nobody approved in time is in nobody's way."""
    Replay.objects.filter(
        error_group=group, state=Going.ASKED, created_at__lt=Now() - decisions.SECOND_WITHIN
    ).update(state=Going.CANCELLED, reason=_TOO_OLD, finished_at=Now())


def _created(
    choice: Choice, sample: Run, by: User | None, note: str, per_minute: int, try_first: bool
) -> Replay:
    now = clock.now()
    return Replay.objects.create(
        job_id=sample.job_id,
        error_group=choice.group,
        said=error_groups.alike(sample.reason),
        by=by,
        note=note,
        per_minute=per_minute,
        trying=try_first,
        as_of=choice.as_of,
        created_at=now,
        next_at=now,
        count=0,
    )


def _with_items(replay: Replay, choice: Choice) -> int:
    """Write down which runs the replay has, in their order; how many."""
    run_ids = choice.rows.values_list("id", flat=True)[:MOST]
    items = [
        ReplayItem(replay=replay, run_id=run_id, place=place)
        for place, run_id in enumerate(run_ids, start=1)
    ]
    ReplayItem.objects.bulk_create(items, batch_size=2_000)
    replay.count = len(items)
    replay.save(update_fields=["count"])
    return replay.count


def _open_one(group: UUID, error: IntegrityError) -> Exception:
    """What the refusal of a second replay of a group means."""
    rows = Replay.objects.filter(error_group=group, state__in=NOT_OVER).select_related("by")
    there = rows.first()
    return AlreadyOpen(there) if there and "one_replay_of_a_group" in str(error) else error


# ── steered ──────────────────────────────────────────────────────────────────────────────


def pause(replay_id: UUID, *, by: User | None) -> Replay:
    """Nothing more goes until somebody resumes it. Raises Over."""
    return _steer(replay_id, "replay.paused", by, state=Going.PAUSED, reason=_by("Paused", by))


def resume(replay_id: UUID, *, by: User | None) -> Replay:
    """It goes on, whether or not the first one has succeeded. Raises Over."""
    changes: dict[str, Any] = {"state": Going.OPEN, "reason": "", "trying": False}
    return _steer(replay_id, "replay.resumed", by, **changes, next_at=Now())


def cancel(replay_id: UUID, *, by: User | None) -> Replay:
    """No more of its runs are sent again; those that were go on. Raises Over."""
    ended = {"state": Going.CANCELLED, "reason": _by("Cancelled", by), "finished_at": Now()}
    return _steer(replay_id, "replay.cancelled", by, **ended)


def approve(replay_id: UUID, *, by: User | None) -> Replay:
    """What the first person asked for is carried on from now on, by the second one's word. Raises
    NotYours, Over."""
    with transaction.atomic():
        replay = _locked(replay_id)
        if replay.state != Going.ASKED:
            return replay
        if replay.created_at < clock.now() - decisions.SECOND_WITHIN:
            raise Over(replay)
        if by is None or by.id == replay.by_id:
            raise NotYours(replay)
        changes = {"state": Going.OPEN, "second": by, "reason": "", "next_at": Now()}
        return _changed(replay, "replay.approved", by, changes)


def _steer(replay_id: UUID, event: str, by: User | None, **changes: Any) -> Replay:
    """Asked for twice, it is done once: whoever paused or resumed first is the one who is named."""
    with transaction.atomic():
        replay = _locked(replay_id)
        if replay.state == Going.ASKED and changes["state"] != Going.CANCELLED:
            raise NotApproved(replay)
        if replay.state == changes["state"]:
            return replay
        return _changed(replay, event, by, changes)


def _locked(replay_id: UUID) -> Replay:
    rows = Replay.objects.select_for_update(of=("self",)).select_related("by")
    replay = rows.get(id=replay_id)
    if replay.is_over:
        raise Over(replay)
    return replay


def _changed(replay: Replay, event: str, by: User | None, changes: dict[str, Any]) -> Replay:
    Replay.objects.filter(id=replay.id).update(**changes)
    replay.refresh_from_db()
    _recorded(event, replay, replay.job, by)
    log.info(event, **told(replay), by=by and by.get_username())
    return replay


def _recorded(event: str, replay: Replay, job: Job, by: User | None, reason: str = "") -> None:
    events.record(event, subjects.of_replay(replay, job), by=by, reason=reason.strip())


def told(replay: Replay) -> dict[str, str]:
    """How the log names it."""
    return {
        "replay": str(replay.id),
        "job": str(replay.job_id),
        "group": str(replay.error_group),
    }


def _by(done: str, by: User | None) -> str:
    return f"{done} by {by.get_username()}." if by else f"{done}."


def counts(replay: Replay) -> dict[str, int]:
    """How many of the runs that it has sent again are in each state by now."""
    rows = ReplayItem.objects.filter(replay=replay, result=Result.REPLAYED).order_by()
    found = dict(rows.values_list("run__state").annotate(items=Count("id")))
    return {state.value: found[state] for state in State if state in found}
