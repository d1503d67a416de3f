"""What people wrote, put among our own sentences. PURE."""

from __future__ import annotations

_ENDS = (".", "!", "?", "…", ":", ";", ".”", "!”", "?”", '."', ".)")


def ended(text: str) -> str:
    """The text with a full stop where it has no end of its own, so that what follows it is read
    as another sentence. What is empty stays empty."""
    text = text.rstrip()
    return text if not text or text.endswith(_ENDS) else f"{text}."
