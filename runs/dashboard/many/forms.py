"""The forms by which many jobs are paused, resumed or tagged at once."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.utils.datastructures import MultiValueDict

from jobs.bulk import MOST, Do
from jobs.definitions import tag_words
from jobs.pause_forms import PauseForm
from jobs.schedules.errors import ScheduleError
from jobs.schedules.instants import canonical_instant, parse_instant
from runs.dashboard.finding.filters import TagsField

TYPED_ABOVE = 50  # who acts on more types their number


class ManyForm(forms.Form):
    """Which jobs: the ticked ones, or as many as were `expected` of the filter `as_of` then."""

    jobs = forms.CharField(required=False, max_length=40_000, widget=forms.HiddenInput())
    expected = forms.IntegerField(
        required=False, min_value=1, max_value=MOST, widget=forms.HiddenInput()
    )
    as_of = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput())
    typed = forms.CharField(
        label="How many",
        required=False,
        max_length=12,
        widget=forms.TextInput(attrs={"class": "input", "inputmode": "numeric"}),
    )

    use_required_attribute = False

    def __init__(self, data: Any = None, **kwargs: Any) -> None:
        super().__init__(data, label_suffix="", **kwargs)
        self.asks_number = self.count > TYPED_ABOVE
        self.fields["typed"].help_text = f"More than {TYPED_ABOVE}: type {self.count} to go on."

    @property
    def count(self) -> int:
        """How many are meant, as far as the form says so."""
        ids = str(self["jobs"].value() or "").split()
        given = str(self["expected"].value() or "")
        plain = given.isascii() and given.isdecimal() and len(given) < 9
        return len(ids) or (int(given) if plain else 0)

    def clean_jobs(self) -> list[UUID]:
        try:
            return [UUID(one) for one in self.cleaned_data["jobs"].split()]
        except ValueError:
            raise forms.ValidationError("It is not clear which jobs are meant.") from None

    def clean_as_of(self) -> datetime | None:
        given = self.cleaned_data["as_of"]
        try:
            return parse_instant(given, "as_of") if given else None
        except ScheduleError:
            raise forms.ValidationError("It is not clear which jobs are meant.") from None

    def clean_typed(self) -> str:
        typed: str = self.cleaned_data["typed"].strip()
        if self.asks_number and typed != str(self.count):
            raise forms.ValidationError(f"Type the number, {self.count}. Nothing was done.")
        return typed

    @property
    def says_which(self) -> bool:
        """Whether it is clear which jobs are meant; a sent form, checked."""
        said = self.cleaned_data
        return bool(said.get("jobs")) or bool(said.get("expected") and said.get("as_of"))


class PauseManyForm(ManyForm, PauseForm):
    """Why they pause, and until when."""

    field_order = ("reason", "until", "typed")


class ResumeManyForm(ManyForm):
    """Nothing more is asked."""


class TagManyForm(ManyForm):
    """Which tags."""

    tags = TagsField("Tags")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["tags"].help_text = f"Several are parted by commas or blanks. {tag_words.HINT}"

    def clean_tags(self) -> list[str]:
        tags: list[str] = self.cleaned_data["tags"]
        if not tags:
            raise forms.ValidationError(f"Write at least one. {tag_words.HINT}")
        return tags


FORMS: dict[Do, type[ManyForm]] = {
    Do.PAUSE: PauseManyForm,
    Do.RESUME: ResumeManyForm,
    Do.TAG: TagManyForm,
    Do.UNTAG: TagManyForm,
}


def of_ticked(job_ids: list[UUID]) -> dict[str, str]:
    """What the form begins with, of ticked jobs."""
    return {"jobs": " ".join(map(str, job_ids))}


def of_found(count: int, as_of: datetime) -> dict[str, str]:
    """The same, of what a filter has found."""
    return {"expected": str(count), "as_of": canonical_instant(as_of)}


def undone(data: MultiValueDict[str, str]) -> dict[UUID, int]:
    """The jobs that an undo is about, each with the version in which it was left; what is none is
    left out."""
    found: dict[UUID, int] = {}
    for one in data.get("undo", "").split()[:MOST]:
        job_id, _, version = one.partition(":")
        try:
            found[UUID(job_id)] = int(version)
        except ValueError:
            continue
    return found
