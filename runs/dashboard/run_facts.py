"""What the page of a run shows beside its story: its attempts as a picture, its neighbours, how
often it failed alike since, and which acts its state allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from jobs import traces
from jobs.models import AuditEvent
from runs import story
from runs.ages import lasted
from runs.dashboard import pictures
from runs.dashboard.job import activity
from runs.dashboard.job.durations import Usual
from runs.dashboard.pictures import Gantt, Span
from runs.models import Attempt, Run
from runs.states import TAKEN_BACK_FROM, Origin, State

MOST_SEEN = 99  # counted; beyond it the page says «more than»
WIDTH, ROW = 720.0, 22.0


@dataclass(frozen=True)
class RunFacts:
    """All of it."""

    neighbours: Neighbours
    seen_since: int | None
    gantt: Gantt | None
    took: Took | None
    asked_by: str
    changes: AuditEvent | None
    trace: Trace
    not_offered: list[tuple[str, str]]

    @property
    def seen(self) -> list[object]:
        """What of it may change while the run itself does not."""
        beside = self.neighbours
        return [
            beside.before and beside.before.id,
            beside.after and beside.after.id,
            self.seen_since,
        ]


def of(run: Run, attempts: Sequence[Attempt], now: datetime, *, may_act: bool) -> RunFacts:
    """Of one run, with its attempts, oldest first."""
    return RunFacts(
        neighbours(run),
        seen_since(run),
        gantt(attempts, now),
        took(run, attempts),
        story.asker(run),
        changes(run),
        trace(run),
        not_offered(run, may_act=may_act),
    )


@dataclass(frozen=True)
class Neighbours:
    """The runs of the job born before and after this one."""

    before: Run | None
    after: Run | None


def neighbours(run: Run) -> Neighbours:
    """By `runs_of_a_job`, one row each way."""
    rows = Run.objects.filter(job_id=run.job_id).only("id", "state", "due_at", "created_at")
    before = rows.filter(id__lt=run.id).order_by("-id").first()
    return Neighbours(before, rows.filter(id__gt=run.id).order_by("id").first())


def seen_since(run: Run) -> int | None:
    """How many later runs of the job died last for the same reason, MOST_SEEN + 1 at most; None
    where this one belongs to no group."""
    if run.error_group is None:
        return None
    alike = Run.objects.filter(error_group=run.error_group, state__in=list(State))
    return alike.filter(id__gt=run.id).order_by()[: MOST_SEEN + 1].count()


def gantt(attempts: Sequence[Attempt], now: datetime) -> Gantt | None:
    """The attempts on one line of time; one under way reaches to now. None without any."""
    if not attempts:
        return None
    spans = [
        Span(
            attempt.started_at.timestamp(),
            (attempt.ended_at or max(now, attempt.started_at)).timestamp(),
            (attempt.outcome or "running").replace(" ", "_"),
            attempt.intent_at.timestamp() if attempt.intent_at else None,
        )
        for attempt in attempts
    ]
    return pictures.gantt(spans, width=WIDTH, row=ROW)


@dataclass(frozen=True)
class Took:
    """How long its last attempt took, in seconds, against what is usual of its job."""

    seconds: float
    usual: Usual | None

    @property
    def is_slow(self) -> bool:
        """Whether that is longer than usual."""
        return self.usual is not None and self.usual.is_slow(self.seconds)


def took(run: Run, attempts: Sequence[Attempt]) -> Took | None:
    """Of a run whose last attempt has ended."""
    last = attempts[-1] if attempts else None
    length = lasted(last.started_at, last.ended_at) if last else None
    return None if length is None else Took(length.total_seconds(), activity.usual_of(run.job))


def changes(run: Run) -> AuditEvent | None:
    """The record of what a run by hand calls otherwise than its job; None: of none."""
    if run.origin != Origin.HAND:
        return None
    rows = AuditEvent.objects.filter(run_id=run.id, verb="run.by_hand").exclude(reason="")
    return rows.order_by("id").first()


@dataclass(frozen=True)
class Trace:
    """The trace that the calls of a run belong to; `url` is empty where nobody said where traces
    are looked at."""

    id: str
    url: str


def trace(run: Run) -> Trace:
    """That of this run."""
    id = traces.trace_id(run.id)
    return Trace(id, settings.TRACE_URL.replace("{trace}", id))


def not_offered(run: Run, *, may_act: bool) -> list[tuple[str, str]]:
    """The acts that this run does not offer now, each with the reason."""
    if not may_act:
        return [("Every act", f"An operator of {run.job.team.name} may.")]
    state = State(run.state)
    found = []
    if state is not State.REVIEW:
        found.append(("Decide", _UNDECIDED.get(state, "It does not wait for a decision.")))
    if state is not State.DEAD:
        safe = "It is not safe to repeat: what fails goes to Review." if not run.idempotent else ""
        found.append(("Replay or discard", safe or "It is no dead letter."))
    if state not in TAKEN_BACK_FROM:
        found.append(("Cancel", _NOT_CANCELLED.get(state, "It has ended.")))
    if state is not State.RUNNING:
        found.append(("Ask to stop", "It is not running."))
    elif run.stop_asked_at is not None:
        found.append(("Ask to stop", "It was asked already."))
    return found


_UNDECIDED = {
    State.DEAD: "It is safe to repeat: replay it or discard it.",
    State.RETRYING: "It is tried again by itself.",
}
_NOT_CANCELLED = {
    State.RUNNING: "It has started: ask it to stop.",
    State.DEAD: "It rests: replay it or discard it.",
    State.REVIEW: "It rests: decide it.",
}
