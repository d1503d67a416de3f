"""The newest runs of a filter: the same as a plain filter finds, and read along indexes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.db.models.functions import Coalesce
from django.test.utils import CaptureQueriesContext

from jobs import clock
from jobs.models import Job, Team, User
from runs.ages import first_id
from runs.dashboard.finding import newest
from runs.dashboard.finding.newest import Reader
from runs.dashboard.finding.wanted import Wanted
from runs.models import Run
from runs.states import FINAL, UNDER_WAY, Origin, State
from tests import make
from tests.dashboard import history
from tests.dashboard.reading import reads_all, rows_read

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def reader(operator: User) -> Reader:
    return Reader(operator.id)


def plainly(wanted: Wanted, user: User) -> QuerySet[Run]:
    """What is wanted, as one would write it down."""
    rows = Run.objects.where(user.id).annotate(moment=Coalesce("due_at", "created_at"))
    columns = {
        "state__in": wanted.states,
        "origin__in": wanted.origins,
        "job__team__slug": wanted.team,
        "job__name__icontains": wanted.name,
        "job__owner__icontains": wanted.owner,
        "job__tags__contains": list(wanted.tags),
        "moment__gte": wanted.since,
        "moment__lte": wanted.until,
        "job": wanted.job,
        "backfill": wanted.backfill,
        "error_group": wanted.group,
    }
    return rows.filter(**{name: value for name, value in columns.items() if value})


def cast(team: Team, dice: random.Random) -> list[Job]:
    """Jobs of two teams, one of them not the reader's, with runs of every kind."""
    mine = [
        make.job(team, name="alpha", overlap="allow", tags=["prod"], owner="Desk, on call"),
        make.job(team, name="beta", overlap="allow", tags=["eu", "prod"]),
        make.job(team, name="50% off", overlap="allow", owner="50% desk"),
    ]
    make.run(make.job(make.team("elsewhere"), name="alpha"), State.DEAD)
    now = clock.now()
    for _ in range(60):
        job, state = dice.choice(mine), dice.choice(list(State))
        age = dice.choice((0, 1, 5, 30)) * HOUR
        due = now - age - dice.random() * HOUR
        made = dice.choice((due, due, now))
        run = make.run(job, state, due_at=due, origin=dice.choice(("schedule", "schedule", "hand")))
        Run.objects.filter(id=run.id).update(
            id=UUID(int=first_id(made).int | dice.getrandbits(61)), created_at=made
        )
    return mine


def asks(jobs: list[Job], dice: random.Random) -> Iterator[Wanted]:
    now = clock.now()
    group = Run.objects.filter(state=State.DEAD, job=jobs[0]).values_list("error_group", flat=True)
    for _ in range(40):
        yield Wanted(
            states=frozenset(dice.sample(list(State), dice.choice((0, 0, 1, 2, 4)))),
            origins=frozenset(dice.sample(list(Origin), dice.choice((0, 0, 1, 2)))),
            since=dice.choice((None, now - 6 * HOUR, now - 31 * HOUR)),
            until=dice.choice((None, now - HOUR, now - 29 * HOUR)),
            job=dice.choice((None, None, jobs[1].id)),
            name=dice.choice(("", "", "ALPHA", "0%", "_")),
            owner=dice.choice(("", "", "", "DESK", "%")),
            tags=dice.choice(((), (), ("prod",), ("eu", "prod"), ("none",))),
            team=dice.choice(("", "", "payments", "elsewhere")),
            group=dice.choice((None, None, None, group.first())),
        )


