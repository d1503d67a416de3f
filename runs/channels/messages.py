"""What people are told: the kinds of messages and their words. PURE.

A message says what happened, what was not done, what to do, and where to look. It holds names,
moments and reasons; never a header, a payload or an answer, in which secrets may stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from jobs.schedules.instants import canonical_instant

MOST_LINES = 50  # messages that one mail spells out


class Kind(StrEnum):
    """What a message is about; the words of API and check boxes."""

    REVIEW = "review"
    ESCALATED = "escalated"
    DEAD = "dead"
    MISSED = "missed"
    DROPPED = "dropped"
    LATE = "late"
    AUDIT = "audit"
    OVERDUE = "overdue"
    UNSTARTED = "unstarted"
    GIVEN_UP = "given_up"
    SNAPSHOT = "snapshot"
    RESTORED = "restored"
    UNDELIVERED = "undelivered"
    TEST = "test"


OF_TEAM = (
    *(Kind.REVIEW, Kind.ESCALATED, Kind.DEAD, Kind.MISSED, Kind.DROPPED, Kind.LATE),
    Kind.AUDIT,
)
OF_INSTALLATION = (
    *(Kind.OVERDUE, Kind.UNSTARTED, Kind.GIVEN_UP, Kind.SNAPSHOT, Kind.RESTORED, Kind.AUDIT),
    Kind.UNDELIVERED,
)
ALL = tuple(dict.fromkeys((*OF_TEAM, *OF_INSTALLATION)))


@dataclass(frozen=True)
class Words:
    """`label`: beside a check box. `happened` takes `{what}`: runs or moments of which job."""

    label: str
    happened: str
    not_done: str
    to_do: str


WORDS: dict[Kind, Words] = {
    Kind.REVIEW: Words(
        "A run waits for a decision",
        "{what} cannot be settled without a person.",
        "It is not sent again by itself, and later moments may wait behind it.",
        "Look at the evidence, then decide: it happened, run it again, or close.",
    ),
    Kind.ESCALATED: Words(
        "A review was passed on",
        "The decision about {what} was passed on to you.",
        "Nothing is decided yet.",
        "Read the note and the evidence, then decide.",
    ),
    Kind.DEAD: Words(
        "A run is a dead letter",
        "{what} used up the attempts, or was refused for good.",
        "It is not attempted any more; an earlier attempt may have taken effect.",
        "Mend the cause, then replay under the same key, or discard with a reason.",
    ),
    Kind.MISSED: Words(
        "A moment was missed",
        "{what} passed without a run.",
        "Nothing was carried out for it.",
        "Decide in Review whether it is to run, or run it for its moment from the job's page.",
    ),
    Kind.DROPPED: Words(
        "A moment was not carried out (overlap, full queue, hold, too late)",
        "{what} is on record as skipped.",
        "It was not carried out, and will not be by itself.",
        "If it is needed after all, run it for its moment from the job's page.",
    ),
    Kind.LATE: Words(
        "A run has not started in time",
        "{what} was due and has not started.",
        "It has not begun; it still will when its turn comes.",
        "See whether a run before it, a review or a lack of workers holds it up.",
    ),
    Kind.AUDIT: Words(
        "The audit disagrees: what fired is not what was due",
        "The audit found what it cannot explain: {what}.",
        "Nothing was changed by the audit.",
        "Run `manage.py audit` and compare these moments with what their target has done.",
    ),
    Kind.OVERDUE: Words(
        "Nothing claims what is due",
        "What is due has lain unclaimed for a while.",
        "No run was written for it yet; none is lost.",
        "See whether the beats are at work: their logs, and /readyz.",
    ),
    Kind.UNSTARTED: Words(
        "Nobody starts what was sent",
        "Runs were sent long ago, and no worker starts them.",
        "They have not begun; they will when a worker takes them.",
        "See whether workers serve this queue, and whether they hang.",
    ),
    Kind.GIVEN_UP: Words(
        "A message ended every worker that took it",
        "The broker delivers it no more.",
        "Its run is not lost: it was settled when its worker fell silent, and waits or is decided.",
        "Look at the run and at the workers' logs: what it calls ends the process that calls it.",
    ),
    Kind.SNAPSHOT: Words(
        "A transaction stays open",
        "Vacuum cannot remove the dead rows of anything since it began.",
        "Nothing is late for it yet; the tables grow, and looks slow down.",
        "End it (pg_terminate_backend, rollback prepared), or let the dump finish.",
    ),
    Kind.RESTORED: Words(
        "The database seems to be restored from a copy",
        "The whole installation has put itself on hold.",
        "Nothing starts until a person ends the hold.",
        "Look at what is owed, choose for each job, then end the hold.",
    ),
    Kind.UNDELIVERED: Words(
        "A channel does not take its messages",
        "Messages could not be delivered, and were given up.",
        "Whoever hears this channel was not told.",
        "Mend the channel, and send a test. What was given up is listed on its page.",
    ),
    Kind.TEST: Words(
        "A test",
        "Somebody asked for a test of this channel.",
        "Nothing is wrong.",
        "Nothing is to be done.",
    ),
}


@dataclass(frozen=True)
class Message:
    """One thing to tell. `first` and `last`: the moments it is about. `id` names the event: a
    receiver that has seen it has seen this. `team` and `job` are empty for the installation."""

    id: str
    kind: Kind
    team: str = ""
    job: str = ""
    job_id: str = ""
    run_id: str = ""
    count: int = 1
    first: datetime | None = None
    last: datetime | None = None
    reason: str = ""

    @property
    def title(self) -> str:
        """One line."""
        about = f"{self.team}/{self.job}" if self.job else self.team
        many = f" ({self.count} times)" if self.count > 1 else ""
        return f"{WORDS[self.kind].label}{f': {about}' if about else ''}{many}"

    @property
    def happened(self) -> str:
        """What happened, with the moments and the reason."""
        said = WORDS[self.kind].happened.format(what=self._what())
        return f"{said[:1].upper()}{said[1:]} {self.reason}".strip()

    def _what(self) -> str:
        noun = "moment" if self.kind in (Kind.MISSED, Kind.DROPPED, Kind.AUDIT) else "run"
        what = f"a {noun}" if self.count == 1 else f"{self.count} {noun}s"
        return f"{what} of {self.job}{self._when()}" if self.job else what

    def _when(self) -> str:
        if self.first is None:
            return ""
        first = canonical_instant(self.first)
        if self.last is None or self.last == self.first:
            return f" ({first})"
        return f" ({first} to {canonical_instant(self.last)})"

    @property
    def path(self) -> str:
        """Where to look, below the installation's address."""
        if self.run_id and self.count == 1:
            return f"/runs/{self.run_id}/"
        if self.kind in (Kind.REVIEW, Kind.ESCALATED):
            return "/review/"
        if self.kind is Kind.DEAD:
            return "/dead-letters/"
        if self.job_id:
            return f"/jobs/{self.job_id}/"
        return {Kind.RESTORED: "/holds/", Kind.UNDELIVERED: "/channels/"}.get(self.kind, "/")


