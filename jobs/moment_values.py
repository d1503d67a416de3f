"""What a target may say of the moment of its run: `{{due}}`, `{{date}}` and so on. PURE.

URL, header values and the text inside a body may hold them, and nothing else is a template. They
are filled in when a run is born, and its snapshot keeps the outcome. Blanks inside the braces are
allowed; two braces that are meant as they are, are written `{{{{`. A secret header is sealed, so
that nothing can be filled in: it is sent as it is, braces and all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote

from jobs.json_values import check_size
from jobs.targets.errors import MASK, TargetError, step
from jobs.targets.headers import MAX_VALUE, is_secret_header
from jobs.targets.urls import MAX_URL


@dataclass(frozen=True)
class Values:
    """The values of one run, as text.

    `due` is the moment in UTC; `due_local` the same in the zone of its schedule, with the offset;
    `date` the day there; `business_date` that day, or the working day before it; `key` the key of
    the run. A run by hand has no moment of its own: they tell the instant it was asked for.
    """

    due: str
    due_local: str
    date: str
    business_date: str
    key: str


NAMES = tuple(Values.__dataclass_fields__)
_LONGEST = Values(
    due="2026-11-29T18:00:00.123456Z",
    due_local="2026-11-29T18:00:00.123456+00:00",
    date="2026-11-29",
    business_date="2026-11-27",
    key=f"{'0' * 45}:2026-11-29T18:00:00.123456Z:again:999",  # none is longer
)

_BRACES = re.compile(r"\{\{\{\{|\{\{(?P<name>[^{}]*)\}\}|\{\{")
_ORIGIN = re.compile(r"[^:/?#]*://[^/?#]*")
_PLAIN = "write {{{{ for two braces that are meant as they are"


def checked_url(url: object) -> object:
    """The URL without the blanks inside its braces, which it could not be sent with; whatever
    else is wrong with it is for others to say. Raises TargetError for a value that is unknown,
    unclosed or stands where none may."""
    if not isinstance(url, str) or "{{" not in url:
        return url
    origin = _ORIGIN.match(url)
    if origin and "{{" in origin[0]:
        problem = "has a moment value in its scheme, host or port"
        raise TargetError("target.url", origin[0], problem, "use one in the path or the query")
    _check_text(url, "target.url")
    return _BRACES.sub(lambda found: _written(_name(found)) if _name(found) else found[0], url)


def check(url: str, headers: Mapping[str, str], body: object) -> None:
    """The same for headers and body; also for a whole that grows too long when it is filled."""
    for name, value in headers.items():
        _check_header(name, value, f"target.headers.{name}")
    _check_body(body, "target.body")
    shape = {"type": "http", "url": url, "headers": headers, "body": body}
    if used(shape):
        filled = fill(shape, _LONGEST)
        check_filled(filled["url"], filled["headers"], filled["body"])


def used(target: Mapping[str, Any]) -> bool:
    """Whether there is anything to be filled in, in a target as it is stored."""
    return fill(target, _LONGEST) != dict(target)


def fill(target: Mapping[str, Any], values: Values) -> dict[str, Any]:
    """The stored target with its values. Never fails: what is no value stays as it is.

    Percent-encoded in the URL, and in a body that is an HTML form.
    """
    if target.get("type") != "http":
        return dict(target)
    put = _Filling(asdict(values))
    filled = dict(target)
    if "url" in target:
        filled["url"] = put.into(str(target["url"]), _encoded)
    if headers := target.get("headers"):
        filled["headers"] = put.beside(headers)
    if (body := target.get("body")) is not None:
        text = isinstance(body, str) and _is_form(headers or {})
        filled["body"] = put.within(body, _encoded if text else str)
    return filled


def check_filled(url: str, headers: Mapping[str, str], body: object) -> None:
    """Raise TargetError where a filled target is longer than what may be sent."""
    if len(url) > MAX_URL:
        raise _too_long("target.url", url, f"{MAX_URL} characters")
    for name, value in headers.items():
        if len(value) > MAX_VALUE and not is_secret_header(name):
            raise _too_long(f"target.headers.{name}", value, f"{MAX_VALUE} characters")
    check_size(body, "target.body")


@dataclass(frozen=True)
class _Filling:
    values: Mapping[str, str]

    def into(self, text: str, encode: Callable[[str], str] = str) -> str:
        def filled(found: re.Match[str]) -> str:
            if found[0] == "{{{{":
                return "{{"
            name = _name(found)
            return encode(self.values[name]) if name in self.values else found[0]

        return _BRACES.sub(filled, text) if "{{" in text else text

    def beside(self, headers: Mapping[str, str]) -> dict[str, str]:
        return {
            name: value if is_secret_header(name) else self.into(value)
            for name, value in headers.items()
        }

    def within(self, body: object, encode: Callable[[str], str]) -> object:
        match body:
            case str():
                return self.into(body, encode)
            case list():
                return [self.within(item, encode) for item in body]
            case dict():
                return {key: self.within(item, encode) for key, item in body.items()}
            case _:
                return body


def _check_text(text: str, field: str) -> None:
    for found in _BRACES.finditer(text) if "{{" in text else ():
        if found[0] == "{{{{" or _name(found) in NAMES:
            continue
        if found["name"] is None:
            near = text[found.start() : found.start() + 40]
            raise TargetError(field, near, "has {{ that nothing closes", f"add }}}}, or {_PLAIN}")
        known = ", ".join(map(_written, NAMES))
        hint = f"use one of {known}; {_PLAIN}"
        raise TargetError(field, found[0][:80], "is no value of a moment", hint)


def _check_header(name: str, value: str, field: str) -> None:
    if not is_secret_header(name):
        _check_text(value, field)
    elif _holds_a_value(value):
        hint = "send the value in another header, the URL or the body"
        raise TargetError(field, MASK, "is sealed, so that nothing can be filled in", hint)


def _check_body(body: object, field: str) -> None:
    match body:
        case str():
            _check_text(body, field)
        case list():
            for index, item in enumerate(body):
                _check_body(item, f"{field}[{index}]")
        case dict():
            for key, item in body.items():
                if _holds_a_value(key):
                    hint = "use it in the value beside it"
                    raise TargetError(field, key, "is a name, where nothing is filled in", hint)
                _check_body(item, step(field, key))


def _too_long(field: str, value: str, limit: str) -> TargetError:
    problem = f"is longer than {limit} once its moment is filled in"
    return TargetError(field, value, problem, "shorten it")


def _holds_a_value(text: str) -> bool:
    return any(_name(found) in NAMES for found in _BRACES.finditer(text))


def _name(found: re.Match[str]) -> str:
    return (found["name"] or "").strip(" \t")


def _written(name: str) -> str:
    return "{{" + name + "}}"


def _is_form(headers: Mapping[str, object]) -> bool:
    kinds = (str(value) for name, value in headers.items() if name.lower() == "content-type")
    return any("x-www-form-urlencoded" in kind.lower() for kind in kinds)


def _encoded(value: str) -> str:
    return quote(value, safe="")
