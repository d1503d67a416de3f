"""The form of a backfill: a range on the clock of the job."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from django import forms

from jobs.definitions.definitions import Problem
from jobs.form_fields import MOMENT
from jobs.models import Job
from jobs.schedules import local_instants
from jobs.schedules.errors import ScheduleError
from jobs.templatetags.moments import zone_of
from runs.backfills.span import Range
from runs.models.backfill import MOST_ACTIVE


class BackfillForm(forms.Form):
    """From when to when, in which order, and how many at a time. `range` is the outcome once the
    form is valid."""

    since = forms.CharField(
        label="From", max_length=60, required=False, widget=forms.TextInput(attrs=MOMENT)
    )
    until = forms.CharField(
        label="To", max_length=60, required=False, widget=forms.TextInput(attrs=MOMENT)
    )
    reverse = forms.BooleanField(label="The newest first", required=False)
    max_active = forms.IntegerField(
        label="At most so many at a time",
        min_value=1,
        max_value=MOST_ACTIVE,
        initial=1,
        widget=forms.TextInput(attrs={"class": "input", "inputmode": "numeric"}),
        error_messages=dict.fromkeys(
            ("required", "invalid", "min_value", "max_value"),
            f"Write a whole number from 1 to {MOST_ACTIVE}.",
        ),
    )

    range: Range
    use_required_attribute = False

    def __init__(self, data: Any, *, job: Job) -> None:
        super().__init__(data, label_suffix="")
        self.zone = zone_of(job) or "UTC"
        clock = f"On the clock of {self.zone}, as 2026-11-29 18:00; or with an offset."
        for name in ("since", "until"):
            self.fields[name].widget.attrs["data-moment"] = self.zone
        self.fields["since"].help_text = f"{clock} A day alone is taken from its beginning."
        self.fields["until"].help_text = "Included. A day alone is taken to its end."
        self.fields["max_active"].help_text = (
            "A job that runs one at a time takes no more than one."
            if job.serial
            else f"From 1 to {MOST_ACTIVE}."
        )

    def clean_since(self) -> datetime:
        return self._instant("since", local_instants.first_instant)

    def clean_until(self) -> datetime:
        return self._instant("until", local_instants.last_instant)

    def clean(self) -> dict[str, Any]:
        if not self.errors:
            self.range = Range(self.cleaned_data["since"], self.cleaned_data["until"])
        return self.cleaned_data

    def refuse(self, problems: Iterable[Problem]) -> None:
        """Show what is wrong with the range at its fields."""
        for problem in problems:
            words = f"{problem.message[:1].upper()}{problem.message[1:]} {problem.hint}"
            self.add_error({"from": "since", "to": "until"}.get(problem.field), words)

    def _instant(self, field: str, read: Callable[[str, str, str], datetime]) -> datetime:
        text: str = self.cleaned_data[field].strip()
        if not text:
            raise forms.ValidationError("Write a day or an instant, as 2026-11-29 18:00.")
        try:
            return read(text, self.zone, field)
        except ScheduleError as error:
            raise forms.ValidationError(f"{error.message} {error.hint}") from None
