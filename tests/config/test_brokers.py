"""Celery is given an address that it takes without a warning."""

from __future__ import annotations

import logging

import kombu
import pytest
from django.core.exceptions import ImproperlyConfigured

from config import brokers, pgmq_transport


def test_the_address_of_pgmq_warns_of_nothing(caplog: pytest.LogCaptureFixture) -> None:
    pgmq_transport.register()
    with caplog.at_level(logging.WARNING, logger="kombu"):
        address = brokers.address("pgmq://u@127.0.0.1/x")
        kombu.Connection(address).as_uri()
        assert caplog.messages == []
        kombu.Connection("pgmq://").as_uri()
    assert "No hostname was supplied" in caplog.text


def test_a_broker_that_is_known_is_left_as_it_is() -> None:
    assert brokers.known("redis://127.0.0.1/0") == "redis://127.0.0.1/0"
    with pytest.raises(ImproperlyConfigured, match=r"^BROKER_URL: unknown scheme 'kafka'"):
        brokers.known("kafka://u:hidden@127.0.0.1/x")
