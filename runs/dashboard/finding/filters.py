"""What the filters of the lists have in common: the parameters of page, API, export and saved
view are the fields of one form, and what is chosen can be said, taken back and kept."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from django import forms
from django.core.validators import RegexValidator
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict

from jobs import clock, form_fields
from jobs.definitions import tag_words
from jobs.schedules.errors import ScheduleError, short
from jobs.schedules.instants import parse_instant

Query = dict[str, list[str]]  # a filter as it is kept: parameter → values, both sorted
MONO = {"class": "input mono", "autocomplete": "off", "spellcheck": "false"}
_AGE = re.compile(r"(?P<count>[1-9][0-9]{0,4})(?P<unit>[mhd])", re.ASCII)
_INSTANT = "Give an age as 24h or 7d, or an instant as 2026-11-29T18:00:00+01:00."
_YEARS = (1970, 2999)  # what ids of runs can tell, and room for a margin
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


class Chip(NamedTuple):
    """One thing that narrows a list: what it is, its value in words, the list without it."""

    label: str
    said: str
    without: str


def of_team() -> forms.CharField:
    """A field of which one team may be named."""
    return forms.CharField(
        label="Team",
        required=False,
        max_length=60,
        validators=[RegexValidator(r"\A[A-Za-z0-9_-]+\Z", "This is not the slug of a team.")],
        widget=forms.Select(attrs={"class": "input"}),
    )


def offer(form: forms.Form, slugs: Sequence[str]) -> None:
    """Have the form's field of a team offer these."""
    team = form.fields["team"].widget
    assert isinstance(team, forms.Select)
    team.choices = [("", "Every team"), *((slug, slug) for slug in slugs)]


def one_of(slug: str, slugs: Sequence[str]) -> str:
    """The slug; refused where teams are offered and this is none of them."""
    if slug and slugs and slug not in slugs:
        raise forms.ValidationError(f"{slug} is none of your teams: {', '.join(slugs)}.")
    return slug


class Filter(forms.Form):
    """A filter of a list; `slugs` are the teams that a page offers."""

    team = of_team()

    use_required_attribute = False
    order: tuple[str, ...] = ()  # parameters that order the rows and narrow nothing

    def __init__(self, data: Any = None, *, slugs: Sequence[str] = ()) -> None:
        super().__init__(data if data is not None else QueryDict(), label_suffix="")
        self.slugs = slugs
        offer(self, slugs)

    def clean_team(self) -> str:
        """Refused where a page offers teams and this is none of them."""
        return one_of(self.cleaned_data["team"], self.slugs)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The parameters, in the order of the form."""
        return tuple(cls.base_fields)

    @property
    def query(self) -> Query:
        """What is chosen, as it is kept."""
        given = {name: self._values(name) for name in sorted(self.fields)}
        return {name: values for name, values in given.items() if values}

    @property
    def narrowing(self) -> Query:
        """The same without what only orders the rows."""
        return {name: values for name, values in self.query.items() if name not in self.order}

    @property
    def narrowed(self) -> bool:
        """Whether an empty list may be the filter's doing."""
        return bool(self.narrowing)

    @property
    def address(self) -> str:
        """The list with this filter, as a link from any of its pages."""
        return address_of(self.query)

    @property
    def chips(self) -> list[Chip]:
        """What narrows the list, each with the list without it."""
        return [
            Chip(str(self.fields[name].label), self._said(name, value), self._without(name, value))
            for name, values in self.narrowing.items()
            for value in values
        ]

    def _values(self, name: str) -> list[str]:
        field = self.fields[name]
        given = field.widget.value_from_datadict(self.data, MultiValueDict(), self.add_prefix(name))
        values = given if isinstance(given, list) else [given]
        return sorted({str(value).strip() for value in values if value is not None} - {""})

    def _said(self, name: str, value: str) -> str:
        choices = getattr(self.fields[name].widget, "choices", ())
        return next((str(word) for one, word in choices if str(one) == value), value)

    def _without(self, name: str, value: str) -> str:
        query = self.query
        return address_of({**query, name: [one for one in query[name] if one != value]})


def address_of(query: Mapping[str, Sequence[str]], **more: str) -> str:
    """The query of an address: `?state=DEAD&team=payments`; `?` for everything."""
    found = QueryDict(mutable=True)
    for name, values in (*query.items(), *((name, [value]) for name, value in more.items())):
        found.setlist(name, [*found.getlist(name), *values])
    return f"?{found.urlencode()}"


