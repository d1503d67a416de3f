"""The form of a badge."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms

from jobs.definitions.definitions import DefinitionError
from jobs.definitions.tag_words import LENGTH
from jobs.models import Job, Team
from jobs.team_form import TeamForm
from runs.badges import badge
from runs.badges.badge import LONGEST, Content

_PLAIN = {"class": "input", "autocomplete": "off"}


class BadgeForm(TeamForm):
    """A badge of a job, or else of a team that is chosen, or of a tag in it."""

    team_words: ClassVar = {"invalid_choice": "%(value)s is no team whose jobs you edit."}
    tag = forms.CharField(
        label="Only jobs with the tag",
        required=False,
        max_length=LENGTH,
        help_text="Empty: all jobs of the team.",
        widget=forms.TextInput(attrs={**_PLAIN, "autocapitalize": "none"}),
    )
    label = forms.CharField(
        label="Name on the badge",
        max_length=LONGEST,
        help_text="Everybody who has the address reads it, and the state; nothing else.",
        widget=forms.TextInput(attrs=_PLAIN),
        error_messages={"required": "A badge needs a name. Nothing was made."},
    )

    def __init__(
        self, data: Any = None, *, teams: Iterable[Team] = (), job: Job | None = None
    ) -> None:
        initial = {"label": job.name[:LONGEST]} if job else {}
        super().__init__(data, teams=teams, initial=initial)
        self.job = job
        if job:
            del self.fields["team"], self.fields["tag"]

    def content(self) -> Content | None:
        """The badge of a valid form; None where the form shows what is wrong with it."""
        if not self.is_valid():
            return None
        said = self.cleaned_data
        team = self.job.team if self.job else self.chosen
        try:
            return badge.read(team, said["label"], self.job, said.get("tag", ""))
        except DefinitionError as error:
            self.refuse(error)
            return None

    def refuse(self, error: DefinitionError) -> None:
        """Show what the rule has refused."""
        for one in error.problems:
            said = one.message[:1].upper() + one.message[1:]
            self.add_error(one.field, f"{said} {one.hint}".strip())
