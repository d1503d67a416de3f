"""Statements that the server plans once for each connection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import LiteralString
from uuid import uuid4

import psycopg
import pytest
from django.db import IntegrityError, OperationalError, connection, transaction

from jobs import prepared
from jobs.models import Team
from runs import persist
from tests import make

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def seen() -> Iterator[None]:
    """A table whose column changes its type while it is asked for."""
    with connection.cursor() as cursor:
        cursor.execute("create table seen (number integer); insert into seen values (7)")
    yield
    with connection.cursor() as cursor:
        cursor.execute("drop table seen")


def plans(statement: str) -> list[int]:
    """How often each plan of a statement was made for its values alone, and kept."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select generic_plans from pg_prepared_statements where statement like %s",
            [f"{statement}%"],
        )
        return [kept for (kept,) in cursor.fetchall()]


def elsewhere(statement: LiteralString) -> None:
    """By another session: psycopg forgets what it prepared where it sees an `alter`."""
    with psycopg.connect(connection.connection.info.dsn) as session:
        session.execute(statement)


def test_a_statement_is_planned_once_for_all_its_values() -> None:
    for number in range(20):
        answer = prepared.rows("select %(number)s::int + 1", {"number": number})
        assert answer == [(number + 1,)]
    (kept,) = plans("select $1::int + 1")
    assert kept > 0


def test_what_returns_no_rows_has_none() -> None:
    assert prepared.rows("update jobs_team set name = name where id = %s", [uuid4()]) == []


def test_its_errors_are_djangos_and_a_transaction_ends_with_them() -> None:
    team = make.team()
    insert = "insert into jobs_team select * from jobs_team where id = %s"
    with pytest.raises(IntegrityError), transaction.atomic():
        prepared.rows(insert, [team.id])
    assert prepared.rows("select count(*) from jobs_team", []) == [(1,)]


@pytest.mark.usefixtures("seen")
def test_a_type_that_a_migration_changed_costs_a_connection_and_no_more() -> None:
    def numbers() -> list[tuple[int]]:
        return prepared.rows("select number from seen", [])

    assert numbers() == [(7,)]
    elsewhere("alter table seen alter number type bigint")
    with pytest.raises(OperationalError):
        numbers()
    assert numbers() == [(7,)]
    elsewhere("alter table seen alter number type integer")
    assert persist.again(numbers, within=5) == [(7,)]


def test_an_instance_reads_the_rest_when_it_is_asked_for() -> None:
    team = make.team()
    found = prepared.instance(Team, {"name": "as read", "id": team.id})
    assert (found.id, found.name) == (team.id, "as read")
    assert found.get_deferred_fields() >= {"slug"}
    assert found.slug == team.slug
