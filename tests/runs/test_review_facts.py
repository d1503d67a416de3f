"""What the evidence of an attempt tells: how far it came, and until when it may be under way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from runs.outcomes import Kind
from runs.review import facts
from runs.review.facts import Phase, Seen, Tried

START = datetime(2026, 11, 29, 18, tzinfo=UTC)
TIMEOUT = 30.0


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def tried(outcome: Kind, *, begun: bool = True, ended: float = 2, **more: Any) -> Tried:
    lease, answer = more.get("lease"), more.get("answer", {})
    return Tried(
        outcome=outcome,
        started_at=START,
        intent_at=after(1) if begun else None,
        ended_at=after(ended),
        lease_until=after(lease) if lease else None,
        answer=answer,
    )


BROKEN = {"phase": "waiting", "bytes_sent": 412}


@pytest.mark.parametrize(
    ("attempt", "phase", "sent"),
    [
        (tried(Kind.NOT_SENT, begun=False), Phase.PREPARING, 0),
        (tried(Kind.LOST, begun=False), Phase.PREPARING, 0),
        (tried(Kind.NOT_SENT), Phase.PREPARING, 0),
        (tried(Kind.LOST), Phase.BEGUN, None),
        (tried(Kind.UNKNOWN, answer={"phase": "sending", "bytes_sent": 7}), Phase.SENDING, 7),
        (tried(Kind.UNKNOWN, answer=BROKEN), Phase.SENT, 412),
        (tried(Kind.UNKNOWN, answer={"phase": "reading", "bytes_sent": 9}), Phase.ANSWERING, 9),
        (tried(Kind.UNKNOWN, answer={"phase": 7, "bytes_sent": "x"}), Phase.BEGUN, None),
        (tried(Kind.UNKNOWN, answer={"status": 202}), Phase.ANSWERED, None),
        (tried(Kind.FAILED, answer={"status": 500}), Phase.ANSWERED, None),
        (tried(Kind.REFUSED), Phase.ANSWERED, None),
    ],
)
def test_how_far_it_came(attempt: Tried, phase: Phase, sent: int | None) -> None:
    assert facts.phase(attempt) is phase
    assert facts.bytes_sent(attempt) == sent
    assert facts.PHASE_WORDS[phase]


@pytest.mark.parametrize(
    ("attempt", "until"),
    [
        (tried(Kind.NOT_SENT, begun=False), None),
        (tried(Kind.LOST, begun=False, lease=40), None),
        (tried(Kind.REFUSED), None),
        (tried(Kind.FAILED, answer={"status": 500}), after(2)),
        (tried(Kind.FAILED, answer={"status": 504}), after(30)),
        (tried(Kind.UNKNOWN, answer=BROKEN), after(30)),
        (tried(Kind.UNKNOWN, ended=35), after(35)),
        (tried(Kind.LOST), after(30)),
        (tried(Kind.LOST, lease=40), after(40)),
        (tried(Kind.LATER), after(30)),
        (tried(Kind.STOPPED), after(30)),
    ],
)
def test_until_when_its_effect_could_be_under_way(attempt: Tried, until: datetime | None) -> None:
    assert facts.under_way_until(attempt, TIMEOUT) == until


DOUBT = "Whether the target acted."


@pytest.mark.parametrize(
    ("seen", "asked"),
    [
        (Seen("", Phase.PREPARING, False, None, False), []),
        (Seen("", None, False, "", False), []),
        (
            Seen(DOUBT, Phase.BEGUN, True, None, False),
            [
                DOUBT,
                "How much",
                "Whether the call",
                "What the target itself",
                "Whether this target",
            ],
        ),
        (Seen(DOUBT, Phase.ANSWERING, False, "", True), [DOUBT, "What the rest", "What the probe"]),
        (Seen(DOUBT, Phase.SENT, False, "cannot_tell", True), [DOUBT, "What the target itself"]),
        (Seen(DOUBT, Phase.SENT, False, "happened", True), [DOUBT]),
        (Seen("", Phase.ANSWERED, True, None, False), ["Whether the call is still"]),
    ],
)
def test_what_nobody_knows(seen: Seen, asked: list[str]) -> None:
    found = facts.open_questions(seen)
    assert len(found) == len(asked)
    assert all(said.startswith(begins) for said, begins in zip(found, asked, strict=True))
