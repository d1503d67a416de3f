"""The form of a channel. What a channel may be is decided by `editing.read`, not here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms

from jobs.definitions.definitions import DefinitionError
from jobs.models import Team
from runs.channels import editing
from runs.channels.editing import Wanted
from runs.channels.messages import OF_INSTALLATION, OF_TEAM, WORDS, Kind
from runs.models import Channel
from runs.models.channel import MAIL, WEBHOOK

STAFF = "*"  # the scope that is no team
_WAYS = ((MAIL, "Mail"), (WEBHOOK, "Webhook, signed"))


def _labels(kinds: Iterable[Kind]) -> list[tuple[str, str]]:
    return [(str(kind), WORDS[kind].label) for kind in kinds]


class ChannelForm(forms.Form):
    """A channel's fields as text; `wanted` is the outcome once it is valid. `teams`: whose a new
    one may be; none where it is the platform's staff's, or there already."""

    team = forms.CharField(label="Team", required=False)
    name = forms.CharField(label="Name", required=False)
    way = forms.CharField(
        label="By", required=False, initial=MAIL, widget=forms.RadioSelect(choices=_WAYS)
    )
    address = forms.CharField(
        label="To",
        required=False,
        widget=forms.Textarea(attrs={"class": "input mono", "rows": "2", "spellcheck": "false"}),
        help_text="Mail addresses, one a line; or the webhook's URL.",
    )
    kinds = forms.MultipleChoiceField(
        label="Tell it when", required=False, widget=forms.CheckboxSelectMultiple
    )
    per_minute = forms.CharField(
        label="Sendings a minute, at most",
        required=False,
        initial=str(editing.USUAL_PER_MINUTE),
        help_text="What is more is combined into the last of them.",
    )

    def __init__(
        self, *args: Any, installation: bool, teams: Iterable[Team] = (), **kwargs: Any
    ) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        self.installation = installation
        self.teams = {team.slug: team for team in teams}
        self.wanted: Wanted | None = None
        self.fields["name"].widget.attrs.update({"class": "input", "autocomplete": "off"})
        self.fields["per_minute"].widget.attrs.update({"class": "input", "inputmode": "numeric"})
        offered = [(slug, team.name) for slug, team in self.teams.items()]
        self.fields["team"].widget = forms.Select(attrs={"class": "input"}, choices=offered)
        kinds = self.fields["kinds"]
        assert isinstance(kinds, forms.MultipleChoiceField)
        kinds.choices = _labels(OF_INSTALLATION if installation else OF_TEAM)

    @classmethod
    def of(cls, channel: Channel) -> ChannelForm:
        """The form with what a channel is."""
        told = {name: getattr(channel, name) for name in editing.FIELDS}
        return cls(installation=channel.team is None, initial=told)

    @property
    def chosen(self) -> Team | None:
        """The team that was chosen."""
        return self.teams.get(self.cleaned_data["team"])

    def clean(self) -> dict[str, Any]:
        """Hand the fields to the rule."""
        given = {**self.cleaned_data, "kinds": self.cleaned_data.get("kinds", [])}
        number = given.get("per_minute", "").strip()
        is_number = number.isascii() and number.isdecimal() and len(number) < 6
        given["per_minute"] = int(number) if is_number else number
        if self.teams and given.get("team") not in self.teams:
            self.add_error("team", "Choose one of your teams.")
        try:
            self.wanted = editing.read(given, installation=self.installation)
        except DefinitionError as error:
            self.refuse(error)
        return self.cleaned_data

    def refuse(self, error: DefinitionError) -> None:
        """Show each problem at its field."""
        for problem in error.problems:
            if not self.has_error(problem.field):
                self.add_error(problem.field, f"{problem.message} {problem.hint}".strip())
