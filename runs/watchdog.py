"""The outward watchdog: tell somebody else that all is well, so that silence tells them it is not.

A run of the platform's own job calls ONEBEAT_WATCHDOG_URL: see runs/watched.py for what that alone
proves. Before, it looks for what it does not prove: moments that nobody claims, runs that nobody
sends, and queues that nobody works through.
"""

from __future__ import annotations

import structlog
from django.conf import settings
from django.db import connection

from jobs.task_registry import job_task
from runs import standstill, watched
from runs.channels import post
from runs.channels.post import NotTaken

log = structlog.get_logger("onebeat.watchdog")

_UNCLAIMED = """
select count(*) from (
  select 1 from jobs_due
   where at < clock_timestamp() - %(patience)s * interval '1 second' limit 1000) overdue
"""
_UNSENT = """
select count(*) from (
  select 1 from runs_run where state in ('CLAIMED', 'RETRYING')
     and send_at < clock_timestamp() - %(patience)s * interval '1 second' limit 1000) unsent
"""


@job_task(watched.TASK)
def watchdog() -> dict[str, str]:
    """Call the URL, or `…/fail` with the reasons. Never fails itself: the next run is due soon,
    and a receiver that is away is not this job's fault."""
    if not settings.WATCHDOG_URL:
        return {"called": "nobody: ONEBEAT_WATCHDOG_URL is not set"}
    reasons = unwell()
    if reasons:
        log.error("watchdog.unwell", reasons=reasons)
    try:
        said = _call(reasons)
    except NotTaken as refused:
        log.error("watchdog.not_called", why=str(refused))
        said = f"not taken: {refused}"
    return {"well": "; ".join(reasons) or "yes", "said": said}


def unwell() -> list[str]:
    """What is not as it should be; empty: all is well. Raises the database's errors."""
    with connection.cursor() as cursor:
        cursor.execute(_UNCLAIMED, {"patience": standstill.PATIENCE})
        (unclaimed,) = cursor.fetchone()
        cursor.execute(_UNSENT, {"patience": standstill.PATIENCE})
        (unsent,) = cursor.fetchone()
    found = [f"no worker takes from queue {queue}" for queue in standstill.unworked()]
    found += [f"{unclaimed} due moments lie unclaimed"] if unclaimed else []
    return found + ([f"{unsent} runs are not sent"] if unsent else [])


def _call(reasons: list[str]) -> str:
    url = settings.WATCHDOG_URL
    if not reasons:
        return post.call("GET", url, {"User-Agent": "Onebeat"}, None)
    head, mark, query = url.partition("?")
    where = f"{head.rstrip('/')}/fail{mark}{query}"
    headers = {"User-Agent": "Onebeat", "Content-Type": "text/plain; charset=utf-8"}
    return post.call("POST", where, headers, "\n".join(reasons).encode())
