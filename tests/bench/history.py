"""How long every page takes over a long history: ten thousand jobs and millions of runs.

`python -m tests.bench.history --jobs 10000 --runs 5000000` fills a database of its own, asks for
everything in tests/bench/asked.py, prints a table and, as its last line, one JSON object, and ends
with 1 where something is over its budget: in milliseconds of the 95th percentile, in bytes of a
page, or in rows of runs that its statements read.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from config import brokers
from tests.bench import burst

TEAMS = 20  # one of them has a hundredth of the jobs
AT_ONCE = 250_000  # runs in one statement


def main() -> None:
    options = _options()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="onebeat-bench-")))
        url = stack.enter_context(burst.database(folder))
        os.environ["ONEBEAT_POLLS"] = str(10**9)  # nobody polls as this does
        burst.environment(url, brokers.pgmq_url(url), folder)
        fill(options.jobs, options.runs)
        over = told(options.jobs, options.runs, options.rounds, only=options.only)
    sys.exit(1 if over else 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.history")
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=20, help="requests of each")
    parser.add_argument("--only", default="", help="what the name of what is asked for holds")
    options = parser.parse_args()
    if not 100 <= options.jobs <= options.runs:
        parser.error("--jobs: a number from 100 to --runs")
    return options


def fill(jobs: int, runs: int) -> None:
    """So many jobs in twenty teams, of all of which one person is a member, and so many runs."""
    from django.db import connection

    from jobs.roles import Role
    from tests import make
    from tests.dashboard import history

    began = time.monotonic()
    small = max(1, jobs // 100)
    rest = (jobs - small) // (TEAMS - 1)
    person = make.person("reader")
    teams = [make.team(f"team-{number}" if number else "small") for number in range(TEAMS)]
    for team in teams:
        team.membership_set.create(user=person, role=Role.OPERATOR)
        history.jobs(team, small if team is teams[0] else rest)
    history.varied(teams)
    history.long(teams, runs // jobs, at_once=max(1, AT_ONCE // jobs))
    with connection.cursor() as cursor:
        cursor.execute("set statement_timeout = 0")
        cursor.execute("vacuum (analyze)")
        cursor.execute("reset statement_timeout")
    print(f"filled in {time.monotonic() - began:.0f} s", file=sys.stderr)


def told(jobs: int, runs: int, rounds: int, *, only: str = "") -> list[str]:
    """Asks, prints the figures, and returns what is over its budget."""
    from tests.bench import asked, figures

    clients = figures.clients()
    import_module("config.urls")
    gc.collect()
    gc.freeze()  # as the web does: config/wsgi.py
    found = []
    for one in asked.everything():
        if only in one.name:
            found.append(figures.measured(clients[one.who], one, rounds))
            print(found[-1].line, file=sys.stderr, flush=True)
    over = [figure.name for figure in found if figure.over]
    told: dict[str, Any] = {"jobs": jobs, "runs": runs, "over": over}
    print(json.dumps({**told, "figures": [asdict(figure) for figure in found]}))
    return over


if __name__ == "__main__":
    main()
