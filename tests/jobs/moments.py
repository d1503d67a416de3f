"""Zones that are tried, and instants as the tests write them."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from random import Random

from jobs.schedules import schedules, zones
from jobs.schedules.schedules import At, Cron, Every, Schedule
from jobs.schedules.values import Dst

WIDTH = int(os.environ.get("ONEBEAT_TEST_WIDTH", "1"))
WHOLE = os.environ.get("ONEBEAT_PROOF") == "whole"  # the searches that take an hour
NOW = datetime(2026, 1, 15, 10, 7, tzinfo=UTC)
TICK = timedelta.resolution
NEW_YORK = "America/New_York"
DSTS: tuple[Dst, ...] = ("once", "wall")
PLACES = (
    "UTC",
    "Europe/Berlin",
    "Europe/London",
    "Europe/Dublin",
    "Europe/Lisbon",
    "Europe/Istanbul",
    "Europe/Moscow",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Asia/Beirut",
    "Asia/Gaza",
    "Asia/Tehran",
    "Asia/Kathmandu",
    "Asia/Amman",
    "Asia/Pyongyang",
    "America/New_York",
    "America/Havana",
    "America/Santiago",
    "America/Asuncion",
    "America/Sao_Paulo",
    "America/Caracas",
    "America/St_Johns",
    "America/Vancouver",
    "America/Nuuk",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "Pacific/Apia",
    "Pacific/Norfolk",
    "Antarctica/Troll",
    "Atlantic/Azores",
)


def at(text: str) -> datetime:
    return schedules.parse_instant(text, "text")


def texts(moments: list[datetime]) -> list[str]:
    return [schedules.canonical_instant(moment) for moment in moments]


def a_change(dice: Random, zone: str) -> datetime:
    """A change of the clock in `zone` between 2007 and 2037, or any instant if it has none."""
    years = dice.sample(range(2007, 2038), 31)
    some = (change.at for year in years for change in zones.changes(zone, year))
    return next(some, datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=dice.randint(0, 4000)))


MANY: tuple[Schedule, ...] = (
    Cron("0 * * * *", "Europe/Berlin"),
    Cron("*/30 9-17 * * 1-5", NEW_YORK),
    Every(5400, at("2026-01-01T00:00:00Z")),
    Every(1000, at("2026-01-01T00:00:01Z")),
    At(at("2026-03-08T07:00:00Z")),
    At(at("2026-03-08T07:00:00.5Z")),
)