@pytest.mark.parametrize(("looked_through", "few_jobs"), [(7, 0), (7, 3), (5_000, 200)])
def test_it_finds_what_a_plain_filter_finds_page_by_page(
    team: Team,
    operator: User,
    reader: Reader,
    monkeypatch: pytest.MonkeyPatch,
    looked_through: int,
    few_jobs: int,
) -> None:
    dice = random.Random(looked_through)
    monkeypatch.setattr(newest, "LOOKED_THROUGH", (looked_through // 3, looked_through))
    monkeypatch.setattr(newest, "FEW_JOBS", few_jobs)
    jobs = cast(team, dice)
    for wanted in asks(jobs, dice):
        all_of = list(plainly(wanted, operator).order_by("-id").values_list("id", flat=True))
        seen: list[UUID] = []
        while page := newest.ids(reader, wanted, 13, below=seen[-1] if seen else None):
            seen += page
        assert seen == all_of, wanted


def test_a_token_reads_its_one_team_and_an_outsider_nothing(team: Team, operator: User) -> None:
    run = make.run(make.job(team), State.REVIEW)
    stranger = Reader(make.outsider().id)
    for wanted in (Wanted(), Wanted(job=run.job_id), Wanted(states=frozenset({State.REVIEW}))):
        assert newest.ids(stranger, wanted, 9) == []
    assert newest.ids(Reader(operator.id, team.id), Wanted(), 9) == [run.id]
    assert newest.ids(Reader(operator.id, make.team("other").id), Wanted(), 9) == []


def test_what_was_born_since_is_counted_up_to_a_bound(team: Team, reader: Reader) -> None:
    job = make.job(team)
    first, *_ = [make.run(job) for _ in range(5)]
    assert newest.count(reader, Wanted(), 99, above=first.id) == 4
    assert newest.count(reader, Wanted(states=UNDER_WAY), 3) == 3


# ── what a list reads ────────────────────────────────────────────────────────────────────

NOW_AND_THEN = [
    Wanted(),
    Wanted(team="payments"),
    Wanted(name="pattern 7"),
    Wanted(name="no such job"),
    Wanted(tags=("rare",)),
    Wanted(tags=("rare",), states=frozenset({State.DEAD})),
    Wanted(tags=("nobody-has-it",)),
    Wanted(owner="nobody"),
    *(Wanted(states=frozenset({state})) for state in State),
    Wanted(states=UNDER_WAY),
    Wanted(states=FINAL),
    *(Wanted(origins=frozenset({origin})) for origin in Origin),
]


def test_no_list_sorts_or_scans_history(
    team: Team, operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 9,000 runs a page reads some hundreds, whatever it is asked for: of a team that has
    nearly all of them, and of one that has few."""
    few = make.team("few")
    for of, jobs, each in ((team, 60, 150), (few, 3, 20)):
        history.jobs(of, jobs)
        history.runs(of, each)
    rare = Job.objects.filter(team=team, name__in=("pattern 7", "pattern 11"))
    rare.update(tags=["prod", "rare"], owner="Desk")
    history.analyzed()
    job = Job.objects.filter(team=team).exclude(name="pattern").latest("id")
    now = clock.now()
    day = Wanted(since=now - 72 * HOUR, until=now - 48 * HOUR)
    asked = [*NOW_AND_THEN, Wanted(job=job.id), Wanted(group=job.id), day]
    asked += [replace(day, states=FINAL), replace(day, states=frozenset({State.SKIPPED}))]
    monkeypatch.setattr(newest, "LOOKED_THROUGH", (30, 300))
    monkeypatch.setattr(newest, "FEW_JOBS", 10)
    most = 2 * sum(newest.LOOKED_THROUGH) + 1_500  # looked through, counted; then of each job one
    people = [operator, make.viewer(few, "of-few")]
    for reader in (Reader(person.id) for person in people):
        for wanted in asked:
            assert read_of(reader, wanted) <= most, (reader, wanted)


def read_of(reader: Reader, wanted: Wanted) -> int:
    """How many runs the statements of this list read. Raises where one reads the table as a
    whole."""
    with CaptureQueriesContext(connection) as queries:
        newest.ids(reader, wanted, 51)
    statements = [query["sql"] for query in queries.captured_queries]
    assert not any(reads_all(statement) for statement in statements)
    return sum(rows_read(statement) for statement in statements)
