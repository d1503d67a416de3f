"""A worker finds a broker soon after it is back."""

from __future__ import annotations

import socket

import pytest

from config.celery import app


class Enough(Exception):
    pass


def test_a_broker_that_is_away_is_looked_for_every_two_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kombu.utils.functional.sleep", lambda _: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]  # nobody listens there in a moment
    pauses: list[float] = []

    def note(_: Exception, pause: float) -> None:
        pauses.append(pause)
        if len(pauses) == 8:
            raise Enough

    with app.connection_for_read(f"amqp://127.0.0.1:{port}//") as line, pytest.raises(Enough):
        line.ensure_connection(note)
    assert pauses == [0.5, 1.0, 1.5, 2.0, 2.0, 2.0, 2.0, 2.0]
