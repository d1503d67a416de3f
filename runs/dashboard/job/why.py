"""Why a job has not run: every reason that there is as of now, each with its remedy.

The rule behind the page and the API. It asks what stands in the way of the next start, from the
job itself to the worker, and what became of the last moment. None: it runs as it should.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from jobs import holds, stored
from jobs.models import Job
from jobs.prose import ended
from jobs.schedules import schedules, zones
from jobs.schedules.instants import canonical_instant
from jobs.schedules.plans import Plan
from jobs.schedules.schedules import Cron, ScheduleError
from runs import members
from runs.dashboard.stances import conditions
from runs.models import Attempt, Beat, Run
from runs.states import UNDER_WAY, Origin, State

PATIENCE = timedelta(seconds=5)  # within which a beat and a worker are expected
_LOOK_BACK = timedelta(days=7)
_TOLD = 3  # runs under way
_NEWEST = 200  # attempts that tell of workers


@dataclass(frozen=True)
class Answer:
    """One reason: `kind` is its name in the API, `since` and `until` bound it where known, and
    `run_id` is what it is about or what is in the way."""

    kind: str
    text: str
    remedy: str
    since: datetime | None = None
    until: datetime | None = None
    run_id: UUID | None = None
    hold_id: UUID | None = None


@dataclass(frozen=True)
class Why:
    """`late`: something is due and has not started within the job's `late_after`."""

    late: bool = False
    answers: list[Answer] = field(default_factory=list)

    @property
    def told(self) -> list[Answer]:
        """Those that the job's page has not said already where it says that it is paused."""
        return [answer for answer in self.answers if answer.kind not in ("paused", "mirrored")]


def of_job(job: Job, now: datetime) -> Why:
    """The reasons, from the job itself to the worker."""
    late = conditions.late(Job.objects.filter(id=job.id)).exists()
    answers = [*_stopped(job, now), *_held(job), *_unclaimed(job, now), *_under_way(job, now)]
    answers += [*_left_out(job), *_off(job, now)]
    return Why(late, answers)


def _stopped(job: Job, now: datetime) -> Iterator[Answer]:
    """What the job itself says."""
    if job.paused:
        yield _paused(job)
    elif job.finished:
        text = f"It has had its {job.max_runs} runs, the most that it may."
        yield Answer("finished", text, "Raise `max_runs` to let it run on.")
    elif getattr(job, "due", None) is None:
        yield _no_moment(job, now)
    if job.starts_at and job.starts_at > now:
        text = "Its window has not begun."
        yield Answer("window", text, "Wait, or move `starts_at`.", until=job.starts_at)
    if job.skip_next and not job.paused:
        text = f"Its next {job.skip_next} moments are left out on purpose: {ended(job.skip_reason)}"
        yield Answer("skip_next", text, "Choose to skip none, to take that back.")


def _paused(job: Job) -> Answer:
    versions = job.jobversion_set.select_related("by").order_by("-number")
    made = versions.filter(changes__paused__to=True).first()
    since = made.began_at if made else job.created_at
    if job.mirrored:
        text = (
            f"The PeriodicTask row that it mirrors does not let it run. {ended(job.paused_reason)}"
        )
        remedy = "The platform’s staff change the row in the admin; the job follows."
        return Answer("mirrored", text, remedy, since, job.paused_until)
    who = f" by {made.by.get_username()}" if made and made.by else ""
    text = f"It is paused{who}. {ended(job.paused_reason)}"
    remedy = "Resume it: it is due from then on, and what was left out stays out."
    return Answer("paused", text, remedy, since, job.paused_until)


def _no_moment(job: Job, now: datetime) -> Answer:
    if job.ends_at and job.ends_at <= now:
        return Answer("window", "Its window is over.", "Move `ends_at`.", since=job.ends_at)
    text = "Its schedule has no moment to come."
    return Answer("no_moment", text, "Give it another schedule, or run it by hand.")


def _held(job: Job) -> Iterator[Answer]:
    if hold := holds.over(job.team_id):
        most = (
            f"At most {job.catch_up_limit} of its moments wait for the end; no run starts before."
        )
        kind = "planned maintenance" if hold.windows.exists() else "hold"
        text = f"This job waits for the {kind} of {hold.scope}: {ended(hold.reason)} {most}"
        remedy = "End the hold, or let one run past it by Run now."
        yield Answer("hold", text, remedy, hold.began_at, hold.until, hold_id=hold.id)


def _unclaimed(job: Job, now: datetime) -> Iterator[Answer]:
    """Its moment has come, and no beat has made a run of it."""
    due = getattr(job, "due", None)
    if due is None or job.paused or due.at > now - PATIENCE:
        return
    live = timedelta(seconds=members.LIVE_FOR)
    newest = Beat.objects.order_by("-seen_at").first()
    if newest is None or newest.seen_at < now - live:
        text = "Its moment has come, and no beat is at work to make a run of it."
        remedy = (
            "Start a beat: celery -A config beat. It makes up what was missed, as the job says."
        )
        yield Answer("beats", text, remedy, newest.seen_at if newest else due.at)
    elif len(members.behind()) == Beat.objects.filter(seen_at__gte=now - live).count():
        text = "Its moment has come, and every beat works with older zone data than was seen."
        yield Answer("zone_data", text, "Upgrade the beats.", due.at)
    else:
        text = "Its moment has come, and the beats have not come to it yet."
        yield Answer("unclaimed", text, "Wait. If it stays so, read the beats’ log.", due.at)


