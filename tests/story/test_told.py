"""People are told by real processes, and somebody else notices when there are none."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest

from jobs import clock
from jobs.models import Team
from jobs.schedules.instants import canonical_instant
from runs.channels import editing as channels
from runs.channels.editing import Wanted
from runs.models import Run
from tests import make
from tests.runs.loopback import Loopback, read_request
from tests.servers import wait_until
from tests.story.conftest import register
from tests.story.processes import Product

pytestmark = pytest.mark.story

MINUTE = 2  # seconds of a minute in this story


class Receiver(Loopback):
    """Takes messages at /hook and the watchdog's calls at /ping, and knows when they came. To
    anything else it is busy."""

    def __init__(self) -> None:
        self.messages: list[dict[str, str]] = []
        self.pings: list[float] = []
        super().__init__(self._take)

    def _take(self, connection: socket.socket) -> None:
        request = read_request(connection)
        head, _, body = request.partition(b"\r\n\r\n")
        if head.startswith(b"GET /ping "):
            self.pings.append(time.monotonic())
        elif head.startswith(b"POST /hook "):
            self.messages += json.loads(body)["messages"]
        else:
            connection.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
            return
        connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    def has_noticed(self) -> bool:
        """Whether nobody has called for two minutes, as its owner would be told."""
        return time.monotonic() - self.pings[-1] > 2 * MINUTE


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """To be named before `product`, whose processes find it in their environment."""
    server = Receiver()
    with server:
        monkeypatch.setenv("ONEBEAT_WATCHDOG_URL", server.url("/ping"))
        monkeypatch.setenv("ONEBEAT_WATCHDOG_EVERY", str(MINUTE))
        yield server


@pytest.mark.timeout(180)
def test_a_run_in_review_is_told_and_dead_beats_are_noticed(
    receiver: Receiver, product: Product, team: Team
) -> None:
    wanted = Wanted("hook", "webhook", receiver.url("/hook"), ("review",))
    channels.make(team, wanted, by=make.person("admin"))
    beats = [product.beat(), product.beat()]
    product.worker()
    product.up()
    due = canonical_instant(clock.now() + timedelta(seconds=1))
    http = {"type": "http", "url": receiver.url("/settle")}
    job = register(team, "settle", {"at": due}, http, idempotent=False)

    wait_until(lambda: receiver.messages, seconds=30, what="the review is told")
    (told,) = receiver.messages
    assert (told["kind"], told["run"]) == ("review", str(Run.objects.get(job=job).id))

    wait_until(lambda: len(receiver.pings) >= 3, seconds=30, what="all is well, again and again")
    for beat in beats:
        beat.kill()
    wait_until(receiver.has_noticed, seconds=8 * MINUTE, what="the receiver hears no more")
    heard = len(receiver.pings)
    product.beat()
    wait_until(lambda: len(receiver.pings) > heard, seconds=60, what="it hears of us again")
    assert len(receiver.messages) == 1
