"""What people wrote, put among our own sentences."""

from __future__ import annotations

import pytest

from jobs import prose


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("the ledger moves", "the ledger moves."),
        ("The ledger moves.", "The ledger moves."),
        ("Ask Ada!  ", "Ask Ada!"),
        ("see (ledger.)", "see (ledger.)"),
        ("cut off he…", "cut off he…"),
        ("", ""),
    ],
)
def test_a_text_ends_like_a_sentence(typed: str, shown: str) -> None:
    assert prose.ended(typed) == shown
