"""How much of history a statement reads, by what the database says of its plan."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.db import connection

HISTORY = ("runs_run", "runs_attempt")


def rows_read(statement: str) -> int:
    """Rows of runs and attempts that it reads; of one that writes none is told."""
    return sum(_rows_of(node) for node in nodes(statement))


def reads_all(statement: str) -> bool:
    """Whether it goes through the whole table of runs, or of attempts."""
    return any(_of_history(node) and node["Node Type"] == "Seq Scan" for node in nodes(statement))


def nodes(statement: str) -> Iterator[dict[str, Any]]:
    """The nodes of its plan, as it was carried out."""
    if statement.split(None, 1)[0].lower() not in ("select", "with"):
        return
    with connection.cursor() as cursor:
        cursor.execute(f"explain (analyze, format json) {statement}")
        plan = cursor.fetchone()[0]
    found = json.loads(plan) if isinstance(plan, str) else plan
    yield from _below(found[0]["Plan"])


def _below(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from _below(child)


def _of_history(node: dict[str, Any]) -> bool:
    return node.get("Relation Name") in HISTORY


def _rows_of(node: dict[str, Any]) -> int:
    if not _of_history(node):
        return 0
    each: float = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
    return round(each * float(node["Actual Loops"]))
