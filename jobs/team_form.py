"""What forms about one of several teams share: the choice of the team."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django import forms

from jobs.models import Team


class TeamForm(forms.Form):
    """A form about one of these teams, in which its reader may do what it asks for.
    `team_words`: what is said of a team that is missing, or none of them."""

    team_words: ClassVar[dict[str, str]] = {}
    team = forms.ChoiceField(label="Team", widget=forms.Select(attrs={"class": "input"}))

    use_required_attribute = False

    def __init__(self, data: Any = None, *, teams: Iterable[Team], **more: Any) -> None:
        super().__init__(data, label_suffix="", **more)
        self.teams = {team.slug: team for team in teams}
        field = self.fields["team"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(team.slug, team.name) for team in self.teams.values()]
        field.error_messages |= self.team_words

    @property
    def chosen(self) -> Team:
        """The team of a valid form."""
        return self.teams[self.cleaned_data["team"]]
