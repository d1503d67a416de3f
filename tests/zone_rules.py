"""Zone data of our own making: another version of the data, with other rules for one zone."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from jobs.schedules import local_times, schedules, zones

PLACE = "Asia/Beirut"  # where the rules were changed twice in two days, in 2023
Rules = Sequence[tuple[datetime, int]]  # from this instant on, so many minutes ahead of UTC


def tzif(before: int, rules: Rules) -> bytes:
    """A zone's file: `before` minutes ahead of UTC until the first of the rules."""
    order = [minutes for _, minutes in rules]
    places = list(dict.fromkeys([before, *order]))  # the first one holds before every change
    kinds = b"".join(struct.pack(">lbB", minutes * 60, 0, 0) for minutes in places)
    at = b"".join(struct.pack(">q", int(moment.timestamp())) for moment, _ in rules)
    index = bytes(places.index(minutes) for minutes in order)
    head = struct.pack(">4sc15x6l", b"TZif", b"2", 0, 0, 0, 0, 1, 4)
    empty = head + struct.pack(">lbB", 0, 0, 0) + b"LMT\0"
    full = struct.pack(">4sc15x6l", b"TZif", b"2", 0, 0, 0, len(rules), len(places), 4)
    last = order[-1] if order else before
    sign, size = ("-", last) if last >= 0 else ("", -last)
    footer = f"\n<X>{sign}{size // 60}:{size % 60:02}\n".encode()
    return empty + full + at + index + kinds + b"LMT\0" + footer


@contextmanager
def in_use(version: str, before: int = 120, rules: Rules = ()) -> Iterator[None]:
    """This version of the zone data is in use, for the block: the installed rules, but for those
    of PLACE."""
    with pytest.MonkeyPatch.context() as patch:
        original = zones.zone
        fake = ZoneInfo.from_file(io.BytesIO(tzif(before, rules)), key=PLACE)
        patch.setattr(zones, "zone", lambda name: fake if name == PLACE else original(name))
        patch.setattr(zones, "version", lambda: version)
        _forget()
        try:
            yield
        finally:
            _forget()


def _forget() -> None:
    for memo in (
        *(zones._segments, zones.changes, schedules._remembered),
        *(local_times.zone_of, local_times.offset_of),
    ):
        memo.cache_clear()
