"""JSON from outside, read without leniency, digit for digit. PURE.

Whatever PostgreSQL could not hold, or one reader would understand otherwise than the next, is
refused with a TargetError whose field is the place in the text, as `$.target.body.x`.
"""

from __future__ import annotations

import json

from jobs.json_values import MAX_BYTES, MAX_DEPTH, check_json
from jobs.targets.errors import TargetError, step

_MAX_DIGITS = 4_200  # Python reads no integer of more than 4,300


class _Members(list[tuple[str, object]]):
    """An object as it was written: a key may stand in it twice."""


class _LongInteger(str):
    """The digits of an integer that is too long to be read."""


def read(body: bytes, most: int = MAX_BYTES) -> object:
    """The value of a JSON text in UTF-8 of at most so many bytes, 256 KiB unless told.

    Refused: NaN, infinities and numbers as large as 1e999, an object's key given twice, NUL, lone
    surrogates, more than 20 levels, integers of more than about 4,200 digits.
    """
    if len(body) > most:
        hint = f"send at most {most} bytes"
        raise TargetError("$", f"{len(body)} bytes or more", "are too many", hint)
    value = _plain(_parsed(_text(body)), "$", MAX_DEPTH)
    check_json(value, "$")
    return value


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        bad = body[error.start : error.start + 8]
        raise TargetError("$", bad, f"at byte {error.start} is not UTF-8", "send UTF-8") from None


def _parsed(text: str) -> object:
    try:
        return json.loads(
            text, object_pairs_hook=_Members, parse_int=_integer, parse_constant=float
        )
    except json.JSONDecodeError as error:
        place = f"at line {error.lineno}, column {error.colno} is not JSON ({error.msg})"
        near = text[error.pos : error.pos + 40]
        raise TargetError("$", near, place, "send one JSON value") from None
    except RecursionError:
        raise _too_deep("$") from None


def _integer(digits: str) -> object:
    return int(digits) if len(digits) <= _MAX_DIGITS else _LongInteger(digits)


def _plain(value: object, path: str, depth_left: int) -> object:
    match value:
        case _Members() | list() if depth_left == 0:
            raise _too_deep(path)
        case _Members():
            return _object(value, path, depth_left - 1)
        case list():
            return [
                _plain(item, f"{path}[{index}]", depth_left - 1) for index, item in enumerate(value)
            ]
        case _LongInteger():
            raise TargetError(path, value, "is too long a number", "send it as text")
        case _:
            return value


def _object(members: _Members, path: str, depth_left: int) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in members:
        here = step(path, key)
        if key in found:
            raise TargetError(here, key, "is given twice", "give each key once")
        found[key] = _plain(value, here, depth_left)
    return found


def _too_deep(path: str) -> TargetError:
    return TargetError(path, "…", "is nested too deep", f"use at most {MAX_DEPTH} levels")
