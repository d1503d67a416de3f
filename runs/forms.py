"""The forms of run pages: filters in the address, and what a person says when deciding."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.db.models import Q, QuerySet

from jobs.instants import parse_instant
from jobs.models import Job
from jobs.schedule_errors import ScheduleError
from runs.models import Run
from runs.templatetags.states import WORDS

_MONO = {"class": "input mono", "autocomplete": "off", "spellcheck": "false"}
NOW = "now"


def _choice(label: str, every: str, choices: list[tuple[str, str]]) -> forms.ChoiceField:
    widget = forms.Select(attrs={"class": "input"})
    return forms.ChoiceField(
        label=label, choices=[("", every), *choices], required=False, widget=widget
    )


class JobFilter(forms.Form):
    """Which jobs of the list: by text, team and state. `after` is the last job shown before."""

    q = forms.CharField(
        label="Search",
        required=False,
        max_length=120,
        widget=forms.TextInput(attrs={"class": "input", "type": "search"}),
    )
    team = _choice("Team", "Every team", [])
    state = _choice(
        "State",
        "Every state",
        [("active", "Active"), ("paused", "Paused"), ("finished", "Finished")],
    )
    after = forms.UUIDField(required=False, widget=forms.HiddenInput())

    def __init__(self, data: Any, *, teams: list[str]) -> None:
        super().__init__(data, label_suffix="")
        _offer(self, "team", teams)

    def applied(self, rows: QuerySet[Job]) -> QuerySet[Job]:
        """The rows that match, by name; none for a filter that is no filter."""
        if not self.is_valid():
            return rows.none()
        asked = self.cleaned_data
        if asked["q"]:
            rows = rows.filter(Q(name__icontains=asked["q"]) | Q(description__icontains=asked["q"]))
        if asked["team"]:
            rows = rows.filter(team__slug=asked["team"])
        rows = _in_state(rows, asked["state"])
        last = asked["after"] and rows.filter(id=asked["after"]).first()
        if last:
            rows = rows.filter(Q(name__gt=last.name) | Q(name=last.name, id__gt=last.id))
        return rows.order_by("name", "id")

    @property
    def narrowed(self) -> bool:
        """Whether an empty list may be the filter's doing."""
        return any(self.data.get(name) for name in ("q", "team", "state", "after"))


class RunFilter(forms.Form):
    """Which runs of the list: by state, team and job. `before` is the last run shown before."""

    state = _choice("State", "Every state", [(state, word) for state, word in WORDS.items()])
    team = _choice("Team", "Every team", [])
    job = forms.UUIDField(
        label="Job’s id", required=False, widget=forms.TextInput(attrs={**_MONO, "size": "36"})
    )
    backfill = forms.UUIDField(required=False, widget=forms.HiddenInput())
    group = forms.UUIDField(required=False, widget=forms.HiddenInput())
    before = forms.UUIDField(required=False, widget=forms.HiddenInput())

    def __init__(self, data: Any, *, teams: list[str]) -> None:
        super().__init__(data, label_suffix="")
        _offer(self, "team", teams)

    def applied(self, rows: QuerySet[Run]) -> QuerySet[Run]:
        """The rows that match; none for a filter that is no filter."""
        if not self.is_valid():
            return rows.none()
        asked = self.cleaned_data
        columns = {
            "state": "state",
            "team": "job__team__slug",
            "job": "job_id",
            "backfill": "backfill_id",
            "group": "error_group",
            "before": "id__lt",
        }
        return rows.filter(**{columns[name]: value for name, value in asked.items() if value})

    @property
    def narrowed(self) -> bool:
        """Whether an empty list may be the filter's doing."""
        return any(
            self.data.get(name) for name in ("state", "team", "job", "backfill", "group", "before")
        )


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


def _offer(form: forms.Form, field: str, names: list[str]) -> None:
    choice = form.fields[field]
    if isinstance(choice, forms.ChoiceField):
        choice.choices = [("", "Every team"), *((name, name) for name in names)]


def _in_state(rows: QuerySet[Job], state: str) -> QuerySet[Job]:
    match state:
        case "active":
            return rows.filter(paused=False, due__isnull=False)
        case "paused":
            return rows.filter(paused=True)
        case "finished":
            return rows.filter(paused=False, due=None)
        case _:
            return rows
