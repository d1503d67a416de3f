"""What a request says, field by field: read with its bounds, refused with the field's name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from rest_framework.request import Request

from jobs.definitions.definitions import Problem
from jobs.problems import BadRequest
from jobs.schedules.instants import parse_instant

NOTE_LENGTH = 2_000


def members(request: Request, known: Collection[str]) -> dict[str, Any]:
    """The body, an object of these members at most; no body is an empty one."""
    data = request.data
    if not isinstance(data, dict):
        raise BadRequest(Problem("$", "must be a JSON object."))
    _refuse_unknown(data, known)
    return data


def text(data: Mapping[str, Any], field: str, default: str = "") -> str:
    """A text of at most 2,000 characters."""
    given = data.get(field, default)
    if not isinstance(given, str):
        raise BadRequest(Problem(field, "must be text."))
    if len(given) > NOTE_LENGTH:
        kept = f"has {len(given)} characters; at most {NOTE_LENGTH} are kept."
        raise BadRequest(Problem(field, kept, "Shorten it."))
    return given


def instant_to_come(data: dict[str, Any], field: str, now: datetime) -> datetime | None:
    """An instant after `now`; None where it is left out or null."""
    if data.get(field) is None:
        return None
    instant = parse_instant(data[field], field)
    if instant <= now:
        raise BadRequest(Problem(field, "is not in the future.", "Choose a later instant."))
    return instant


def instant(data: dict[str, Any], field: str) -> datetime | None:
    """An instant; None where it is left out or null."""
    return None if data.get(field) is None else parse_instant(data[field], field)


def flag(data: dict[str, Any], field: str) -> bool:
    """True or false; false where it is left out."""
    given = data.get(field, False)
    if not isinstance(given, bool):
        raise BadRequest(Problem(field, "must be true or false."))
    return given


def whole_number(data: Mapping[str, Any], field: str, most: int = 2**31 - 1) -> int | None:
    """A whole number from 0 to `most`; None where it is left out or null."""
    given = data.get(field)
    if given is None:
        return None
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= most:
        bound = "" if most == 2**31 - 1 else f" to {most}"
        raise BadRequest(Problem(field, f"must be a whole number from 0{bound}."))
    return given


def ids(data: Mapping[str, Any], field: str, most: int) -> list[UUID]:
    """A list of 1 to `most` ids, each once."""
    given, hint = data.get(field), f"Give a list of 1 to {most} ids, as they are shown."
    if not isinstance(given, list) or not 1 <= len(given) <= most:
        raise BadRequest(Problem(field, "is no list of ids.", hint))
    try:
        return list(dict.fromkeys(UUID(one) for one in given))
    except (ValueError, TypeError, AttributeError):
        raise BadRequest(Problem(field, "holds what is no id.", hint)) from None


def optional_id(data: Mapping[str, Any], field: str) -> UUID | None:
    """An id; None where it is left out or null."""
    given = data.get(field)
    return None if given is None else ids({field: [given]}, field, 1)[0]


def parameters(request: Request, known: Collection[str]) -> None:
    """Refuse query parameters that nobody reads: a filter misspelt would filter nothing."""
    _refuse_unknown(request.query_params, known)


def count(request: Request, name: str, default: int, most: int) -> int:
    """A query parameter that is a whole number from 1 to `most`."""
    given = request.query_params.get(name, str(default))
    number = int(given) if given.isascii() and given.isdecimal() and len(given) < 9 else 0
    if not 1 <= number <= most:
        raise BadRequest(Problem(name, f"must be a whole number from 1 to {most}."))
    return number


def choices(request: Request, name: str, known: Collection[str]) -> list[str]:
    """The values of a query parameter that may be given more than once; none: no filter."""
    given = request.query_params.getlist(name)
    if any(value not in known for value in given):
        hint = f"Choose from {', '.join(known)}."
        raise BadRequest(Problem(name, "is not one of the choices.", hint))
    return given


def identifier(request: Request, name: str) -> UUID | None:
    """A query parameter that is an id; None where it is left out."""
    given = request.query_params.get(name)
    try:
        return None if given is None else UUID(given)
    except ValueError:
        raise BadRequest(Problem(name, "is not an id.", "Give the id as shown.")) from None


def slug(request: Request, name: str) -> str | None:
    """A query parameter that is a slug; None where it is left out."""
    given = request.query_params.get(name)
    if given is not None and not _is_slug(given):
        hint = "Give letters, digits and hyphens, at most 60."
        raise BadRequest(Problem(name, "is not a team's slug.", hint))
    return given


def _is_slug(given: str) -> bool:
    plain = given.replace("-", "").replace("_", "")
    return len(given) <= 60 and given.isascii() and plain.isalnum()


def _refuse_unknown(given: Collection[str], known: Collection[str]) -> None:
    hint = f"Known: {', '.join(known)}." if known else "Leave it out."
    unknown = [Problem(field[:80], "is unknown.", hint) for field in given if field not in known]
    if unknown:
        raise BadRequest(*unknown)
