"""The form that writes a marker."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms

from jobs import clock
from jobs.definitions.errors import DefinitionError
from jobs.models import Team
from jobs.team_form import TeamForm
from runs.dashboard.finding.filters import InstantField
from runs.markers import content
from runs.markers.content import Content

_INPUT = {"class": "input", "autocomplete": "off"}


class MarkerForm(TeamForm):
    """What changed, and when. `content` is the outcome once the form is valid."""

    team_words: ClassVar = {
        "required": "Choose a team.",
        "invalid_choice": "%(value)s is no team in which you may write one.",
    }
    text = forms.CharField(
        label="What changed?",
        required=False,
        help_text="As deploy of billing 4.2, migration of the ledger, outage at the bank.",
        widget=forms.TextInput(attrs={**_INPUT, "maxlength": str(content.TEXT)}),
    )
    at = InstantField("When?")
    tag = forms.CharField(
        label="Only for jobs tagged",
        required=False,
        help_text="Empty: for every job of the team.",
        widget=forms.TextInput(attrs={**_INPUT, "autocapitalize": "none"}),
    )
    url = forms.CharField(
        label="Link",
        required=False,
        help_text="To the release or the incident. It is shown, and never opened by Onebeat.",
        widget=forms.TextInput(attrs={**_INPUT, "type": "url", "inputmode": "url"}),
    )

    content: Content

    def __init__(self, data: Any = None, *, teams: Iterable[Team]) -> None:
        super().__init__(data, teams=teams)
        at = self.fields["at"]
        at.help_text = "Empty: now. As 15m, so long ago, or 2026-11-29T18:00:00+01:00."
        at.widget.attrs["placeholder"] = "now"

    def clean(self) -> dict[str, Any]:
        said = super().clean() or {}
        try:
            self.content = content.read(said, clock.now())
        except DefinitionError as error:
            for problem in error.problems:
                field = problem.field if problem.field in self.fields else None
                self.add_error(field, f"{problem.message} {problem.hint}".strip())
        return said
