"""Texts that people wrote for people."""

from __future__ import annotations

import re

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from jobs import prose

register = template.Library()
register.filter("ended", prose.ended)
_CODE = re.compile(r"`([^`\n]+)`")


@register.filter
def with_code(text: str) -> SafeString:
    """The text with what stands in backticks as code; nothing else in it is a sign."""
    return mark_safe(_CODE.sub(r"<code>\1</code>", escape(text)))  # noqa: S308 (escaped first)