class OneOrMany(forms.Select):
    """A choice of one in the form; an address may name several, which then stand as one more."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        """Each of them: `state=DEAD&state=REVIEW` and `state=DEAD,REVIEW` are the same."""
        given = data.getlist(name) if hasattr(data, "getlist") else data.get(name, [])
        texts = [given] if isinstance(given, str) else given
        found = [one for text in texts for one in str(text).split(",") if one]
        return list(dict.fromkeys(found))

    def format_value(self, value: Any) -> list[str]:
        """The one choice that stands for all of them."""
        return [",".join([value] if isinstance(value, str) else value or [])]

    def optgroups(self, name: str, value: list[str], attrs: Any = None) -> Any:
        """The choices, and the combination that is chosen."""
        words = {str(one): str(word) for one, word in self.choices}
        if value[0] not in words:
            said = " or ".join(words.get(one, one) for one in value[0].split(","))
            self.choices = [*self.choices, (value[0], said)]
        return super().optgroups(name, value, attrs)


def several(label: str, every: str, choices: Sequence[tuple[str, str]]) -> forms.Field:
    """A field of which any of its choices may be named."""
    return forms.MultipleChoiceField(
        label=label,
        choices=[("", every), *choices],
        required=False,
        widget=OneOrMany(attrs={"class": "input"}),
        error_messages={
            "invalid_choice": f"%(value)s is not one of {', '.join(one for one, _ in choices)}."
        },
    )


def one(label: str, every: str | None, choices: Sequence[tuple[str, str]]) -> forms.ChoiceField:
    """A field of which one choice may be named; `every` stands for none of them, without it the
    first choice does."""
    return forms.ChoiceField(
        label=label,
        choices=[*([] if every is None else [("", every)]), *choices],
        required=False,
        widget=forms.Select(attrs={"class": "input"}),
        error_messages={
            "invalid_choice": f"%(value)s is not one of {', '.join(one for one, _ in choices)}."
        },
    )


def text(label: str) -> forms.CharField:
    """A field that is searched for."""
    return form_fields.SearchField(label)


class Words(forms.TextInput):
    """A text field of several words; an address may name them one by one."""

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        """Each of them: `tag=a&tag=b`, `tag=a,b` and `tag=a b` are the same."""
        given = data.getlist(name) if hasattr(data, "getlist") else data.get(name, [])
        texts = [given] if isinstance(given, str) else given
        return list(dict.fromkeys(one for text in texts for one in tag_words.split(str(text))))

    def format_value(self, value: Any) -> str:
        """All of them in the one field."""
        return value if isinstance(value, str) else ", ".join(value or [])


class TagsField(forms.Field):
    """Tags, all of which are asked for; one that no job has finds nothing."""

    def __init__(self, label: str) -> None:
        attrs = {"class": "input", "autocomplete": "off", "autocapitalize": "none"}
        super().__init__(label=label, required=False, widget=Words(attrs=attrs))

    def clean(self, value: Any) -> list[str]:
        """The tags, as they are kept."""
        read = {one: tag_words.read(one) for one in value or []}
        if wrong := [one for one, tag in read.items() if tag is None]:
            raise forms.ValidationError(f"{short(wrong[0])} is no tag. {tag_words.HINT}")
        return sorted({tag for tag in read.values() if tag})


def identifier(label: str) -> forms.UUIDField:
    """An id, that other pages link with."""
    return forms.UUIDField(
        label=label,
        required=False,
        widget=forms.HiddenInput(),
        error_messages={"invalid": "This is not an id. Give it as shown."},
    )


class InstantField(forms.CharField):
    """An instant with its offset, or an age as `30m`, `24h`, `7d`: so long ago."""

    def __init__(self, label: str) -> None:
        widget = forms.TextInput(attrs={**MONO, "placeholder": "24h", "list": "ages"})
        super().__init__(label=label, required=False, max_length=40, widget=widget)

    def clean(self, value: Any) -> Any:
        """The instant; None for nothing."""
        given: str = super().clean(value)
        if not given:
            return None
        if age := _AGE.fullmatch(given):
            return clock.now() - int(age["count"]) * _UNITS[age["unit"]]
        try:
            found = parse_instant(given, "instant")
        except ScheduleError as error:
            raise forms.ValidationError(f"{error.message} {_INSTANT}") from None
        if not _YEARS[0] <= found.year <= _YEARS[1]:
            said = f"Choose a year from {_YEARS[0]} to {_YEARS[1]}."
            raise forms.ValidationError(said)
        return found


class SpanFilter(Filter):
    """A filter with fields `since` and `until`, which are in order."""

    def clean(self) -> dict[str, Any]:
        said = super().clean() or {}
        since, until = said.get("since"), said.get("until")
        if since and until and until < since:
            self.add_error("until", "The end lies before the beginning. Exchange them.")
        return said
