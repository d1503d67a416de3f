"""Calendars as they are stored: versions, the jobs that go by them, who may change what."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import clock, editing, stored
from jobs.calendars import content as calendar_content
from jobs.calendars import editing as calendar_editing
from jobs.calendars import effects as calendar_effects
from jobs.calendars import kept as kept_calendars
from jobs.calendars.days import WEEKDAY_NAMES
from jobs.calendars.editing import Editor, Gone, Refused
from jobs.definitions.definitions import DefinitionError
from jobs.models import Calendar, CalendarVersion, Due, Job, JobVersion
from jobs.schedules import schedules
from runs import claim
from runs.audits import audit
from runs.models import Run
from tests import make
from tests.bench import store

pytestmark = pytest.mark.django_db

YEAR = datetime.now(UTC).year + 1
EVERY_DAY = {"cron": "0 9 * * *", "timezone": "UTC"}


def content(*days: str, **more: Any) -> calendar_content.Content:
    typed = [{"date": day, "label": "Closed"} for day in days]
    return calendar_content.read({"days_off": typed, **more})


def editor(slug: str = "payments", name: str = "") -> Editor:
    of = make.team(slug)
    user = make.editor(of, name or f"editor-of-{slug}")
    return Editor(user, frozenset({of.id}))


@pytest.fixture
def by() -> Editor:
    return editor()


def job_by(calendar: str = "bank", rule: str = "skip", **changes: Any) -> Job:
    team = make.team(changes.pop("team", "payments"))
    shape = {"schedule": EVERY_DAY, "calendar": {"name": calendar, "rule": rule}, **changes}
    return make.job(team, **shape)


def due_at(job: Job) -> datetime | None:
    return Due.objects.filter(job=job).values_list("at", flat=True).first()


def at_nine(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 9, tzinfo=UTC)


def next_nine(count: int = 1) -> list[date]:
    """The dates of the next nine o'clocks."""
    now = clock.now()
    first = now.date() + timedelta(days=now.hour >= 9)
    return [first + timedelta(days=n) for n in range(count)]


EVERY = list(WEEKDAY_NAMES)

# --- a job ------------------------------------------------------------------------------------


def test_a_job_is_pinned_to_the_newest_version_and_due_by_it(by: Editor) -> None:
    first, second, third = next_nine(3)
    calendar_editing.create("bank", content(str(first), weekdays=EVERY), by=by)
    job = job_by()
    assert due_at(job) == at_nine(second)
    pinned = JobVersion.objects.get(job=job).definition["calendar"]
    assert pinned == {"name": "bank", "rule": "skip", "version": 1}
    calendar_editing.change("bank", content(str(second), weekdays=EVERY), by=by)
    assert due_at(job) == at_nine(first)
    job.refresh_from_db()
    assert (job.version, job.calendar_version) == (2, 2)
    version = JobVersion.objects.get(job=job, number=2)
    assert version.by == by.user
    assert version.changes == {
        "calendar": {
            "from": {"name": "bank", "rule": "skip", "version": 1},
            "to": {"name": "bank", "rule": "skip", "version": 2},
        }
    }
    assert version.definition == stored.shape(job)
    assert version.began_at == CalendarVersion.objects.get(number=2).began_at
    assert job.version_began_at == version.began_at
    editing.edit(job.id, make.definition(schedule=EVERY_DAY), by=by.user)
    assert (Job.objects.get().calendar_use, third > second) == (None, True)


def test_an_edit_between_two_versions_takes_the_newest(by: Editor) -> None:
    calendar_editing.create("bank", content(weekdays=EVERY), by=by)
    read_before = make.definition(schedule=EVERY_DAY, calendar={"name": "bank"})
    first, second = next_nine(2)
    calendar_editing.change("bank", content(str(first), weekdays=EVERY), by=by)
    job = editing.register(make.team(), read_before, by=None)
    assert job.calendar_version == 2
    assert due_at(job) == at_nine(second)


