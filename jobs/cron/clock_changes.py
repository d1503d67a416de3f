"""A cron schedule on the UTC line, through every change of the clock. PURE.

Inside a segment of its zone local time is UTC plus a constant, so wall-clock matches need only be
shifted. What a change does is decided here alone:

                   gap (clock goes forward)        overlap (clock goes back)
    fixed times    once, at the first instant      in the first copy only
                   after it
    follows wall   nothing extra                   in both copies

A job follows the wall where `dst` is `wall` or its minute or hour begins with a star.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from jobs.cron import grammar
from jobs.cron.grammar import Pattern
from jobs.cron.wall_clock import count_matches, next_match
from jobs.schedules import zones
from jobs.schedules.values import Cron
from jobs.schedules.zones import Segment

_TICK = timedelta.resolution
# A job may lose a match to a gap, and the next one too. One that loses this many in a row has its
# only moment of a year in a gap that comes every year: a date has its weekday after 12 years at
# the latest, and a year has two changes.
_LOST_IN_A_ROW = 24


@dataclass(frozen=True)
class WallClock:
    """The pattern of a schedule, its zone, and whether it follows the wall through a change."""

    pattern: Pattern
    zone: str
    follows: bool

    @classmethod
    def of(cls, schedule: Cron) -> WallClock:
        pattern = grammar.parse(schedule.expression)
        if schedule.calendar is not None:
            pattern = replace(pattern, calendar=schedule.calendar, rule=schedule.rule)
        follows = schedule.dst == "wall" or pattern.starred
        return cls(pattern, schedule.timezone, follows)

    def next_after(self, after: datetime) -> datetime | None:
        """The first moment strictly after `after`; None if none ever comes (before 9999 ends)."""
        start = max(after, zones.FIRST - _TICK)
        end = start
        for _ in range(_LOST_IN_A_ROW):
            for segment in self._segments(start, end):
                moment = self._first_in(segment, start)
                if moment is not None:
                    return moment
            match = next_match(self.pattern, _naive(end) - zones.WIDEST)
            if match is None or match >= _naive(zones.LAST):
                return None
            # No zone shows this match before the one instant, or after the other.
            start = max(end, _utc(match - zones.WIDEST))
            end = min(_utc(match), zones.LAST - zones.WIDEST * 2) + zones.WIDEST * 2
        return None

    def count(self, after: datetime, until: datetime) -> int:
        """How many moments lie in `after` < moment ≤ `until`."""
        after, until = max(after, zones.FIRST - _TICK), min(until, zones.LAST)
        segments = self._segments(after, until)
        return sum(self._count_in(segment, after, until) for segment in segments)

    def _segments(self, start: datetime, end: datetime) -> Iterator[Segment]:
        for segment in zones.segments(self.zone, max(start, zones.FIRST)):
            if segment.start > end:
                return
            yield segment

    def fires_after_gap(self, segment: Segment) -> bool:
        """A job at fixed times makes up, where the segment begins, for what the gap swallowed."""
        return not self.follows and self.swallowed_by_gap(segment) is not None

    def swallowed_by_gap(self, segment: Segment) -> datetime | None:
        """The first match (naive) inside the gap at the start of the segment, if there is one."""
        if segment.changed != segment.start or segment.offset <= segment.before:
            return None
        reached = _naive(segment.start) + segment.before
        match = next_match(self.pattern, reached - _TICK)
        return match if match and match < _naive(segment.start) + segment.offset else None

    def _floor(self, segment: Segment) -> datetime:
        """The wall-clock time (naive) from which matches of this segment count."""
        begin = _naive(segment.start) + segment.offset
        if self.follows:
            return begin
        return max(begin, _naive(segment.changed) + segment.before)  # after the second copy

    def _first_in(self, segment: Segment, after: datetime) -> datetime | None:
        """The first moment of the segment strictly after `after`."""
        if segment.start > after and self.fires_after_gap(segment):
            return segment.start
        match = next_match(
            self.pattern, max(_naive(after) + segment.offset, self._floor(segment) - _TICK)
        )
        if match is None:
            return None
        moment = _utc(match - segment.offset)
        return moment if moment < segment.end else None

    def _count_in(self, segment: Segment, after: datetime, until: datetime) -> int:
        begin = max(_naive(after) + segment.offset, self._floor(segment) - _TICK)
        end = min(_naive(until), _naive(segment.end) - _TICK) + segment.offset
        made_up = after < segment.start <= until and self.fires_after_gap(segment)
        if made_up:  # at the very start, where a match of its own is the same moment
            begin = max(begin, _naive(segment.start) + segment.offset)
        return made_up + count_matches(self.pattern, begin, end)


def _naive(moment: datetime) -> datetime:
    return moment.replace(tzinfo=None)


def _utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC)
