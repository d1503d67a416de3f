"""What a supervisor, a load balancer and Prometheus ask: alive? ready? how does it stand?"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from django.conf import settings
from django.db import Error, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from jobs.tokens import tokens
from runs import members, old_snapshots
from runs.members import LIVE_FOR

# The words of the partial indexes, one branch each: history is never read.
_RUNS = """
select state, count(*) from runs_run
 where state in ('CLAIMED', 'ENQUEUED', 'RETRYING') group by state
union all select 'RUNNING', count(*) from runs_run where state = 'RUNNING'
union all select 'WAITING', count(*) from runs_run where state = 'WAITING'
union all select 'REVIEW', count(*) from runs_run where state = 'REVIEW'
union all select 'DEAD', count(*) from runs_run where state = 'DEAD'
"""
_DUE = """
select count(*), coalesce(extract(epoch from clock_timestamp() - min(at)), 0)::float8
  from jobs_due where at < clock_timestamp()
"""
_BEATS = """
select count(*) from runs_beat where seen_at > clock_timestamp() - %s * interval '1 second'
"""
_COUNTED = ("WAITING", "CLAIMED", "ENQUEUED", "RUNNING", "RETRYING", "REVIEW", "DEAD")


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """This process answers; asks nothing of anybody else."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """The database answers and has every migration: 200, or 503 with the reason."""
    reason = _not_ready()
    if reason:
        return JsonResponse({"status": "not ready", "reason": reason}, status=503)
    return JsonResponse({"status": "ready"})


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """A few facts of the database, read at this moment, in Prometheus' text format; for staff,
    for a token of one of them, and for everybody where ONEBEAT_METRICS_OPEN says so."""
    if not _may_read_metrics(request):
        headers = {"WWW-Authenticate": 'Token realm="onebeat"'}
        return HttpResponse(
            "Sign in as staff, or send the API token of one of them.\n", status=401, headers=headers
        )
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Facts())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class Facts:
    """Prometheus' collector of what the database knows."""

    def collect(self) -> Iterator[Metric]:
        """Runs that are under way or rest, moments overdue, live beats."""
        runs = GaugeMetricFamily("onebeat_runs", "Runs not ended, by state", labels=["state"])
        counts = {str(state): count for state, count in _rows(_RUNS)}
        for state in _COUNTED:
            runs.add_metric([state], counts.get(state, 0))
        yield runs
        ((overdue, lag),) = _rows(_DUE)
        yield GaugeMetricFamily("onebeat_due_overdue", "Moments due, not yet claimed", overdue)
        yield GaugeMetricFamily("onebeat_due_lag_seconds", "Age of the oldest of them", lag)
        ((live,),) = _rows(_BEATS, LIVE_FOR)
        yield GaugeMetricFamily("onebeat_live_beats", "Replicas of the scheduler", live)
        held = old_snapshots.oldest()
        what = "Age of the oldest transaction that keeps dead rows from vacuum"
        age = held.seconds if held else 0.0
        yield GaugeMetricFamily("onebeat_oldest_snapshot_seconds", what, age)
        older = len(members.behind())
        what = "Live beats with older zone data than the newest seen: they claim no local time"
        yield GaugeMetricFamily("onebeat_beats_behind", what, older)


def _not_ready() -> str:
    try:
        missing = _migrations() - set(MigrationRecorder(connection).applied_migrations())
    except Error:
        return "the database does not answer"
    if missing:
        names = ", ".join(".".join(name) for name in sorted(missing)[:5])
        return f"{len(missing)} migrations are not applied ({names}): run manage.py migrate"
    return ""


@lru_cache(maxsize=1)
def _migrations() -> frozenset[tuple[str, str]]:
    """Those that this process's code has; they cannot change under it."""
    return frozenset(MigrationLoader(None).disk_migrations)


def _may_read_metrics(request: HttpRequest) -> bool:
    if settings.METRICS_OPEN or (request.user.is_active and request.user.is_staff):
        return True
    kind, _, secret = request.headers.get("Authorization", "").partition(" ")
    token = tokens.holding(secret.strip()) if kind.lower() == "token" else None
    return token is not None and token.user.is_staff  # the numbers are of every team


def _rows(statement: str, *values: float) -> list[tuple[float, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        rows: list[tuple[float, ...]] = cursor.fetchall()
    return rows
