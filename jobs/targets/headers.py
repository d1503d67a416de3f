"""Which headers a job may send, and which of them are secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping

from jobs.targets.errors import MASK, TargetError

MAX_HEADERS = 50
MAX_VALUE = 8_192
SEALED = "sealed:"

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[\t\x20-\x7e]*")

# Who sets these decides how the request is framed, where it goes or how its answer is read.
_CONNECTION = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer"}
    | {"upgrade", "expect", "proxy-connection", "proxy-authorization", "http2-settings"}
    | {"accept-encoding"}
)
_OURS = re.compile(r"idempotency-key|(?:onebeat|webhook)-.*")
_SECRET = re.compile(
    r"authorization|cookie|token|secret|passw|api-?key|access-?key|private-?key|credential"
    r"|^x-auth$|^auth$|^onebeat-callback$"
)


def is_secret_header(name: str) -> bool:
    """Whether a header (or a named argument) carries a secret, told by its name."""
    return _SECRET.search(name.lower().replace("_", "-")) is not None


def masked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers as people may see them."""
    return {name: MASK if is_secret_header(name) else value for name, value in headers.items()}


def parse_headers(data: object, field: str) -> dict[str, str]:
    """Header names and values fit to be sent; TargetError names the header otherwise."""
    if not isinstance(data, dict):
        raise TargetError(field, data, "is not an object", 'write {"Name": "value"}')
    if len(data) > MAX_HEADERS:
        raise TargetError(field, len(data), "are too many", f"send at most {MAX_HEADERS} headers")
    headers: dict[str, str] = {}
    for name, value in data.items():
        checked = _checked_name(name, field, {known.lower() for known in headers})
        headers[checked] = _checked_value(value, f"{field}.{checked}", checked)
    return headers


def _checked_name(name: object, field: str, seen: set[str]) -> str:
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        hint = "use letters, digits and hyphens, at most 100"
        raise TargetError(field, name, "has a name that is not a header name", hint)
    lower = name.lower()
    here = f"{field}.{name}"
    if lower in _CONNECTION:
        raise TargetError(here, name, "is decided by the connection", "take it out")
    if _OURS.fullmatch(lower):
        raise TargetError(here, name, "is set by Onebeat on every call", "take it out")
    if lower in seen:
        raise TargetError(here, name, "is given twice", "give each header once")
    return name


def _checked_value(value: object, field: str, name: str) -> str:
    safe = MASK if is_secret_header(name) else value
    if not isinstance(value, str):
        raise TargetError(field, safe, "is not text", "write the value as text")
    if len(value) > MAX_VALUE:
        raise TargetError(field, safe, "is too long", f"use at most {MAX_VALUE} characters")
    if not _VALUE.fullmatch(value):
        hint = "use printable ASCII on one line"
        raise TargetError(field, safe, "holds a control or non-ASCII character", hint)
    if value != value.strip():
        raise TargetError(field, safe, "begins or ends with a blank", "take out the blank")
    if value.startswith(SEALED):
        # Else whoever came by a sealed text of another team could have it unsealed and sent here.
        raise TargetError(field, MASK, f"begins with {SEALED!r}", "write the value itself")
    return value
