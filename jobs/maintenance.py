"""Maintenance windows: holds that are planned, from an instant until an instant.

A beat begins them, up to `EARLY` before their time: a moment at the very beginning of a window is
claimed within a second of it, and would else start between two looks of the beats. From then on
it is a hold like any other, which a person may end sooner.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from uuid import UUID

import structlog
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from jobs import clock, events, holds
from jobs.holds import HoldError
from jobs.models import MaintenanceWindow, Team, User
from jobs.schedules.instants import canonical_instant as instant

EARLY = timedelta(seconds=5)
FAR = timedelta(days=366)  # that a window may begin from now
LONG = timedelta(days=31)  # that it may last
MOST = 100  # planned at once, of a team or of the installation

_NEVER = datetime.max.replace(tzinfo=UTC)
_TWIN = "one_planned_window_of_a_kind"

log = structlog.get_logger("onebeat.hold")


class NotPlanned(Exception):
    """The window is not to begin any more: `window`."""

    def __init__(self, window: MaintenanceWindow) -> None:
        super().__init__(f"{_became(window)} Nothing was changed.")
        self.window = window


def plan(
    team: Team | None, reason: str, begins_at: datetime, ends_at: datetime, *, by: User | None
) -> MaintenanceWindow:
    """A window of the team, or of the whole installation (None). Raises HoldError."""
    reason, now = holds.required(reason), clock.now()
    check(begins_at, ends_at, now)
    if MaintenanceWindow.objects.planned().filter(team=team).count() >= MOST:
        raise HoldError("from", f"{MOST} windows are planned already.", "Cancel one first.")
    window = MaintenanceWindow(
        team=team, reason=reason, begins_at=begins_at, ends_at=ends_at, by=by, created_at=now
    )
    with _unlike_others(), transaction.atomic():
        window.save(force_insert=True)
        told = events.differences({}, _shape(window))
        events.record("window.planned", events.of_window(window), by=by, changes=told)
    return window


def change(
    window_id: UUID, reason: str, begins_at: datetime, ends_at: datetime, *, by: User | None
) -> MaintenanceWindow:
    """The window with these in the place of what was planned. Raises HoldError, NotPlanned,
    MaintenanceWindow.DoesNotExist."""
    reason = holds.required(reason)
    with _unlike_others(), transaction.atomic():
        window = _planned(window_id)
        check(begins_at, ends_at, clock.now(), kept=window.begins_at)
        before = _shape(window)
        window.reason, window.begins_at, window.ends_at = reason, begins_at, ends_at
        if changes := events.differences(before, _shape(window)):
            window.save(update_fields=("reason", "begins_at", "ends_at"))
            events.record("window.changed", events.of_window(window), by=by, changes=changes)
    return window


def cancel(window_id: UUID, *, by: User | None) -> MaintenanceWindow:
    """The window will not begin. Raises NotPlanned, MaintenanceWindow.DoesNotExist."""
    with transaction.atomic():
        window = _planned(window_id)
        window.cancelled_at, window.cancelled_by = clock.now(), by
        window.save(update_fields=("cancelled_at", "cancelled_by"))
        events.record("window.cancelled", events.of_window(window), by=by, reason=window.reason)
    return window


def begin_due() -> int:
    """Begin the windows whose time has come, and close those that are over; how many. Several
    beats do it, and each window is one's."""
    come = MaintenanceWindow.objects.planned().filter(begins_at__lte=Now() + EARLY)
    return sum(_begin(window_id) for window_id in list(come.values_list("id", flat=True)))


