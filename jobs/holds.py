"""Hold a team, or the whole installation: what is due waits, nothing starts, until it ends.

A start takes `LOCK` shared, who begins or ends a hold takes it alone. So a start lies before
the beginning of a hold or finds it; none falls into the same instant.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.db.models import F, Q

from jobs import clock, events, prepared
from jobs.models import Hold, Team, User
from jobs.models.hold import BY_POLICY, REASON_LENGTH
from jobs.prose import ended

LOCK = 7_017_280_570_803_617  # any number that no other advisory lock has
_PATIENCE = "15s"  # to wait for starts under way, which may wait for a broker themselves

log = structlog.get_logger("onebeat.hold")


class HoldError(Exception):
    """What is wrong with a hold that somebody asks for, with the field."""

    def __init__(self, field: str, message: str, hint: str = "") -> None:
        super().__init__(f"{message} {hint}".strip())
        self.field, self.message, self.hint = field, message, hint


class HeldAlready(Exception):
    """A hold of the same scope is on: `hold`."""

    def __init__(self, hold: Hold) -> None:
        super().__init__(
            f"A hold of {hold.scope} is on already: {ended(hold.reason)} End that one first."
        )
        self.hold = hold


class Over(Exception):
    """The hold has ended already."""

    def __init__(self, hold: Hold) -> None:
        who = f" {hold.ended_by.get_username()} ended it." if hold.ended_by else ""
        super().__init__(f"This hold is over.{who}")
        self.hold = hold


def begin(
    team: Team | None, reason: str, *, by: User | None, until: datetime | None = None
) -> Hold:
    """A hold of the team, or of the whole installation (None); once this returns, no run of it
    starts any more. Raises HoldError, HeldAlready."""
    reason = required(reason)
    with transaction.atomic():
        alone()
        now = clock.now()
        if until is not None and until <= now:
            raise HoldError("until", "is not in the future.", "Choose a later instant.")
        _end_due(now)
        if there := Hold.objects.filter(team=team, ended_at=None).first():
            raise HeldAlready(there)
        hold = Hold.objects.create(team=team, reason=reason, by=by, began_at=now, until=until)
        events.record("hold.began", events.of_hold(hold), by=by, reason=reason)
    log.warning("hold.began", **_told(hold), reason=reason, by=_who(by))
    return hold


def enlarge(hold: Hold, reason: str) -> None:
    """One more reason for a hold that is on; it then ends by a person alone."""
    both = f"{ended(reason)} Also: {hold.reason}"[:REASON_LENGTH]
    with transaction.atomic():
        Hold.objects.filter(id=hold.id, ended_at=None).update(reason=both, until=None)
        events.record("hold.enlarged", events.of_hold(hold), by=None, reason=reason)
    log.warning("hold.enlarged", **_told(hold), reason=reason)


def lengthen(hold: Hold, until: datetime) -> None:
    """A hold that is on lasts until then at least; one without an end stays so. For who is
    `alone`."""
    Hold.objects.filter(id=hold.id, ended_at=None, until__lt=until).update(until=until)
    log.warning("hold.lengthened", **_told(hold), until=str(until))


def end(
    hold_id: UUID,
    *,
    by: User | None,
    choices: Mapping[UUID, str] | None = None,
    others: str = BY_POLICY,
) -> Hold:
    """The hold ended. Its moments then go job by job: as `choices` says (policy, fire or drop),
    those of jobs that it does not name as `others` says. Raises Over, Hold.DoesNotExist."""
    with transaction.atomic():
        alone()
        hold = Hold.objects.select_related("team", "ended_by").get(id=hold_id)
        if hold.ended_at is not None:
            raise Over(hold)
        hold.ended_at, hold.ended_by = clock.now(), by
        hold.choices = {str(job_id): choice for job_id, choice in (choices or {}).items()}
        hold.others = others
        hold.save()
        events.record("hold.ended", events.of_hold(hold), by=by)
    log.warning("hold.ended", **_told(hold), by=_who(by), choices=hold.choices, others=others)
    return hold


def end_due() -> int:
    """End the holds whose `until` has come; how many."""
    now = clock.now()
    if not Hold.objects.filter(ended_at=None, until__lte=now).exists():
        return 0
    with transaction.atomic():
        alone()
        return _end_due(now)


def over(team_id: UUID, *, since: datetime | None = None) -> Hold | None:
    """The hold that is on for this team's jobs, the installation's before the team's own. `since`:
    only one that began after that."""
    found = Hold.objects.filter(Q(team=None) | Q(team_id=team_id), ended_at=None)
    if since is not None:
        found = found.filter(began_at__gt=since)
    installation_first = F("team_id").asc(nulls_first=True)
    return found.select_related("team").order_by(installation_first).first()


def starting() -> None:
    """Until the transaction ends, no hold begins or ends."""
    prepared.rows("select pg_advisory_xact_lock_shared(%s)", [LOCK])


def alone() -> None:
    """Until the transaction ends, no run starts and nobody else begins or ends a hold."""
    with connection.cursor() as cursor:
        cursor.execute("select set_config('lock_timeout', %s, true)", [_PATIENCE])
        cursor.execute("select pg_advisory_xact_lock(%s)", [LOCK])


def required(reason: str) -> str:
    """The reason in one line. Raises HoldError where there is none, or too much of it."""
    reason = " ".join(reason.split())
    if not reason:
        raise HoldError("reason", "is missing.", "Say in one sentence why nothing may start.")
    if len(reason) > REASON_LENGTH:
        message = f"has {len(reason)} characters; at most {REASON_LENGTH} are kept."
        raise HoldError("reason", message, "Shorten it.")
    return reason


def _end_due(now: datetime) -> int:
    due = list(Hold.objects.filter(ended_at=None, until__lte=now).select_related("team"))
    Hold.objects.filter(id__in=[hold.id for hold in due], ended_at=None).update(ended_at=now)
    for hold in due:
        events.record("hold.ended", events.of_hold(hold), by=None, reason="Its time had come.")
        log.warning("hold.ended", **_told(hold), by=None, until=str(hold.until))
    return len(due)


def _told(hold: Hold) -> dict[str, str | None]:
    return {"hold": str(hold.id), "team": hold.team.slug if hold.team else None}


def _who(by: User | None) -> str | None:
    return by.get_username() if by else None
