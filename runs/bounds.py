"""The lower bound of a scan that moves along. PURE.

Rows that were claimed leave dead entries at the head of the index on the moment; after five
million claims an idle look walked 13,664 pages of them. So a scan looks only above a mark, the
newest moment below which a full look found nothing left, less a margin, and once a minute a
full look goes below it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EVER = datetime.min.replace(tzinfo=UTC)
MARGIN = timedelta(seconds=60)
FULL_LOOK_EVERY = timedelta(seconds=60)


class Bound:
    """One loop's bound: ask `below` for where to look from, tell `found` what came back."""

    def __init__(self) -> None:
        self._mark: datetime | None = None
        self._full_look: datetime | None = None

    def below(self, now: datetime) -> datetime:
        """Look for moments above this one. `EVER` means a full look."""
        if self._mark is None or self._full_look is None:
            return EVER
        gone_back = now < self._full_look  # the database's clock was set back
        if gone_back or now - self._full_look >= FULL_LOOK_EVERY:
            self._mark = None
            return EVER
        return self._mark - MARGIN

    def found(self, looked_from: datetime, now: datetime, *, short: bool) -> None:
        """`short`: the look at `now` found less than it asked for, so nothing is left below."""
        if looked_from == EVER and short:
            self._mark = self._full_look = now
