"""The kinds of field that the form of a job is made of: text all of them, and none required;
and the field by which lists are searched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from unicodedata import normalize

from django import forms

MONO = {"class": "input mono", "autocomplete": "off", "spellcheck": "false"}
# Beside it static/pick.js offers a calendar, on the clock of the zone that is named, or of the
# browser: what is picked is written as text.
MOMENT = {**MONO, "data-moment": ""}


def text(label: str, help_text: str = "", **attrs: str) -> forms.CharField:
    """One line of text."""
    widget = forms.TextInput(attrs={"class": "input", "autocomplete": "off", **attrs})
    return forms.CharField(label=label, help_text=help_text, required=False, widget=widget)


def area(label: str, help_text: str = "", rows: int = 3, **attrs: str) -> forms.CharField:
    """Several lines of text, kept as they were typed."""
    widget = forms.Textarea(attrs={"class": "input", "rows": str(rows), **attrs})
    return forms.CharField(
        label=label, help_text=help_text, required=False, strip=False, widget=widget
    )


def select(label: str, choices: Iterable[tuple[str, str]], help_text: str = "") -> forms.CharField:
    """One of the choices, which the rule behind the form checks."""
    widget = forms.Select(attrs={"class": "input"}, choices=list(choices))
    return forms.CharField(label=label, help_text=help_text, required=False, widget=widget)


def radio(label: str, choices: Iterable[tuple[str, str]]) -> forms.CharField:
    """The same, all of them in sight."""
    widget = forms.RadioSelect(choices=list(choices))
    return forms.CharField(label=label, required=False, widget=widget)


class SearchField(forms.CharField):
    """A text that is searched for in names. They are kept composed, and so it is, whatever the
    keyboard makes of an accent."""

    def __init__(self, label: str) -> None:
        search = forms.TextInput(attrs={"class": "input", "type": "search"})
        super().__init__(label=label, required=False, max_length=120, widget=search)

    def to_python(self, value: Any) -> str:
        """The text as a name would be kept."""
        return normalize("NFC", super().to_python(value) or "")
