"""Hand runs that wait to be sent to the broker and mark them ENQUEUED.

Apart from any claim, so that a broker that is away stops no claim: its runs stay as they are
and are sent when it is back. A message may be lost or doubled without harm: `execute` decides
by the row, `rescue` sends again what was lost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection, transaction

from runs import replica
from runs.faults import fault
from runs.publishing.publisher import BrokerAway, Publisher
from runs.states import State

BATCH = 500
WITHIN = 3.0  # seconds that the rows stay locked while the broker confirms

log = structlog.get_logger("onebeat.enqueue")


@dataclass(frozen=True)
class Sent:
    """What one batch did. `full`: there may be more. `away`: why the broker did not take all."""

    runs: int = 0
    full: bool = False
    away: str = ""


_LOCK = """
select id, queue from runs_run
 where state in ('CLAIMED', 'RETRYING') and send_at > %(above)s and send_at <= %(now)s
 order by send_at limit %(limit)s
   for update skip locked
"""


def waiting_runs(now: datetime, publisher: Publisher, *, above: datetime) -> Sent:
    """Send the runs whose time to be sent has come, oldest first, at most a batch.

    `above`: the lower bound of the scan. Never raises for the broker."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_LOCK, {"above": above, "now": now, "limit": BATCH})
        rows = cursor.fetchall()
        if not rows:
            return Sent()
        confirmed, away = publish(publisher, rows)
        fault("send.before_mark")
        mark_sent(cursor, confirmed)
    if away:
        log.warning("enqueue.broker_away", sent=len(confirmed), kept=len(rows), why=away)
    else:
        log.info("enqueue.batch", runs=len(confirmed))
    return Sent(len(confirmed), full=len(rows) == BATCH and not away, away=away)


def publish(publisher: Publisher, rows: Iterable[tuple[UUID, str]]) -> tuple[list[UUID], str]:
    """Give (run id, queue) rows to the broker: those confirmed, and why not all ("" for all)."""
    by_queue: defaultdict[str, list[UUID]] = defaultdict(list)
    for run_id, queue in rows:
        by_queue[queue].append(run_id)
    confirmed: list[UUID] = []
    for queue, run_ids in by_queue.items():
        fault("send.midway")
        try:
            publisher.send(queue, run_ids, within=WITHIN / len(by_queue))
        except BrokerAway as away:
            return confirmed + away.confirmed, str(away)
        confirmed += run_ids
    return confirmed, ""


# `sent_at` is the transaction's start, one for the batch: within it the order of the rows says
# nothing about the order of the messages, which rescue compares by it.
_MARK = """
update runs_run
   set state = %(state)s, sent_at = now(), sends = sends + 1,
       passed = runs_passed(passed, %(state)s, clock_timestamp(), %(who)s),
       send_at = clock_timestamp() + %(resend)s * power(2, least(sends, 10))
 where id = any(%(ids)s) and state in ('CLAIMED', 'ENQUEUED', 'RETRYING')
"""


def mark_sent(cursor: Any, run_ids: list[UUID]) -> None:
    """The runs, locked by this transaction, are with the broker; `send_at` now says when to
    look whether the message was lost."""
    if run_ids:
        resend = timedelta(seconds=settings.RESEND)
        given = {"state": State.ENQUEUED.value, "ids": run_ids, "resend": resend}
        cursor.execute(_MARK, {**given, "who": replica.name()})
