"""Statements that every run needs, prepared once for each connection.

Django writes the values into the text of a statement, so that the server plans each anew; to plan
the start of a run takes longer than to carry it out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from django.db import NotSupportedError, OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.models import Model
from psycopg import Cursor

_Model = TypeVar("_Model", bound=Model)


def allow(connection: BaseDatabaseWrapper, **_: object) -> None:
    """Let this new connection prepare statements, unless it stands before a pool of sessions,
    each of which would know only some of them. A pool has another process id to tell than that of
    the session behind it."""
    line = connection.connection
    (behind,) = line.execute("select pg_backend_pid()").fetchone()
    line.prepare_threshold = 5 if line.info.backend_pid == behind else None


connection_created.connect(allow, dispatch_uid="onebeat.prepared")


def rows(statement: str, given: Mapping[str, Any] | Sequence[Any]) -> list[tuple[Any, ...]]:
    """Carry out a statement of our own words; the rows that it returns. Raises Django's database
    errors; OperationalError too where what a prepared statement returns has changed its type
    since (a migration): a fresh connection prepares it anew."""
    connection.ensure_connection()
    connection.validate_no_broken_transaction()
    try:
        with connection.wrap_database_errors, Cursor(connection.connection) as cursor:
            cursor.execute(statement, given, prepare=True)
            return cursor.fetchall() if cursor.description else []
    except NotSupportedError as error:
        connection.close()
        raise OperationalError(*error.args) from error


def instance(model: type[_Model], columns: Mapping[str, Any]) -> _Model:
    """The model's row of which these columns were read, in the types of Python; each other one is
    read when it is asked for."""
    fields = [field.attname for field in model._meta.concrete_fields]
    values = [columns[name] for name in fields if name in columns]
    return model.from_db(connection.alias, list(columns), values)
