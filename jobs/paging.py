"""Lists of the API, page by page along a key: the last page costs what the first one does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from django.core import signing
from django.db.models import Model, Q, QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import asked
from jobs.definitions.definitions import Problem
from jobs.problems import BadRequest

PARAMETERS = ("page_size", "cursor")
_USUAL, _MOST = 50, 200

Row = TypeVar("Row", bound=Model)
Found = TypeVar("Found")


def page(
    request: Request, rows: QuerySet[Row], by: Sequence[str], shape: Callable[[Row], object]
) -> Response:
    """`{"results": […], "next": url or null}`, ordered by these columns (`-` before a name:
    descending), which together are unique. Nothing is counted."""
    found, following = cut(request, rows, by)
    return Response({"results": [shape(row) for row in found], "next": following})


def cut(
    request: Request, rows: QuerySet[Any, Found], by: Sequence[str]
) -> tuple[list[Found], str | None]:
    """The rows of the page that is asked for, and the address of the next; rows may be dicts."""
    size = size_of(request)
    if "cursor" in request.query_params:
        rows = after(rows, by, request.path, request.query_params["cursor"])
    found = list(rows.order_by(*by)[: size + 1])
    if len(found) <= size:
        return found, None
    following = following_page(request, cursor(found[size - 1], by, request.path))
    return found[:size], following


def size_of(request: Request) -> int:
    """How many rows a page is to hold."""
    return asked.count(request, "page_size", _USUAL, _MOST)


def after(
    rows: QuerySet[Any, Found], by: Sequence[str], place: str, cursor: str
) -> QuerySet[Any, Found]:
    """The rows behind a cursor. Raises BadRequest for one that this list has not given."""
    return rows.filter(behind(by, opened(cursor, by, place)))


def cursor(last: object, by: Sequence[str], place: str) -> str:
    """Where a page ended: the last row's columns, signed, so that none can be made up. `place`
    names the list, so that no other takes them for columns of its own."""
    values = [_value(last, column.lstrip("-")) for column in by]
    kept = [value if isinstance(value, int) else str(value) for value in values]
    return signing.dumps(kept, salt=_salt(by, place))


def _value(row: object, name: str) -> Any:
    return row[name] if isinstance(row, dict) else getattr(row, name)


def behind(by: Sequence[str], values: Sequence[Any]) -> Q:
    """The rows behind these values: a later first column, or the same and a later second …"""
    found = Q()
    for place, column in enumerate(by):
        same = {name.lstrip("-"): values[at] for at, name in enumerate(by[:place])}
        later = f"{column.lstrip('-')}__{'lt' if column.startswith('-') else 'gt'}"
        found |= Q(**same, **{later: values[place]})
    return found


def following_page(request: Request, cursor: str) -> str:
    """The address of the page behind a cursor."""
    parameters = request.query_params.copy()
    parameters["cursor"] = cursor
    return request.build_absolute_uri(f"{request.path}?{parameters.urlencode()}")


def opened(cursor: str, by: Sequence[str], place: str) -> list[Any]:
    """The columns that a cursor holds. Raises BadRequest for one that this list has not given."""
    try:
        values: list[Any] = signing.loads(cursor, salt=_salt(by, place))
    except signing.BadSignature:
        hint = "Follow `next` as it was given, or begin without a cursor."
        raise BadRequest(Problem("cursor", "was not given by this list.", hint)) from None
    return values


def _salt(by: Sequence[str], place: str) -> str:
    return f"onebeat.cursor.{place}.{','.join(by)}"
