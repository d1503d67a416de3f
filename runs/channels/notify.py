"""From the outbox to the channels: at least once, de-duplicated by the id of the sending.

Three short steps, each a commit of its own, so that a process may die between any two: *pack*
(messages become sendings, at most so many a minute for a channel, the rest combined), *take* (one
sending, for as long as a lease), *mark* (what came of it). Who dies after the sending and before
the mark sends again under the same id, by which the receiver knows it.

Every worker does this in a thread beside its pool (config/teller.py), and not as a run: an alarm
about a broker that is away, a long queue or a pool that hangs must not wait behind them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.db.models.functions import Now

from jobs import clock, events
from jobs.models import Job, User
from runs import subjects
from runs.channels import messages, outbox, post
from runs.channels.messages import Kind
from runs.channels.post import NotTaken
from runs.faults import fault
from runs.models import Channel, Delivery, Message

MOST_COMBINED = 500  # messages in one sending
AT_ONCE = 8  # sendings, each to another channel
ROUND, LEASE = 30.0, 60.0  # seconds that are waited for them, and that they are ours
FIRST_WAIT, LONGEST_WAIT = 5.0, 900.0  # seconds until it is tried again, doubling
GIVE_UP_AFTER = timedelta(days=1)
TESTS_A_MINUTE = 5

log = structlog.get_logger("onebeat.notify")


def deliver(within: float) -> int:
    """Pack and send what there is, for about so many seconds; how many were sent."""
    pack()
    until, sent = time.monotonic() + within, 0
    while time.monotonic() < until and (taken := take()):
        sent += sum(send(taken))
    return sent


# ── pack ─────────────────────────────────────────────────────────────────────────────────


def pack() -> int:
    """Turn loose messages into sendings; how many sendings. Processes share the channels."""
    loose = Message.objects.filter(delivery=None).order_by()
    waiting = list(loose.values_list("channel_id", flat=True).distinct())
    return sum(_pack_channel(channel_id) for channel_id in waiting)


@transaction.atomic
def _pack_channel(channel_id: UUID) -> int:
    # No key update: the transactions that write messages are not kept waiting.
    locked = Channel.objects.order_by().select_for_update(skip_locked=True, no_key=True)
    channel = locked.filter(id=channel_id).first()
    if channel is None:  # another process is at it, or it was deleted
        return 0
    free = channel.per_minute - _within_a_minute(channel, is_test=False)
    if free <= 0:
        return 0
    rows = Message.objects.filter(channel=channel, delivery=None).order_by("id")
    ids = list(rows.values_list("id", flat=True)[: free - 1 + MOST_COMBINED])
    alone, combined = ids[: free - 1], ids[free - 1 :]
    groups = [*([one] for one in alone), *([combined] if combined else [])]
    for group in groups:
        sending = Delivery.objects.create(channel=channel, created_at=Now(), next_at=Now())
        Message.objects.filter(id__in=group).update(delivery=sending)
    fault("tell.packed")
    return len(groups)


def _within_a_minute(channel: Channel, *, is_test: bool) -> int:
    since = Now() - timedelta(minutes=1)
    recent = Delivery.objects.filter(channel=channel, created_at__gt=since, is_test=is_test)
    return recent.count()


# ── take, send, mark ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Taken:
    """A sending that is ours until its lease is over; `tries` counts this one."""

    id: UUID
    channel: Channel
    tries: int
    created_at: datetime


# One of each channel, and the channels by lot: one that is slow, or has much to be told, keeps the
# others waiting for no more than a round.
_TAKE = """
with next as (
  select id from (
    select distinct on (channel_id) id from runs_delivery
     where next_at <= clock_timestamp() order by channel_id, next_at) due
   order by random() limit %(most)s),
free as (
  select id from runs_delivery
   where id in (select id from next) and next_at <= clock_timestamp() for update skip locked)
update runs_delivery
   set tries = tries + 1, next_at = clock_timestamp() + %(lease)s * interval '1 second'
 where id in (select id from free)
returning id
"""


def take() -> list[Taken]:
    """Sendings that are due, of different channels, taken for as long as the lease."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, {"lease": LEASE, "most": AT_ONCE})
        ids = [sending for (sending,) in cursor.fetchall()]
    found = Delivery.objects.filter(id__in=ids).select_related("channel__team")
    return [Taken(row.id, row.channel, row.tries, row.created_at) for row in found]


def send(taken: Sequence[Taken]) -> list[bool]:
    """Send what was taken, all at once, and mark what came of each; which were delivered."""
    fault("tell.taken")
    now = clock.now()
    letters = [Letter(one, _read(one.id), now) for one in taken]
    for letter in letters:
        letter.start()
    until = time.monotonic() + ROUND
    for letter in letters:
        letter.join(max(0.0, until - time.monotonic()))
    fault("tell.answered")
    return [_mark(letter) for letter in letters]


