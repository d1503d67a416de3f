"""Secrets at rest: secret headers are stored sealed, and opened only to be sent.

A sealed text is `sealed:<key id>:<token>`. Keys are Fernet keys, given as an argument, newest
first: the first one seals, all of them unseal. They live outside the database.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from jobs.targets.errors import MASK, TargetError
from jobs.targets.headers import SEALED, is_secret_header
from jobs.targets.urls import split_url

Keys = Sequence[str]
TargetDict = Mapping[str, object]


class SealingError(Exception):
    """A key that is not a Fernet key, or a sealed text that none of the keys opens."""


def seal(text: str, keys: Keys) -> str:
    """Encrypt under the first key."""
    return _written(_ring(keys).encrypt(text.encode()), keys)


def unseal(sealed: str, keys: Keys) -> str:
    """Decrypt what `seal` wrote under any of the keys; SealingError otherwise."""
    return _open(sealed, _ring(keys).decrypt).decode()


def rotate(sealed: str, keys: Keys) -> str:
    """The same secret sealed under the first key; its time of sealing is kept."""
    return _written(_open(sealed, _ring(keys).rotate), keys)


def is_sealed(value: object) -> bool:
    """Whether a stored value is a sealed text. No value from outside may look like one: `parse`
    refuses it.
    """
    return isinstance(value, str) and value.startswith(SEALED)


def key_id(key: str) -> str:
    """A name for a key that gives nothing of it away."""
    return hashlib.sha256(key.encode()).hexdigest()[:8]


def seal_headers(
    target: TargetDict, keys: Keys, *, old: TargetDict | None = None
) -> dict[str, object]:
    """The stored form of a target: every secret header sealed.

    A secret that `old` (the stored form before an edit) holds already keeps its sealed text, so
    that the same content stays the same. A mask that `merge_masked` did not replace is refused
    with TargetError, lest it be sent as the secret.
    """
    kept = {name.lower(): value for name, value in _headers(old or {}).items()}

    def sealed(name: str, value: str) -> str:
        if not is_secret_header(name) or is_sealed(value):
            return value
        if value == MASK:
            raise _nothing_to_keep(name)
        before = kept.get(name.lower())
        return before if before and _holds(before, value, keys) else seal(value, keys)

    return _with_headers(target, sealed)


def unseal_headers(target: TargetDict, keys: Keys) -> dict[str, object]:
    """The target with its secrets in clear, for the moment of sending only."""
    return _with_headers(
        target, lambda _, value: unseal(value, keys) if is_sealed(value) else value
    )


def rotate_headers(target: TargetDict, keys: Keys) -> dict[str, object]:
    """The stored target with every sealed header under the first key."""
    return _with_headers(
        target, lambda _, value: rotate(value, keys) if is_sealed(value) else value
    )


def merge_masked(old: TargetDict, new: TargetDict) -> dict[str, object]:
    """An edit by someone who saw only masks: `********` keeps the old, still sealed value.

    A secret is kept only for the origin it was given for. Otherwise an editor could have a secret
    that nobody may read sent to a host of their own.
    """
    kept = {name.lower(): value for name, value in _headers(old).items()}

    def merged(name: str, value: str) -> str:
        if value != MASK:
            return value
        if name.lower() not in kept:
            raise _nothing_to_keep(name)
        if _origin(old) != _origin(new):
            raise TargetError(
                f"target.headers.{name}", MASK, "was given for another host", "enter it again"
            )
        return kept[name.lower()]

    return _with_headers(new, merged)


def _holds(sealed: str, value: str, keys: Keys) -> bool:
    try:
        return is_sealed(sealed) and unseal(sealed, keys) == value
    except SealingError:  # its key is gone: the value was entered anew to mend just that
        return False


def _nothing_to_keep(name: str) -> TargetError:
    return TargetError(
        f"target.headers.{name}", MASK, "stands for a value that is not there", "enter the value"
    )


def _origin(target: TargetDict) -> tuple[str, str, int]:
    return split_url(target.get("url")).origin


def _headers(target: TargetDict) -> dict[str, str]:
    headers = target.get("headers")
    return dict(headers) if isinstance(headers, Mapping) else {}


def _with_headers(target: TargetDict, change: Callable[[str, str], str]) -> dict[str, object]:
    if "headers" not in target:
        return dict(target)
    changed = {name: change(name, value) for name, value in _headers(target).items()}
    return {**target, "headers": changed}


def _ring(keys: Keys) -> MultiFernet:
    try:
        return MultiFernet([Fernet(key) for key in keys])
    except ValueError:
        raise SealingError(
            "sealing keys: give one or more Fernet keys (32 bytes in URL-safe base64)"
        ) from None


def _written(token: bytes, keys: Keys) -> str:
    return f"{SEALED}{key_id(keys[0])}:{token.decode()}"


def _open(sealed: str, opener: Callable[[bytes], bytes]) -> bytes:
    name, _, token = sealed.removeprefix(SEALED).partition(":")
    try:
        return opener(token.encode())
    except (InvalidToken, UnicodeEncodeError):
        raise SealingError(
            f"a value sealed under key {name[:8]!r} cannot be opened: put that key back"
        ) from None
