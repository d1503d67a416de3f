"""How long the lists take over a long history: ten thousand jobs and millions of runs.

`python -m tests.bench.history --jobs 10000 --runs 5000000` fills a database of its own and asks
for each list with each filter, as page and over the API; it prints one JSON object as its last
line: for each of them the median and the 95th percentile in milliseconds, and the size in bytes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from config import brokers
from tests.bench import burst

BUDGET_MS, BUDGET_BYTES = 300, 200_000
HOST = {"Host": "localhost"}
TEAMS = 20  # one of them has a hundredth of the jobs
JOBS = (
    "",
    *("state=active", "state=paused", "state=finished", "state=failing", "state=late"),
    *(
        "q=pattern+77",
        "q=nothing+like+it",
        "team=team-1",
        "team=small",
        "kind=http",
        "kind=mirrored",
    ),
    *("idempotent=false", "due_within=86400", "sort=next_due", "sort=last_run"),
)
RUNS = (
    "",
    *("state=SUCCEEDED", "state=DEAD", "state=REVIEW", "state=SKIPPED", "state=CANCELLED"),
    *("state=CLOSED", "state=in_flight", "state=finished", "team=small", "team=team-1"),
    *("q=pattern+77", "q=nothing+like+it", "origin=hand", "origin=schedule", "since=24h"),
    *(
        "until=7d",
        "since=72h&until=48h",
        "state=SKIPPED&until=7d",
        "team=small&since=72h&until=48h",
    ),
    "state=DEAD&team=small",
)


def main() -> None:
    options = _options()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="onebeat-bench-")))
        url = stack.enter_context(burst.database(folder))
        burst.environment(url, brokers.pgmq_url(url), folder)
        _fill(options.jobs, options.runs)
        figures = _measure(options.rounds)
    worst = max(figures.values(), key=lambda one: one["p95_ms"])
    told = {"jobs": options.jobs, "runs": options.runs, "lists": figures, "worst": worst}
    print(json.dumps(told))
    if worst["p95_ms"] > BUDGET_MS:
        sys.exit(1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.history")
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=20, help="requests of each list")
    options = parser.parse_args()
    if not 100 <= options.jobs <= options.runs:
        parser.error("--jobs: a number from 100 to --runs")
    return options


def _fill(jobs: int, runs: int) -> None:
    from django.db import connection

    from tests import make
    from tests.dashboard import history

    each, small = runs // jobs, max(1, jobs // 100)
    rest = (jobs - small) // (TEAMS - 1)
    person = make.person("reader")
    for number in range(TEAMS):
        team = make.team(f"team-{number}" if number else "small")
        _join(team, person)
        history.jobs(team, rest if number else small)
        history.runs(team, each)
    with connection.cursor() as cursor:
        for table in ("jobs_job", "jobs_due", "runs_run"):
            cursor.execute(f"vacuum (analyze) {table}")


def _join(team: Any, person: Any) -> None:
    from jobs.models import Membership
    from jobs.roles import Role

    Membership.objects.create(team=team, user=person, role=Role.OPERATOR)


def _measure(rounds: int) -> dict[str, dict[str, Any]]:
    """Each list as the person of all teams sees it, as a member of the small team does, and over
    the API."""
    from django.test import Client

    from jobs.models import User
    from tests import make

    everybody, few = Client(headers=HOST), Client(headers=HOST)
    everybody.force_login(User.objects.get(username="reader"))
    few.force_login(make.viewer(make.team("small"), "of-small"))
    token = make.token(make.team("team-1"), User.objects.get(username="reader"))
    api = Client(headers={"Authorization": f"Token {token}", **HOST})
    found = {}
    for path, queries in (("/jobs/", JOBS), ("/runs/", RUNS)):
        for query in queries:
            for who, client, root in (
                ("all", everybody, ""),
                ("small", few, ""),
                ("api", api, "/api/v1"),
            ):
                where = f"{root}{path}?{query}"
                found[f"{who} {where}"] = _timed(client, where, rounds)
    return found


def _timed(client: Any, where: str, rounds: int) -> dict[str, Any]:
    answer = client.get(where)
    assert answer.status_code == 200, (where, answer.content[:500])
    taken = sorted(_milliseconds(lambda: client.get(where)) for _ in range(rounds))
    figures = {
        "list": where,
        "p50_ms": round(statistics.median(taken), 1),
        "p95_ms": round(taken[max(0, int(rounds * 0.95) - 1)], 1),
        "bytes": len(answer.content),
    }
    print(json.dumps(figures), file=sys.stderr)
    return figures


def _milliseconds(ask: Callable[[], object]) -> float:
    began = time.perf_counter()
    ask()
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()
