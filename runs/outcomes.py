"""What an attempt reports, and what each answer of an HTTP target means. PURE.

What state an outcome becomes is decided in `runs/settle.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from http import HTTPStatus

from runs import evidence

LONGEST_WAIT = 1e9


class Kind(StrEnum):
    """How an attempt ended."""

    SUCCEEDED = "succeeded"
    NOT_SENT = "not sent"
    REFUSED = "refused"
    FAILED = "failed"
    UNKNOWN = "unknown"
    LATER = "later"
    ACCEPTED = "accepted"  # no ending: the target will report by itself
    LOST = "lost"
    STOPPED = "stopped"


class Effect(StrEnum):
    """Whether the intended effect took place."""

    NONE = "none"
    MAYBE = "maybe"
    DONE = "done"


@dataclass(frozen=True)
class Outcome:
    """What is known at the end of an attempt.

    `reason` is one sentence for people, `answer` JSON that is capped, masked and printable,
    `retry_after` seconds that the target asked to wait, `pause_job` a target gone for good.
    """

    kind: Kind
    effect: Effect
    reason: str
    status: int | None = None
    answer: dict[str, object] = field(default_factory=dict)
    retry_after: float | None = None
    pause_job: bool = False


def not_sent(reason: str) -> Outcome:
    """It is known that nothing reached the target: DNS, connect, TLS, refused by us."""
    return Outcome(Kind.NOT_SENT, Effect.NONE, evidence.sentence(reason))


def unknown(
    reason: str, *, status: int | None = None, answer: dict[str, object] | None = None
) -> Outcome:
    """Something was sent and no whole answer came. `status` if at least that much was read."""
    text = evidence.sentence(reason)
    return Outcome(Kind.UNKNOWN, Effect.MAYBE, text, status=status, answer=answer or {})


def of_answer(
    status: int,
    headers: Mapping[str, str],
    body_excerpt: bytes,
    *,
    key: str,
    now: datetime,
    refusal_codes: Collection[int] = (),
    by_callback: bool = False,
    unfollowed: str = "",
    truncated: bool = False,
    secrets: Collection[str] = (),
) -> Outcome:
    """What an HTTP answer means. `now` (aware) reads a Retry-After that is a date;
    `refusal_codes` are the statuses by which this job's target says that nothing was done;
    `by_callback`: whether it may report later, by a call of its own; `unfollowed`: why a
    redirect was not followed, where they are; `secrets` are cut from the
    answer that is kept.

    | answer | kind | effect |
    |---|---|---|
    | 202, and it may report | accepted | maybe |
    | other 2xx | succeeded | done |
    | a refusal code of the job's | refused | none |
    | 409 that echoes our key | later | maybe: it is at work there |
    | 429 | failed, waits as Retry-After says | none: turned away at the door |
    | 408, 425, other 409, 5xx, 3xx | failed | maybe |
    | 410 | refused, the job pauses | none |
    | other 4xx | refused | none |
    """
    lower = {name.lower(): value for name, value in headers.items()}
    if by_callback and status == HTTPStatus.ACCEPTED:
        kind, effect = Kind.ACCEPTED, Effect.MAYBE
    else:
        kind, effect = _meaning(status, lower, key, refusal_codes)
    return Outcome(
        kind,
        effect,
        _reason(status, kind, unfollowed),
        status=status,
        answer=evidence.of_response(status, lower, body_excerpt, truncated, secrets),
        retry_after=_retry_after(lower, now) if kind in (Kind.FAILED, Kind.LATER) else None,
        pause_job=status == HTTPStatus.GONE and kind is Kind.REFUSED,
    )


def _meaning(
    status: int, headers: Mapping[str, str], key: str, refusal_codes: Collection[int]
) -> tuple[Kind, Effect]:
    match status:
        case _ if 200 <= status <= 299:
            return Kind.SUCCEEDED, Effect.DONE
        case _ if status in refusal_codes:
            return Kind.REFUSED, Effect.NONE
        case 409 if headers.get("idempotency-key") == key:
            return Kind.LATER, Effect.MAYBE
        case 429:
            return Kind.FAILED, Effect.NONE
        case 408 | 409 | 425:
            return Kind.FAILED, Effect.MAYBE
        case _ if 400 <= status <= 499:
            return Kind.REFUSED, Effect.NONE
        case _:
            return Kind.FAILED, Effect.MAYBE


def _reason(status: int, kind: Kind, unfollowed: str = "") -> str:
    answered = f"The target answered {_named(status)}"
    match kind, status:
        case Kind.LATER, _:
            return f"{answered} with our key: it is still at work on this run."
        case Kind.ACCEPTED, _:
            return f"{answered}: it will report by itself."
        case Kind.REFUSED, 410:
            return f"{answered}: it is gone for good."
        case Kind.REFUSED, 422:
            return f"{answered}: it refuses this key with this payload."
        case Kind.REFUSED, _:
            return f"{answered}: it refused the call."
        case _, _ if 300 <= status <= 399:
            return f"{answered}: {unfollowed or 'redirects are not followed'}."
        case _:
            return f"{answered}."


def _named(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds from `now`, never negative; None where the header is missing or unreadable."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:20]), LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max(0.0, (aware - now).total_seconds()), LONGEST_WAIT)
