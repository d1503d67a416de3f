"""Stored sentences on the page: runs as links, instants on the reader's clock."""

from __future__ import annotations

from sys import maxsize
from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from jobs.templatetags.moments import in_zone
from runs.dashboard import sentences
from runs.dashboard.sentences import Named
from runs.models import Run

register = template.Library()
_LINK = 24  # characters that a run takes, roughly: its moment on a clock


@register.simple_tag(takes_context=True)
def told(context: Any, sentence: str, most: int = 0, *, links: bool = True) -> SafeString:
    """The sentence for people. `most`: so many characters of it at most, then an ellipsis;
    without `links` where it stands in a link itself."""
    if isinstance(sentence, SafeString):  # it was written for a page
        return sentence
    zone, left = context.get("reader_zone", "UTC"), most or maxsize
    shown: list[str] = []
    for part in sentences.parts(sentence):
        if left <= 0:
            shown.append("…")
            break
        if isinstance(part, str):
            shown.append(escape(_cut(part, left)))
            left -= len(part)
        else:
            shown.append(_named(part, zone, links))
            left -= _LINK
    return mark_safe("".join(shown))  # noqa: S308 (each piece is escaped)


@register.inclusion_tag("_folded.html", takes_context=True)
def folded(context: Any, sentence: str, most: int = 240) -> dict[str, object]:
    """The sentence; of a long one its beginning, with the whole of it folded behind."""
    return {
        "start": told(context, sentence, most),
        "whole": told(context, sentence) if len(sentence) > most else "",
    }


@register.inclusion_tag("_folded.html")
def folded_as_it_is(text: str, most: int = 160) -> dict[str, object]:
    """The same of what is no sentence: nothing in it is told in other words."""
    return {"start": _cut(text, most), "whole": text if len(text) > most else ""}


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def link_to(run: Run, zone: str) -> SafeString:
    """The run by its job and its moment, on the clock of this zone."""
    when = format_html("due {}", in_zone(run.due_at, zone)) if run.due_at else "by hand"
    address = reverse("run", args=[run.id])
    return format_html('<a href="{}">{}, {}</a>', address, run.job.name, when)


def _named(named: Named, zone: str, links: bool) -> SafeString:
    when = in_zone(named.at, zone) if named.at else SafeString("")
    if named.run is None:
        return when
    words = format_html("the run of {}", when) if when else SafeString("a run")
    if named.by_hand:
        words = SafeString("a run by hand")
    if not links:
        return words
    return format_html('<a href="{}">{}</a>', reverse("run", args=[named.run]), words)
