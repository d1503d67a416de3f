"""Lists as files: what a filter finds as CSV or JSON, written while it is read, up to a bound that
the file's last line states."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import structlog
from django.db.models import QuerySet

from jobs.api_shapes import instant
from jobs.models import Job
from jobs.templatetags.moments import clock_of, in_words
from runs.dashboard.finding import job_pages, newest
from runs.dashboard.finding.filters import Query
from runs.dashboard.finding.newest import Reader
from runs.dashboard.finding.wanted import Wanted
from runs.dashboard.stances import outcomes
from runs.models import Run

MOST = 10_000  # rows of a file
_AT_ONCE = 500
# What makes a spreadsheet compute a cell; the wide signs do so where Chinese or Japanese is set.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")

Row = dict[str, Any]
JOB_COLUMNS = (
    *("id", "team", "name", "state", "schedule", "timezone", "calls", "idempotent", "next_due_at"),
    *("tags", "owner"),
    *("paused_until", "paused_reason", "last_run", "last_run_state", "last_run_at"),
)
RUN_COLUMNS = (
    *("id", "job", "job_name", "team", "state", "origin", "due_at", "key", "attempt", "failures"),
    *("effect", "reason", "created_at", "started_at", "finished_at", "review_at", "died_at"),
    "error_group",
)
_READ = (*RUN_COLUMNS[4:], "job_id", "job__name", "job__team__slug")

log = structlog.get_logger("onebeat.export")


def of_jobs(rows: QuerySet[Job], sort: str) -> Iterator[Row]:
    """The jobs in their order, page by page."""
    cursor: str | None = ""
    while cursor is not None:
        found, cursor = job_pages.page(rows, sort, cursor, _AT_ONCE)
        past = outcomes.past((job.id for job in found), 1)
        for job in found:
            yield _job(job, past[job.id].last)


def of_runs(reader: Reader, wanted: Wanted) -> Iterator[Row]:
    """The runs, newest first, page by page."""
    below = None
    while page := newest.ids(reader, wanted, _AT_ONCE, below=below):
        rows = Run.objects.where(reader.user_id).filter(id__in=page).order_by("-id")
        yield from map(_run, rows.only(*_READ))
        below = page[-1]


def as_csv(columns: Iterable[str], rows: Iterator[Row]) -> Iterator[str]:
    """A line of names, a line a row, a line that says whether that is all."""
    names, count = list(columns), 0
    yield _line(names)
    for row in islice(rows, MOST):
        count += 1
        yield _line([defused(row[name]) for name in names])
    yield _line([f"# {_ending(count, next(rows, None))}"])


def as_json(columns: Iterable[str], rows: Iterator[Row]) -> Iterator[str]:
    """An object whose `rows` come first, and then how many they are and whether that is all."""
    names, count = list(columns), 0
    yield '{"rows": ['
    for row in islice(rows, MOST):
        shown = json.dumps({name: row[name] for name in names}, ensure_ascii=False)
        yield f"{',' if count else ''}\n{shown}"
        count += 1
    more = next(rows, None)
    told = {"count": count, "complete": more is None, "said": _ending(count, more)}
    yield f"\n],\n{json.dumps(told)[1:]}\n"


SHAPES = {"csv": (as_csv, "text/csv"), "json": (as_json, "application/json")}


def logged(lines: Iterator[str], *, what: str, by: str, query: Query) -> Iterator[str]:
    """The lines; who took what is in the log when the last one is out, or the reader is gone."""
    count = 0
    try:
        for line in lines:
            count += 1
            yield line
    finally:
        log.info("list.exported", list=what, by=by, filter=query, lines=count)


def defused(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula; a list as JSON."""
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


def _ending(count: int, more: Row | None) -> str:
    if more is None:
        return f"{count} rows: all that the filter finds"
    return f"cut after {count} rows, and the filter finds more: narrow it"


def _line(cells: list[Any]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue()


def _job(job: Job, last: outcomes.Outcome | None) -> Row:
    due = getattr(job, "due", None)
    return {
        "id": str(job.id),
        "team": job.team.slug,
        "name": job.name,
        "state": "paused" if job.paused else "active" if due else "finished",
        "schedule": in_words(job),
        "timezone": clock_of(job),
        "calls": job.target.get("type", ""),
        "idempotent": job.idempotent,
        "tags": job.tags,
        "owner": job.owner,
        "next_due_at": instant(due.at) if due and not job.paused else None,
        "paused_until": instant(job.paused_until),
        "paused_reason": job.paused_reason,
        "last_run": last and str(last.id),
        "last_run_state": last and last.state,
        "last_run_at": instant(last.created_at) if last else None,
    }


def _run(run: Run) -> Row:
    return {
        "id": str(run.id),
        "job": str(run.job_id),
        "job_name": run.job.name,
        "team": run.job.team.slug,
        **{name: getattr(run, name) for name in ("state", "origin", "key", "attempt", "failures")},
        **{name: getattr(run, name) for name in ("effect", "reason")},
        **{name: instant(getattr(run, name)) for name in RUN_COLUMNS if name.endswith("_at")},
        "error_group": run.error_group and str(run.error_group),
    }