def subject(messages: Sequence[Message]) -> str:
    """The subject of a mail about these: one line, at most 150 characters."""
    if len(messages) == 1:
        return _line(messages[0].title)
    kinds = dict.fromkeys(WORDS[message.kind].label for message in messages)
    return _line(f"{len(messages)} messages: {'; '.join(kinds)}")


def text(messages: Sequence[Message], base: str) -> str:
    """The body of a mail. `base`: the installation's address, or empty where it is not known."""
    told = [_paragraph(message, base) for message in messages[:MOST_LINES]]
    if len(messages) > MOST_LINES:
        told.append(f"And {len(messages) - MOST_LINES} more, on the pages of Onebeat.")
    return "\n\n".join(told) + "\n"


def body(messages: Sequence[Message], base: str, *, id: str, at: datetime) -> dict[str, Any]:
    """The body of a webhook: the same, for a program."""
    return {
        "type": "onebeat.messages",
        "id": id,
        "timestamp": canonical_instant(at),
        "subject": subject(messages),
        "messages": [_shape(message, base) for message in messages],
    }


def _paragraph(message: Message, base: str) -> str:
    words = WORDS[message.kind]
    return "\n".join(
        (
            message.title,
            f"What happened: {message.happened}",
            f"What was not done: {words.not_done}",
            f"What to do: {words.to_do}",
            f"{base}{message.path}",
        )
    )


def _shape(message: Message, base: str) -> dict[str, Any]:
    words = WORDS[message.kind]
    return {
        "id": message.id,
        "kind": str(message.kind),
        "team": message.team or None,
        "job": message.job_id or None,
        "job_name": message.job or None,
        "run": message.run_id or None,
        "count": message.count,
        "first": canonical_instant(message.first) if message.first else None,
        "last": canonical_instant(message.last) if message.last else None,
        "title": message.title,
        "happened": message.happened,
        "not_done": words.not_done,
        "to_do": words.to_do,
        "link": f"{base}{message.path}",
    }


def _line(text: str) -> str:
    one = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return one if len(one) <= 150 else f"{one[:149]}…"
