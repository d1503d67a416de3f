"""The forms by which a job pauses, or leaves out its next moments."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import forms

from jobs import clock, typed_numbers
from jobs.definitions import definitions
from jobs.editing import Pause
from jobs.form_fields import MOMENT, text
from jobs.schedules import schedules


class PauseForm(forms.Form):
    """Why a job pauses, and until when. `pause` is the outcome once the form is valid."""

    reason = text("Reason", "Shown to everybody who wonders why it does not run.", maxlength="500")
    until = text(
        "Until",
        "Empty: until somebody resumes it. As 2h, 1d, or 2026-11-29T18:00:00+01:00.",
        **MOMENT,
    )

    pause: Pause
    use_required_attribute = False

    def clean_reason(self) -> str:
        reason: str = self.cleaned_data["reason"]
        if not reason:
            raise forms.ValidationError("A pause needs a reason. Write one sentence.")
        return reason

    def clean_until(self) -> datetime | None:
        text: str = self.cleaned_data["until"]
        if not text:
            return None
        now = clock.now()
        try:
            until = after(text, now) or schedules.parse_instant(text, "until")
        except schedules.ScheduleError as error:
            hint = f"{error.hint} Or as a length of time from now: 2h, 1d, 1 h 30 m."
            raise forms.ValidationError(f"{error.message} {hint}") from None
        if until <= now:
            raise forms.ValidationError(f"“{text}” is over. Choose an instant to come.")
        return until

    @property
    def end(self) -> datetime | None:
        """The end that was typed, whatever else is still missing."""
        if not self.is_bound:
            return None
        self.is_valid()
        until: datetime | None = self.cleaned_data.get("until")
        return until

    def clean(self) -> dict[str, Any]:
        if not self.errors:
            self.pause = Pause(self.cleaned_data["reason"], self.cleaned_data["until"])
        return self.cleaned_data


def after(text: str, now: datetime) -> datetime | None:
    """The instant so long after another; None where the text is no length of time with a unit. The
    longest that can be typed lies within the calendar."""
    length = typed_numbers.length(text)
    if isinstance(length, str) or not text.strip()[-1:].isalpha():
        return None
    return now.replace(microsecond=0) + timedelta(seconds=length)


class SkipForm(forms.Form):
    """How many of a job's next moments to leave out, and why."""

    count = forms.IntegerField(
        label="How many",
        min_value=0,
        max_value=definitions.MOST_SKIPPED,
        widget=forms.NumberInput(attrs={"class": "input"}),
    )
    reason = text("Reason", "Stands on each record of a moment left out.", maxlength="500")

    use_required_attribute = False

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        if found.get("count") and not found.get("reason"):
            self.add_error("reason", "Skipping needs a reason. Write one sentence.")
        return found
