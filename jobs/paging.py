"""Lists of the API, page by page along a key: the last page costs what the first one does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from django.core import signing
from django.db.models import Model, Q, QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import asked
from jobs.definitions import Problem
from jobs.problems import BadRequest

PARAMETERS = ("page_size", "cursor")
_USUAL, _MOST = 50, 200

Row = TypeVar("Row", bound=Model)


def page(
    request: Request, rows: QuerySet[Row], by: Sequence[str], shape: Callable[[Row], object]
) -> Response:
    """`{"results": […], "next": url or null}`, ordered by these columns (`-` before a name:
    descending), which together are unique. Nothing is counted.

    The cursor holds the last row's columns, signed, so that none can be made up.
    """
    size = asked.count(request, "page_size", _USUAL, _MOST)
    if "cursor" in request.query_params:
        rows = rows.filter(_after(by, _opened(request.query_params["cursor"], by)))
    found = list(rows.order_by(*by)[: size + 1])
    following = _next(request, found[size - 1], by) if len(found) > size else None
    return Response({"results": [shape(row) for row in found[:size]], "next": following})


def _after(by: Sequence[str], values: list[Any]) -> Q:
    """The rows behind these values: a later first column, or the same and a later second …"""
    behind = Q()
    for place, column in enumerate(by):
        same = {name.lstrip("-"): values[at] for at, name in enumerate(by[:place])}
        later = f"{column.lstrip('-')}__{'lt' if column.startswith('-') else 'gt'}"
        behind |= Q(**same, **{later: values[place]})
    return behind


def _next(request: Request, last: Model, by: Sequence[str]) -> str:
    values = [getattr(last, column.lstrip("-")) for column in by]
    kept = [value if isinstance(value, int) else str(value) for value in values]
    parameters = request.query_params.copy()
    parameters["cursor"] = signing.dumps(kept, salt=_salt(by))
    return request.build_absolute_uri(f"{request.path}?{parameters.urlencode()}")


def _opened(cursor: str, by: Sequence[str]) -> list[Any]:
    try:
        values: list[Any] = signing.loads(cursor, salt=_salt(by))
    except signing.BadSignature:
        hint = "Follow `next` as it was given, or begin without a cursor."
        raise BadRequest(Problem("cursor", "was not given by this list.", hint)) from None
    return values


def _salt(by: Sequence[str]) -> str:
    return f"onebeat.cursor.{','.join(by)}"
