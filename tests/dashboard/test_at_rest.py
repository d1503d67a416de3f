"""What rests and waits for a person, as the rail of every page counts it."""

from __future__ import annotations

import pytest

from jobs.models import Team, User
from runs import at_rest
from runs.states import State
from tests import make

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("through", [1, 3, 1_000])
def test_mine_are_counted_however_many_others_rest(
    team: Team, operator: User, through: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether they are found among the first that rest, or beyond them."""
    monkeypatch.setattr(at_rest, "_LOOKED_THROUGH", through)
    other, mine = make.job(make.team("elsewhere")), make.job(team)
    for job in (other, other, mine, other, mine):
        make.run(job, State.REVIEW)
    make.run(mine, State.DEAD)
    none = {State.REVIEW: 0, State.DEAD: 0}
    assert at_rest.counts(operator.id, 100) == {State.REVIEW: 2, State.DEAD: 1}
    assert at_rest.counts(operator.id, 1) == {State.REVIEW: 1, State.DEAD: 1}
    assert at_rest.counts(make.viewer(make.team("new"), "newcomer").id, 100) == none
    assert at_rest.counts(None, 100) == none
