"""States on the page: glyph, word and colour, in this order of importance."""

from __future__ import annotations

from datetime import timedelta

from django import template

from runs import at_rest, decisions, last_attempt, standstill
from runs.decisions import DECIDED
from runs.models import Decision, Run
from runs.standstill import Standstill
from runs.states import State

register = template.Library()
_MOST = 99  # a count in the rail never reads more rows than that

WORDS = {
    State.WAITING: "Waiting",
    State.CLAIMED: "Claimed",
    State.ENQUEUED: "Enqueued",
    State.RUNNING: "Running",
    State.RETRYING: "Retrying",
    State.SUCCEEDED: "Succeeded",
    State.DEAD: "Dead letter",
    State.REVIEW: "Needs review",
    State.CLOSED: "Closed",
    State.SKIPPED: "Skipped",
    State.CANCELLED: "Cancelled",
}


@register.inclusion_tag("runs/_state.html")
def state(name: str) -> dict[str, str]:
    """The state's glyph and word. The glyphs stand in base.html, once a page."""
    return {"glyph": name.lower(), "word": WORDS[State(name)]}


@register.filter
def state_word(name: str) -> str:
    return WORDS[State(name)]


@register.filter
def said(run: Run) -> str:
    """The reason of a run; of one under way it is of the attempt before, and says so."""
    if run.state not in (State.CLAIMED, State.ENQUEUED, State.RUNNING):
        return run.reason
    before = run.attempt - (run.state == State.RUNNING)
    is_old = before > 0 and run.reason and not run.reason.startswith(DECIDED)
    return f"last attempt: {run.reason}" if is_old else run.reason


@register.filter
def took(run: Run) -> timedelta | None:
    """How long its last attempt took, however it ended; None before it has."""
    return last_attempt.length(run)


@register.filter
def began_after(run: Run) -> timedelta | None:
    """From its moment to its start; None where it had none, or was started more than once."""
    if run.due_at is None or run.started_at is None or run.attempt != 1:
        return None
    return max(timedelta(), run.started_at - run.due_at)


@register.filter
def decided(decision: Decision) -> str:
    """What a person decided, in words."""
    return decisions.said(decision)


@register.simple_tag
def resting(user_id: int | None) -> dict[str, str]:
    """How many runs of this person's teams rest in each state that waits for a person; empty for
    none."""
    found = at_rest.counts(user_id, _MOST + 1)
    return {state.value: _up_to_most(count) for state, count in found.items()}


@register.simple_tag
def standing_still() -> Standstill | None:
    """What of the installation stands still; None: nothing."""
    return standstill.look()


@register.filter
def counts_tag(rest: dict[str, str], still: Standstill | None) -> str:
    """Tells what the head and the rail of a page say from what they said."""
    return "/".join((*rest.values(), still.tag if still else ""))


def _up_to_most(count: int) -> str:
    return "" if not count else f"{_MOST}+" if count > _MOST else str(count)
