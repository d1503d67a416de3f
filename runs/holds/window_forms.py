"""The form by which maintenance is planned or changed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django import forms

from jobs import clock, maintenance
from jobs.form_fields import MONO, text
from jobs.holds import HoldError
from jobs.models import MaintenanceWindow
from jobs.pause_forms import after
from jobs.schedules import local_instants, zones
from jobs.schedules.errors import ScheduleError
from jobs.schedules.instants import canonical_instant
from runs.holds.forms import WHOLE, HoldForm


class WindowForm(HoldForm):
    """What is to be held, why, from when (`from`) and until when: instants as people type them,
    on the reader's clock, or lengths of time from now and from the beginning."""

    def __init__(self, *args: Any, zone: str, kept: datetime | None = None, **kwargs: Any) -> None:
        """`kept`: the beginning that the window has, which may have come."""
        super().__init__(*args, **kwargs)
        self.zone, self.kept = zone, kept
        clock_of = {**MONO, "data-moment": zone}
        help_text = f"On your clock ({zone}), as 2026-11-29 18:00. Or 2h: so long from now."
        self.fields["from"] = text("From", help_text, **clock_of)
        help_text = "The same; a length of time, as 2h, counts from the beginning."
        self.fields["until"] = text("Until", help_text, **clock_of)
        self.order_fields(("scope", "from", "until", "reason"))

    def clean_from(self) -> datetime:
        typed = self.cleaned_data["from"]
        if not typed:
            words = "When does it begin? To begin now, begin a hold."
            raise forms.ValidationError(words)
        return self._instant("from", typed, clock.now())

    def clean_until(self) -> datetime | None:
        typed, begins_at = self.cleaned_data["until"], self.cleaned_data.get("from")
        if not typed:
            raise forms.ValidationError("When does it end? Say an instant or a length of time.")
        return self._instant("until", typed, begins_at or clock.now())

    def clean(self) -> dict[str, Any]:
        found = self.cleaned_data
        if found.get("from") and found.get("until"):
            try:
                maintenance.check(found["from"], found["until"], clock.now(), kept=self.kept)
            except HoldError as error:
                self.add_error(error.field, f"It {error.message} {error.hint}")
        return super().clean()

    @property
    def times(self) -> tuple[datetime, datetime] | None:
        """The beginning and the end, as soon as both are known, whatever else is missing."""
        self.is_valid()
        found = self.cleaned_data.get("from"), self.cleaned_data.get("until")
        return found if all(found) else None  # type: ignore[return-value]

    def _instant(self, field: str, typed: str, since: datetime) -> datetime:
        read = local_instants.first_instant if field == "from" else local_instants.last_instant
        try:
            return after(typed, since) or read(typed, self.zone, field)
        except ScheduleError as error:
            hint = f"{error.hint} Or as a length of time: 2h, 1d, 1 h 30 m."
            raise forms.ValidationError(f"{error.message} {hint}") from None
        except OverflowError:
            raise forms.ValidationError(f"“{typed}” is longer than the calendar.") from None


def typed_of(window: MaintenanceWindow, zone: str) -> dict[str, str]:
    """What stands in the form of a window that is planned."""
    return {
        "scope": window.team.slug if window.team else WHOLE,
        "reason": window.reason,
        "from": _typed(window.begins_at, zone),
        "until": _typed(window.ends_at, zone),
    }


def _typed(at: datetime, zone: str) -> str:
    """As the clock shows it, where that names this instant alone."""
    local = zones.on_clock(at, zone).replace(tzinfo=None)
    shown = local.isoformat(" ", "auto" if local.second or local.microsecond else "minutes")
    first, last = (
        read(shown, zone, "from")
        for read in (local_instants.first_instant, local_instants.last_instant)
    )
    return shown if first == last == at else canonical_instant(at.astimezone(UTC))
