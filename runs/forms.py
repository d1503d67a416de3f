"""The forms of run pages: what a person says when deciding, and which run they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import forms

from jobs.definitions import job_fields
from jobs.definitions.errors import Problem
from jobs.form_fields import MONO, area, text
from jobs.models import Job
from jobs.schedules.errors import ScheduleError
from jobs.schedules.instants import parse_instant
from runs import changed

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


class ChangedForm(forms.Form):
    """What a run of a job calls in place of what the job says. `parts` is the outcome once the
    form is valid; a job that is not safe to repeat wants its name typed."""

    parts: Mapping[str, Any]
    use_required_attribute = False

    def __init__(self, job: Job, data: Any = None, *, shown: Mapping[str, Any]) -> None:
        self.job, self.names = job, changed.PARTS[job.target["type"]]
        initial = {name: _written(name, value) for name, value in shown.items()}
        super().__init__(data, label_suffix="", initial=initial)
        for name in self.names:
            self.fields[name] = _FIELDS[name]()
        if not job.idempotent:
            self.fields["confirmed"] = text(f"Type the job’s name, {job.name}", **MONO)

    def clean(self) -> dict[str, Any]:
        typed, problems = self.cleaned_data, list[Problem]()
        self.parts = job_fields.changed_parts(typed, self.names, problems)
        for problem in problems:
            self.refuse(problem)
        if "confirmed" in self.fields and typed.get("confirmed") != self.job.name:
            said = f"Type “{self.job.name}”: this job is not safe to repeat. Nothing was run."
            self.add_error("confirmed", said)
        return typed

    def refuse(self, problem: Problem) -> None:
        """Say what is wrong with a part at its field."""
        field = job_fields.place(problem.field, {})
        said = f"{problem.message} {problem.hint}".strip()
        self.add_error(field if field in self.fields else None, said[:1].upper() + said[1:])


_FIELDS = {
    "url": lambda: text(
        "URL", "At the host of the job; the method and headers are the job’s.", **MONO
    ),
    "body": lambda: area("Body", "JSON; empty sends no body.", rows=8, **MONO),
    "args": lambda: area("Arguments", "A JSON list; empty for none.", rows=3, **MONO),
    "kwargs": lambda: area("Named arguments", "A JSON object; empty for none.", rows=6, **MONO),
}


def _written(name: str, value: Any) -> str:
    """A part as its field shows it."""
    return value or "" if name == "url" else job_fields.json_text(value)
