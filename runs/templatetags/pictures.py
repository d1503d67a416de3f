"""Numbers and instants as pictures and addresses write them."""

from __future__ import annotations

from datetime import datetime

from django import template

from jobs.instants import canonical_instant

register = template.Library()


@register.filter
def short(count: int) -> str:
    """A number that fits into a cell: `980`, `1.2k`, `14k`."""
    if count < 1_000:
        return str(count)
    return f"{count / 1_000:.1f}k" if count < 9_950 else f"{count / 1_000:.0f}k"


@register.filter
def canonical(at: datetime) -> str:
    """An instant for an address."""
    return canonical_instant(at)
