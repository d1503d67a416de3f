"""The forms of job pages. What a job may be is decided by `definitions.read`, not here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from django import forms
from django.utils.html import format_html

from jobs import clock, definitions, job_fields, previews, schedules, targets
from jobs.definitions import Definition, DefinitionError, Problem
from jobs.editing import Pause
from jobs.models import Team
from jobs.offer import offered
from jobs.previews import Preview

KINDS = (
    ("cron", "Cron"),
    ("every", "Every so often"),
    ("at", "Once"),
    ("several", "Several schedules"),
)
ANSWER = Problem(  # the API's words speak of true and false
    "idempotent",
    "Answer Yes or No: may a failed run of this job be repeated without harm?",
    "When in doubt choose No: then a person decides.",
)
_MONO = {"class": "input mono", "autocomplete": "off", "spellcheck": "false"}


def _text(label: str, help_text: str = "", **attrs: str) -> forms.CharField:
    widget = forms.TextInput(attrs={"class": "input", "autocomplete": "off", **attrs})
    return forms.CharField(label=label, help_text=help_text, required=False, widget=widget)


def _area(label: str, help_text: str = "", rows: int = 3, **attrs: str) -> forms.CharField:
    widget = forms.Textarea(attrs={"class": "input", "rows": str(rows), **attrs})
    return forms.CharField(
        label=label, help_text=help_text, required=False, strip=False, widget=widget
    )


def _select(label: str, choices: Iterable[tuple[str, str]], help_text: str = "") -> forms.CharField:
    widget = forms.Select(attrs={"class": "input"}, choices=list(choices))
    return forms.CharField(label=label, help_text=help_text, required=False, widget=widget)


def _radio(label: str, choices: Iterable[tuple[str, str]]) -> forms.CharField:
    widget = forms.RadioSelect(choices=list(choices))
    return forms.CharField(label=label, required=False, widget=widget)


class JobForm(forms.Form):
    """A job's fields as text, in the order of the page. Every field may be empty here: what is
    missing, `definitions.read` says. `definition` is the outcome once the form is valid.
    `beside`: members of the job that the page does not show, and leaves as they are."""

    name = _text("Name", "Unique in its team, at most 120 characters.", maxlength="200")
    description = _area("Description", "What it is for; for people.", rows=2)

    target_kind = _radio("Kind of target", (("http", "HTTP request"), ("task", "Task")))
    method = _select("Method", ((method, method) for method in targets.METHODS))
    url = _text("URL", "https://, or http:// where the installation allows it.", **_MONO)
    headers = _area("Headers", "One a line, as Accept: application/json.", rows=3, **_MONO)
    body = _area("Body", "JSON; empty sends no body.", rows=4, **_MONO)
    task_name = _select("Task", ())
    args = _area("Arguments", "A JSON list; empty for none.", rows=2, **_MONO)
    kwargs = _area("Named arguments", "A JSON object; empty for none.", rows=3, **_MONO)

    schedule_kind = _radio("Kind of schedule", KINDS)
    cron = _text(
        "Expression",
        # Plain blanks: an expression with others, copied from here, would be refused.
        format_html(
            "Minute, hour, day of month, month, day of week: <code>{}</code>.", "0 18 * * 1-5"
        ),
        **_MONO,
    )
    timezone = _text("Time zone", "A place, as America/New_York, or UTC.", list="zones")
    dst = _select(
        "When the clock changes",
        (
            ("once", "Fire once: what a gap swallows fires at its end"),
            ("wall", "Follow the clock: what it does not show does not fire"),
        ),
    )
    every = _text("Every", inputmode="numeric")
    unit = _select("Unit", ((unit, unit) for unit in job_fields.UNITS))
    anchor = _text("Counted from", "Empty: from now. As 2026-11-29T18:00:00Z.", **_MONO)
    at = _text("At", "An instant with its offset, as 2026-11-29T18:00:00+01:00.", **_MONO)
    starts_at = _text("Not before", "Empty: from now. As 2026-11-29T18:00:00+01:00.", **_MONO)
    ends_at = _text("Not after", "Empty: for good. A moment at that instant still fires.", **_MONO)
    max_runs = _text("Runs at most", "Empty: no bound.", inputmode="numeric")
    spread = _text(
        "Spread (s)",
        "Starts up to so much later than its moment, always the same for this job. Empty: 0.",
        inputmode="numeric",
    )
    several = _area(
        "Schedules", "A JSON list of schedules, as the API takes them.", rows=6, **_MONO
    )

    calendar = _select(
        "Calendar",
        (),
        "Working days and days off. For cron; 3B and LB count by it.",
    )
    calendar_rule = _select(
        "A moment on a day off",
        (
            ("skip", "is skipped"),
            ("next", "rolls to the next working day"),
            ("previous", "rolls to the previous working day"),
        ),
    )

    idempotent = _radio("Is it safe to repeat?", (("yes", "Yes"), ("no", "No")))
    timeout = _text("Time-out (s)", "Of one attempt. Empty: 300.", inputmode="numeric")
    max_attempts = _text("Attempts at most", "Empty: 5.", inputmode="numeric")
    backoff = _text("First wait (s)", "Doubles each time. Empty: 10.", inputmode="numeric")
    cap = _text("Longest wait (s)", "Empty: 3600.", inputmode="numeric")
    retry_unsent = forms.BooleanField(
        label="Try again by itself what surely was never sent", required=False
    )
    overlap = _select(
        "When the one before is still under way",
        (
            ("", "By the answer above"),
            ("skip", "Skip the new moment, and record it"),
            ("queue", "Let one wait, skip the others"),
            ("queue_all", "Let all wait, in order"),
            ("allow", "Run them side by side"),
            ("cancel", "Stop the one before, then start"),
        ),
        "Empty: skip if safe to repeat, else let one wait.",
    )
    queue_limit = _text("At most so many wait", "Empty: 100.", inputmode="numeric")
    block_on_review = forms.BooleanField(
        label="Let later moments wait while an earlier run is in Review", required=False
    )
    catch_up_policy = _select(
        "Moments that were missed",
        (
            ("", "By the answer above"),
            ("last", "Make up the newest one"),
            ("all", "Make up each of them"),
            ("ask", "Ask a person about each"),
            ("none", "Record them, fire none"),
        ),
    )
    catch_up_window = _text(
        "Not older than (s)",
        "Empty: an hour if safe to repeat, else a day.",
        inputmode="numeric",
    )
    catch_up_limit = _text("At most so many", "Empty: 100.", inputmode="numeric")
    runbook = _area("Runbook", "What to do when it fails. Shown beside every failure.", rows=3)
    queue = _select("Queue", ())

    definition: Definition
    use_required_attribute = False

    def __init__(
        self,
        data: Any = None,
        *,
        teams: Iterable[Team] = (),
        kept: definitions.Kept | None = None,
        beside: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(data, label_suffix="", **more)
        self.kept, self.beside = kept, beside or {}
        self.teams = {team.slug: team for team in teams}
        if self.teams:
            self.fields["team"] = _select("Team", [(t.slug, t.name) for t in self.teams.values()])
            self.order_fields(["team"])
        offer = offered()
        for name, choices in (("task_name", offer.tasks), ("queue", offer.queues)):
            _offer(self.fields[name], choices, self.get_initial_for_field(self.fields[name], name))
        _offer(self.fields["calendar"], ["", *offer.calendars], None)
        self.fields["calendar"].widget.choices[0] = ("", "None: every day")

    def clean(self) -> dict[str, Any]:
        typed = {name: _one_line_end(value) for name, value in self.cleaned_data.items()}
        if self.teams and typed.get("team") not in self.teams:
            self.add_error("team", "is not a team whose jobs you may edit. Choose one of the list.")
        problems: list[Problem] = []
        shape = job_fields.shape_of(typed, problems) | dict(self.beside)
        kept = self.kept and schedules.dump(self.kept.plan.schedules)
        if [shape["schedule"]] == kept:
            shape["schedule"] = [shape["schedule"]]
        try:
            self.definition = definitions.read(
                shape, now=clock.now(), known=offered(), kept=self.kept
            )
        except DefinitionError as error:
            problems += error.problems
        self.refuse(problems)
        return self.cleaned_data

    def refuse(self, problems: Iterable[Problem]) -> None:
        """Show each problem at its field, or above the form where it has none."""
        for problem in problems:
            name = job_fields.place(problem.field, self.data)
            # A field that was refused before it was read would be named twice.
            if name not in self.errors:
                problem = ANSWER if name == ANSWER.field else problem
                shown = previews.said(problem) if name in self.fields else str(problem)
                self.add_error(name if name in self.fields else None, shown)

    @classmethod
    def label_of(cls, name: str) -> str:
        """What the page calls a field; the name itself where it has none."""
        field = cls.base_fields.get(name)
        return str(field.label) if field else name

    @property
    def chosen_team(self) -> Team:
        """The chosen team of a valid form that registers a job."""
        return self.teams[self.cleaned_data["team"]]

    @property
    def typed(self) -> job_fields.Typed:
        """What the form holds just now."""
        return self.data if self.is_bound else self.initial

    def preview(self) -> Preview:
        """The moments of what the form holds just now; empty while it says no schedule."""
        return previews.of_typed(self.typed, clock.now(), offered().calendars)


class PauseForm(forms.Form):
    """Why a job pauses, and until when. `pause` is the outcome once the form is valid."""

    reason = _text("Reason", "Shown to everybody who wonders why it does not run.", maxlength="500")
    until = _text(
        "Until", "Empty: until somebody resumes it. As 2026-11-29T18:00:00+01:00.", **_MONO
    )

    pause: Pause
    use_required_attribute = False

    def clean_reason(self) -> str:
        reason: str = self.cleaned_data["reason"]
        if not reason:
            raise forms.ValidationError("A pause needs a reason. Write one sentence.")
        return reason

    def clean_until(self) -> datetime | None:
        text: str = self.cleaned_data["until"]
        if not text:
            return None
        try:
            until = schedules.parse_instant(text, "until")
        except schedules.ScheduleError as error:
            raise forms.ValidationError(f"{error.message} {error.hint}") from None
        if until <= clock.now():
            raise forms.ValidationError(f"“{text}” is over. Choose an instant to come.")
        return until

    @property
    def end(self) -> datetime | None:
        """The end that was typed, whatever else is still missing."""
        if not self.is_bound:
            return None
        self.is_valid()
        until: datetime | None = self.cleaned_data.get("until")
        return until

    def clean(self) -> dict[str, Any]:
        if not self.errors:
            self.pause = Pause(self.cleaned_data["reason"], self.cleaned_data["until"])
        return self.cleaned_data


class SkipForm(forms.Form):
    """How many of a job's next moments to leave out, and why."""

    count = forms.IntegerField(
        label="How many",
        min_value=0,
        max_value=definitions.MOST_SKIPPED,
        widget=forms.NumberInput(attrs={"class": "input"}),
    )
    reason = _text("Reason", "Stands on each record of a moment left out.", maxlength="500")

    use_required_attribute = False

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        if found.get("count") and not found.get("reason"):
            self.add_error("reason", "Skipping needs a reason. Write one sentence.")
        return found


def _offer(choice: forms.Field, names: Collection[str], now: str | None) -> None:
    """The names as choices, with the one that a job has now, though it is offered no more:
    else the page would show, and save, another one in its place."""
    gone = [(now, f"{now} (not offered any more)")] if now and now not in names else []
    now_offered = [(name, name) for name in names] or [("", "None is offered here")]
    choice.widget.choices = gone + now_offered


def _one_line_end(text: Any) -> str:
    # Browsers send CRLF; a text that came by the API would otherwise change by being looked at.
    return str(text).replace("\r\n", "\n") if text else ""
