"""Databases that one test or one measurement has for itself."""

from __future__ import annotations

import psycopg
from psycopg import sql

END_TIMEOUT = 30_000  # ms for each session


def create(server: str, name: str, template: str = "template1") -> None:
    """An empty database of this name, or a copy of `template`, to which nobody may be connected."""
    with psycopg.connect(server, autocommit=True, options="") as connection:
        connection.execute(
            sql.SQL("create database {} template {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )


def drop(server: str, name: str) -> None:
    """Remove it, ending whoever is connected.

    Not by `with (force)`: that is refused to all but superusers for as long as one of the
    server's own workers, autovacuum, is in the database, which may be at any time. A plain drop
    sends such workers away by itself.
    """
    with psycopg.connect(server, autocommit=True, options="") as connection:
        database = sql.Identifier(name)
        connection.execute(sql.SQL("alter database {} allow_connections false").format(database))
        connection.execute(
            "select pg_terminate_backend(pid, %s) from pg_stat_activity"
            " where datname = %s and backend_type = 'client backend'",
            [END_TIMEOUT, name],
        )
        connection.execute(sql.SQL("drop database {}").format(database))