def test_a_calendar_deleted_meanwhile_is_refused(by: Editor) -> None:
    calendar_editing.create("bank", content(), by=by)
    read_before = make.definition(schedule=EVERY_DAY, calendar={"name": "bank"})
    calendar_editing.delete("bank", by=by)
    with pytest.raises(DefinitionError, match="deleted meanwhile"):
        editing.register(make.team(), read_before, by=None)


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ("bank", "calendar", "must be an object"),
        ({"name": "nowhere"}, "calendar.name", "'nowhere' is no calendar here"),
        ({"name": "a\0b"}, "calendar.name", "is no calendar here"),
        ({"name": 7}, "calendar.name", "7 is no calendar here"),
        ({}, "calendar.name", "is required"),
        ({"name": "bank", "rule": "jump"}, "calendar.rule", "not one of the choices"),
        ({"name": "bank", "days": 1}, "calendar.days", "is unknown"),
    ],
)
def test_a_calendar_that_is_none_is_refused(given: object, field: str, said: str) -> None:
    calendar_editing.create("bank", content(), by=editor())
    with pytest.raises(DefinitionError) as refused:
        make.definition(schedule=EVERY_DAY, calendar=given)
    [problem] = [one for one in refused.value.problems if one.field == field]
    assert said in problem.message
    assert problem.hint


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        ({"every": 60}, "'every' has no days"),
        ([EVERY_DAY, {"at": "2090-01-01T00:00:00Z"}], "'at' has no days"),
        ({"cron": "0 9 * * 6"}, "“bank” leaves this schedule no moment"),
    ],
)
def test_a_schedule_that_does_not_go_with_a_calendar(schedule: object, said: str) -> None:
    calendar_editing.create("bank", content(), by=editor())
    with pytest.raises(DefinitionError) as refused:
        make.definition(schedule=schedule, calendar={"name": "bank"})
    [problem] = refused.value.problems
    assert problem.field == "calendar"
    assert said in problem.message


# --- the claim and the audit ------------------------------------------------------------------


def test_an_overdue_moment_goes_by_the_version_that_was_in_force(by: Editor) -> None:
    """The day was no day off when its moment came; the calendar that was saved afterwards, before
    any beat was there, does not take it back, nor does the audit miss it."""
    now = clock.now()
    moment = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    calendar_editing.create("bank", content(weekdays=EVERY), by=by)
    schedule = {"cron": f"0 {moment.hour} * * *", "timezone": "UTC"}
    job = job_by(schedule=schedule, catch_up={"policy": "all", "window": 86_400})
    began = moment - timedelta(minutes=1)
    Job.objects.update(version_began_at=began)
    JobVersion.objects.update(began_at=began)
    Due.objects.update(at=moment)
    kept_calendars.forget()
    calendar_editing.change("bank", content(str(moment.date()), weekdays=EVERY), by=by)
    assert due_at(job) == moment, "an overdue row is the claim's"
    claim.due_jobs(clock.now(), shards=range(256), above=began)
    assert [(run.due_at, run.job_version) for run in Run.objects.all()] == [(moment, 1)]
    assert due_at(job) == moment + timedelta(days=1)
    report = audit.report(since=began - timedelta(hours=1))
    assert (report.gaps, report.due) == ([], 1)


def test_the_claim_reads_a_version_once_and_nothing_where_no_job_has_one(by: Editor) -> None:
    calendar_editing.create("bank", content(weekdays=EVERY), by=by)
    jobs = [job_by(name=f"job {n}") for n in range(5)]
    plain = make.job(make.team(), name="plain", schedule=EVERY_DAY)

    def statements(*due: Job) -> int:
        at = clock.now() - timedelta(seconds=2)
        Due.objects.filter(job__in=due).update(at=at)
        Job.objects.update(version_began_at=at - timedelta(days=1))
        with CaptureQueriesContext(
            connection,
        ) as caught:
            claim.due_jobs(clock.now(), shards=range(256), above=at - timedelta(days=1))
        return sum("jobs_calendar" in query["sql"] for query in caught.captured_queries)

    kept_calendars.forget()
    assert [statements(plain), statements(*jobs), statements(*jobs)] == [0, 1, 0]


