"""A calendar is changed while its jobs are claimed, resumed, and made to go by it."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from jobs import clock, editing
from jobs.calendars import content as calendar_content
from jobs.calendars import editing as calendar_editing
from jobs.calendars.days import WEEKDAY_NAMES
from jobs.calendars.editing import Editor
from jobs.models import Calendar, Due, Job, JobVersion
from runs import claim
from runs.models import Run
from tests import make
from tests.races import ROUNDS, at_once

pytestmark = pytest.mark.django_db(transaction=True)

MINUTELY = {"cron": "* * * * *", "timezone": "UTC"}
BY_BANK: dict[str, Any] = {"schedule": MINUTELY, "calendar": {"name": "bank"}}


def test_a_change_against_a_claim_a_resume_and_an_edit_that_takes_the_calendar() -> None:
    """No deadlock, each moment that had come fires once, and whoever goes by the calendar goes
    by its newest version."""
    team = make.team()
    by = Editor(make.person("author", is_staff=True), frozenset())
    weekdays = {"weekdays": list(WEEKDAY_NAMES)}
    calendar_editing.create("bank", calendar_content.read(weekdays), by=by)
    claimed = make.job(team, name="claimed", **BY_BANK)
    resumed = make.job(team, name="resumed", **BY_BANK)
    taking = make.job(team, name="taking", schedule=MINUTELY)
    free = make.definition(name="taking", schedule=MINUTELY)
    for number in range(ROUNDS):
        editing.pause(resumed.id, editing.Pause("x"), by=None)
        editing.edit(taking.id, free, by=None)
        takes = make.definition(name="taking", description=str(number), **BY_BANK)
        day = {"date": f"2040-01-{number % 28 + 1:02}", "label": str(number)}
        content = calendar_content.read({**weekdays, "days_off": [day]})
        now = clock.now()
        above = now - timedelta(seconds=3)
        Due.objects.filter(job=claimed).update(at=now - timedelta(seconds=2))
        outcomes = at_once(
            partial(claim.due_jobs, now, shards=range(256), above=above),
            partial(calendar_editing.change, "bank", content, by=by),
            partial(editing.resume, resumed.id, by=None),
            partial(editing.edit, taking.id, takes, by=None),
        )
        assert not [each for each in outcomes if isinstance(each, Exception)], outcomes
        newest = Calendar.objects.get().version
        assert newest == number + 2
        for job in Job.objects.all():
            assert job.calendar_version == newest, (job.name, job.calendar_version)
            numbers = JobVersion.objects.filter(job=job).values_list("number", flat=True)
            assert list(numbers) == list(range(1, job.version + 1))
            last = JobVersion.objects.get(job=job, number=job.version)
            assert last.definition["calendar"]["version"] == newest
        # A moment that came before the pause fires; the racing claim may have passed it over.
        claim.due_jobs(now, shards=range(256), above=above)
        assert Due.objects.get(job=resumed).at > now
    moments = Run.objects.exclude(state="SKIPPED").values_list("job", "due_at")
    assert len(moments) == len(set(moments))
