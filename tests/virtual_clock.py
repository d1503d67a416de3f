"""A database whose clock the test sets: every process that connects to it lives by that clock.

Functions of the database's own names stand before PostgreSQL's in the search path, so that the
product's statements are the very ones that it sends in production. The clock stands still at an
instant, or goes on from one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

_INSTALL = """
create schema virtual;
create table virtual.clock (stands_at timestamptz, ahead interval not null default '0');
insert into virtual.clock default values;
create function virtual.clock_timestamp() returns timestamptz volatile language sql as
  'select coalesce(stands_at, pg_catalog.clock_timestamp() + ahead) from virtual.clock';
create function virtual.statement_timestamp() returns timestamptz stable language sql as
  'select coalesce(stands_at, pg_catalog.statement_timestamp() + ahead) from virtual.clock';
create function virtual.now() returns timestamptz stable language sql as
  'select coalesce(stands_at, pg_catalog.now() + ahead) from virtual.clock';
"""
_IN_FRONT = "alter database {} set search_path = virtual, pg_catalog, public"


class VirtualClock:
    """The clock of one database, set over a connection of its own."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def stand_at(self, moment: datetime) -> datetime:
        """It stands still at this instant; which it returns."""
        self._connection.execute("update virtual.clock set stands_at = %s", [moment])
        return moment

    def go_on_from(self, moment: datetime) -> None:
        """It goes on at its ordinary pace, from this instant."""
        self._connection.execute(
            "update virtual.clock"
            "   set stands_at = null, ahead = %s - pg_catalog.clock_timestamp()",
            [moment],
        )


@contextmanager
def installed(url: str) -> Iterator[VirtualClock]:
    """The database of this URL gets a clock to be set; only connections made from then on have
    it. To be dropped with its database."""
    name = urlsplit(url).path.lstrip("/")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_INSTALL)
        connection.execute(sql.SQL(_IN_FRONT).format(sql.Identifier(name)))
        connection.execute("set synchronous_commit = off")  # a tick need not wait for a disk
        yield VirtualClock(connection)
