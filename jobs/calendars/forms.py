"""The form of a calendar. What one may say is decided by `content.read`, not here."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from jobs.calendars import content as calendar_content
from jobs.calendars import ical, public_holidays
from jobs.calendars.content import Content
from jobs.calendars.days import WEEKDAY_NAMES
from jobs.definitions.definitions import DefinitionError, Problem
from jobs.foresight.previews import said

_LINE = re.compile(r"\s*(\S+)(?:\s+(.*\S))?\s*")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_NO_FILE = ""


def _field(label: str, help_text: str, widget: forms.Widget, **more: Any) -> forms.CharField:
    widget.attrs["class"] = "input"
    return forms.CharField(label=label, help_text=help_text, required=False, widget=widget, **more)


class CalendarForm(forms.Form):
    """A calendar as text fields. `content` is the outcome once the form is valid.

    An iCal file is uploaded once: `kept` are texts of this calendar and this person's uploads,
    one of which `ical_kept` names by its digest from then on.
    """

    name = _field(
        "Name",
        "Small letters, digits and hyphens. Jobs name it so.",
        forms.TextInput(attrs={"autocomplete": "off", "maxlength": "60"}),
    )
    description = _field(
        "Description", "Whose days these are; for people.", forms.Textarea(attrs={"rows": "2"})
    )
    weekdays = forms.MultipleChoiceField(
        label="Working weekdays",
        required=False,
        choices=list(zip(WEEKDAY_NAMES, _DAYS, strict=True)),
        widget=forms.CheckboxSelectMultiple,
    )
    country = _field(
        "Public holidays of",
        "",
        forms.Select(choices=[("", "No country"), *public_holidays.countries().items()]),
    )
    subdivision = _field("In", "", forms.Select())
    days_off = _field(
        "Further days off",
        "One a line, as 2026-12-24 Christmas Eve.",
        forms.Textarea(attrs={"rows": "5", "spellcheck": "false"}),
        strip=False,
    )
    ical_file = forms.FileField(
        label="iCal file",
        required=False,
        help_text="An .ics file of days off, at most 1 MiB.",
        widget=forms.FileInput(attrs={"accept": ".ics,text/calendar"}),
    )
    ical_kept = forms.CharField(required=False, widget=forms.HiddenInput)
    without_ical = forms.BooleanField(label="Leave the iCal file out", required=False)

    content: Content
    use_required_attribute = False

    def __init__(
        self, data: Any = None, files: Any = None, *, kept: Iterable[str] = (), **more: Any
    ) -> None:
        super().__init__(data, files, label_suffix="", **more)
        self.kept = {digest(text): text for text in kept}
        country = self["country"].value() or ""
        known = public_holidays.countries()
        parts = public_holidays.subdivisions(country) if country in known else {}
        named = [(code, f"{name} ({code})") for code, name in parts.items()]
        self.fields["subdivision"].widget.choices = [("", "The whole country"), *named]

    @property
    def has_ical(self) -> bool:
        """Whether an earlier file is kept unless told otherwise."""
        return bool(self["ical_kept"].value())

    def clean(self) -> dict[str, Any]:
        typed = self.cleaned_data
        problems: list[Problem] = []
        days = list(_days(typed.get("days_off", ""), problems))
        country = typed.get("country")
        text = self._ical(problems)
        try:
            self.content = calendar_content.read(
                {
                    "description": typed.get("description", "").replace("\r\n", "\n"),
                    "weekdays": typed.get("weekdays", []),
                    "days_off": days,
                    "holidays": (
                        country and {"country": country, "subdivision": self._subdivision(country)}
                    )
                    or None,
                    "ical": text,
                }
            )
        except DefinitionError as error:
            problems += error.problems
        self.refuse(problems)
        return typed

    def refuse(self, problems: Iterable[Problem]) -> None:
        """Show each problem at its field, or above the form where it has none."""
        for problem in problems:
            field = re.split(r"[\[.]", problem.field)[0]
            field = {"ical": "ical_file", "holidays": "country"}.get(field, field)
            if problem.field == "holidays.subdivision":
                field = "subdivision"
            self.add_error(field if field in self.fields else None, said(problem))

    def _subdivision(self, country: str) -> str:
        """The chosen part; none where it is one of the country chosen before."""
        chosen: str = self.cleaned_data.get("subdivision", "")
        parts = public_holidays.countries().get(country) and public_holidays.subdivisions(country)
        return chosen if parts and chosen in parts else ""

    def _ical(self, problems: list[Problem]) -> str | None:
        file = self.cleaned_data.get("ical_file")
        if isinstance(file, UploadedFile):
            try:
                return ical.read(file.read(ical.MAX_BYTES + 1))
            except ical.IcalError as error:
                problems.append(Problem("ical", error.message, error.hint))
                return None
        named = self.cleaned_data.get("ical_kept", "")
        if not named or self.cleaned_data.get("without_ical"):
            return None
        if named not in self.kept:
            problems.append(Problem("ical", "The file is no longer here.", "Choose it once more."))
        return self.kept.get(named)


def digest(text: str) -> str:
    """By what a form names a text that it does not carry."""
    return hashlib.sha256(text.encode()).hexdigest()


def typed_of(content: Content) -> dict[str, Any]:
    """What the form shows of a calendar."""
    country, subdivision = content.place or ("", "")
    return {
        "description": content.description,
        "weekdays": list(content.weekdays),
        "country": country,
        "subdivision": subdivision,
        "days_off": "\n".join(f"{day} {label}".strip() for day, label in content.days_off),
        "ical_kept": digest(content.ical) if content.ical else _NO_FILE,
    }


def _days(text: str, problems: list[Problem]) -> Iterable[Mapping[str, str]]:
    for count, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        shape = _LINE.fullmatch(line)
        assert shape is not None  # it is not blank
        try:
            calendar_content.read({"days_off": [{"date": shape[1], "label": shape[2] or ""}]})
        except DefinitionError as error:
            first = error.problems[0]
            problems.append(Problem("days_off", f"Line {count}: {first.message}", first.hint))
            continue
        yield {"date": shape[1], "label": shape[2] or ""}
