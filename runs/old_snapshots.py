"""Transactions that stay open and keep every dead row since: vacuum may remove none of them.

A dump that takes hours, a session forgotten in the middle of a transaction, a prepared transaction
that nobody ends. The claim and the sending look above a bound that moves along, so that they pay
nothing; all else slows down little by little, and the disk fills up.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db import connection

from runs.channels import outbox
from runs.channels.messages import Kind

OLD = timedelta(minutes=15)

log = structlog.get_logger("onebeat.old_snapshots")


@dataclass(frozen=True)
class Holder:
    """Who has held a snapshot, since when and for how many seconds: the pid of a session, or the
    name of a prepared transaction."""

    who: str
    since: datetime
    seconds: float


# Of other roles' sessions a role without pg_monitor sees no instants: they are not found then.
_OLDEST = """
select who, since, extract(epoch from clock_timestamp() - since)::float8 from (
  select 'session ' || pid as who, xact_start as since from pg_stat_activity
   where backend_xmin is not null and xact_start is not null and backend_type = 'client backend'
     and datname = current_database()
  union all
  select 'prepared transaction ' || gid, prepared from pg_prepared_xacts
   where database = current_database()) held
 order by since limit 1
"""


def oldest() -> Holder | None:
    """Who has held a snapshot of this database the longest, this session itself among them."""
    with connection.cursor() as cursor:
        cursor.execute(_OLDEST)
        row = cursor.fetchone()
    return Holder(*row) if row else None


def alarm() -> bool:
    """Say so when a snapshot is older than a quarter of an hour; whether one was."""
    held = oldest()
    if held is None or held.seconds < OLD.total_seconds():
        return False
    log.error("database.old_snapshot", who=held.who, since=str(held.since), seconds=held.seconds)
    said = (
        f"{held.who.capitalize()} has had a transaction open for {held.seconds / 60:.0f} minutes."
    )
    outbox.of_installation(Kind.SNAPSHOT, f"{held.who}:{held.since.isoformat()}", said)
    return True