def test_a_version_that_is_gone_pauses_its_job_alone(by: Editor) -> None:
    calendar_editing.create("bank", content(weekdays=EVERY), by=by)
    broken, sound = job_by(name="broken"), make.job(make.team(), name="sound", schedule=EVERY_DAY)
    at = clock.now() - timedelta(seconds=2)
    Job.objects.update(version_began_at=at - timedelta(days=1))
    Job.objects.filter(id=broken.id).update(calendar_version=9)
    Due.objects.update(at=at)
    claim.due_jobs(clock.now(), shards=range(256), above=at - timedelta(days=1))
    broken.refresh_from_db()
    assert broken.paused and "has no version 9" in broken.paused_reason
    assert Run.objects.get().job_id == sound.id


# --- changing ---------------------------------------------------------------------------------


def test_the_same_content_writes_no_version(by: Editor) -> None:
    calendar_editing.create("bank", content("2030-01-01"), by=by)
    again = calendar_editing.change("bank", content("2030-01-01"), by=by)
    assert (again.number, CalendarVersion.objects.count()) == (1, 1)


def test_whoever_comes_too_late_is_told(by: Editor) -> None:
    calendar_editing.create("bank", content(), by=by)
    calendar_editing.change("bank", content("2030-01-01"), by=by, seen=1)
    with pytest.raises(Refused, match="at version 2"):
        calendar_editing.change("bank", content("2030-01-02"), by=by, seen=1)


def test_a_calendar_of_other_teams_jobs_is_the_staffs(by: Editor) -> None:
    other = editor("ledger")
    calendar_editing.create("bank", content(), by=by)
    calendar_editing.change("bank", content("2030-01-01"), by=other)
    job_by()
    for act in (
        lambda: calendar_editing.change("bank", content(), by=other),
        lambda: calendar_editing.delete("bank", by=other),
        lambda: calendar_editing.change("bank", content(), by=Editor(other.user, frozenset())),
    ):
        with pytest.raises(PermissionDenied):
            act()
    staff = Editor(make.person("staff", is_staff=True), frozenset())
    assert calendar_editing.change("bank", content(), by=staff).number == 3
    assert calendar_editing.change("bank", content("2031-01-01"), by=by).number == 4


def test_a_calendar_in_use_is_not_deleted_and_a_deleted_name_goes_on(by: Editor) -> None:
    calendar_editing.create("bank", content(), by=by)
    job = job_by()
    with pytest.raises(Refused, match="1 job goes by this calendar"):
        calendar_editing.delete("bank", by=by)
    editing.delete(job.id, by=by.user)
    calendar_editing.delete("bank", by=by)
    for act in (
        lambda: calendar_editing.delete("bank", by=by),
        lambda: calendar_editing.change("bank", content(), by=by),
        lambda: calendar_editing.newest("bank"),
    ):
        with pytest.raises(Gone):
            act()
    assert calendar_editing.create("bank", content("2030-01-01"), by=by).number == 2
    with pytest.raises(Refused, match="already"):
        calendar_editing.create("bank", content(), by=by)
    assert Calendar.objects.get().deleted_at is None


def test_due_rows_come_go_and_stay_as_the_jobs_are(by: Editor) -> None:
    first, second = next_nine(2)
    calendar_editing.create("bank", content(weekdays=EVERY), by=by)
    once = f"0 9 {first.day} {first.month} *"
    yearly = job_by(name="once", schedule={"cron": once, "timezone": "UTC"})
    until = clock.now() + timedelta(days=3)
    paused, for_good = job_by(name="paused"), job_by(name="for good")
    editing.pause(paused.id, editing.Pause("x", until), by=None)
    editing.pause(for_good.id, editing.Pause("x"), by=None)
    calendar_editing.change("bank", content(str(first), weekdays=EVERY), by=by)
    later = due_at(yearly)
    assert later is not None and later.date() > first + timedelta(days=360)
    assert (due_at(paused), due_at(for_good)) == (until, None)
    editing.resume(for_good.id, by=None)
    assert due_at(for_good) == at_nine(second)
    never = calendar_content.read({"weekdays": ["mon"] if first.weekday() else ["tue"]})
    weekly = job_by(name="w", schedule={"cron": f"0 9 * * {first.isoweekday() % 7}"})
    assert due_at(weekly) is not None
    calendar_editing.change("bank", never, by=by)
    assert due_at(weekly) is None
    calendar_editing.change("bank", content(weekdays=EVERY), by=by)
    assert due_at(weekly) == at_nine(first)


