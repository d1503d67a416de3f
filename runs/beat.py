"""One replica of the scheduler: `celery -A config beat`, on as many hosts as wanted.

Thin: reads the database's clock, then claim, enqueue, backfill, rescue. Any error is caught,
logged, and its connection dropped, since an exception that leaves `tick` ends the process.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import structlog
from celery import beat
from django.conf import settings
from django.db import connection

from jobs import clock, maintenance
from jobs.periodic_tasks import mirror
from jobs.schedules import zones
from runs import claim, enqueue, old_snapshots, rescue, self_pause, set_back, watched, zone_data
from runs.backfills import backfill
from runs.bounds import Bound
from runs.channels import outbox
from runs.holds import letting_go
from runs.letters import replaying
from runs.members import Member
from runs.publishing.choice import publisher
from runs.witness import Witness

TICK = 1.0  # seconds: the longest sleep between two looks
_LEAST_SLEEP = 0.005
_BACKFILL = 0.25  # the longest sleep while a backfill may have to go on
_NONE = "no job at local time: upgrade this beat"
_BURST = 2.0  # seconds of claiming and sending before the tick looks after the rest

log = structlog.get_logger("onebeat.beat")


class Every:
    """Whether this many seconds of the monotonic clock have passed since the last time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next = 0.0

    def has_come(self) -> bool:
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + self._seconds
        return True


class Scheduler(beat.Scheduler):
    """Celery's beat with our tick; it keeps no schedule in memory."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.member = Member()
        self.witness = Witness()
        self.publisher = publisher(self.app)
        self._due, self._to_send = Bound(), Bound()
        self._membership = Every(TICK)
        self._rescue = Every(settings.SWEEP)
        self._mirror, self._holds, self._windows = Every(TICK), Every(TICK), Every(TICK)
        self._zone_data = Every(settings.SWEEP)
        self._told_older, self._old_snapshots = Every(60), Every(60)
        self._given_up, self._watchdog = Every(60), Every(60)
        self._settled = False  # whether our zone data worked out every next moment
        self._broker_pause_until = 0.0
        # What is loaded by now stays. To go through it for garbage costs a tenth of a second,
        # and would come in the middle of a burst.
        gc.freeze()

    def setup_schedule(self) -> None:
        """Celery's own entries are not used: what is due stands in the database."""
        self.schedule = {}

    @property
    def info(self) -> str:
        return f"    . beat -> {self.member.name}"

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """One look; seconds until the next. Never raises."""
        if not self._safely(self.witness.look):
            return TICK
        self._safely(self._join)
        self._safely(self._begin_windows)
        self._safely(self._work_out_anew)
        more = self._safely(self._work)
        carried = self._safely(backfill.advance_all) or backfill.Carried()
        replayed = self._safely(replaying.advance_all)
        self._safely(self._look_after)
        if more or carried.moments or replayed:
            return _LEAST_SLEEP
        sleep = self._safely(self._sleep) or TICK
        return min(sleep, _BACKFILL) if carried.open else sleep

    def close(self) -> None:
        """Leave at once, so that the others take over the shards without waiting."""
        log.info("beat.leaves", beat=self.member.name)
        self._safely(self.member.leave)
        self.publisher.close()
        super().close()

    def _safely(self, step: Callable[[], Any]) -> Any:
        try:
            return step()
        except Exception:
            log.exception("beat.error", step=getattr(step, "__name__", type(step).__name__))
            connection.close()
            return None

    def _join(self) -> None:
        if not self._membership.has_come():
            return
        if set_back.noticed():
            set_back.undo(clock.now())
        self.witness.beat()
        if self.member.seen():
            log.info("beat.shards", live=len(self.member.live), shards=len(self.member.shards))

    def _begin_windows(self) -> None:
        """Before anything is claimed: after an outage what is due may lie in a window."""
        if self._windows.has_come():
            maintenance.begin_due()

    def _work_out_anew(self) -> None:
        """Next moments at local time that other zone data than ours worked out; see zone_data."""
        newest = self.member.newest_zone_data
        if zone_data.is_older(newest):
            self._settled = False
            if self._told_older.has_come():
                log.error("beat.zone_data_older", ours=zones.version(), newest=newest, claims=_NONE)
        elif self._zone_data.has_come() or not self._settled:
            self._settled = zone_data.work_out_anew()

    def _work(self) -> bool:
        """Claim and send what is due, for a while; whether there is more."""
        started, more = time.monotonic(), True
        while more and time.monotonic() - started < _BURST:
            now = clock.now()
            claimed = self._claim(now)
            sent = self._enqueue(clock.now() if claimed.runs else now)
            more = claimed.full or sent.full
        return more

    def _claim(self, now: datetime) -> claim.Claimed:
        above = self._due.below(now)
        claimed = claim.due_jobs(
            now,
            shards=self.member.shards,
            above=above,
            zone_data=zone_data.claimable(self.member.newest_zone_data, settled=self._settled),
        )
        self._due.found(above, now, short=not claimed.full)
        return claimed

    def _enqueue(self, now: datetime) -> enqueue.Sent:
        if time.monotonic() < self._broker_pause_until:
            return enqueue.Sent()
        above = self._to_send.below(now)
        sent = enqueue.waiting_runs(now, self.publisher, above=above)
        self._to_send.found(above, now, short=not sent.full and not sent.away)
        if sent.away:  # claims go on; the broker is asked again in a second
            self._broker_pause_until = time.monotonic() + TICK
        return sent

    def _look_after(self) -> None:
        if self._holds.has_come():
            self._safely(letting_go.due)
        if self._rescue.has_come():
            for step in (
                *(rescue.silent_workers, rescue.missed_wake_ups, rescue.alarm_for_overdue),
                *(outbox.late, self._send_again, self_pause.after_reviews),
            ):
                self._safely(step)
        if self._old_snapshots.has_come():
            self._safely(old_snapshots.alarm)
        if self._watchdog.has_come():
            self._safely(watched.declare)
        if self._mirror.has_come():
            self._safely(mirror.mirror)

    def _send_again(self) -> None:
        if time.monotonic() >= self._broker_pause_until:
            rescue.lost_messages(clock.now(), self.publisher)
            if self._given_up.has_come():
                rescue.given_up_messages(self.publisher)

    def _sleep(self) -> float:
        now = clock.now()
        with connection.cursor() as cursor:
            cursor.execute(_NEXT, {"now": now})
            (seconds,) = cursor.fetchone()
        return min(TICK, max(_LEAST_SLEEP, TICK if seconds is None else float(seconds)))


# Rows of other beats that are due already belong to them for a second, so that only moments
# ahead of now shorten the sleep.
_NEXT = """
select extract(epoch from least(
  (select at from jobs_due where at > %(now)s order by at limit 1),
  (select send_at from runs_run
    where state in ('CLAIMED', 'RETRYING') and send_at > %(now)s order by send_at limit 1)
  ) - clock_timestamp())
"""
