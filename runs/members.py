"""The live beats, by the database's clock, and this one's share of the shards."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field

from django.db import connection

from jobs.schedules import zones
from runs import replica, shards, zone_data

LIVE_FOR = 5  # seconds since a beat was last seen

_SEEN = """
insert into runs_beat (name, host, pid, tzdata, started_at, seen_at)
values (%(name)s, %(host)s, %(pid)s, %(tzdata)s, clock_timestamp(), clock_timestamp())
on conflict (name) do update set seen_at = clock_timestamp()
"""
_LIVE = """
select name from runs_beat where seen_at > clock_timestamp() - %s * interval '1 second'
"""
_FORGET = """
delete from runs_beat where seen_at < clock_timestamp() - interval '1 day'
"""


_BEHIND = """
select b.name, b.tzdata, z.version from runs_beat b cross join runs_zonedata z
 where b.seen_at > clock_timestamp() - %s * interval '1 second'
"""


@dataclass(frozen=True)
class Behind:
    """A live beat with older zone data than `newest`: it claims no job at local time."""

    name: str
    zone_data: str
    newest: str


def behind() -> list[Behind]:
    """The live beats that are to be upgraded, by name."""
    with connection.cursor() as cursor:
        cursor.execute(_BEHIND, [LIVE_FOR])
        pairs = [Behind(*row) for row in cursor.fetchall()]
    newest = max((pair.newest for pair in pairs), key=zones.rank, default="")
    older = [pair for pair in pairs if pair.newest == newest]
    found = [pair for pair in older if zones.rank(pair.zone_data) < zones.rank(newest)]
    return sorted(found, key=lambda pair: pair.name)


@dataclass
class Member:
    """This beat among the others."""

    name: str = field(default_factory=replica.name)
    live: tuple[str, ...] = ()
    shards: list[int] = field(default_factory=list)
    newest_zone_data: str = ""  # that any beat has worked with

    def seen(self) -> bool:
        """Say that this beat is live and see who else is; True when its shards changed."""
        with connection.cursor() as cursor:
            cursor.execute(_SEEN, self._row())
            self.newest_zone_data = zone_data.publish(cursor)
            cursor.execute(_LIVE, [LIVE_FOR])
            live = tuple(sorted(name for (name,) in cursor.fetchall()))
        if live == self.live:
            return False
        self.live, self.shards = live, shards.owned(self.name, live)
        return True

    def leave(self) -> None:
        """Give up the shards at once, not after LIVE_FOR."""
        with connection.cursor() as cursor:
            cursor.execute("delete from runs_beat where name = %s", [self.name])
            cursor.execute(_FORGET)

    def _row(self) -> dict[str, str | int]:
        return {
            "name": self.name,
            "host": socket.gethostname()[:120],
            "pid": os.getpid(),
            "tzdata": zones.version(),
        }
