"""Holds begin and end by their rules: one open hold a scope, with a reason, by whoever may."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from jobs import clock, holds
from jobs.models import Hold
from tests import make

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("reason", ["", "  ", "\n"])
def test_a_hold_needs_a_reason(reason: str) -> None:
    with pytest.raises(holds.HoldError) as found:
        holds.begin(make.team(), reason, by=None)
    assert found.value.field == "reason"


def test_a_reason_that_is_too_long_is_told_its_length() -> None:
    with pytest.raises(holds.HoldError, match="has 501 characters"):
        holds.begin(None, "x" * 501, by=None)


def test_an_end_that_is_past_is_refused() -> None:
    with pytest.raises(holds.HoldError) as found:
        holds.begin(None, "a move", by=None, until=clock.now())
    assert found.value.field == "until"


def test_of_one_scope_one_hold_is_on() -> None:
    team = make.team()
    first = holds.begin(team, "a move", by=None)
    with pytest.raises(holds.HeldAlready, match="a move") as found:
        holds.begin(team, "another", by=None)
    assert found.value.hold == first
    holds.begin(make.team("elsewhere"), "theirs", by=None)
    holds.begin(None, "all of it", by=None)
    with pytest.raises(holds.HeldAlready):
        holds.begin(None, "all of it again", by=None)
    holds.end(first.id, by=None)
    holds.begin(team, "another", by=None)


@pytest.mark.parametrize("whole", [False, True])
def test_the_database_itself_refuses_a_second_open_hold(whole: bool) -> None:
    team = None if whole else make.team()
    holds.begin(team, "a move", by=None)
    with pytest.raises(IntegrityError, match="one_open_hold"), transaction.atomic():
        Hold.objects.create(team=team, reason="by hand", began_at=clock.now())


def test_a_hold_ends_once_and_says_who_was_first() -> None:
    team = make.team()
    operator = make.operator(team)
    hold = holds.begin(team, "a move", by=operator)
    job = make.job(team)
    ended = holds.end(hold.id, by=operator, choices={job.id: "drop"}, others="fire")
    assert (ended.ended_by, ended.choice_for(job.id), ended.choice_for(hold.id)) == (
        operator,
        "drop",
        "fire",
    )
    with pytest.raises(holds.Over, match="operator ended it"):
        holds.end(hold.id, by=operator)


def test_the_hold_over_a_job_is_the_installations_before_its_teams() -> None:
    team, other = make.team(), make.team("elsewhere")
    assert holds.over(team.id) is None
    own = holds.begin(team, "a move", by=None)
    assert holds.over(team.id) == own
    assert holds.over(other.id) is None
    whole = holds.begin(None, "all of it", by=None)
    assert holds.over(team.id) == holds.over(other.id) == whole
    assert holds.over(team.id, since=own.began_at) == whole
    assert holds.over(team.id, since=whole.began_at) is None


def test_a_hold_with_an_end_is_ended_when_it_has_come() -> None:
    hold = holds.begin(make.team(), "a move", by=None, until=clock.now() + timedelta(hours=1))
    assert holds.end_due() == 0
    past = clock.now() - timedelta(seconds=1)
    Hold.objects.filter(id=hold.id).update(until=past, began_at=past)
    assert holds.end_due() == 1
    hold.refresh_from_db()
    assert hold.ended_at is not None
    assert hold.ended_by is None


def test_a_new_hold_may_begin_where_the_old_ones_end_has_come() -> None:
    team = make.team()
    past = clock.now() - timedelta(seconds=1)
    Hold.objects.create(team=team, reason="old", began_at=past, until=past)
    assert holds.begin(team, "new", by=None) == holds.over(team.id)


def test_a_hold_that_gets_a_reason_more_ends_by_a_person_alone() -> None:
    hold = holds.begin(None, "a move", by=None, until=clock.now() + timedelta(hours=1))
    holds.enlarge(hold, "It was restored.")
    hold.refresh_from_db()
    assert hold.reason == "It was restored. Also: a move"
    assert hold.until is None
