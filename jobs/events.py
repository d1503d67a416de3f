"""Who did what: every act of a person, or of the system on a person's things, is written down
here, in the transaction that does it. What is rolled back leaves no row.

From where it came is known by `whence`; who reads it, by `AuditEvent.objects.where`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models.functions import Now

from jobs import version_lines, whence
from jobs.models import AuditEvent, Calendar, Hold, Job, MaintenanceWindow, Team, Token, User
from jobs.models.audit_event import NAME_LENGTH

LONGEST = 2_000  # characters of a side of a line; the versions of a job have the whole

Changes = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True)
class Subject:
    """What an act is about. `team_id` None: of no team, and everybody's to read if `shared`."""

    kind: str
    id: object
    name: str
    team_id: UUID | None = None
    job_id: UUID | None = None
    run_id: UUID | None = None
    shared: bool = False


def of_job(job: Job) -> Subject:
    """A job."""
    return Subject("job", job.id, job.name, job.team_id, job_id=job.id)


def of_hold(hold: Hold) -> Subject:
    """A hold; that of the installation is everybody's."""
    return Subject("hold", hold.id, hold.scope, hold.team_id, shared=hold.team_id is None)


def of_window(window: MaintenanceWindow) -> Subject:
    """A maintenance window; that of the installation is everybody's."""
    whole = window.team_id is None
    return Subject("window", window.id, window.scope, window.team_id, shared=whole)


def of_calendar(calendar: Calendar) -> Subject:
    """A calendar, which is everybody's."""
    return Subject("calendar", calendar.name, calendar.name, shared=True)


def of_token(token: Token) -> Subject:
    """A token, by the part of it that may be known."""
    return Subject("token", token.id, f"{token.prefix}… ({token.name})", token.team_id)


def of_person(user: User) -> Subject:
    """A person: theirs to read, and the platform's staff's."""
    return Subject("user", user.pk, user.get_username())


def of_team(team: Team) -> Subject:
    """A team."""
    return Subject("team", team.id, team.slug, team.id)


def record(
    verb: str,
    subject: Subject,
    *,
    by: User | None,
    reason: str = "",
    changes: Changes | None = None,
) -> None:
    """Write an act down: `verb` as `job.paused`, `changes` as `{"timeout": {"from": 300, "to":
    60}}`. `by` None: the system itself. To be called in the transaction of the act."""
    _row(verb, subject, by, reason, changes).save(force_insert=True)


def record_each(
    verb: str, subjects: Iterable[Subject], *, by: User | None, reason: str = ""
) -> None:
    """The same of many things at once, in one statement a thousand."""
    rows = [_row(verb, subject, by, reason, None) for subject in subjects]
    AuditEvent.objects.bulk_create(rows, batch_size=1_000)


def differences(before: Mapping[str, object], after: Mapping[str, object]) -> Changes:
    """What differs between two shapes of a thing."""
    return {
        part: {"from": before.get(part), "to": after.get(part)}
        for part in dict.fromkeys([*before, *after])
        if before.get(part) != after.get(part)
    }


def _row(
    verb: str, subject: Subject, by: User | None, reason: str, changes: Changes | None
) -> AuditEvent:
    here = whence.here()
    return AuditEvent(
        at=Now(),
        team_id=subject.team_id,
        shared=subject.shared,
        by_id=by.pk if by else None,
        who=by.get_username() if by else "",
        verb=verb,
        kind=subject.kind,
        object_id=str(subject.id),
        name=_cut(subject.name, NAME_LENGTH),
        job_id=subject.job_id,
        run_id=subject.run_id,
        lines=[_line(line) for line in version_lines.lines(changes or {})],
        reason=reason,
        door=here.door,
        address=here.address,
        token=here.token,
        request_id=here.request_id,
    )


def _line(line: version_lines.Line) -> dict[str, Any]:
    return {"part": line.path, "from": _cut(line.before), "to": _cut(line.after)}


def _cut(text: Any, most: int = LONGEST) -> Any:
    return text if text is None or len(text) <= most else f"{text[: most - 1]}…"
