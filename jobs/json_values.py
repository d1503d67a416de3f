"""JSON that PostgreSQL can store and a target receives unchanged, digit for digit."""

from __future__ import annotations

import json
import math

from jobs.targets.errors import TargetError, step

MAX_DEPTH = 20
MAX_BYTES = 256 * 1024
# A little under the 4,300 digits beyond which Python neither reads nor prints an integer.
_MAX_INTEGER_BITS = 14_000


def check_json(value: object, path: str) -> None:
    """Raise TargetError naming the place of the first thing that is not storable JSON.

    Refused: NUL and lone surrogates (jsonb holds neither), NaN and infinities (not JSON), nesting
    beyond 20 levels, integers of more than about 4,200 digits, keys that are not text.
    """
    _check(value, path, MAX_DEPTH)


def check_size(value: object, path: str) -> None:
    """Raise TargetError where the JSON text of an already checked value passes 256 KiB."""
    size = len(json_text(value).encode())
    if size > MAX_BYTES:
        raise TargetError(
            path, f"{size} bytes", "is too large", f"send at most {MAX_BYTES} bytes of JSON"
        )


def json_text(value: object) -> str:
    """The one way a value is written as JSON: compact, not escaped beyond need, no NaN."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _check(value: object, path: str, depth_left: int) -> None:
    match value:
        case None | bool():
            return
        case str():
            check_text(value, path)
        case int():
            _check_integer(value, path)
        case float():
            _check_float(value, path)
        case list() | dict() if depth_left == 0:
            raise TargetError(path, "…", "is nested too deep", f"use at most {MAX_DEPTH} levels")
        case list():
            for index, item in enumerate(value):
                _check(item, f"{path}[{index}]", depth_left - 1)
        case dict():
            _check_members(value, path, depth_left - 1)
        case _:
            kind = type(value).__name__
            raise TargetError(
                path, kind, "is not a JSON value", "use text, numbers, lists, objects"
            )


def _check_members(members: dict[object, object], path: str, depth_left: int) -> None:
    for key, item in members.items():
        if not isinstance(key, str):
            raise TargetError(path, key, "has a key that is not text", "write every key as text")
        here = step(path, key)
        check_text(key, here)
        _check(item, here, depth_left)


def check_text(text: str, path: str) -> None:
    """Raise TargetError for text with NUL or half of a surrogate pair."""
    if "\0" in text:
        raise TargetError(path, text, "holds the character NUL", "take out U+0000")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise TargetError(path, text, "holds half of a surrogate pair", "write whole characters")


def _check_integer(value: int, path: str) -> None:
    if value.bit_length() > _MAX_INTEGER_BITS:
        raise TargetError(path, value, "is too long a number", "send it as text")


def _check_float(value: float, path: str) -> None:
    if not math.isfinite(value):
        raise TargetError(path, str(value), "is not a JSON number", "use a finite number or null")