def _under_way(job: Job, now: datetime) -> Iterator[Answer]:
    """Its runs that have not started, the oldest first."""
    states = UNDER_WAY - {State.RUNNING}
    runs = Run.objects.filter(job=job, state__in=states).defer("snapshot").order_by("id")
    for run in runs[:_TOLD]:
        match run.state:
            case State.WAITING if run.hold_id is None:
                yield _waits(run)
            case State.RETRYING:
                text = f"Attempt {run.attempt} did not succeed: {run.reason}"
                remedy = "Wait for the next attempt, or cancel the run."
                yield Answer("retrying", text, remedy, until=run.send_at, run_id=run.id)
            case State.CLAIMED | State.ENQUEUED if run.not_before and run.not_before > now:
                text = "Its start is spread: it has a place of its own after its moment."
                remedy = "Wait, or make `spread` smaller."
                yield Answer("spread", text, remedy, until=run.not_before, run_id=run.id)
            case State.CLAIMED if run.created_at < now - PATIENCE:
                text = "Its run is written and not sent yet: the broker may be away."
                remedy = "It is sent as soon as the broker answers. Look at the broker."
                yield Answer("unsent", text, remedy, run.created_at, run_id=run.id)
            case State.ENQUEUED if run.sent_at and run.sent_at < now - PATIENCE:
                yield _without_worker(run, now)


def _waits(run: Run) -> Answer:
    """For its turn; the run in the way is linked."""
    in_review = Run.objects.filter(state=State.REVIEW, id=run.blocked_by or run.id)
    if in_review.exists():
        remedy = "Decide that run: later ones wait until somebody has."
        return Answer("review", run.reason, remedy, run.created_at, run_id=run.blocked_by)
    remedy = "Wait until that run has ended, or cancel it."
    return Answer("overlap", run.reason, remedy, run.created_at, run_id=run.blocked_by or run.id)


def _without_worker(run: Run, now: datetime) -> Answer:
    """Its message has been waiting; what is known of workers of its queue."""
    busy = Run.objects.filter(state=State.RUNNING, queue=run.queue, lease_until__gte=now).count()
    newest = Attempt.objects.order_by("-id").values("run__queue", "started_at")[:_NEWEST]
    starts = [row["started_at"] for row in newest if row["run__queue"] == run.queue]
    text = f"Its message waits for a worker of the queue {run.queue}."
    if busy:
        text += (
            f" {busy} run{'s'[: busy != 1]} of that queue {'are' if busy != 1 else 'is'} at work."
        )
        remedy = "Wait for them, or start more workers."
    elif starts:
        last = canonical_instant(max(starts).replace(microsecond=0))
        text += f" None is at work; the last start there was at {last}."
        remedy = f"Start a worker: celery -A config worker -Q {run.queue}."
    else:
        text += " None is at work, and none has started anything lately."
        remedy = f"Start a worker: celery -A config worker -Q {run.queue}."
    return Answer("worker", text, remedy, run.sent_at, run_id=run.id)


def _left_out(job: Job) -> Iterator[Answer]:
    """The newest moment was not carried out, or a person is to say."""
    scheduled = Run.objects.filter(job=job, origin=Origin.SCHEDULE).defer("snapshot")
    last = scheduled.order_by("-id").first()
    if last is None:
        return
    if last.state == State.SKIPPED:
        remedy = "Run now offers the moment: it then has its own key."
        yield Answer("skipped", last.reason, remedy, last.due_at, last.skipped_until, last.id)
    elif last.state == State.CANCELLED:
        text = f"Its last run was cancelled. {last.reason}".strip()
        remedy = "Run it by hand, if it is wanted after all."
        yield Answer("cancelled", text, remedy, last.finished_at, run_id=last.id)
    elif last.state == State.REVIEW and last.review_class == "missed":
        remedy = "Decide it: make it up, or let it go."
        yield Answer("missed", last.reason, remedy, last.due_at, run_id=last.id)


def _off(job: Job, now: datetime) -> Iterator[Answer]:
    """Its newest moment by the expression lay on a day off."""
    use = job.calendar_use
    if use is None or job.paused:
        return
    try:
        plan = stored.plan(job)
    except ScheduleError:  # the page says so beside the schedule
        return
    named = Plan(schedules.with_calendar(plan.schedules, None, "skip"), job.starts_at, job.ends_at)
    since = max(now - _LOOK_BACK, job.version_began_at)
    was, came = named.newest(since, now), plan.newest(since, now)
    if was is None or was == came or (came is not None and came > was):
        return
    told = "skipped" if use.rule == "skip" else f"moved to the {use.rule} working day"
    day = _day_of(plan, was)
    text = f"{day} is a day off in the calendar {use.name}: its moment is {told}."
    remedy = "Nothing is wrong. Choose another rule or calendar if it should run."
    yield Answer("day_off", text, remedy, was, plan.next(now))


def _day_of(plan: Plan, moment: datetime) -> str:
    """The day on the schedule's own clock, with its name in the calendar."""
    from_cron = next(one for one in plan.schedules if isinstance(one, Cron))
    day = zones.on_clock(moment, from_cron.timezone).date()
    name = from_cron.calendar.why_off(day) if from_cron.calendar else ""
    return f"{day:%A} {day.day} {day:%B %Y}" + (f" ({name})" if name else "")
