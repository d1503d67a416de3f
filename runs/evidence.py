"""What is kept of an answer: capped, free of secrets, fit for PostgreSQL and the screen. PURE."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping

from jobs.json_values import json_text
from jobs.targets.errors import MASK
from jobs.targets.headers import is_secret_header

KEEP = 16 * 1024
_REASON = 500
_HEADERS = 40
_HEADER_VALUE = 1_024
_SHORTEST_SECRET = 4

# C0 without tab and newlines, DEL, C1, surrogates: NUL and halves of pairs cannot be stored, the
# rest would let an answer paint on a terminal.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
# Every repetition before the value is bounded: a handler chooses the text, and an unbounded one
# would take time that grows with the square of its length.
_NAMED_SECRET = re.compile(
    r"(?i)(?P<name>(?:passw(?:or)?d|secret|token|api[_-]?key|authorization)[\w-]{0,40}['\"]?"
    r"\s{0,4}[:=]\s{0,4})(?P<value>['\"]?(?:(?:bearer|basic)\s{1,4})?[^\s'\",;&})]+)"
)


def printable(text: str) -> str:
    """The text with every character that cannot be stored or shown as U+FFFD."""
    return _UNPRINTABLE.sub("\ufffd", text)


def sentence(reason: str) -> str:
    """A reason fit for one line on the screen."""
    return " ".join(printable(reason).split())[:_REASON]


def redact(text: str, secrets: Collection[str]) -> str:
    """The text without the secrets, nor their parts (what follows `Bearer`), nor the first
    characters of one that the end of the text cut off.
    """
    for secret in sorted(set(_parts(secrets)), key=len, reverse=True):
        text = text.replace(secret, MASK)
        text = _without_cut_secret(text, secret)
    return text


def redact_named(text: str) -> str:
    """The text without what stands behind `password=`, `token:` and the like."""
    return _NAMED_SECRET.sub(rf"\g<name>{MASK}", text)


def of_response(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    truncated: bool,
    secrets: Collection[str] = (),
) -> dict[str, object]:
    """An HTTP answer as kept: status, headers, the beginning of the body, whether it went on."""
    kept: dict[str, object] = {"status": status, "headers": _kept_headers(headers, secrets)}
    coding = headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("", "identity"):
        # Never decoded: a small body may swell to gigabytes.
        return {**kept, "body": "", "truncated": truncated, "compressed": sentence(coding)}
    text = redact(printable(body[:KEEP].decode("utf-8", "replace")), secrets)
    return {**kept, "body": text, "truncated": truncated or len(body) > KEEP}


def of_value(value: object, secrets: Collection[str] = ()) -> dict[str, object]:
    """What a task returned, as kept: its JSON where that is small, else the start of its repr."""
    try:
        text = json_text(value)
        if len(text) <= KEEP:
            return {"value": _clean(json.loads(text), secrets)}
    except (TypeError, ValueError, RecursionError):
        pass
    return _of_repr(value, secrets)


def of_error(text: str, secrets: Collection[str] = ()) -> dict[str, object]:
    """A traceback as kept: its end, where the error stands."""
    # Secrets go first: a cut could leave the end of one behind, where nothing would find it.
    clean = redact_named(redact(printable(text), secrets))
    return {"traceback": clean[-KEEP:], "truncated": len(clean) > KEEP}


def _of_repr(value: object, secrets: Collection[str]) -> dict[str, object]:
    try:
        text = redact(printable(repr(value)), secrets)
    except Exception:
        text = f"a {type(value).__name__} that cannot be shown"
    return {"repr": text[:KEEP], "truncated": len(text) > KEEP}


def _clean(value: object, secrets: Collection[str]) -> object:
    """The value with printable text throughout; cleaned after decoding, never as JSON text, where
    a backslash before `u0000` may be just a backslash.
    """
    match value:
        case str():
            return redact(printable(value), secrets)
        case list():
            return [_clean(item, secrets) for item in value]
        case dict():
            return {printable(str(key)): _clean(item, secrets) for key, item in value.items()}
        case _:
            return value


def _kept_headers(headers: Mapping[str, str], secrets: Collection[str]) -> dict[str, str]:
    return {
        printable(name)[:100]: MASK
        if is_secret_header(name)
        else redact(printable(value)[:_HEADER_VALUE], secrets)
        for name, value in list(headers.items())[:_HEADERS]
    }


def _parts(secrets: Collection[str]) -> Iterator[str]:
    for secret in secrets:
        yield from (part for part in (secret, *secret.split()) if len(part) >= _SHORTEST_SECRET)


def _without_cut_secret(text: str, secret: str) -> str:
    for length in range(min(len(secret) - 1, len(text)), _SHORTEST_SECRET - 1, -1):
        if text.endswith(secret[:length]):
            return text[:-length] + MASK
    return text
