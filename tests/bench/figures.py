"""How one address is measured: time, size, and what its statements read."""

from __future__ import annotations

import re
import statistics
import time
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.models import User
from jobs.page_sessions import TAG
from tests import make
from tests.bench import asked
from tests.bench.asked import PAGE_BYTES, Asked
from tests.dashboard.reading import rows_read

HOST = {"Host": "localhost"}
# The Overview counts a window up to a bound (dashboard/overview/numbers.py); all else reads pages.
WINDOW_ROWS, MOST_ROWS = 250_000, 30_000
_NEXT = re.compile(r'<a[^>]*\brel="next"[^>]*\bhref="([^"]+)"')


@dataclass(frozen=True)
class Figure:
    """Milliseconds, bytes, statements; `rows` of runs and attempts that they read; `over`: what is
    over its budget."""

    name: str
    p50_ms: float
    p95_ms: float
    budget_ms: int
    bytes: int
    statements: int
    rows: int
    over: list[str]

    @property
    def line(self) -> str:
        """A line of the table."""
        said = f"  OVER: {', '.join(self.over)}" if self.over else ""
        numbers = f"{self.p50_ms:8.1f} {self.p95_ms:8.1f} ms {self.bytes:8,} B"
        return f"{self.name:72.72} {numbers} {self.statements:3} st {self.rows:8,} rows{said}"


def clients() -> dict[str, Client]:
    """Who asks: a member of all teams, one of the small team, and a token of a large one."""
    reader = User.objects.get(username="reader")
    everybody, few = Client(headers=HOST), Client(headers=HOST)
    everybody.force_login(reader)
    few.force_login(User.objects.filter(username="few").first() or _few())
    token = make.token(make.team("team-1"), reader)
    api = Client(headers={"Authorization": f"Token {token}", **HOST})
    return {"all": everybody, "small": few, "api": api}


def _few() -> User:
    return make.viewer(make.team("small"), "few")


def measured(client: Client, one: Asked, rounds: int) -> Figure:
    """Asked once, so that what a process keeps is kept, then so many times; and once more for what
    its statements read."""
    where, headers = _turned(client, one), _headers(client, one)
    size = _ask(client, one, where, headers)[1]
    taken = sorted(_ask(client, one, where, headers)[0] for _ in range(rounds))
    p95 = taken[max(0, round(rounds * 0.95) - 1)]
    with CaptureQueriesContext(connection) as captured:
        _ask(client, one, where, headers)
    rows = [rows_read(query["sql"]) for query in captured.captured_queries]
    most = (
        WINDOW_ROWS if "overview" in where or where.startswith("/?") or where == "/" else MOST_ROWS
    )
    budgets = {
        "time": p95 > one.budget,
        "size": size > PAGE_BYTES and not one.streams,
        "rows": sum(rows) > most,
    }
    return Figure(
        name=one.name,
        p50_ms=round(statistics.median(taken), 1),
        p95_ms=round(p95, 1),
        budget_ms=one.budget,
        bytes=size,
        statements=len(rows),
        rows=sum(rows),
        over=[what for what, so in budgets.items() if so],
    )


def _headers(client: Client, one: Asked) -> dict[str, str]:
    if not one.poll:
        return {}
    tag = client.get(one.where, headers={TAG: "of before"}).headers[TAG]
    return asked.headers(one, tag)


def _ask(client: Client, one: Asked, where: str, headers: dict[str, str]) -> tuple[float, int]:
    """Milliseconds and bytes; of what streams, until and of its first piece."""
    began = time.perf_counter()
    answer: Any = client.get(where, headers=headers)
    size = len(next(iter(answer.streaming_content))) if one.streams else len(answer.content)
    took = (time.perf_counter() - began) * 1000
    expected = 304 if one.poll and not one.changed else 200
    assert answer.status_code == expected, (one.name, answer.status_code)
    answer.close()
    return took, size


def _turned(client: Client, one: Asked) -> str:
    """The address so many pages on, or of the last page."""
    where = one.where
    for _ in range(one.turned):
        following = _following(client, where)
        if not following:
            break
        where = following
    return where


def _following(client: Client, where: str) -> str | None:
    answer = client.get(where)
    if "json" in answer.headers["Content-Type"]:
        address: str | None = answer.json()["next"]
        return f"/api/{address.split('/api/', 1)[1]}" if address else None
    found = _NEXT.search(answer.content.decode())
    if not found:
        return None
    return where.split("?")[0] + found[1].replace("&amp;", "&")
