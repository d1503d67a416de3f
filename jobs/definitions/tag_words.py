"""Tags: short words by which jobs are found together. PURE."""

from __future__ import annotations

import re
import unicodedata

LENGTH = 40
HINT = (
    f"A tag has 1 to {LENGTH} letters and digits, and - _ . : / between them, as billing or"
    " team/payments."
)
_TAG = re.compile(r"[^\W_]([\w.:/-]*[^\W_])?")


def read(given: object) -> str | None:
    """The tag in small letters, by which one that is written otherwise is the same; None for what
    is none."""
    if not isinstance(given, str):
        return None
    tag = unicodedata.normalize("NFC", given.strip().lower())
    return tag if len(tag) <= LENGTH and _TAG.fullmatch(tag) else None


def split(text: str) -> list[str]:
    """The words of a text field, parted by commas and blanks."""
    return text.replace(",", " ").split()