def check(
    begins_at: datetime, ends_at: datetime, now: datetime, kept: datetime | None = None
) -> None:
    """Raises HoldError unless a window may be planned so; `kept`: the beginning that it has."""
    if begins_at <= now and begins_at != kept:
        hint = "Choose a later instant, or begin a hold at once."
        raise HoldError("from", "is not in the future.", hint)
    if begins_at > now + FAR:
        raise HoldError("from", "is more than a year ahead.", "Choose an earlier instant.")
    if ends_at <= max(begins_at, now):
        raise HoldError("until", "is not after the beginning.", "Choose a later instant.")
    if ends_at > begins_at + LONG:
        hint = "Choose an earlier instant; a hold that is begun at once may have no end."
        raise HoldError("until", f"is more than {LONG.days} days after the beginning.", hint)


def over(
    windows: Iterable[MaintenanceWindow], team_id: UUID, at: datetime
) -> MaintenanceWindow | None:
    """Of these (see `ahead`) the one for which a moment of the team waits longest; None: for
    none."""
    found = [one for one in windows if one.team_id in (None, team_id) and _covers(one, at)]
    return max(found, key=lambda one: one.until or _NEVER, default=None)


def _covers(window: MaintenanceWindow, at: datetime) -> bool:
    return window.begins_at <= at and (window.until is None or at < window.until)


def _begin(window_id: UUID) -> bool:
    """One window, in the transaction of its hold."""
    with transaction.atomic():
        holds.alone()
        rows = MaintenanceWindow.objects.planned().filter(id=window_id)
        window = rows.select_related("team", "by").select_for_update(of=("self",)).first()
        if window is None:  # another beat was first, or a person changed their mind
            return False
        now = clock.now()
        if window.begins_at > now + EARLY:
            return False
        if window.ends_at <= now:
            _pass(window, now)
        else:
            _hold(window, rows)
    return True


def _pass(window: MaintenanceWindow, now: datetime) -> None:
    window.passed_at = now
    window.save(update_fields=("passed_at",))
    reason = "No beat was at work while it lasted: it was never on."
    events.record("window.passed", events.of_window(window), by=None, reason=reason)
    log.error("window.passed", window=str(window.id), scope=window.scope)


def _hold(window: MaintenanceWindow, rows: QuerySet[MaintenanceWindow]) -> None:
    """Its hold begins, or it joins the one of its scope that is on."""
    reason, changes = "", {}
    try:
        hold = holds.begin(window.team, window.reason, by=window.by, until=window.ends_at)
    except holds.HeldAlready as there:
        hold, until = there.hold, there.hold.until
        holds.lengthen(hold, window.ends_at)
        reason = f"It joined the hold that is on: {hold.reason}"
        if until is not None and until < window.ends_at:
            changes = {"until": {"from": instant(until), "to": instant(window.ends_at)}}
    if not rows.update(hold=hold):
        raise NotPlanned(window)
    told = events.of_window(window)
    events.record("window.began", told, by=None, reason=reason, changes=changes)
    log.info("window.began", window=str(window.id), scope=window.scope, hold=str(hold.id))


def _planned(window_id: UUID) -> MaintenanceWindow:
    """The window, locked. Raises NotPlanned where its hold has begun or it came to another end."""
    rows = MaintenanceWindow.objects.select_related("team", "cancelled_by")
    window = rows.select_for_update(of=("self",)).get(id=window_id)
    if window.state != "planned":
        raise NotPlanned(window)
    return window


@contextmanager
def _unlike_others() -> Iterator[None]:
    try:
        yield
    except IntegrityError as error:
        if _TWIN not in str(error):
            raise
        hint = "Change that one, or choose other times."
        raise HoldError("from", "is when a window of the same length is planned.", hint) from None


def _became(window: MaintenanceWindow) -> str:
    match window.state:
        case "cancelled":
            who = f" by {window.cancelled_by.get_username()}" if window.cancelled_by else ""
            return f"This window was cancelled{who}."
        case "began":
            return "This window has begun: it is a hold, which a person may end."
        case _:
            return "This window is over: no beat was at work while it lasted."


def _shape(window: MaintenanceWindow) -> dict[str, object]:
    times = {"from": instant(window.begins_at), "until": instant(window.ends_at)}
    return {"reason": window.reason, **times}
