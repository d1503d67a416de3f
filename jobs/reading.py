"""Reads the members of a JSON object one by one and gathers what is wrong with them. PURE."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from jobs.definitions import tag_words
from jobs.definitions.errors import Problem
from jobs.schedules.errors import ScheduleError, short
from jobs.schedules.instants import parse_instant
from jobs.targets import shapes as targets

MOST_TAGS = 10  # of a job
NAME_LENGTH = 120
TEXT_LENGTH = 20_000
_UNPRINTABLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_JOINER = "\u200d"  # holds emoji, and letters of Indian scripts, together
# Letters and signs that are shown as nothing: fillers of Hangul and Khmer, an empty Braille cell.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def unprintable(char: str) -> bool:
    """Whether a character has no shape of its own, or changes how others are shown."""
    if char == _JOINER:
        return False
    return char in _BLANK or unicodedata.category(char) in _UNPRINTABLE


def hidden(text: str) -> str | None:
    """The first character that nobody sees; None where there is none. A joiner is one where it
    has nothing to join: at an end of the text, or beside a Latin letter."""
    for at, char in enumerate(text):
        beside = text[at - 1 : at] + text[at + 1 : at + 2]
        idle = char == _JOINER and (len(beside) < 2 or beside.isascii() or _JOINER in beside)
        if idle or unprintable(char):
            return char
    return None


def is_name(typed: str, name: str) -> bool:
    """Whether a person has typed this name, as they see it: however many blanks part its words,
    and however its accents are composed."""
    words = unicodedata.normalize("NFC", typed).split()
    return words == name.split()


class Reader:
    """What is read well is returned; what is not becomes one of `problems`, and a value of its
    type stands in for it, so that reading goes on."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def problem(self, field: str, message: str, hint: str = "") -> None:
        self.problems.append(Problem(field, message, hint))

    def name(self, given: object, field: str = "name") -> str:
        if not isinstance(given, str) or not given.strip():
            self.problem(field, "is required.", f"Give 1 to {NAME_LENGTH} characters.")
            return ""
        name = unicodedata.normalize("NFC", given.strip())
        if len(name) > NAME_LENGTH:
            self.problem(field, f"has {len(name)} characters; at most {NAME_LENGTH} are kept.")
        bad = hidden(name)
        if bad is not None:
            self.problem(field, f"holds the character U+{ord(bad):04X}.", "Take it out.")
        return name

    def text(self, data: Mapping[str, Any], field: str) -> str:
        given = data.get(field, "")
        if not isinstance(given, str):
            self.problem(field, "must be text.")
            return ""
        if len(given) > TEXT_LENGTH:
            self.problem(field, f"has {len(given)} characters; at most {TEXT_LENGTH} are kept.")
        try:
            targets.check_json(given, field)
        except targets.TargetError as error:
            self.problem(error.field, error.message, error.hint)
        return given

    def part(self, data: Mapping[str, Any], field: str, names: Collection[str]) -> dict[str, Any]:
        given = data.get(field, {})
        if not isinstance(given, Mapping):
            self.problem(field, "must be an object.", f"It may hold {', '.join(names)}.")
            return {}
        for name in given:
            if name not in names:
                self.problem(f"{field}.{name}", "is unknown.", f"Known: {', '.join(names)}.")
        return dict(given)

    def number(
        self, data: Mapping[str, Any], path: str, default: int, least: int, most: int
    ) -> int:
        given = data.get(path.rpartition(".")[2], default)
        if isinstance(given, int) and not isinstance(given, bool) and least <= given <= most:
            return given
        self.problem(path, f"must be a whole number from {least} to {most}.")
        return default

    def numbers(
        self, data: Mapping[str, Any], field: str, least: int, high: int, *, most: int
    ) -> tuple[int, ...]:
        """A list of at most so many whole numbers, sorted and each once; null: none."""
        given = data.get(field)
        if given is None:
            return ()
        whole = isinstance(given, list) and all(type(number) is int for number in given)
        if whole and len(given) <= most and all(least <= number <= high for number in given):
            return tuple(sorted(set(given)))
        what = f"must be a list of at most {most} whole numbers from {least} to {high}."
        self.problem(field, what)
        return ()

    def choice(
        self, data: Mapping[str, Any], path: str, default: str, choices: Collection[str]
    ) -> str:
        given = data.get(path.rpartition(".")[2], default)
        if isinstance(given, str) and given in choices:
            return given
        self.problem(path, "is not one of the choices.", f"Choose from {', '.join(choices)}.")
        return default

    def flag(self, data: Mapping[str, Any], field: str, *, default: bool = False) -> bool:
        given = data.get(field, default)
        if not isinstance(given, bool):
            self.problem(field, "must be true or false.")
        return bool(given)

    def instant(self, data: Mapping[str, Any], field: str) -> datetime | None:
        given = data.get(field)
        if given is None:
            return None
        try:
            return parse_instant(given, field)
        except ScheduleError as error:
            self.problem(error.field, error.message, error.hint)
            return None

    def count(self, data: Mapping[str, Any], field: str, most: int) -> int | None:
        """A whole number from 1 on, or null: no bound."""
        return None if data.get(field) is None else self.number(data, field, 1, 1, most)

    def tags(self, given: object) -> tuple[str, ...]:
        """Each once, in order; null: none."""
        if given is None:
            return ()
        if not isinstance(given, list) or len(given) > MOST_TAGS:
            self.problem("tags", f"must be a list of at most {MOST_TAGS} tags.", tag_words.HINT)
            return ()
        read = [tag_words.read(one) for one in given]
        for one, tag in zip(given, read, strict=True):
            if tag is None:
                self.problem("tags", f"holds {short(one)}, which is no tag.", tag_words.HINT)
        return tuple(sorted({tag for tag in read if tag}))

    def owner(self, given: object) -> str:
        """Whom to ask; null: nobody is named."""
        return "" if given in (None, "") else self.name(given, "owner")
