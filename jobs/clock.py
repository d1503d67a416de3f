"""The database's clock: the only one that decides anything."""

from __future__ import annotations

from datetime import datetime

from django.db import connection


def now() -> datetime:
    """This very moment by PostgreSQL (not the transaction's start), aware, in UTC."""
    with connection.cursor() as cursor:
        cursor.execute("select clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment
