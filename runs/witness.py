"""Whether the database is still the one that the beats have worked with.

One that was restored from a copy has forgotten what fired since: fired anew, it would be doubled.
So before a beat claims anything it looks for three signs, and on any of them puts the whole
installation on hold, until a person has seen what is owed:

- the database is another one (the server's identifier, the database's own number), or the server
  has changed to another timeline, as after a recovery to a point in time;
- it knows fewer heartbeats than this host has seen it write, kept in a small file of the host's;
- no beat was there for longer than ONEBEAT_RESTORED_AFTER.

A standby that was promoted changes its timeline too. Where this host's file tells that nothing it
has seen is missing, work goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.db import NotSupportedError, ProgrammingError, connection, transaction

from jobs import clock, holds
from runs.channels import outbox
from runs.channels.messages import Kind
from runs.models import Installation

_FAR = 1_000_000_000  # heartbeats: more than any host's file can be ahead of another's

log = structlog.get_logger("onebeat.witness")


@dataclass(frozen=True)
class Seen:
    """What the server says of itself."""

    identity: str
    timeline: int


_SERVER = """
select format('%s/%s', (select system_identifier from pg_control_system()), d.oid),
       ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint
  from pg_database d where d.datname = current_database()
"""
_SERVER_THAT_TELLS_LITTLE = """
select format('?/%s', oid), 0 from pg_database where datname = current_database()
"""
_PULSE = """
update runs_installation set pulse = pulse + 1, seen_at = clock_timestamp()
 where identity = %s returning pulse
"""


class Witness:
    """One beat's memory of the database; `folder`: where its host keeps the file."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or settings.DATA / "witness"
        self._known: dict[str, int] = {}

    def look(self) -> bool:
        """Hold the whole installation unless the database is the one it was. To be called before
        anything is claimed: True once it has looked; raises the database's errors, and then
        nothing may be claimed."""
        server = _server()
        # Before the row: another beat of this host may write both in between, the row first.
        remembered = self._remembered(server.identity)
        stored, _ = Installation.objects.get_or_create(id=1, defaults=_row(server, pulse=0))
        if _sign(stored, server, remembered):
            self._hold(server, remembered)
        elif stored.timeline != server.timeline:
            log.warning("witness.new_timeline", timeline=server.timeline, pulse=stored.pulse)
            Installation.objects.filter(id=1).update(timeline=server.timeline)
        return True

    def beat(self) -> None:
        """One heartbeat: in the database, then in this host's file."""
        identity = _server().identity
        with connection.cursor() as cursor:
            cursor.execute(_PULSE, [identity])
            row = cursor.fetchone()
        if row is not None:
            self._remember(identity, row[0])

    def _hold(self, server: Seen, remembered: int | None) -> None:
        with transaction.atomic():
            stored = Installation.objects.select_for_update().get(id=1)
            sign = _sign(stored, server, remembered)
            if not sign:  # another beat has held it meanwhile
                return
            reason = (
                f"The database seems to be restored from a copy: {sign}. What fired since may be"
                " owed once more: look at what waits, then end this hold."
            )
            try:
                holds.begin(None, reason, by=None)
            except holds.HeldAlready as there:
                holds.enlarge(there.hold, reason)
            adopted = _row(server, pulse=max(stored.pulse, remembered or 0) + _FAR)
            Installation.objects.filter(id=1).update(**adopted)
            outbox.withhold()
            outbox.of_installation(Kind.RESTORED, str(adopted["pulse"]), reason)
        log.error("witness.restored", sign=sign)

    def _remembered(self, identity: str) -> int | None:
        in_file = _number(self._file(identity))
        return max((n for n in (in_file, self._known.get(identity)) if n is not None), default=None)

    def _remember(self, identity: str, pulse: int) -> None:
        self._known[identity] = pulse
        file = self._file(identity)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            fresh = file.with_suffix(f".{id(self)}")
            fresh.write_text(f"{pulse}\n")
            fresh.replace(file)
        except OSError as error:  # a read-only host still remembers while the process lives
            log.debug("witness.no_file", file=str(file), why=str(error))

    def _file(self, identity: str) -> Path:
        return self._folder / f"{identity.replace('/', '-')}.pulse"


def _server() -> Seen:
    with connection.cursor() as cursor:
        try:
            cursor.execute(_SERVER)
        except (ProgrammingError, NotSupportedError):  # not told to everybody, or not at all
            cursor.execute(_SERVER_THAT_TELLS_LITTLE)
        return Seen(*cursor.fetchone())


def _sign(stored: Installation, server: Seen, remembered: int | None) -> str:
    """What speaks for a restored copy; empty for nothing. `remembered`: the newest heartbeat that
    this host has seen written."""
    if stored.identity != server.identity:
        return "it was copied into another database"
    if remembered is not None and stored.pulse < remembered:
        return f"it has forgotten {remembered - stored.pulse} heartbeats that it had"
    if remembered is None and stored.timeline != server.timeline:
        return f"its server went from timeline {stored.timeline} to {server.timeline}"
    silent = clock.now() - stored.seen_at
    if silent > timedelta(seconds=settings.RESTORED_AFTER):
        return f"no beat was at work in it for {silent.days} days"
    return ""


def _row(server: Seen, *, pulse: int) -> dict[str, Any]:
    """What beats expect of the database from now on."""
    now = clock.now()
    return {
        "identity": server.identity,
        "timeline": server.timeline,
        "pulse": pulse,
        "seen_at": now,
    }


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None
