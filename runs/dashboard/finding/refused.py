"""What of a page's address was not understood: said above the list, with the list without it.

A page goes on where the API answers 400: what was mistyped in an address is not to cost anybody
the page, and is not to be passed over in silence either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django import forms
from django.http import HttpRequest

from runs.evidence import printable
from runs.page_door import address

LOST = "This list has not given it, so its beginning is shown."
_PAGING = {"cursor", "top"}  # what the page gives itself
_SHOWN = 60  # characters of a name or a value


@dataclass(frozen=True)
class Refused:
    """A parameter: its name and value as they were given, what is wrong, the page without it."""

    name: str
    value: str
    said: str
    without: str


def of(
    request: HttpRequest,
    asked: forms.Form | None = None,
    *,
    beside: Iterable[str] = (),
    wrong: Mapping[str, str] | None = None,
) -> list[Refused]:
    """What the filter `asked` refuses, what is `wrong` with the parameters that the page reads
    `beside` it, and every parameter that nobody reads."""
    filters = {} if asked is None else asked.fields
    hidden = {name for name, field in filters.items() if field.widget.is_hidden} | _PAGING
    said = {} if asked is None else {name: _joined(errors) for name, errors in asked.errors.items()}
    offered = ", ".join(name for name in (*filters, *beside) if name not in hidden)
    for name in request.GET:
        if name not in filters and name not in beside:
            said[name] = f"This page does not know it. It knows {offered}."
    return [_refused(request, name, words) for name, words in {**said, **(wrong or {})}.items()]


def _refused(request: HttpRequest, name: str, said: str) -> Refused:
    value = printable(", ".join(request.GET.getlist(name)))
    return Refused(printable(name)[:_SHOWN], value[:_SHOWN], said, address(request, **{name: ""}))


def _joined(errors: Iterable[object]) -> str:
    return " ".join(str(one) for one in errors)
