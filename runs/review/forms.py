"""The forms of review: which of the queue to show, one decision, and one about many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from django import forms

from runs.dashboard.finding import filters
from runs.forms import NoteForm
from runs.models import Run
from runs.review.deciding import Choice
from runs.review.queue import WHOSE
from runs.states import ReviewClass

_CHOICES = (
    ("happened", "It happened"),
    ("run_again", "Run it again"),
    ("close", "Close it"),
    ("escalate", "Pass it on"),
)
_NEEDS_A_NOTE = "Write a note: what did you look at, and why do you decide so?"
_OVERDUE = [("", "Overdue or not"), ("true", "Overdue"), ("false", "Overdue or not")]
_WORDS = {"mine": "By me", "others": "By others", "nobody": "By nobody"}
TYPED_ABOVE = 50  # so many at once are to be typed


class ReviewFilter(forms.Form):
    """Which of the queue, by the API's parameters; `class` may name several. `after` is the last
    run shown before."""

    team = filters.of_team()
    claimed = filters.one("Taken", "Taken or not", [(one, _WORDS[one]) for one in WHOSE])
    overdue = filters.one("Time", "Overdue or not", _OVERDUE[1:])
    job = filters.identifier("Job’s id")
    after = filters.identifier("Further ones")

    def __init__(self, data: Any, *, slugs: Sequence[str]) -> None:
        super().__init__(data, label_suffix="")
        self.slugs = slugs
        filters.offer(self, slugs)
        self.fields["class"] = filters.several(
            "Why", "Every class", [(one.value, one.value) for one in ReviewClass]
        )
        # What asks for nothing is one choice to a person, though the API has a word for it too.
        cast(forms.Select, self.fields["overdue"].widget).choices = _OVERDUE[:-1]
        self.order_fields(("class", "team", "claimed", "overdue", "job", "after"))

    def clean_team(self) -> str:
        """Refused where it is none of the reader's."""
        return filters.one_of(self.cleaned_data["team"], self.slugs)

    @property
    def asked(self) -> dict[str, Any]:
        """What `queue.narrowed` takes; None where the filter is none."""
        said = self.cleaned_data
        return {
            "classes": said["class"],
            "team": said["team"],
            "job_id": said["job"],
            "whose": said["claimed"],
            "overdue": said["overdue"] == "true",
        }

    @property
    def narrowed(self) -> bool:
        """Whether an empty list may be the filter's doing."""
        return any(self.data.get(name) for name in self.fields)


class DecisionForm(NoteForm):
    """A decision about a run in review: nothing is preselected, the note is required. To run
    again what is not safe to repeat, the job's name is typed. The fields, and so what is said to
    be wrong with them, are in the order of the page."""

    field_order = ("decision", "job_name", "new_key", "note")
    decision = forms.ChoiceField(
        label="Your decision",
        choices=_CHOICES,
        widget=forms.RadioSelect(),
        error_messages={
            "required": "Choose one of the four. Nothing was decided.",
            "invalid_choice": "%(value)s is no decision. Choose one of the four.",
        },
    )
    new_key = forms.BooleanField(label="Under a new key", required=False)
    job_name = forms.CharField(
        label="To run it again: type the job’s name",
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"class": "input", "autocomplete": "off"}),
    )

    def __init__(self, *args: Any, run: Run, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        self.run = run
        self.fields["note"].required = True
        self.fields["note"].help_text = "Required: what you looked at, and why you decide so."
        self.fields["note"].error_messages["required"] = _NEEDS_A_NOTE

    def clean(self) -> dict[str, Any]:
        said = super().clean() or {}
        again = said.get("decision") == "run_again"
        if said.get("new_key") and not again:
            self.add_error("new_key", "A new key is for running it again. Leave it out.")
        typed = " ".join(said.get("job_name", "").split())
        if again and not self.run.idempotent and typed != self.run.job.name:
            self.add_error("job_name", f"Type “{self.run.job.name}”. Nothing was sent.")
        return said

    @property
    def choice(self) -> Choice:
        """The decision of a valid form."""
        return cast(Choice, self.cleaned_data["decision"])

    @property
    def wants_new_key(self) -> bool:
        """Whether a valid form asks for a new key."""
        return bool(self.cleaned_data["new_key"])


class ManyForm(forms.Form):
    """The same decision about the ticked ones. `runs` are those that the page shows."""

    decision = forms.ChoiceField(
        label="What about them?",
        choices=(("run_again", "Run them again"), ("close", "Close them")),
        widget=forms.RadioSelect(),
        error_messages={
            "required": "Choose one of the two. Nothing was decided.",
            "invalid_choice": "%(value)s is no decision. Choose one of the two.",
        },
    )
    runs = forms.TypedMultipleChoiceField(
        coerce=UUID,
        widget=forms.CheckboxSelectMultiple(),
        error_messages={
            "required": "Tick the runs that you mean. Nothing was decided.",
            "invalid_choice": "%(value)s is not among them any more. Look again.",
        },
    )
    note = forms.CharField(
        label="Note",
        max_length=2000,
        widget=forms.Textarea(attrs={"class": "input", "rows": "2"}),
        error_messages={"required": _NEEDS_A_NOTE},
    )
    number = forms.IntegerField(
        label="How many do you decide?",
        required=False,
        widget=forms.NumberInput(attrs={"class": "input"}),
    )

    use_required_attribute = False

    def __init__(self, *args: Any, runs: list[Run], **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        cast(forms.ChoiceField, self.fields["runs"]).choices = [
            (str(run.id), str(run)) for run in runs
        ]

    def clean(self) -> dict[str, Any]:
        said = super().clean() or {}
        ticked = len(said.get("runs", ()))
        if ticked > TYPED_ABOVE and said.get("number") != ticked:
            self.add_error("number", f"{ticked} are ticked. Type this number; nothing was decided.")
        return said
