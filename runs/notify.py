"""From the outbox to the channels: at least once, de-duplicated by the id of the sending.

Three short steps, each a commit of its own, so that a process may die between any two: *pack*
(messages become sendings, at most so many a minute for a channel, the rest combined), *take* (one
sending, for as long as a lease), *mark* (what came of it). Who dies after the sending and before
the mark sends again under the same id, by which the receiver knows it.

Every worker does this in a thread beside its pool (config/teller.py), and not as a run: an alarm
about a broker that is away, a long queue or a pool that hangs must not wait behind them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.db.models.functions import Now

from jobs import clock
from jobs.models import Job
from runs import messages, outbox, post
from runs.faults import fault
from runs.messages import Kind
from runs.models import Channel, Delivery, Message
from runs.post import NotTaken

MOST_COMBINED = 500  # messages in one sending
LEASE = 60.0  # seconds; longer than a sending may take
FIRST_WAIT, LONGEST_WAIT = 5.0, 900.0  # seconds until it is tried again, doubling
GIVE_UP_AFTER = timedelta(days=1)
TESTS_A_MINUTE = 5

log = structlog.get_logger("onebeat.notify")


def deliver(within: float) -> int:
    """Pack and send what there is, for about so many seconds; how many were sent."""
    pack()
    until, sent = time.monotonic() + within, 0
    while time.monotonic() < until and (taken := take()):
        sent += send(taken)
    return sent


# ── pack ─────────────────────────────────────────────────────────────────────────────────


def pack() -> int:
    """Turn loose messages into sendings; how many sendings. Processes share the channels."""
    loose = Message.objects.filter(delivery=None).order_by()
    waiting = list(loose.values_list("channel_id", flat=True).distinct()[:100])
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


_TAKE = """
update runs_delivery
   set tries = tries + 1, next_at = clock_timestamp() + %(lease)s * interval '1 second'
 where id = (select id from runs_delivery where next_at <= clock_timestamp()
              order by next_at limit 1 for update skip locked)
returning id
"""


def take() -> Taken | None:
    """The next sending that is due, taken for as long as the lease; None: there is none."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, {"lease": LEASE})
        row = cursor.fetchone()
    found = row and Delivery.objects.select_related("channel__team").filter(id=row[0]).first()
    if not found:  # or its channel was deleted just now
        return None
    return Taken(found.id, found.channel, found.tries, found.created_at)


def send(taken: Taken) -> bool:
    """Send what was taken and mark what came of it; whether it was delivered."""
    fault("tell.taken")
    told = _read(Message.objects.filter(delivery=taken.id).order_by("id"))
    try:
        answer = post.to(taken.channel, told, id=taken.id, at=taken.created_at)
    except NotTaken as refused:
        _mark_failed(taken, refused)
        return False
    fault("tell.answered")
    Delivery.objects.filter(id=taken.id, sent_at=None).update(
        sent_at=Now(), next_at=None, given_up_at=None, answer=answer
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


def _read(rows: object) -> list[messages.Message]:
    found = list(rows)  # type: ignore[call-overload]
    ids = {row.job_id for row in found}
    jobs = Job.objects.filter(id__in=ids).select_related("team").only("name", "team__slug")
    by_id = {job.id: job for job in jobs}
    return [_message(row, by_id.get(row.job_id)) for row in found]


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


def retry(channel: Channel) -> int:
    """Try anew, at once, what was given up or waits for another try; how many sendings."""
    again = Delivery.objects.filter(channel=channel, sent_at=None, is_test=False)
    return again.update(next_at=Now(), given_up_at=None, tries=0, created_at=Now())


# ── a test ───────────────────────────────────────────────────────────────────────────────


class TooManyTests(Exception):
    """So many tests a minute and no more: mail and webhooks go to other people."""

    def __init__(self) -> None:
        super().__init__(f"At most {TESTS_A_MINUTE} tests a minute. Wait a moment.")


def send_test(channel: Channel) -> Delivery:
    """Send a test now; the sending, with the answer. Raises TooManyTests."""
    with transaction.atomic():
        Channel.objects.order_by().select_for_update(no_key=True).get(id=channel.id)
        if _within_a_minute(channel, is_test=True) >= TESTS_A_MINUTE:
            raise TooManyTests
        row = {"channel": channel, "is_test": True, "created_at": clock.now(), "tries": 1}
        sending = Delivery.objects.create(**row)
    team = channel.team.slug if channel.team else ""
    told = [messages.Message(f"test:{sending.id}", Kind.TEST, team=team)]
    try:
        sending.answer = post.to(channel, told, id=sending.id, at=sending.created_at)
        sending.sent_at = clock.now()
    except NotTaken as refused:
        sending.answer, sending.given_up_at = str(refused), clock.now()
    sending.save()
    return sending
