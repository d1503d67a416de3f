"""What may stand in a marker, read member by member. PURE."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from jobs.definitions import tag_words
from jobs.definitions.errors import DefinitionError, Problem
from jobs.reading import hidden, unprintable
from jobs.schedules.errors import ScheduleError, short
from jobs.schedules.instants import canonical_instant, parse_instant

TEXT, URL, KEY = 200, 500, 200  # characters
EARLIEST = datetime(1970, 1, 2, tzinfo=UTC)  # each zone can still tell its date
AHEAD = timedelta(days=1)
_SHAPE = f"Give an http or https address of at most {URL} characters, without name and password."


@dataclass(frozen=True)
class Content:
    """What a marker says: `at`, `text`, and empty or a link, a tag, the key of who wrote it."""

    at: datetime
    text: str
    url: str = ""
    tag: str = ""
    key: str = ""

    @property
    def said(self) -> tuple[str, str, str]:
        """What makes two markers the same to who writes one twice. The instant is no part of it:
        a pipeline that tries again does so later."""
        return self.text, self.url, self.tag


def read(given: Mapping[str, Any], now: datetime) -> Content:
    """The content out of the members `text`, `at`, `url`, `tag` and `key`; all but the first may
    be left out, empty or null. Raises DefinitionError, with each problem.

    `at` is `now` unless told. It may lie at most a day ahead: room for a clock that goes fast and
    for tonight's deploy; what is planned beyond that has not happened, and nothing can be put
    down to it.
    """
    problems: list[Problem] = []
    found = Content(
        at=_instant(given.get("at"), now, problems),
        text=_words("text", given.get("text"), TEXT, problems),
        url=_url(given.get("url"), problems),
        tag=_tag(given.get("tag"), problems),
        key=_words("key", given.get("key"), KEY, problems),
    )
    if not found.text and not any(problem.field == "text" for problem in problems):
        hint = "Say what changed, as deploy of billing 4.2."
        problems.insert(0, Problem("text", "is required.", hint))
    if problems:
        raise DefinitionError(problems)
    return found


def _instant(given: object, now: datetime, problems: list[Problem]) -> datetime:
    if given in (None, ""):
        return now
    try:
        at = given if isinstance(given, datetime) else parse_instant(given, "at")
    except ScheduleError as error:
        problems.append(Problem("at", error.message, error.hint))
        return now
    if not EARLIEST <= at <= now + AHEAD:
        bounds = f"from {canonical_instant(EARLIEST)} to a day from now"
        hint = "A marker says what has changed; leave it out for now."
        problems.append(Problem("at", f"is {canonical_instant(at)}; it may be {bounds}.", hint))
    return at


def _words(field: str, given: object, most: int, problems: list[Problem]) -> str:
    if given is None:
        return ""
    if not isinstance(given, str):
        problems.append(Problem(field, "must be text."))
        return ""
    text = unicodedata.normalize("NFC", " ".join(given.split()))
    if len(text) > most:
        message = f"has {len(text)} characters; at most {most} are kept."
        problems.append(Problem(field, message, "Shorten it."))
    elif bad := hidden(text):
        problems.append(Problem(field, f"holds the character U+{ord(bad):04X}.", "Take it out."))
    return text


def _url(given: object, problems: list[Problem]) -> str:
    if given in (None, ""):
        return ""
    if not isinstance(given, str):
        problems.append(Problem("url", "must be text.", _SHAPE))
        return ""
    url = given.strip()
    if not _is_link(url):
        problems.append(Problem("url", f"is {short(url)}, which cannot be a link here.", _SHAPE))
    return url


def _is_link(url: str) -> bool:
    """Whether it leads to a page and nowhere else: no script, no file, no password in sight."""
    if len(url) > URL or any(char.isspace() or char in '\\"<>' for char in url):
        return False
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return known and "@" not in parts.netloc and not any(map(unprintable, url))


def _tag(given: object, problems: list[Problem]) -> str:
    if given in (None, ""):
        return ""
    tag = tag_words.read(given)
    if tag is None:
        problems.append(Problem("tag", f"is {short(given)}, which is no tag.", tag_words.HINT))
    return tag or ""