class Letter(threading.Thread):
    """One sending on its way, in a thread that asks no database: `answer` is what was said, once
    it was taken; `refused` why it was not. Neither: nothing is known yet."""

    def __init__(self, taken: Taken, told: list[messages.Message], now: datetime) -> None:
        super().__init__(daemon=True, name="letter")
        self.taken, self._told, self._now = taken, told, now
        self.answer: str | None = None
        self.refused: NotTaken | None = None

    def run(self) -> None:
        taken = self.taken
        try:
            self.answer = post.to(
                taken.channel, self._told, id=taken.id, at=taken.created_at, now=self._now
            )
        except NotTaken as refused:
            self.refused = refused
        except Exception as error:  # a fault of ours is to be seen, and must not come for ever
            log.exception("notify.error", **_facts(taken))
            self.refused = NotTaken(f"It could not be written: {type(error).__name__}.")


def _mark(letter: Letter) -> bool:
    """Whether it was delivered. Of what nothing is known, its lease will tell."""
    taken = letter.taken
    if letter.refused is not None:
        _mark_failed(taken, letter.refused)
    if letter.answer is None:
        return False
    Delivery.objects.filter(id=taken.id, sent_at=None).update(
        sent_at=Now(), next_at=None, given_up_at=None, answer=letter.answer
    )
    fault("tell.marked")
    log.info("notify.sent", **_facts(taken))
    return True


def _mark_failed(taken: Taken, refused: NotTaken) -> None:
    """Later again, with every other sending of the channel behind it; or never."""
    mine = Delivery.objects.filter(id=taken.id, tries=taken.tries, sent_at=None)
    if refused.gone or clock.now() - taken.created_at > GIVE_UP_AFTER:
        with transaction.atomic():
            if mine.update(given_up_at=Now(), next_at=None, answer=str(refused)):
                _alarm(taken, refused)
        return
    wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(taken.tries - 1, 20))
    again = Now() + timedelta(seconds=wait)
    mine.update(next_at=again, answer=str(refused))
    # One sending finds out whether the channel works again: the others do not each wait for it,
    # and keep no worker from the sendings of other channels.
    Delivery.objects.filter(channel=taken.channel, next_at__lt=again).update(next_at=again)
    log.warning("notify.not_sent", why=str(refused), again_in=wait, **_facts(taken))


def _alarm(taken: Taken, refused: NotTaken) -> None:
    log.error("notify.gave_up", why=str(refused), **_facts(taken))
    if (team := taken.channel.team) is not None:  # the platform's own would tell itself
        reason = f"Channel {taken.channel.name} of team {team.slug}: {refused}"
        outbox.of_installation(Kind.UNDELIVERED, str(taken.id), reason)


def _facts(taken: Taken) -> dict[str, str | int]:
    return {"delivery": str(taken.id), "channel": str(taken.channel.id), "tries": taken.tries}


def _read(sending: UUID) -> list[messages.Message]:
    found = list(Message.objects.filter(delivery=sending).order_by("id"))
    ids = {row.job_id for row in found if row.job_id}
    jobs = Job.objects.filter(id__in=ids).select_related("team").only("name", "team__slug")
    by_id = {job.id: job for job in jobs}
    return [_message(row, by_id.get(row.job_id) if row.job_id else None) for row in found]


def _message(row: Message, job: Job | None) -> messages.Message:
    return messages.Message(
        row.event,
        Kind(row.kind),
        team=job.team.slug if job else "",
        job=job.name if job else "",
        job_id=str(row.job_id or ""),
        run_id=str(row.run_id or ""),
        count=row.count,
        first=row.first_at,
        last=row.last_at,
        reason=row.reason,
    )


@transaction.atomic
def retry(channel: Channel, *, by: User | None = None) -> int:
    """Try anew, at once, what was given up or waits for another try; how many sendings."""
    again = Delivery.objects.filter(channel=channel, sent_at=None, is_test=False)
    count = again.update(next_at=Now(), given_up_at=None, tries=0, created_at=Now())
    events.record(
        "channel.retried", subjects.of_channel(channel), by=by, reason=f"{count} sendings."
    )
    return count


# ── a test ───────────────────────────────────────────────────────────────────────────────


class TooManyTests(Exception):
    """So many tests a minute and no more: mail and webhooks go to other people."""

    def __init__(self) -> None:
        super().__init__(f"At most {TESTS_A_MINUTE} tests a minute. Wait a moment.")


def send_test(channel: Channel, *, by: User | None = None) -> Delivery:
    """Send a test now; the sending, with the answer. Raises TooManyTests."""
    with transaction.atomic():
        Channel.objects.order_by().select_for_update(no_key=True).get(id=channel.id)
        if _within_a_minute(channel, is_test=True) >= TESTS_A_MINUTE:
            raise TooManyTests
        row = {"channel": channel, "is_test": True, "created_at": clock.now(), "tries": 1}
        sending = Delivery.objects.create(**row)
        events.record("channel.tested", subjects.of_channel(channel), by=by)
    team = channel.team.slug if channel.team else ""
    told = [messages.Message(f"test:{sending.id}", Kind.TEST, team=team)]
    try:
        sending.answer = post.to(
            channel, told, id=sending.id, at=sending.created_at, now=sending.created_at
        )
        sending.sent_at = clock.now()
    except NotTaken as refused:
        sending.answer, sending.given_up_at = str(refused), clock.now()
    sending.save()
    return sending
