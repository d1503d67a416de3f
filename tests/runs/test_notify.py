"""From the outbox to people: packed, sent, marked; tried again, given up; the same id each time."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.core import mail
from django.db import connection
from django.db.models.functions import Now
from django.test import override_settings
from standardwebhooks import Webhook

from jobs import clock, sealing
from jobs.models import Job, Team
from runs import faults, settle
from runs.channels import messages, notify, outbox
from runs.channels.messages import OF_TEAM
from runs.models import Channel, Delivery, Message, Run
from runs.outcomes import Effect, Kind, Outcome
from runs.states import State
from tests import make
from tests.races import at_once
from tests.runs.loopback import OK, Loopback, read_request
from tests.servers import wait_until

pytestmark = pytest.mark.django_db

NO = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy"
GONE = b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture(autouse=True)
def reachable(settings: LazySettings) -> None:
    settings.EGRESS_ALLOW = "127.0.0.1/32"
    settings.EMAIL_URL, settings.URL = "smtp://mail.example", "https://onebeat.example"


@pytest.fixture
def job(team: Team) -> Job:
    return make.job(team, name="settle")


@pytest.fixture
def receiver() -> Iterator[Loopback]:
    with Loopback(OK) as server:
        yield server


def webhook(team: Team | None, server: Loopback, *kinds: str, **given: Any) -> Channel:
    return make.channel(team, *kinds, way="webhook", address=server.url("/hook"), **given)


def dead(job: Job, count: int = 1, **columns: Any) -> None:
    """So many dead letters, each of which is told."""
    for _ in range(count):
        outbox.of_runs([make.run(job, State.DEAD, attempt=5, **columns).id])


def head_and_body(request: bytes) -> tuple[dict[str, str], Any]:
    head, _, body = request.partition(b"\r\n\r\n")
    lines = [line.partition(": ") for line in head.decode().split("\r\n")[1:]]
    return {name.lower(): value for name, _, value in lines}, json.loads(body)


def due_again() -> None:
    Delivery.objects.filter(next_at__isnull=False).update(next_at=Now())


# ── what goes out ────────────────────────────────────────────────────────────────────────


def test_a_webhook_is_signed_and_says_what_happened(
    job: Job, team: Team, receiver: Loopback, settings: LazySettings
) -> None:
    channel = webhook(team, receiver, "dead")
    dead(job, reason="503 three times.", due_at=clock.now())
    assert notify.deliver(5) == 1
    headers, body = head_and_body(receiver.requests[0])
    secret = sealing.unseal(channel.secret, settings.SEALING_KEYS)
    text = receiver.requests[0].partition(b"\r\n\r\n")[2]
    assert Webhook(secret).verify(text, headers) == body
    delivery = Delivery.objects.get()
    assert headers["webhook-id"] == body["id"] == str(delivery.id)
    (told,) = body["messages"]
    assert (told["kind"], told["team"], told["job_name"]) == ("dead", "payments", "settle")
    assert told["happened"].endswith("503 three times.")
    assert told["link"] == f"https://onebeat.example/runs/{told['run']}/"
    assert told["not_done"] and told["to_do"]
    assert (delivery.tries, delivery.next_at, delivery.answer) == (1, None, "200 ok")
    assert delivery.sent_at is not None


def test_mail_says_the_same_under_a_stable_id(job: Job, team: Team) -> None:
    make.channel(team, "dead", address="ops@example.org, night@example.org")
    dead(job, reason="503 three times.")
    assert notify.deliver(5) == 1
    (letter,) = mail.outbox
    assert letter.to == ["ops@example.org", "night@example.org"]
    assert letter.subject == "A run is a dead letter: payments/settle"
    delivery = Delivery.objects.get()
    assert letter.message()["Message-ID"] == f"<{delivery.id}@onebeat.example>"
    for part in ("503 three times.", "What was not done:", "What to do:", "https://onebeat"):
        assert part in str(letter.body)


def test_no_message_holds_a_secret_of_the_job(team: Team) -> None:
    """Only names, moments and reasons go out: never a header or a body."""
    headers = {"Authorization": "Bearer very-secret"}
    target = {**make.shape()["target"], "headers": headers, "body": {"iban": "DE00 1234"}}
    make.channel(team, "dead")
    dead(make.job(team, target=target))
    notify.deliver(5)
    letter = str(mail.outbox[0].message())
    assert "very-secret" not in letter and "DE00" not in letter


def test_a_name_cannot_break_out_of_the_subject(team: Team) -> None:
    job = make.job(team)
    Job.objects.filter(id=job.id).update(name="x\r\nBcc: all@example.org\x07" + "y" * 90)
    make.channel(team, "dead")
    dead(job)
    assert notify.deliver(5) == 1
    assert "\n" not in mail.outbox[0].subject and len(mail.outbox[0].subject) <= 150
    assert mail.outbox[0].message()["Bcc"] is None


def test_without_a_mail_server_nobody_is_told_that_all_is_well(
    job: Job, team: Team, settings: LazySettings
) -> None:
    settings.EMAIL_URL = ""
    make.channel(team, "dead")
    dead(job)
    assert notify.deliver(5) == 0
    assert "EMAIL_URL" in Delivery.objects.get().answer


def test_a_channel_inside_the_network_is_not_called(
    job: Job, team: Team, receiver: Loopback, settings: LazySettings
) -> None:
    webhook(team, receiver, "dead")
    settings.EGRESS_ALLOW = ""
    dead(job)
    assert notify.deliver(5) == 0
    assert receiver.connections == 0
    assert "inside the network" in Delivery.objects.get().answer


# ── at most so many a minute ─────────────────────────────────────────────────────────────


def test_what_is_too_much_for_a_minute_is_combined(
    job: Job, team: Team, receiver: Loopback
) -> None:
    webhook(team, receiver, "dead", per_minute=3)
    dead(job, 10)
    assert notify.deliver(5) == 3
    bodies = [head_and_body(request)[1] for request in receiver.requests]
    assert sorted(len(body["messages"]) for body in bodies) == [1, 1, 8]
    ids = [told["id"] for body in bodies for told in body["messages"]]
    assert len(set(ids)) == 10
    dead(job, 2)
    assert notify.deliver(5) == 0, "the minute has had its three"
    Delivery.objects.update(created_at=clock.now() - timedelta(seconds=61))
    assert notify.deliver(5) == 2


def test_a_long_digest_is_cut_in_the_mail_and_counted(job: Job, team: Team) -> None:
    make.channel(team, "dead", per_minute=1)
    dead(job, 60)
    assert notify.deliver(5) == 1
    assert "And 10 more" in str(mail.outbox[0].body)


# ── again, and never ─────────────────────────────────────────────────────────────────────


def test_what_is_not_taken_is_tried_again_under_the_same_id(
    job: Job, team: Team, settings: LazySettings
) -> None:
    with Loopback(NO) as server:
        webhook(team, server, "dead")
        dead(job)
        before = clock.now()
        assert notify.deliver(5) == 0
        first = Delivery.objects.get()
        assert first.answer == "503 busy"
        assert first.next_at is not None and first.next_at > before + timedelta(seconds=4)
        assert notify.deliver(5) == 0, "not before its time"
        server._script = OK
        due_again()
        assert notify.deliver(5) == 1
        ids = {head_and_body(request)[0]["webhook-id"] for request in server.requests}
    assert ids == {str(first.id)}
    assert len(server.requests) == 2


def test_the_wait_doubles_up_to_a_cap(job: Job, team: Team) -> None:
    with Loopback(NO) as server:
        webhook(team, server, "dead")
        dead(job)
        notify.pack()
        waits = []
        for tries in (0, 1, 2, 30, 32_000):
            Delivery.objects.update(tries=tries, next_at=Now())
            notify.deliver(5)
            found = Delivery.objects.get().next_at
            assert found is not None
            waits.append(round((found - clock.now()).total_seconds()))
    assert waits == [5, 10, 20, 900, 900]


def test_one_sending_tries_a_channel_that_is_down_for_all_of_them(job: Job, team: Team) -> None:
    with Loopback(NO) as server:
        webhook(team, server, "dead")
        dead(job, 5)
        assert notify.deliver(5) == 0
        assert server.connections == 1


@pytest.mark.parametrize(("answer", "age"), [(NO, 25), (GONE, 0)])
def test_what_is_given_up_is_an_alarm(
    job: Job, team: Team, answer: bytes, age: int, caplog: Any
) -> None:
    make.channel(None, "undelivered", name="platform")
    with Loopback(answer) as server:
        webhook(team, server, "dead")
        dead(job)
        notify.pack()
        Delivery.objects.update(created_at=clock.now() - timedelta(hours=age))
        assert notify.deliver(5) == 0
    sending = Delivery.objects.exclude(given_up_at=None).get()
    assert (sending.next_at, sending.sent_at) == (None, None)
    alarm = Message.objects.get(kind="undelivered")
    assert alarm.channel.name == "platform" and "payments" in alarm.reason
    assert notify.deliver(5) == 1, "the alarm itself, by mail"
    assert "does not take its messages" in mail.outbox[0].subject


def test_a_channel_of_the_platform_that_fails_does_not_tell_itself(settings: LazySettings) -> None:
    channel = make.channel(None, "undelivered")
    outbox.of_installation(messages.Kind.UNDELIVERED, "one", "A channel of another team.")
    notify.pack()
    Delivery.objects.update(created_at=clock.now() - timedelta(hours=25))
    settings.EMAIL_URL = ""
    notify.deliver(5)
    assert channel.delivery_set.count() == Message.objects.count() == 1


def test_a_channel_deleted_between_two_steps_hurts_nobody(job: Job, team: Team) -> None:
    channel = make.channel(team, "dead")
    dead(job)
    notify.pack()
    taken = notify.take()
    channel.delete()
    assert notify.send(taken) == [True], "it is sent all the same"
    assert notify.deliver(5) == 0
    assert (Delivery.objects.count(), Message.objects.count()) == (0, 0)


def test_a_slow_receiver_keeps_no_other_waiting(job: Job, team: Team, receiver: Loopback) -> None:
    waits = threading.Event()

    def slow(connection: socket.socket) -> None:
        read_request(connection)
        waits.wait(30)  # until the others have been told
        connection.sendall(OK)

    with Loopback(slow) as late:
        webhook(team, late, "dead", name="slow")
        webhook(team, receiver, "dead", name="quick")
        dead(job)
        notify.pack()
        round_ = threading.Thread(target=lambda: wait_and_let_go(receiver, waits))
        round_.start()
        assert notify.send(notify.take()) == [True, True]
        round_.join()
    assert Delivery.objects.filter(sent_at=None).count() == 0


def wait_and_let_go(receiver: Loopback, waits: threading.Event) -> None:
    wait_until(lambda: receiver.requests, seconds=30, what="the quick one is told")
    waits.set()


def test_a_fault_of_ours_backs_off_like_any_other(
    job: Job, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    make.channel(team, "dead")
    dead(job)
    monkeypatch.setattr(messages, "text", lambda *_: 1 / 0)
    assert notify.deliver(1) == 0
    sending = Delivery.objects.get()
    assert "ZeroDivisionError" in sending.answer and sending.next_at is not None


# ── a test ───────────────────────────────────────────────────────────────────────────────


def test_a_test_shows_the_answer_and_is_listed(team: Team, receiver: Loopback) -> None:
    sending = notify.send_test(webhook(team, receiver, "dead"))
    assert (sending.answer, sending.is_test) == ("200 ok", True)
    assert head_and_body(receiver.requests[0])[1]["messages"][0]["kind"] == "test"
    with Loopback(NO) as server:
        failed = notify.send_test(webhook(team, server, *OF_TEAM, name="other"))
    assert (failed.answer, failed.sent_at) == ("503 busy", None)
    assert failed.given_up_at is not None


def test_tests_are_bounded(team: Team) -> None:
    channel = make.channel(team, "dead")
    for _ in range(notify.TESTS_A_MINUTE):
        notify.send_test(channel)
    with pytest.raises(notify.TooManyTests):
        notify.send_test(channel)
    assert len(mail.outbox) == notify.TESTS_A_MINUTE


# ── killed at every step ─────────────────────────────────────────────────────────────────

STEPS = {  # where it is killed → how often the receiver is called in all
    "dead.before_notify": 1,
    "tell.packed": 1,
    "tell.taken": 1,
    "tell.answered": 2,
    "tell.marked": 1,
}


def killed_at(point: str, do: Callable[[], object]) -> None:
    """Do it in a process of its own that is gone, as by SIGKILL, at the point."""
    inherited = connection.connection
    pid = os.fork()
    if pid == 0:
        connection.connection = None  # the parent's, which is not to be closed here
        faults.arm([f"{point}:kill"])
        try:
            do()
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert connection.connection is inherited
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, point


def told_to_the_end(run: Run) -> None:
    """What any process does: settle the run, deliver what is there."""
    settle.attempt(run.id, 1, Outcome(Kind.REFUSED, Effect.NONE, "It said no."))
    notify.deliver(5)


@pytest.mark.django_db(transaction=True)
def test_killed_at_each_step_nothing_is_lost_and_nothing_doubled_under_its_id(
    team: Team, receiver: Loopback
) -> None:
    """C26: a run is settled and told of; whoever does it is killed on the way, and another goes
    on. What the receiver keeps by id is each message once."""
    webhook(team, receiver, "dead", per_minute=60)
    for number, (point, calls) in enumerate(STEPS.items()):
        run = make.run(make.job(team, name=f"job {number}"), State.RUNNING)
        killed_at(point, lambda run=run: told_to_the_end(run))  # type: ignore[misc]
        due_again()  # the lease of the dead process is over
        told_to_the_end(run)
        received = [head_and_body(request) for request in receiver.requests]
        ours = [
            (headers["webhook-id"], message["id"])
            for headers, body in received
            for message in body["messages"]
            if message["run"] == str(run.id)
        ]
        assert (len(ours), len(set(ours))) == (calls, 1), point
        assert notify.deliver(5) == 0, point
    assert Delivery.objects.filter(sent_at=None).count() == 0
    assert Message.objects.filter(delivery=None).count() == 0


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_send_each_message_once(team: Team, receiver: Loopback) -> None:
    webhook(team, receiver, "dead", per_minute=60)
    job = make.job(team)
    for _ in range(10):
        dead(job)
        sent = at_once(deliver, deliver)
        assert sum(sent) == 1
    due_again()
    notify.deliver(5)
    ids = [head_and_body(request)[0]["webhook-id"] for request in receiver.requests]
    assert len(ids) == len(set(ids))


def deliver() -> int:
    """As a racer does it, which has settings of its own."""
    with override_settings(EGRESS_ALLOW="127.0.0.1/32"):
        return notify.deliver(1)
