"""Regions that poll, on the page."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def live(url: str, tag: str, every: int = 5) -> SafeString:
    """The attributes of an element that asks for itself at `url`, every so many seconds, and is
    answered only where something differs from `tag`. At rest: 0, and it never asks."""
    if not every:
        return SafeString("")
    return format_html(
        'hx-get="{}" hx-trigger="poll" hx-target="this" hx-swap="outerMorph" '
        'data-live="{}" data-tag="{}"',
        url,
        every,
        tag,
    )
