"""The installation's word for a receipt: a detached Ed25519 signature over its canonical bytes.

The key is made when the first receipt is asked for, and lies sealed in the database, so that every
process signs alike. Where it cannot be opened any more (its sealing key was taken out), a new one
takes its place, and what was signed before is still verified by the old one's public half.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings
from django.db.models.functions import Now

from jobs import sealing
from runs.models import ReceiptKey

ALGORITHM = "ed25519"


def canonical(receipt: Mapping[str, Any]) -> bytes:
    """The bytes that are signed: JSON in UTF-8, keys sorted, no spaces, nothing escaped that need
    not be."""
    text = json.dumps(receipt, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def signed(receipt: Mapping[str, Any]) -> dict[str, Any]:
    """The receipt with its signature and the public key that verifies it."""
    public, private = _signing()
    signature = b64encode(private.sign(canonical(receipt))).decode()
    return {
        "receipt": dict(receipt),
        "signature": {"algorithm": ALGORITHM, "key": public, "value": signature},
    }


def is_genuine(document: object) -> bool:
    """Whether one of this installation's keys has signed this very receipt."""
    match document:
        case {"receipt": dict(receipt), "signature": {"key": str(public), "value": str(value)}}:
            known = ReceiptKey.objects.filter(public=public).exists()
            return known and _verifies(public, value, canonical(receipt))
        case _:
            return False


def public_keys() -> list[ReceiptKey]:
    """Every key that has signed, the one that signs now first."""
    _signing()
    return list(ReceiptKey.objects.all())


def _verifies(public: str, value: str, data: bytes) -> bool:
    try:
        key = Ed25519PublicKey.from_public_bytes(b64decode(public))
        key.verify(b64decode(value, validate=True), data)
    except (InvalidSignature, NotBase64, ValueError):
        return False
    return True


def _signing() -> tuple[str, Ed25519PrivateKey]:
    newest = ReceiptKey.objects.first()
    if newest is not None:
        try:
            opened = sealing.unseal(newest.private, settings.SEALING_KEYS)
            return newest.public, Ed25519PrivateKey.from_private_bytes(b64decode(opened))
        except sealing.SealingError:
            pass  # its sealing key is gone
    return _made()


def _made() -> tuple[str, Ed25519PrivateKey]:
    private = Ed25519PrivateKey.generate()
    public = b64encode(private.public_key().public_bytes_raw()).decode()
    secret = b64encode(private.private_bytes_raw()).decode()
    sealed = sealing.seal(secret, settings.SEALING_KEYS)
    ReceiptKey.objects.create(public=public, private=sealed, created_at=Now())
    return public, private