def test_what_fails_leaves_nothing_behind(by: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    calendar_editing.create("bank", content(weekdays=EVERY), by=by)
    job_by()

    def fail(*_: object) -> None:
        raise RuntimeError("the database went away")

    with monkeypatch.context() as patch:
        patch.setattr(calendar_editing, "_move", fail)
        with pytest.raises(RuntimeError):
            calendar_editing.change("bank", content(str(next_nine()[0]), weekdays=EVERY), by=by)
    assert (Calendar.objects.get().version, CalendarVersion.objects.count()) == (1, 1)
    calendar_editing.change("bank", content("2050-01-01", weekdays=EVERY), by=by)
    assert Due.objects.get().at == at_nine(next_nine()[0])


def test_thousands_of_jobs_are_moved_in_a_few_statements(by: Editor) -> None:
    calendar_editing.create("bank", content(weekdays=EVERY), by=by)
    job_by(description="")
    with connection.cursor() as cursor:
        cursor.execute(store._copy_jobs(), {"start": 0, "copies": 2_000})
        cursor.execute(store._copy_versions())
        cursor.execute("update jobs_job set description = ''")
        cursor.execute(store._FIRST_DUE, ["1 day"])
    first, second = next_nine(2)
    with CaptureQueriesContext(connection) as caught:
        calendar_editing.change("bank", content(str(first), weekdays=EVERY), by=by)
    assert len(caught) < 25
    assert Due.objects.filter(at=at_nine(second)).count() == 2_001
    assert JobVersion.objects.filter(number=2).count() == 2_001


# --- the effect ---------------------------------------------------------------------------------


def test_the_effect_tells_team_by_team_what_would_move(by: Editor) -> None:
    first, second, third = next_nine(3)
    calendar_editing.create("bank", content(str(first), weekdays=EVERY), by=by)
    mine = job_by(name="mine")
    rolls = job_by(name="rolls", rule="next", schedule={"cron": f"0 9 {first.day} * *"})
    job_by(name="theirs", team="ledger")
    job_by(name="untouched", schedule={"cron": f"0 9 {(first.day + 9) % 28 + 1} 1 *"})
    found = calendar_effects.effect(
        calendar_editing.newest("bank"),
        content(str(second), weekdays=EVERY),
        teams={mine.team_id},
    )
    assert (list(found.added), list(found.removed)) == ([second], [first])
    [others, ours] = sorted(found.teams, key=lambda of_team: of_team.team is not None)
    assert (others.jobs, others.changed, others.listed) == (1, 1, [])
    assert (ours.jobs, ours.changed) == (3, 2)
    [listed] = [team["listed"] for team in calendar_effects.shape(found)["teams"] if team["team"]]
    shown = {one["name"]: one["changes"] for one in listed}
    nine = [f"{day}T09:00:00Z" for day in (first, second)]
    assert shown["mine"] == [{"from": None, "to": nine[0]}, {"from": nine[1], "to": None}]
    assert shown["rolls"] == [{"from": nine[1], "to": nine[0]}]
    assert (rolls.version, third > second) == (1, True)
    assert CalendarVersion.objects.count() == 1, "nothing was saved"


def test_the_effect_is_what_saving_then_does(by: Editor) -> None:
    days = [str(day) for day in next_nine(40)]
    calendar_editing.create("bank", content(*days[::7], weekdays=EVERY), by=by)
    job = job_by(schedule={"cron": "0,30 9 * * *"})
    after = clock.now()
    before = stored.plan(job).schedules
    new = content(*days[::5], weekdays=EVERY)
    [of_team] = calendar_effects.effect(calendar_editing.newest("bank"), new, teams=None).teams
    calendar_editing.change("bank", new, by=by)
    job.refresh_from_db()
    until = after + timedelta(days=41)
    there = set(schedules.moments_between(before, after, until, 1000))
    then = set(schedules.moments_between(stored.plan(job).schedules, after, until, 1000))
    changes = of_team.listed[0].found.listed
    assert {change.before for change in changes} - {None} == there - then
    assert {change.after for change in changes} - {None} == then - there
