"""The forms of hold pages: what a hold is begun with, and what is said when it ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django import forms
from django.http import QueryDict

from jobs.models import Job, Team
from jobs.models.hold import BY_POLICY, CHOICES, DROP, FIRE
from jobs.pause_forms import PauseForm

WHOLE = "*"
WORDS = ((BY_POLICY, "By its policy"), (FIRE, "Fire all"), (DROP, "Drop all"))
_CHOICE = "choice-"  # and the job's id


class HoldForm(PauseForm):
    """What is held, why, and until when."""

    scope = forms.ChoiceField(
        label="What",
        widget=forms.Select(attrs={"class": "input"}),
        error_messages={
            "required": "Choose what is to be held.",
            "invalid_choice": "%(value)s is nothing that you may hold. Choose from the list.",
        },
    )
    field_order = ("scope", "reason", "until")

    def __init__(self, *args: Any, teams: Iterable[Team], whole: bool, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        self.teams = {team.slug: team for team in teams}
        offered = [(slug, f"Team {team.name}") for slug, team in self.teams.items()]
        offered += [(WHOLE, "The whole installation")] if whole else []
        scope = self.fields["scope"]
        assert isinstance(scope, forms.ChoiceField)
        # Of several none is chosen already: a hold of the wrong one stops others, and not this one.
        scope.choices = [("", "Choose…"), *offered] if len(offered) > 1 else offered
        help_text = "Empty: until somebody ends it. As 2h, 1d, or 2026-11-29T18:00:00+01:00."
        self.fields["until"].help_text = help_text

    def clean_reason(self) -> str:
        reason: str = self.cleaned_data["reason"]
        if not reason:
            raise forms.ValidationError("A hold needs a reason. Write one sentence.")
        return reason

    @property
    def team(self) -> Team | None:
        """The team of a valid form; None for the whole installation."""
        return self.teams.get(self.cleaned_data["scope"])


class EndForm:
    """What is chosen for each job, and for all that are not named. `problems`: words on what is
    no choice."""

    def __init__(self, data: QueryDict, jobs: Iterable[Job]) -> None:
        known = {f"{_CHOICE}{job.id}": job.id for job in jobs}
        given = {name: str(data[name]) for name in data if name.startswith(_CHOICE)}
        self.others = str(data.get("others", BY_POLICY))
        self.choices: dict[UUID, str] = {
            known[name]: choice for name, choice in given.items() if name in known
        }
        self.problems = [
            f"“{choice}” is no choice. Choose by its policy, fire all, or drop all."
            for choice in {*given.values(), self.others}
            if choice not in CHOICES
        ]
