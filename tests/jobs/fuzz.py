"""Texts that nobody should write, and how long the schedules take over one."""

from __future__ import annotations

import time
from random import Random
from typing import Any

from jobs.cron import grammar
from jobs.schedules import schedules, zones
from jobs.schedules.schedules import ScheduleError
from tests.jobs import expressions
from tests.jobs.moments import NOW

MOST = 0.05  # seconds of processor time for any input
ALPHABET = "0123456789 \t*,-/#LWHR@?adimnorstuy.+:TZ\u00a0\x00\ud800\u0660\u2028\U0001f570"
INSTANTS = ("2026-02-30T00:00:00Z", "2027-03-28T02:30:00+01:00", "9999-12-31T23:59:59Z")
PLACES = sorted(zones.names())


def some(dice: Random) -> object:
    """A schedule as JSON may bring it, with text gone wrong somewhere in it."""
    kind = dice.randrange(20)
    if kind < 14:
        return {"cron": text(dice), "timezone": dice.choice(PLACES), "dst": "wall"}
    if kind < 16:
        return {"cron": expressions.some(dice), "timezone": changed(dice, dice.choice(PLACES))}
    if kind < 18:
        return {"at": changed(dice, dice.choice(INSTANTS))}
    if kind < 19:
        return {"every": number(dice), "anchor": changed(dice, dice.choice(INSTANTS))}
    return dice.choice(([], {}, text(dice), None, [{"cron": text(dice)}] * dice.randint(1, 30)))


def text(dice: Random) -> str:
    """A good expression with up to three wrong letters, or mere noise."""
    if dice.random() < 0.7:
        return changed(dice, expressions.some(dice))
    return "".join(dice.choices(ALPHABET, k=dice.randint(0, 300)))


def changed(dice: Random, good: str) -> str:
    """Half of them have digits in the wrong places only, so that many are good all the same."""
    letters, wrong = list(good), dice.choice((ALPHABET, "0123456789"))
    for _ in range(dice.randint(0, 3)):
        place = dice.randrange(len(letters))
        letters[place] = dice.choice(wrong) * dice.choice((0, 1, 1, 1, 2))
    return "".join(letters)


def number(dice: Random) -> Any:
    return dice.choice((-1, 0, 1, 10**6, 10**30, 1e308, float("nan"), True, "60", dice.random()))


def seconds(given: object) -> float:
    """What it takes of the processor to save this and to ask for its next moment. Only the
    schedules' own error may come out of them. The least of three, where one is too much."""
    taken = _seconds(given)
    return taken if taken < MOST else min(_seconds(given), _seconds(given))


def _seconds(given: object) -> float:
    grammar.parse.cache_clear()
    schedules._remembered.cache_clear()
    began = time.process_time()
    tries(given)
    return time.process_time() - began


def tries(given: object) -> None:
    try:
        found = schedules.parse(given, now=NOW)
    except ScheduleError as error:
        assert str(error).isprintable()
        assert error.field
        assert error.hint
        return
    moment = schedules.next_moment(found, NOW)
    assert moment is not None and moment > NOW
