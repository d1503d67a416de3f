"""A worker that is given nothing though there is work: noticed, and ended; any other is left."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from celery.worker import state

from config import deaf_watch
from config.deaf_watch import EVERY, PATIENCE, Idleness
from jobs import clock
from runs import passed_over
from runs.models import Attempt
from runs.states import State
from tests import make

QUEUES = ["default"]


def test_a_worker_is_idle_while_no_message_comes_and_none_is_carried_out() -> None:
    idleness = Idleness()
    assert [idleness.seen(7, busy=False) for _ in range(3)] == [0, EVERY, 2 * EVERY]
    assert idleness.seen(8, busy=False) == 0
    assert idleness.seen(8, busy=True) == 0
    assert idleness.seen(8, busy=False) == EVERY


def sent(seconds: float, **columns: Any) -> None:
    at = clock.now() - timedelta(seconds=seconds)
    make.run(make.job(make.team(), name=str(uuid4())), State.ENQUEUED, sent_at=at, **columns)


def why(queues: list[str] = QUEUES) -> str | None:
    return passed_over.why(queues, worker="me", idle=60)


@pytest.mark.django_db
def test_a_run_that_nobody_takes_is_work_for_an_idle_worker_of_its_queue() -> None:
    assert why() is None
    sent(5)
    assert why() is None  # it is on its way
    sent(50, queue="other")
    assert why() is None
    sent(50)
    assert "nobody has started it" in (why() or "")


@pytest.mark.django_db
def test_so_are_the_many_that_others_start_meanwhile() -> None:
    run = make.run(make.job(make.team()), State.SUCCEEDED)

    def start(worker: str, first: int) -> None:
        rows = [
            Attempt(
                run=run,
                number=first + number,
                lease_id=uuid4(),
                worker=worker,
                started_at=clock.now() - timedelta(seconds=5),
            )
            for number in range(passed_over.OTHERS)
        ]
        Attempt.objects.bulk_create(rows)

    start("me", 1)
    assert why() is None
    start("another", 1000)
    assert "other workers" in (why() or "")
    assert why(["other"]) is None


@pytest.mark.parametrize(("work", "ends"), [("a run waits", True), (None, False)])
def test_it_ends_only_where_there_was_work(
    monkeypatch: pytest.MonkeyPatch, work: str | None, ends: bool
) -> None:
    over, asked, ended = threading.Event(), [], []

    def tell(*_: object, idle: float, **__: object) -> str | None:
        asked.append(idle)
        if not ends:
            over.set()
        return work

    def end() -> None:
        ended.append(1)
        over.set()

    monkeypatch.setattr(deaf_watch, "EVERY", PATIENCE / 2)
    monkeypatch.setattr(over, "wait", lambda _: over.is_set())
    monkeypatch.setattr(passed_over, "why", tell)
    monkeypatch.setattr(deaf_watch, "end", end)
    monkeypatch.setattr(state, "total_count", Counter())
    deaf_watch._watch(QUEUES, "me", over)
    assert (asked, bool(ended)) == ([PATIENCE], ends)
