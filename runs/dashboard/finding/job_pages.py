"""The list of jobs page by page, in its order, while jobs fire.

By next moment or last run the order moves with every fire. A page therefore tells the next one
which run was the newest when the list began: what has run since counts as it stood then, so that
no job is shown twice and none is passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.core import signing
from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery, UUIDField, Value
from django.db.models.functions import Coalesce, Lower

from jobs import paging
from jobs.definitions.definitions import Problem
from jobs.models import Job
from jobs.problems import BadRequest
from runs.models import Run
from runs.states import Origin

# Behind every moment, whichever way round.
_NEVER = datetime(9999, 1, 1, tzinfo=UTC)
_EVER_BEFORE = datetime(1, 1, 2, tzinfo=UTC)
_NO_RUN = UUID(int=0)
_BY = {
    "name": ("plain_name", "id"),
    "-name": ("-plain_name", "-id"),
    "next_due": ("next_at", "id"),
    "-next_due": ("-next_at", "-id"),
    "last_run": ("-last_run", "id"),
    "-last_run": ("last_run", "id"),
}
_SALT = "onebeat.jobs"
LOOKED_THROUGH = 2_000  # of the newest runs, before each job is asked for its own
# Those among them after which their job had none.
_LAST_RUNS = """
select r.id, r.job_id
  from (select id, job_id from runs_run
         where id <= %(newest)s and (%(before)s::uuid is null or id < %(before)s::uuid)
         order by id desc limit %(most)s) r
 where not exists (select from runs_run later
                    where later.job_id = r.job_id and later.id > r.id and later.id <= %(newest)s)
 order by r.id desc
"""
# The moment that each job had when the list began, of those that have fired since.
_FIRED_SINCE = """
select distinct on (job_id) job_id, due_at
  from (select id, job_id, due_at from runs_run
         where id > %(newest)s and origin = 'schedule' order by id limit %(most)s) since
 order by job_id, id
"""
_NEAR = 4  # pages of what ran last that are looked up first: they are most readers' own
_FIRED = 100_000  # runs that are looked through: of a list that stands open for hours


def page(rows: QuerySet[Job], sort: str, cursor: str, size: int) -> tuple[list[Job], str | None]:
    """The rows behind a cursor (empty: from the beginning), and the cursor of the next page.
    Raises BadRequest (`cursor`) for one that a list in this order has not given."""
    newest, values = _opened(cursor, sort) if cursor else (_newest(), [])
    places = _found(rows, sort, newest, values, size)
    ids = [job_id for *_, job_id in places[:size]]
    there = rows.in_bulk(ids)
    more = _cursor(places[size - 1], sort, newest) if len(places) > size else None
    return [there[job_id] for job_id in ids if job_id in there], more


def _found(
    rows: QuerySet[Job], sort: str, newest: UUID, values: Sequence[Any], size: int
) -> Sequence[Any]:
    """The jobs of a page, and one more, each with its place in the order before its id."""
    places: Sequence[Any] = []
    if sort == "last_run":
        places = _of_late(rows, newest, values, size)
    elif sort == "-next_due" and values:
        places = _the_furthest_first(rows, newest, values, size)
    return places or _places(rows, sort, newest, values, size)


def _places(
    rows: QuerySet[Job], sort: str, newest: UUID, values: Sequence[Any], size: int
) -> list[Any]:
    """Which jobs a page shows, and one more. A row of a job is wide: these are found without it."""
    ordered = _ordered(rows, sort, newest)
    if values:
        ordered = _not_yet_shown(ordered, sort, newest, values)
    return list(ordered.select_related(None).values_list(*_names(sort))[: size + 1])


def _of_late(
    rows: QuerySet[Job], newest: UUID, values: Sequence[Any], size: int
) -> list[tuple[UUID, UUID]]:
    """The same by the last run, read off the newest runs; nothing where these do not fill the
    page, and each job is to be asked for its own."""
    given = {"newest": newest, "before": values[0] if values else None, "most": LOOKED_THROUGH}
    with connection.cursor() as cursor:
        cursor.execute(_LAST_RUNS, given)
        last = cursor.fetchall()
    places: list[tuple[UUID, UUID]] = []
    for part in (last[: _NEAR * size], last[_NEAR * size :]):
        mine = set(rows.filter(id__in=[job for _, job in part]).values_list("id", flat=True))
        places += [(run, job) for run, job in part if job in mine]
        if len(places) > size:
            return places[: size + 1]
    return []


def _the_furthest_first(
    rows: QuerySet[Job], newest: UUID, values: Sequence[Any], size: int
) -> list[tuple[datetime, UUID]]:
    """The same by next moment the other way round, where a fire moves a job to before the cursor:
    one that has fired since stands at the moment that it had then, that of its first run since."""
    with connection.cursor() as cursor:
        cursor.execute(_FIRED_SINCE, {"newest": newest, "most": _FIRED})
        fired: dict[UUID, datetime] = dict(cursor.fetchall())
    last = datetime.fromisoformat(values[0]), UUID(values[1])
    mine = rows.filter(id__in=list(fired)).values_list("id", flat=True)
    moved = [(fired[job_id], job_id) for job_id in mine if (fired[job_id], job_id) < last]
    others = rows.exclude(id__in=list(fired))
    return sorted([*moved, *_places(others, "-next_due", newest, values, size)], reverse=True)


def _ordered(rows: QuerySet[Job], sort: str, newest: UUID) -> QuerySet[Job]:
    if sort in ("name", "-name"):
        rows = rows.annotate(plain_name=Lower("name"))
    if sort == "next_due":
        rows = rows.annotate(next_at=Coalesce("due__at", Value(_NEVER)))
    if sort == "-next_due":
        rows = rows.annotate(next_at=Coalesce("due__at", Value(_EVER_BEFORE)))
    if sort in ("last_run", "-last_run"):
        of_job = Run.objects.filter(job=OuterRef("pk"), id__lte=newest).order_by("-id")
        last = Coalesce(Subquery(of_job.values("id")[:1]), Value(_NO_RUN, UUIDField()))
        rows = rows.annotate(last_run=last)
    return rows.order_by(*_BY[sort])


def _not_yet_shown(
    rows: QuerySet[Job], sort: str, newest: UUID, values: Sequence[Any]
) -> QuerySet[Job]:
    rows = rows.filter(paging.behind(_BY[sort], values))
    if sort == "next_due":  # what has fired since stood before the cursor if its moment did
        fired = Run.objects.filter(
            job=OuterRef("pk"), id__gt=newest, origin=Origin.SCHEDULE, due_at__lte=values[0]
        )
        rows = rows.filter(~Q(Exists(fired)))
    return rows


def _newest() -> UUID:
    found: UUID | None = Run.objects.order_by("-id").values_list("id", flat=True).first()
    return found or _NO_RUN


def _names(sort: str) -> list[str]:
    return [column.lstrip("-") for column in _BY[sort]]


def _cursor(values: Sequence[Any], sort: str, newest: UUID) -> str:
    return signing.dumps([sort, str(newest), *map(str, values)], salt=_SALT)


def _opened(cursor: str, sort: str) -> tuple[UUID, list[str]]:
    try:
        of, newest, *values = signing.loads(cursor, salt=_SALT)
    except signing.BadSignature:
        of = None
    if of != sort:
        hint = "Follow the link to the next page as it was given, or begin without a cursor."
        raise BadRequest(Problem("cursor", "was not given by this list.", hint))
    return UUID(newest), values
