"""The forms of run pages: what a person says when deciding, and which run they ask for."""

from __future__ import annotations

from datetime import datetime

from django import forms

from jobs.instants import parse_instant
from jobs.schedule_errors import ScheduleError

NOW = "now"


class NoteForm(forms.Form):
    """What a person says who moves a run. `token` is the attempt that the page showed."""

    note = forms.CharField(
        label="Note",
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"class": "input", "rows": "2"}),
    )
    token = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput())

    use_required_attribute = False

    @property
    def said(self) -> tuple[int | None, str]:
        """The token and the note of a valid form."""
        return self.cleaned_data["token"], self.cleaned_data["note"]


class RunNowForm(forms.Form):
    """Which run: that of a moment, or one of now. `chosen` is the moment, or None for now."""

    moment = forms.CharField(
        max_length=40,
        error_messages={"required": "Choose what to run. Nothing was started."},
    )

    chosen: datetime | None = None

    def clean_moment(self) -> str:
        text: str = self.cleaned_data["moment"]
        if text != NOW:
            try:
                self.chosen = parse_instant(text, "moment")
            except ScheduleError as error:
                raise forms.ValidationError(f"{error.message} {error.hint}") from None
        return text
