"""What is right after a strike at each point: the crash matrix as data.

I: the job may be repeated, N: it may not. Rows of one point are told apart by the action, `*` for
every one that is not named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from runs.faults import Action


@dataclass(frozen=True)
class Right:
    """How a run may end. `attempts` that it took; `acted`: effects at a target that honours the
    key; `late`: an outcome came after the run had been taken away, and is kept as evidence."""

    state: str = "SUCCEEDED"
    attempts: frozenset[int] = frozenset({1})
    acted: frozenset[int] = frozenset({1})
    review_class: str = ""
    late: bool = False


@dataclass(frozen=True)
class Case:
    """One strike and what is right after it. `who`: the process that is struck."""

    number: str
    point: str
    action: Action
    idempotent: bool
    right: Right
    who: str

    @property
    def name(self) -> str:
        """As the test's."""
        return f"{self.number}-{self.point}-{self.action}-{'I' if self.idempotent else 'N'}"


ONCE = Right()
AGAIN = Right(attempts=frozenset({2}))
# Where the target was at it when the second attempt came, it is asked once more.
AGAIN_WITH_THE_KEY = Right(attempts=frozenset({2, 3}))
LATE = Right(attempts=frozenset({2, 3}), late=True)
NOT_SENT = Right("REVIEW", acted=frozenset({0}), review_class="not sent")
ONLY_INTENDED = Right("REVIEW", acted=frozenset({0}), review_class="unknown")
# Who stood still past its lease begins nothing, and says so: evidence for whoever decides.
STOPPED = Right(attempts=frozenset({2}), late=True)
STOPPED_REVIEW = Right("REVIEW", acted=frozenset({0}), review_class="unknown", late=True)
UNKNOWN = Right("REVIEW", acted=frozenset({0, 1}), review_class="unknown")
DONE_BUT_UNHEARD = Right("REVIEW", review_class="unknown")
LATE_REVIEW = Right("REVIEW", review_class="unknown", late=True)

_STOOD_STILL = (STOPPED, STOPPED_REVIEW)

Rows = Mapping[str, Right | tuple[Right, Right]]  # by action: for both kinds, or (I, N)

_IN_A_BEAT = (Action.KILL, Action.EXCEPTION, Action.HANG, Action.DATABASE)
_SENDING = (*_IN_A_BEAT, Action.BROKER)
_IN_A_WORKER = _IN_A_BEAT

# point → its number, who passes it, the actions that apply, what is right
POINTS: Mapping[str, tuple[str, str, tuple[Action, ...], Rows]] = {
    "claim.selected": ("C01", "beat", _IN_A_BEAT, {"*": ONCE}),
    "claim.before_commit": ("C02", "beat", _IN_A_BEAT, {"*": ONCE}),
    "claim.commit_unknown": ("C03", "beat", _IN_A_BEAT, {"*": ONCE}),
    "claim.after_commit": ("C04", "beat", _IN_A_BEAT, {"*": ONCE}),
    "send.no_confirm": ("C05", "beat", _SENDING, {"*": ONCE}),
    "send.before_mark": ("C06", "beat", _SENDING, {"*": ONCE}),
    "send.midway": ("C07", "beat", _SENDING, {"*": ONCE}),
    "send.unroutable": ("C08", "beat", _SENDING, {"*": ONCE}),
    "rescue.before_mark": ("C09", "beat", _SENDING, {"*": ONCE}),
    "work.received": ("C10", "worker", _IN_A_WORKER, {"*": ONCE}),
    "start.commit_unknown": ("C11", "worker", _IN_A_WORKER, {"database": ONCE, "*": AGAIN}),
    "start.after_commit": ("C12", "worker", _IN_A_WORKER, {"*": AGAIN}),
    "prepare.failed": (
        *("C13", "worker", _IN_A_WORKER),
        {"exception": (AGAIN, NOT_SENT), "*": AGAIN},
    ),
    "intent.commit_unknown": (
        *("C14", "worker", _IN_A_WORKER),
        {"database": ONCE, "exception": AGAIN, "hang": _STOOD_STILL, "*": (AGAIN, ONLY_INTENDED)},
    ),
    "intent.after_commit": (
        *("C15", "worker", _IN_A_WORKER),
        {"hang": _STOOD_STILL, "*": (AGAIN, ONLY_INTENDED)},
    ),
    "effect.midway": (
        *("C16", "worker", _IN_A_WORKER),
        {"hang": (LATE, LATE_REVIEW), "*": (AGAIN_WITH_THE_KEY, UNKNOWN)},
    ),
    "effect.answered": (
        *("C17", "worker", _IN_A_WORKER),
        {"hang": (LATE, LATE_REVIEW), "*": (AGAIN, DONE_BUT_UNHEARD)},
    ),
    "result.commit_unknown": ("C18", "worker", _IN_A_WORKER, {"*": ONCE}),
    "result.after_commit": ("C19", "worker", _IN_A_WORKER, {"*": ONCE}),
    "ack.lost": ("C20", "worker", _IN_A_WORKER, {"*": ONCE}),
    # The target acts and drops the line, so that a first retry is written.
    "retry.after_commit": ("C25", "worker", _IN_A_WORKER, {"*": AGAIN}),
}
ONLY_OF_THE_IDEMPOTENT = {"retry.after_commit"}


def cases() -> Iterator[Case]:
    """Every point, every action that applies, both kinds of job."""
    for point, (number, who, actions, rows) in POINTS.items():
        for action in actions:
            for idempotent in (True,) if point in ONLY_OF_THE_IDEMPOTENT else (True, False):
                found = rows.get(action, rows["*"])
                right = found if isinstance(found, Right) else found[0 if idempotent else 1]
                yield Case(number, point, action, idempotent, right, who)
