"""Numbers and lengths of time as people type them on a page. PURE.

What is neither stays text, so that it is refused in the words of the rule that reads it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from jobs.foresight import waits

WEEK = 604_800  # seconds: no bound of a job's, only of what is drawn
# The fields that take a length of time, which may be typed in units too.
LENGTHS = frozenset(
    (
        "backoff",
        "cap",
        "timeout",
        "spread",
        "deadline",
        "late_after",
        "catch_up_window",
        "decide_by",
    )
)
_LENGTH = re.compile(
    r"(?:([0-9]{1,6}) *d)? *(?:([0-9]{1,6}) *h)? *(?:([0-9]{1,6}) *m)? *(?:([0-9]{1,9}) *s)?",
    re.ASCII,
)
_LONGEST = 60  # characters: much longer blanks would take long to tell from a length
_DIGITS = re.compile(r"-?[0-9]{1,18}", re.ASCII)


def waits_of(typed: Mapping[str, str]) -> waits.Waits:
    """The waits between the attempts, by the page's fields or their defaults; empty ones while a
    field says no number that a job may have."""
    known = (("max_attempts", 5, 100), ("backoff", 10, WEEK), ("cap", 3600, WEEK))
    found = []
    for name, default, most in (*known, ("timeout", 300, WEEK)):
        given = of_field(typed, name) if typed.get(name, "").strip() else default
        if isinstance(given, str) or not 0 <= given <= most:
            return waits.Waits()
        found.append(given)
    attempts, backoff, cap, timeout = found
    return waits.of(attempts=attempts, backoff=backoff, cap=cap, timeout=timeout)


def number(text: str) -> int | str:
    """A whole number where the text is one (of a size that any field could hold)."""
    return int(text) if _DIGITS.fullmatch(text.strip()) else text


def length(text: str) -> int | str:
    """A length of time in seconds, typed as they are or in units: `5400`, `1 h 30 m`."""
    found = _LENGTH.fullmatch(text.strip().lower()) if len(text) < _LONGEST else None
    if found is None or not any(found.groups()):
        return number(text)
    sizes = zip(found.groups(), (86_400, 3600, 60, 1), strict=True)
    return sum(int(count) * size for count, size in sizes if count)


def of_field(typed: Mapping[str, str], name: str) -> int | str:
    """What a field says: a length of time, or a plain number."""
    return (length if name in LENGTHS else number)(typed[name])
