"""Named points in the arrows at which a test may strike: a call that does nothing unless armed.

`ONEBEAT_FAULTS=claim.before_commit:kill,start.after_commit:hang:2` arms the first pass of one
point and the second of another; processes that are forked later count their passes together. Only
an installation of a developer's own (ONEBEAT_DEBUG) is armed; runs/checks.py refuses to start any
other.

| action | what happens |
|---|---|
| kill | this process is gone, as by `kill -9` |
| exception | the call raises |
| hang | this process stands still until somebody sends it SIGCONT |
| database | its connection to the database is cut, and the call raises what the driver would |
| broker | the call raises what a broken connection to the broker would |
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import structlog
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, connection

POINTS = frozenset(
    {
        *("claim.selected", "claim.before_commit", "claim.commit_unknown", "claim.after_commit"),
        *("send.midway", "send.no_confirm", "send.unroutable", "send.before_mark"),
        *("rescue.before_mark", "work.received", "start.commit_unknown", "start.after_commit"),
        *("prepare.failed", "intent.commit_unknown", "intent.after_commit", "effect.midway"),
        *("effect.answered", "result.commit_unknown", "result.after_commit", "ack.lost"),
        *("retry.after_commit", "dead.before_notify"),
        *("tell.packed", "tell.taken", "tell.answered", "tell.marked"),
    }
)

log = structlog.get_logger("onebeat.fault")


class Action(StrEnum):
    """What happens at an armed point."""

    KILL = "kill"
    EXCEPTION = "exception"
    HANG = "hang"
    DATABASE = "database"
    BROKER = "broker"


class Fault(Exception):
    """Raised on purpose, where an error of nobody's kind is wanted."""


@dataclass(frozen=True)
class Armed:
    """One strike: at the so-many-th pass of the point, in this process and those it forks."""

    point: str
    action: Action
    hit: int
    passes: Any = field(default_factory=lambda: multiprocessing.Value("i", 0))

    def strikes(self) -> bool:
        """Count one pass; whether it is the one."""
        with self.passes.get_lock():
            self.passes.value += 1
            return bool(self.passes.value == self.hit)


_armed: list[Armed] = []


def fault(point: str, error: type[Exception] = Fault) -> None:
    """A place at which the process may be struck. `error`: what fails here in life."""
    if _armed:
        _pass(point, error)


def arm(strikes: Iterable[str]) -> None:
    """Arm these strikes, `point:action` or `point:action:hit` each, and no other. Raises
    ImproperlyConfigured for what is none."""
    _armed[:] = [_read(text.strip()) for text in strikes]


def _read(text: str) -> Armed:
    point, _, rest = text.partition(":")
    action, _, hit = rest.partition(":")
    if point not in POINTS:
        raise ImproperlyConfigured(f"ONEBEAT_FAULTS: no point is named {point[:80]!r}. {_SHAPE}")
    if action not in list(Action):
        raise ImproperlyConfigured(f"ONEBEAT_FAULTS: {action[:80]!r} is no action. {_SHAPE}")
    if not (hit or "1").isdecimal() or not 1 <= int(hit or "1") <= 1_000_000:
        raise ImproperlyConfigured(f"ONEBEAT_FAULTS: {hit[:80]!r} is no pass. {_SHAPE}")
    return Armed(point, Action(action), int(hit or "1"))


_SHAPE = "Write point:action or point:action:hit, as claim.before_commit:kill:1."


def _pass(point: str, error: type[Exception]) -> None:
    for armed in _armed:
        if armed.point == point and armed.strikes():
            log.warning("fault.struck", point=point, action=armed.action)
            _strike(armed.action, error, f"struck at {point}")


def _strike(action: Action, error: type[Exception], said: str) -> None:
    match action:
        case Action.KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        case Action.HANG:
            os.kill(os.getpid(), signal.SIGSTOP)
        case Action.EXCEPTION:
            raise error(said)
        case Action.BROKER:
            raise ConnectionResetError(said)
        case Action.DATABASE:
            _cut()
            raise OperationalError(f"server closed the connection unexpectedly: {said}")


def _cut() -> None:
    raw = connection.connection
    if raw is not None:
        with suppress(OSError), socket.socket(fileno=os.dup(raw.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)
