"""What a new version of a calendar would do, team by team, before it is saved."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any
from uuid import UUID

from jobs import clock, stored
from jobs.calendars import changes as calendar_changes
from jobs.calendars import content as calendar_content
from jobs.calendars import kept
from jobs.calendars.changes import Change, Changes
from jobs.calendars.content import Content, Expanded
from jobs.models import CalendarVersion, Job, Team
from jobs.schedules import schedules
from jobs.schedules.schedules import ScheduleError

LISTED = 200  # jobs that are named; more are counted


@dataclass(frozen=True)
class OfJob:
    """A job of which moments change within a year. `found.more`: not all are listed."""

    job: Job
    found: Changes


@dataclass
class OfTeam:
    """A team's jobs that go by the calendar. `team` None: all the teams whose jobs the reader
    does not see, in numbers alone."""

    team: Team | None
    jobs: int = 0
    changed: int = 0
    listed: list[OfJob] = field(default_factory=list)

    @property
    def unlisted(self) -> int:
        return self.changed - len(self.listed)


@dataclass(frozen=True)
class Effect:
    """From what version to what days. `added` and `removed` are days off, by date."""

    version: int
    expanded: Expanded
    added: dict[date, str]
    removed: dict[date, str]
    teams: list[OfTeam]


def effect(newest: CalendarVersion, content: Content, *, teams: Collection[UUID] | None) -> Effect:
    """The effect of new content, in `teams` (None: all) job by job. Raises DefinitionError."""
    now = clock.now()
    expanded = calendar_content.expand(content, now.date())
    before = {date.fromisoformat(day): label for day, label in newest.days.items()}
    return Effect(
        newest.number,
        expanded,
        added={day: label for day, label in expanded.days.items() if day not in before},
        removed={day: label for day, label in before.items() if day not in expanded.days},
        teams=_teams(_Comparison(newest, content, expanded, now), teams),
    )


class _Comparison:
    """The two versions; jobs of one schedule and rule are worked out once."""

    def __init__(
        self, newest: CalendarVersion, content: Content, expanded: Expanded, now: datetime
    ) -> None:
        days = {str(day): label for day, label in expanded.days.items()}
        self.name, self.now = newest.calendar_id, now
        self.new = kept.content(content.weekdays, days, expanded.known_until)
        self.known: dict[tuple[object, ...], Changes] = {}

    def of(self, job: Job) -> Changes:
        key = json.dumps(job.schedule), job.calendar_rule, job.starts_at, job.ends_at
        if key not in self.known:
            self.known[key] = self._of(job)
        return self.known[key]

    def _of(self, job: Job) -> Changes:
        use = job.calendar_use
        assert use is not None
        try:
            old = stored.plan(job)
        except ScheduleError:  # zone data have lost its zone: the claim will say so
            return Changes()
        by_new = schedules.with_calendar(old.schedules, self.new, use.rule)
        return calendar_changes.between(old, replace(old, schedules=by_new), self.now)


def _teams(comparison: _Comparison, seen: Collection[UUID] | None) -> list[OfTeam]:
    jobs = (
        Job.objects.filter(calendar=comparison.name, deleted_at=None)
        .select_related("team")
        .defer("target", "signing_secret", "description", "runbook")
        .order_by("team__slug", "name")
    )
    found: dict[UUID | None, OfTeam] = {}
    listed = 0
    for job in jobs:
        is_seen = seen is None or job.team_id in seen
        key = job.team_id if is_seen else None
        of_team = found.setdefault(key, OfTeam(job.team if is_seen else None))
        of_team.jobs += 1
        changes = (
            Changes()
            if job.finished or (job.paused and not job.paused_until)
            else comparison.of(job)
        )
        if not changes.listed:
            continue
        of_team.changed += 1
        if is_seen and listed < LISTED:
            of_team.listed.append(OfJob(job, changes))
            listed += 1
    return list(found.values())


def shape(effect: Effect) -> dict[str, Any]:
    """An effect as the API tells it."""
    return {
        "version": effect.version,
        "known_until": effect.expanded.known_until and str(effect.expanded.known_until),
        "added": days_shape(effect.added),
        "removed": days_shape(effect.removed),
        "teams": [_team_shape(of_team) for of_team in effect.teams],
    }


def days_shape(days: dict[date, str]) -> list[dict[str, str]]:
    """Days off with their names."""
    return [{"date": str(day), "label": label} for day, label in days.items()]


def _team_shape(of_team: OfTeam) -> dict[str, Any]:
    return {
        "team": of_team.team and of_team.team.slug,
        "jobs": of_team.jobs,
        "changed": of_team.changed,
        "listed": [
            {
                "job": str(one.job.id),
                "name": one.job.name,
                "changes": [_change_shape(change) for change in one.found.listed],
                "more": one.found.more,
            }
            for one in of_team.listed
        ],
    }


def _change_shape(change: Change) -> dict[str, str | None]:
    return {"from": _instant(change.before), "to": _instant(change.after)}


def _instant(moment: datetime | None) -> str | None:
    return schedules.canonical_instant(moment) if moment else None
