"""The forms of job pages. What a job may be is decided by `definitions.read`, not here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django import forms
from django.utils.html import format_html

from jobs import clock
from jobs.definitions import definitions, job_fields
from jobs.definitions.definitions import Definition, DefinitionError, Problem
from jobs.foresight import previews
from jobs.foresight.previews import Preview
from jobs.form_fields import MOMENT, MONO, area, radio, select, text
from jobs.models import Team
from jobs.offer import offered
from jobs.schedules import schedules
from jobs.targets import shapes as targets

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


# The parts of the page that stand folded, and what their fields hold where nobody chose.
_FOLDED = {
    "overlap": ("overlap", "queue_limit", "catch_up_policy", "catch_up_window", "catch_up_limit"),
    "bounds": ("starts_at", "ends_at", "max_runs", "spread"),
    "answers": ("completion", "deadline", "refusal_codes", "follow_redirects", "retry_unsent"),
    "review": ("probe_url", "probe_task", "decide_by", "pause_after_reviews", "critical"),
}
_USUAL = {"spread": "0", "completion": "answer", "deadline": "86400", "follow_redirects": "0"}
_USUAL |= {"queue_limit": "100", "catch_up_limit": "100"}
# What a definition is given by whether a job is safe to repeat; a test holds them together.
_USUAL_IF_SAFE = {"overlap": "skip", "catch_up_policy": "last", "catch_up_window": "3600"}
_USUAL_IF_NOT = {"overlap": "queue", "catch_up_policy": "ask", "catch_up_window": "86400"}


class JobForm(forms.Form):
    """A job's fields as text, in the order of the page. Every field may be empty here: what is
    missing, `definitions.read` says. `definition` is the outcome once the form is valid.
    `beside`: members of the job that the page does not show, and leaves as they are."""

    name = text(
        "Name",
        f"Unique in its team, at most {definitions.NAME_LENGTH} characters.",
        maxlength=str(definitions.NAME_LENGTH),
    )
    description = area("Description", "What it is for; for people.", rows=2)
    owner = text("Owner", "Whom to ask about it: a person, a channel, a phone.", maxlength="200")
    tags = text("Tags", "At most 10 words, as billing, prod.", autocapitalize="none")

    target_kind = radio("Kind of target", (("http", "HTTP request"), ("task", "Task")))
    method = select("Method", ((method, method) for method in targets.METHODS))
    url = text("URL", "https://, or http:// where the installation allows it.", **MONO)
    headers = area("Headers", "One a line, as Accept: application/json.", rows=3, **MONO)
    body = area("Body", "JSON; empty sends no body.", rows=4, **MONO)
    task_name = select("Task", ())
    args = area("Arguments", "A JSON list; empty for none.", rows=2, **MONO)
    kwargs = area("Named arguments", "A JSON object; empty for none.", rows=3, **MONO)

    schedule_kind = radio("Kind of schedule", KINDS)
    cron = text(
        "Expression",
        # Plain blanks: an expression with others, copied from here, would be refused.
        format_html(
            "Minute, hour, day of month, month, day of week: <code>{}</code>.", "0 18 * * 1-5"
        ),
        **MONO,
    )
    timezone = text("Time zone", "A place, as America/New_York, or UTC.", list="zones")
    dst = select(
        "When the clock changes",
        (
            ("once", "Fire once: what a gap swallows fires at its end"),
            ("wall", "Follow the clock: what it does not show does not fire"),
        ),
    )
    every = text("Every", inputmode="numeric")
    unit = select("Unit", ((unit, unit) for unit in job_fields.UNITS))
    anchor = text("Counted from", "Empty: from now. As 2026-11-29T18:00:00Z.", **MOMENT)
    at = text("At", "An instant with its offset, as 2026-11-29T18:00:00+01:00.", **MOMENT)
    starts_at = text("Not before", "Empty: from now. As 2026-11-29T18:00:00+01:00.", **MOMENT)
    ends_at = text("Not after", "Empty: for good. A moment at that instant still fires.", **MOMENT)
    max_runs = text("Runs at most", "Empty: no bound.", inputmode="numeric")
    spread = text(
        "Spread (s)",
        "Starts up to so much later than its moment, always the same for this job. Empty: 0.",
        inputmode="numeric",
    )
    several = area("Schedules", "A JSON list of schedules, as the API takes them.", rows=6, **MONO)

    calendar = select(
        "Calendar",
        (),
        "Working days and days off. For cron; 3B and LB count by it.",
    )
    calendar_rule = select(
        "A moment on a day off",
        (
            ("skip", "is skipped"),
            ("next", "rolls to the next working day"),
            ("previous", "rolls to the previous working day"),
        ),
    )

    idempotent = radio("Is it safe to repeat?", (("yes", "Yes"), ("no", "No")))
    timeout = text(
        "Time-out (s)", "One attempt is cut off after it. Empty: 300.", inputmode="numeric"
    )
    max_attempts = text("Attempts at most", "The first one counts. Empty: 5.", inputmode="numeric")
    backoff = text("First wait (s)", "Doubles each time. Empty: 10.", inputmode="numeric")
    cap = text("Longest wait (s)", "No wait is longer. Empty: 3600.", inputmode="numeric")
    completion = select(
        "It is done when",
        (
            ("answer", "the target answers 2xx"),
            ("callback", "the target reports, after it has answered 202"),
        ),
        "A target that takes longer than a call reports by a call of its own.",
    )
    deadline = text(
        "Deadline (s)",
        "Until when the target may report, or say «not yet». Empty: a day.",
        inputmode="numeric",
    )
    refusal_codes = text(
        "Nothing was done on",
        "Statuses by which the target refuses for good, as 409, 503. 4xx mostly do anyway.",
        inputmode="numeric",
    )
    follow_redirects = text("Redirects followed", "0 to 3. Empty: none.", inputmode="numeric")
    late_after = text(
        "Late after (s)",
        "Due so long and not started counts as late. Empty: 30.",
        inputmode="numeric",
    )
    retry_unsent = forms.BooleanField(
        label="Try again by itself what surely was never sent", required=False
    )
    overlap = select(
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
    queue_limit = text("At most so many wait", "Empty: 100.", inputmode="numeric")
    block_on_review = forms.BooleanField(
        label="Let later moments wait while an earlier run is in Review", required=False
    )
    catch_up_policy = select(
        "Moments that were missed",
        (
            ("", "By the answer above"),
            ("last", "Make up the newest one"),
            ("all", "Make up each of them"),
            ("ask", "Ask a person about each"),
            ("none", "Record them, fire none"),
        ),
    )
    catch_up_window = text(
        "Not older than (s)",
        "Empty: an hour if safe to repeat, else a day.",
        inputmode="numeric",
    )
    catch_up_limit = text("At most so many", "Empty: 100.", inputmode="numeric")
    probe_url = text(
        "Probe: URL",
        "Asked by GET whether the effect of a key happened. Empty: nobody is asked.",
        **MONO,
    )
    probe_task = select("or task", (), "Called with the key.")
    decide_by = text(
        "Decide within (s)",
        "Of the failure; orders the queue and marks what is overdue. Empty: no cut-off.",
        inputmode="numeric",
    )
    pause_after_reviews = text(
        "Pause after so many in Review", "Empty: never by itself.", inputmode="numeric"
    )
    critical = forms.BooleanField(
        label="Critical: running it again wants a second person", required=False
    )
    runbook = area("Runbook", "What to do when it fails. Shown beside every failure.", rows=3)
    queue = select("Queue", ())

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
            self.fields["team"] = select("Team", [(t.slug, t.name) for t in self.teams.values()])
            self.order_fields(["team"])
        offer = offered()
        for name, choices in (("task_name", offer.tasks), ("queue", offer.queues)):
            _offer(self.fields[name], choices, self.get_initial_for_field(self.fields[name], name))
        _offer(
            self.fields["probe_task"],
            ["", *offer.tasks],
            self.get_initial_for_field(self.fields["probe_task"], "probe_task"),
        )
        self.fields["probe_task"].widget.choices[0] = ("", "None")
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
    def opens(self) -> dict[str, bool]:
        """Which of the folded parts of the page stand open: where anything in them is unusual or
        wrong."""
        return {part: any(map(self._is_unusual, names)) for part, names in _FOLDED.items()}

    def _is_unusual(self, name: str) -> bool:
        shown = str(self.typed.get(name) or "").strip()
        is_safe = self.typed.get("idempotent") == "yes"
        usual = _USUAL | (_USUAL_IF_SAFE if is_safe else _USUAL_IF_NOT)
        return name in self.errors or shown not in ("", usual.get(name, ""))

    @property
    def typed(self) -> job_fields.Typed:
        """What the form holds just now."""
        return self.data if self.is_bound else self.initial

    def preview(self) -> Preview:
        """The moments of what the form holds just now; empty while it says no schedule."""
        return previews.of_typed(self.typed, clock.now(), offered().calendars)


def _offer(choice: forms.Field, names: Collection[str], now: str | None) -> None:
    """The names as choices, with the one that a job has now, though it is offered no more:
    else the page would show, and save, another one in its place."""
    gone = [(now, f"{now} (not offered any more)")] if now and now not in names else []
    now_offered = [(name, name) for name in names] or [("", "None is offered here")]
    choice.widget.choices = gone + now_offered


def _one_line_end(text: Any) -> str:
    # Browsers send CRLF; a text that came by the API would otherwise change by being looked at.
    return str(text).replace("\r\n", "\n") if text else ""
