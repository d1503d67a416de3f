"""Runs that nobody works on are found: lost messages, silent workers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from jobs import clock
from jobs.models import Due
from runs import enqueue, rescue
from runs.bounds import EVER
from runs.models import Attempt, Run
from runs.publishing.publisher import BrokerAway
from runs.states import State
from tests import make

pytestmark = pytest.mark.django_db


class Broker:
    """Stands in for the publisher: takes `takes` messages, then is away."""

    def __init__(self, takes: int = 10_000, waiting: int = 0) -> None:
        self.takes = takes
        self.holds = waiting
        self.sent: list[UUID] = []

    def send(self, queue: str, run_ids: Sequence[UUID], *, within: float) -> None:
        taken = list(run_ids[: self.takes - len(self.sent)])
        self.sent += taken
        if len(taken) < len(run_ids):
            raise BrokerAway(taken, "gone")

    def waiting(self, queue: str, *, within: float) -> int:
        return self.holds


def runs(count: int, state: State = State.CLAIMED, **columns: Any) -> list[Run]:
    job = make.job(make.team(), name=f"job {uuid4()}")
    return [make.run(job, state, **columns) for _ in range(count)]


def states() -> set[str]:
    return set(Run.objects.values_list("state", flat=True))


def enqueued(broker: Any) -> enqueue.Sent:
    return enqueue.waiting_runs(clock.now(), broker, above=EVER)


def lost(broker: Any) -> int:
    return rescue.lost_messages(clock.now(), broker)


def test_what_waits_is_sent_once_and_marked() -> None:
    waiting = runs(3)
    broker = Broker()
    assert enqueued(broker) == enqueue.Sent(runs=3)
    assert set(broker.sent) == {run.id for run in waiting}
    run = Run.objects.first()
    assert run is not None
    assert (run.state, run.sends) == ("ENQUEUED", 1)
    assert run.send_at is not None
    assert run.send_at > clock.now()  # when to look whether the message was lost
    assert enqueued(broker) == enqueue.Sent()


def test_a_retry_is_sent_when_it_is_due_and_not_before() -> None:
    soon = clock.now() + timedelta(minutes=5)
    runs(1, State.RETRYING, send_at=soon)
    assert enqueued(Broker()).runs == 0
    assert enqueue.waiting_runs(soon, Broker(), above=EVER).runs == 1  # type: ignore[arg-type]


def test_of_a_batch_that_broke_off_only_the_confirmed_are_marked() -> None:
    runs(5)
    sent = enqueued(Broker(takes=2))
    assert (sent.runs, sent.away) == (2, "gone")
    assert Run.objects.filter(state=State.ENQUEUED).count() == 2
    assert Run.objects.filter(state=State.CLAIMED).count() == 3


def test_a_broker_that_is_away_leaves_everything_as_it_was() -> None:
    runs(2)
    assert enqueued(Broker(takes=0)).runs == 0
    assert states() == {"CLAIMED"}
    assert enqueued(Broker()).runs == 2


def long_sent(count: int, ago: float = 60, **columns: Any) -> list[Run]:
    past = clock.now() - timedelta(seconds=ago)
    return runs(
        count,
        State.ENQUEUED,
        sent_at=past,
        send_at=past + timedelta(seconds=15),
        sends=1,
        **columns,
    )


def test_a_message_that_the_broker_does_not_hold_is_sent_again_ever_more_seldom() -> None:
    (run,) = long_sent(1)
    broker = Broker(waiting=0)
    assert lost(broker) == 1
    run.refresh_from_db()
    assert (run.state, run.sends) == ("ENQUEUED", 2)
    assert run.send_at is not None
    first = run.send_at - clock.now()
    assert lost(broker) == 0
    Run.objects.filter(id=run.id).update(send_at=clock.now())
    assert lost(broker) == 1
    run.refresh_from_db()
    assert run.send_at - clock.now() > first * 1.9


def test_a_long_queue_is_no_loss() -> None:
    long_sent(20)
    broker = Broker(waiting=20)
    assert lost(broker) == 0
    assert broker.sent == []
    assert lost(broker) == 0  # looked at again only after a while


def test_messages_sent_at_about_the_same_time_do_not_overtake_each_other() -> None:
    long_sent(3, ago=104)
    (younger,) = runs(1, State.RUNNING, sent_at=clock.now() - timedelta(seconds=100))
    Attempt.objects.create(
        run=younger, number=1, lease_id=uuid4(), worker="w", started_at=clock.now()
    )
    assert lost(Broker(waiting=3)) == 0


def test_the_runs_of_one_batch_are_sent_at_one_instant() -> None:
    runs(20)
    enqueued(Broker())
    assert Run.objects.values("sent_at").distinct().count() == 1


@pytest.mark.parametrize(("ago", "alarms"), [(50, 0), (70, 1)])
def test_a_queue_that_nobody_starts_from_raises_an_alarm(
    ago: float, alarms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_sent(2, ago=ago)
    told: list[dict[str, str]] = []
    monkeypatch.setattr(rescue, "_told", {})
    monkeypatch.setattr(rescue.log, "error", lambda _, **facts: told.append(facts))
    for _ in range(2):  # and not at each look
        lost(Broker(waiting=2))
        Run.objects.update(send_at=clock.now())
    assert [facts["queue"] for facts in told] == ["default"] * alarms


def test_a_message_that_younger_ones_have_overtaken_is_lost() -> None:
    (old,) = long_sent(1, ago=300)
    (younger,) = runs(1, State.RUNNING, sent_at=clock.now() - timedelta(seconds=100))
    Attempt.objects.create(
        run=younger, number=1, lease_id=uuid4(), worker="w", started_at=clock.now()
    )
    broker = Broker(waiting=7)
    assert lost(broker) == 1
    assert broker.sent == [old.id]


def test_a_run_started_by_an_older_message_than_its_last_overtakes_nothing() -> None:
    """It was sent again while its first message lay in a long queue: that one started it. Else
    one message too many would send all that wait again, and those all again after them."""
    waiting = long_sent(20, ago=300)
    (twice,) = runs(1, State.RUNNING, sent_at=clock.now() - timedelta(seconds=100), sends=2)
    Attempt.objects.create(
        run=twice, number=1, lease_id=uuid4(), worker="w", started_at=clock.now()
    )
    broker = Broker(waiting=20)
    assert lost(broker) == 0
    Run.objects.filter(id__in=[run.id for run in waiting]).update(send_at=clock.now())
    (once,) = runs(1, State.RUNNING, sent_at=clock.now() - timedelta(seconds=90), sends=1)
    Attempt.objects.create(run=once, number=1, lease_id=uuid4(), worker="w", started_at=clock.now())
    assert lost(broker) == 20


def silent(*, idempotent: bool, intent: bool, **columns: Any) -> Run:
    job = make.job(make.team(), name=f"job {uuid4()}", idempotent=idempotent)
    now = clock.now()
    run = make.run(
        job,
        State.RUNNING,
        lease_until=now - timedelta(seconds=1),
        intent_at=now - timedelta(seconds=20) if intent else None,
        **columns,
    )
    Attempt.objects.create(run=run, number=1, lease_id=uuid4(), worker="w", started_at=now)
    return run


@pytest.mark.parametrize(
    ("idempotent", "intent", "columns", "state", "review_class", "effect"),
    [
        (True, False, {}, "RETRYING", "", "maybe"),
        (True, True, {}, "RETRYING", "", "maybe"),
        (True, True, {"failures": 4}, "DEAD", "", "maybe"),
        (False, False, {}, "CLAIMED", "", "none"),
        (False, False, {"failures": 4}, "REVIEW", "not sent", "none"),
        (False, True, {}, "REVIEW", "unknown", "maybe"),
    ],
)
def test_a_silent_worker_is_settled_by_how_far_it_had_come(
    idempotent: bool,
    intent: bool,
    columns: dict[str, Any],
    state: str,
    review_class: str,
    effect: str,
) -> None:
    run = silent(idempotent=idempotent, intent=intent, **columns)
    assert rescue.silent_workers() == 1
    run.refresh_from_db()
    assert (run.state, run.review_class, run.effect) == (state, review_class, effect)
    assert run.failures == columns.get("failures", 0) + 1
    attempt = Attempt.objects.get()
    assert (attempt.outcome, attempt.ended_at is None) == ("lost", False)
    assert rescue.silent_workers() == 0


def test_a_lease_that_holds_is_left_alone() -> None:
    runs(1, State.RUNNING)
    assert rescue.silent_workers() == 0


def test_due_rows_that_nobody_claims_raise_an_alarm() -> None:
    job = make.job(make.team())
    assert rescue.alarm_for_overdue() == 0
    Due.objects.filter(job=job).update(at=clock.now() - timedelta(seconds=11))
    assert rescue.alarm_for_overdue() == 1
