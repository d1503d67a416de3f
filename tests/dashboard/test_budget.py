"""What pages ask of the database follows what they show, not how much there is."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.models import Team, User
from runs.dashboard.finding import newest
from runs.models import Run
from runs.states import State
from tests import make
from tests.dashboard import history
from tests.dashboard.reading import reads_all, rows_read

pytestmark = pytest.mark.django_db

JOBS = (
    "",
    "state=failing",
    "state=late",
    "sort=next_due",
    "sort=-next_due",
    "sort=last_run",
    "q=pattern",
    "kind=http",
    "starred=yes",
)
RUNS = ("", "state=DEAD", "state=SUCCEEDED", "state=in_flight", "q=pattern+7", "until=2h")
PAGES = (
    *(f"/jobs/?{query}" for query in JOBS),
    *(f"/runs/?{query}" for query in RUNS),
    *("/", "/review/", "/dead-letters/", "/upcoming/", "/upcoming/?tab=week", "/counts/"),
)
# Of 13,500 runs; of fifty groups of dead letters the newest hundred of each job.
MOST_READ = 6_000


def _statements(client: Client, page: str) -> list[str]:
    client.get(page)  # what a process remembers is remembered
    with CaptureQueriesContext(connection) as queries:
        assert client.get(page).status_code == 200
    return [query["sql"] for query in queries.captured_queries]


def test_no_page_asks_more_often_or_reads_history_where_there_is_more(
    team: Team, operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No statement counts or goes through what has been: of each the database says how many rows
    of runs it reads."""
    client = Client()
    client.force_login(operator)
    history.jobs(team, 10)
    history.runs(team, 3)
    make.run(make.job(team, name="failing"), State.DEAD)
    few = {page: len(_statements(client, page)) for page in PAGES}
    history.jobs(make.team("large"), 90)
    history.runs(make.team("large"), 150)
    make.team("large").membership_set.create(user=operator, role="viewer")
    history.analyzed()
    monkeypatch.setattr(newest, "LOOKED_THROUGH", (100, 300))
    assert Run.objects.count() > 13_500
    for page in PAGES:
        statements = _statements(client, page)
        assert len(statements) <= few[page] + 4, page
        if page != "/":  # which counts the runs of a day, here most of all there are
            assert not [one for one in statements if reads_all(one)], page
            assert sum(map(rows_read, statements)) <= MOST_READ, page
