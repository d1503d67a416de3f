"""The form of a saved view."""

from __future__ import annotations

from typing import Any

from django import forms

from jobs.definitions.definitions import Problem
from jobs.models import Team
from runs.dashboard.saved_views.saved_views import LONGEST


class ViewForm(forms.Form):
    """The name of a view, with whom it is shared, and whether its reader begins with it."""

    name = forms.CharField(
        label="Name",
        max_length=LONGEST,
        widget=forms.TextInput(attrs={"class": "input", "autocomplete": "off"}),
        error_messages={"required": "A view needs a name. Nothing was saved."},
    )
    team = forms.ChoiceField(
        label="Who sees it", required=False, widget=forms.Select(attrs={"class": "input"})
    )
    home = forms.BooleanField(label="Begin with it when I sign in", required=False)

    use_required_attribute = False

    def __init__(self, *args: Any, teams: list[Team], **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        self.teams = {team.slug: team for team in teams}
        field = self.fields["team"]
        assert isinstance(field, forms.ChoiceField)
        shared = [(slug, f"Everybody in {slug}") for slug in self.teams]
        field.choices = [("", "Only I"), *shared]

    @property
    def team_chosen(self) -> Team | None:
        """The team of a valid form."""
        return self.teams.get(self.cleaned_data["team"])

    def refuse(self, problems: tuple[Problem, ...]) -> None:
        """Show what the rule has refused."""
        for one in problems:
            field = one.field if one.field in self.fields else None
            said = one.message[:1].upper() + one.message[1:]
            self.add_error(field, f"{said} {one.hint}".strip())
