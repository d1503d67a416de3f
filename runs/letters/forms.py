"""The forms of dead letters: which groups, and what is done with the runs that were chosen."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Q, QuerySet

from jobs.form_fields import SearchField
from jobs.schedules.errors import ScheduleError
from jobs.schedules.instants import canonical_instant, parse_instant
from runs.letters.groups import MOST, Choice, Preview
from runs.models import Run
from runs.models.replay import MOST_PER_MINUTE

TYPED_ABOVE = 50  # runs; who acts on more types their number
_USUAL_PACE = 60


class LetterFilter(forms.Form):
    """Which groups of the list: by job and team. `after` is where the page before ended."""

    q = SearchField("Job")
    team = forms.ChoiceField(
        label="Team",
        required=False,
        widget=forms.Select(attrs={"class": "input"}),
        error_messages={"invalid_choice": "%(value)s is none of your teams."},
    )
    after = forms.CharField(required=False, max_length=400, widget=forms.HiddenInput())

    def __init__(self, data: Any, *, teams: list[str]) -> None:
        super().__init__(data, label_suffix="")
        team = self.fields["team"]
        assert isinstance(team, forms.ChoiceField)
        team.choices = [("", "Every team"), *((name, name) for name in teams)]

    def applied(self, rows: QuerySet[Run]) -> QuerySet[Run]:
        """The runs that match; none for a filter that is no filter."""
        if not self.is_valid():
            return rows.none()
        if name := self.cleaned_data["q"]:
            rows = rows.filter(Q(job__name__icontains=name))
        if slug := self.cleaned_data["team"]:
            rows = rows.filter(job__team__slug=slug)
        return rows

    @property
    def narrowed(self) -> bool:
        """Whether an empty list may be the filter's doing."""
        return any(self.data.get(name) for name in ("q", "team", "after"))


class ChosenForm(forms.Form):
    """What was seen of the runs that are acted on: their ids, or how many as of when."""

    expected = forms.IntegerField(
        required=False, min_value=1, max_value=MOST, widget=forms.HiddenInput()
    )
    as_of = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput())
    runs = forms.CharField(required=False, max_length=40_000, widget=forms.HiddenInput())
    note = forms.CharField(
        label="Note",
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"class": "input", "rows": "2"}),
    )
    typed = forms.CharField(
        label="How many",
        required=False,
        max_length=12,
        widget=forms.TextInput(attrs={"class": "input", "inputmode": "numeric"}),
    )

    use_required_attribute = False

    def __init__(self, group: UUID, data: Any = None, *, seen: Preview | None = None) -> None:
        super().__init__(data, label_suffix="", initial=_initial(seen) if seen else {})
        self.group = group
        count = seen.count if seen else self._expected()
        self.asks_number = count > TYPED_ABOVE
        self.fields["typed"].help_text = f"More than {TYPED_ABOVE}: type {count} to go on."

    def _expected(self) -> int:
        given = str(self.data.get("expected", "")).strip()
        return int(given) if given.isascii() and given.isdecimal() and len(given) < 9 else 0

    def clean_as_of(self) -> datetime | None:
        return _instant(self.cleaned_data["as_of"])

    def clean_runs(self) -> tuple[UUID, ...]:
        try:
            return tuple(UUID(one) for one in self.cleaned_data["runs"].split())
        except ValueError:
            raise forms.ValidationError(_LOOK_AGAIN) from None

    def clean_typed(self) -> str:
        typed: str = self.cleaned_data["typed"].strip()
        if self.asks_number and typed != str(self._expected()):
            raise forms.ValidationError(f"Type the number, {self._expected()}. Nothing was done.")
        return typed

    def clean(self) -> dict[str, Any]:
        if not self.says_which:
            raise forms.ValidationError(_LOOK_AGAIN)
        return self.cleaned_data

    @property
    def says_which(self) -> bool:
        """Whether it is clear which runs are meant; a sent form, checked."""
        said = self.cleaned_data
        return bool(said.get("expected") and said.get("as_of")) and "runs" in said

    @property
    def choice(self) -> Choice:
        """What a valid form chose."""
        said = self.cleaned_data
        return Choice(self.group, said["as_of"], said["expected"], said["runs"])


class DiscardForm(ChosenForm):
    """Why the runs are closed for good."""

    def clean_note(self) -> str:
        note: str = self.cleaned_data["note"].strip()
        if not note:
            raise forms.ValidationError("Write why these are not carried out. Nothing was done.")
        return note


class ReplayForm(ChosenForm):
    """How the runs are sent again."""

    per_minute = forms.IntegerField(
        label="Runs a minute",
        min_value=1,
        max_value=MOST_PER_MINUTE,
        initial=_USUAL_PACE,
        widget=forms.TextInput(attrs={"class": "input", "inputmode": "numeric"}),
        error_messages=dict.fromkeys(
            ("required", "invalid", "min_value", "max_value"),
            f"Write a whole number from 1 to {MOST_PER_MINUTE}.",
        ),
    )
    try_first = forms.BooleanField(
        label="Try one first: the others go once it has succeeded", required=False, initial=True
    )


_LOOK_AGAIN = "It is not clear which runs are meant. Nothing was done: look again."


def _initial(seen: Preview) -> dict[str, Any]:
    return {
        "expected": seen.count,
        "as_of": canonical_instant(seen.choice.as_of),
        "runs": " ".join(str(run_id) for run_id in seen.choice.run_ids),
    }


def _instant(text: str) -> datetime | None:
    try:
        return parse_instant(text, "as_of") if text else None
    except ScheduleError:
        raise forms.ValidationError(_LOOK_AGAIN) from None
