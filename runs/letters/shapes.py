"""Groups of dead letters and their replays as the API shows them."""

from __future__ import annotations

from typing import Any

from jobs.api_shapes import instant
from runs.letters import batch
from runs.letters.groups import Group, Preview
from runs.models import Replay, ReplayItem


def of_group(found: Group) -> dict[str, Any]:
    """A group; `cause_gone_at` is when a run of the job succeeded after the last of it died."""
    return {
        "id": str(found.id),
        "job": str(found.job.id),
        "team": found.job.team.slug,
        "error": found.said,
        "count": found.count,
        "first_at": instant(found.first_at),
        "last_at": instant(found.last_at),
        "oldest_due_at": instant(found.oldest_due_at),
        "sample": {"run": found.run_id and str(found.run_id), "reason": found.reason},
        "cause_gone_at": instant(found.succeeded_at),
    }


def of_preview(found: Preview, per_minute: int) -> dict[str, Any]:
    """What a replay would do: `expected` and `as_of` are to be sent with it. `seconds`: how long
    it takes at this pace."""
    oldest = (found.first.due_at or found.first.created_at) if found.first else None
    return {
        "expected": found.count,
        "as_of": instant(found.choice.as_of),
        "more": found.more,
        "oldest_due_at": instant(oldest),
        "first": found.first and str(found.first.id),
        "per_minute": per_minute,
        "seconds": found.seconds(per_minute),
    }


def of_replay(found: Replay) -> dict[str, Any]:
    """A replay and how far it has come; `runs` counts those it has sent again by their state."""
    return {
        "id": str(found.id),
        "job": str(found.job_id),
        "group": str(found.error_group),
        "error": found.said,
        "note": found.note,
        "per_minute": found.per_minute,
        "trying": found.trying,
        "state": found.state,
        "reason": found.reason,
        "count": found.count,
        "replayed": found.replayed,
        "passed_over": found.passed,
        "left": found.left,
        "runs": batch.counts(found),
        "by": found.by.get_username() if found.by else None,
        "approved_by": found.second.get_username() if found.second else None,
        "as_of": instant(found.as_of),
        "created_at": instant(found.created_at),
        "finished_at": instant(found.finished_at),
    }


def of_item(found: ReplayItem) -> dict[str, Any]:
    """What became of one run of a replay; `state` is the run's by now."""
    return {
        "place": found.place,
        "run": str(found.run_id),
        "due_at": instant(found.run.due_at),
        "result": found.result,
        "reason": found.reason,
        "at": instant(found.at),
        "state": found.run.state,
        "attempt": found.run.attempt,
    }
