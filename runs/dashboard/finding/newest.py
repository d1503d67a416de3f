"""The newest runs of a filter, page by page, along indexes alone: a list over millions of runs
reads about as many as it shows.

Runs sort by birth, which their ids are. Where few runs match, an index of their own leads to them
(runs in review, dead, in flight, put aside, asked for by a person …). Where most runs match, the
newest are looked through; where those that match belong to few of many jobs, so that too many
would have to be, each job is asked for its newest instead: the page can only hold runs of the
jobs whose newest are newest.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from jobs.models import Job, Team
from jobs.roles import Act
from runs.ages import SKEW, first_id
from runs.arrays import array
from runs.dashboard.finding.wanted import Wanted
from runs.states import State

# Of the newest runs, before the jobs are asked one by one: of few jobs after the first look.
LOOKED_THROUGH = (500, 5_000)
FEW_JOBS = 200
# A run is born at its moment or later, nearly always within the minute; those that were made later
# have an index of their own. Ids are of the hosts' clocks: a margin for those.
_LATE = timedelta(minutes=1)
_MADE_LATE = "r.created_at - r.due_at > interval '00:01:00'"
_MOMENT = "coalesce(r.due_at, r.created_at)"

_OF_JOBS = """
select r.id
  from (select j.id, newest.id as last
          from jobs_job j cross join lateral ({last}) newest
         where {mine} order by newest.id desc limit %(size)s) j
 cross join lateral ({runs}) r
 order by r.id desc limit %(size)s
"""


@dataclass(frozen=True)
class Reader:
    """Whose runs: those of this person's teams, or of one of them (that of an API token)."""

    user_id: int | None
    team_id: UUID | None = None

    def teams(self, slug: str = "") -> list[UUID]:
        """The teams whose runs they may read, as of now."""
        rows = Team.objects.where(self.user_id, Act.READ)
        rows = rows.filter(id=self.team_id) if self.team_id else rows
        return list((rows.filter(slug=slug) if slug else rows).values_list("id", flat=True))


def ids(
    reader: Reader,
    wanted: Wanted,
    size: int,
    *,
    below: UUID | None = None,
    above: UUID | None = None,
) -> list[UUID]:
    """The first `size` of them, newest first, born before and after these."""
    teams = reader.teams(wanted.team)
    if not teams or (wanted.job and not _is_wanted(wanted.job, wanted, teams)):
        return []
    look = _Look(wanted, teams, size, below, above)
    if not wanted.is_wide:
        return look.along_indexes()
    for most in LOOKED_THROUGH:
        found = look.through_the_newest(most)
        if len(found) >= size or look.saw_all(most):
            return found
        if look.is_of_few_jobs():
            break
    return look.job_by_job()


def _is_wanted(job_id: UUID, wanted: Wanted, teams: list[UUID]) -> bool:
    rows = Job.objects.filter(id=job_id, team__in=teams)
    rows = rows.filter(name__icontains=wanted.name, owner__icontains=wanted.owner)
    return rows.filter(tags__contains=list(wanted.tags)).exists()


@dataclass(frozen=True)
class _Look:
    wanted: Wanted
    teams: list[UUID]
    size: int
    below: UUID | None
    above: UUID | None

    def along_indexes(self) -> list[UUID]:
        """Each group of states, and what was made late, along its index."""
        branches = [
            _newest([*span, *self._common, *states, *self._mine])
            for span in self._spans()
            for states in self._states()
        ]
        return self._read(_merged(branches))

    def through_the_newest(self, most: int) -> list[UUID]:
        """Those among so many of the newest of everybody's."""
        in_time, *late = self._spans()
        newest = _newest([*in_time, *self._page], most, columns="*")
        among = _newest([*self._matching, *self._mine], of=f"({newest})")
        return self._read(_merged([among, *self._made(late)]))

    def saw_all(self, most: int) -> bool:
        """Whether there are no more runs in this range of ids than were looked through."""
        newest = _newest([*self._spans()[0], *self._page], most + 1)
        return len(self._read(newest)) <= most

    def is_of_few_jobs(self) -> bool:
        """Whether all that match belong to a few jobs, which are quickly asked."""
        jobs = f"select j.id from jobs_job j where {_and(self._jobs)} limit {FEW_JOBS + 1}"  # noqa: S608
        return len(self._read(jobs)) <= FEW_JOBS

    def job_by_job(self) -> list[UUID]:
        """The newest of each job, and of the jobs that have the newest of these as many as fill
        the page."""
        in_time, *late = self._spans()
        of_job = ["r.job_id = j.id", *in_time, *self._matching]
        given = {
            "mine": _and(self._jobs),
            "last": _newest(of_job, 1),
            "runs": _newest(of_job),
        }
        return self._read(_merged([_OF_JOBS.format(**given), *self._made(late)]))

    def _made(self, late: list[list[str]]) -> list[str]:
        return [_newest([*span, *self._matching, *self._mine]) for span in late]

    @property
    def _matching(self) -> list[str]:
        return [*self._common, *(one for states in self._states() for one in states)]

    def _spans(self) -> list[list[str]]:
        """The ranges of ids in which the moments lie: those made in time, then those made late."""
        if self.wanted.until is None:
            return [["r.id >= %(first)s"] if self.wanted.since else []]
        in_time = ["r.id < %(last)s", *(["r.id >= %(first)s"] if self.wanted.since else [])]
        return [in_time, [_MADE_LATE, "r.id >= %(last)s"]]

    def _states(self) -> list[list[str]]:
        return [[_in_states(states)] if states else [] for states in self.wanted.parts()]

    @property
    def _page(self) -> list[str]:
        asked = (("r.id < %(below)s", self.below), ("r.id > %(above)s", self.above))
        return [condition for condition, given in asked if given is not None]

    @property
    def _common(self) -> list[str]:
        wanted = self.wanted
        asked = (
            (f"{_MOMENT} >= %(since)s", wanted.since),
            (f"{_MOMENT} <= %(until)s", wanted.until),
            ("r.job_id = %(job)s", wanted.job),
            ("r.backfill_id = %(backfill)s", wanted.backfill),
            ("r.error_group = %(group)s", wanted.group),
            (_in("r.origin", sorted(wanted.origins)), wanted.origins),
        )
        return [*self._page, *(condition for condition, given in asked if given)]

    @property
    def _mine(self) -> list[str]:
        if self.wanted.job:  # has been looked at; a join would hide the order of its index
            return []
        jobs = _and(["j.id = r.job_id", *self._jobs])
        return [f"exists (select 1 from jobs_job j where {jobs})"]  # noqa: S608 (our own words)

    @property
    def _jobs(self) -> list[str]:
        asked = (
            ("j.name ilike %(name)s", self.wanted.name),
            ("j.owner ilike %(owner)s", self.wanted.owner),
            ("j.tags @> %(tags)s::jsonb", self.wanted.tags),
        )
        named = (condition for condition, given in asked if given)
        return ["j.team_id = any(%(teams)s::uuid[])", *named]

    def _read(self, statement: str) -> list[UUID]:
        wanted = self.wanted
        given: dict[str, Any] = {
            "size": self.size,
            "below": self.below,
            "above": self.above,
            "teams": array(self.teams),
            "name": f"%{_escaped(wanted.name)}%",
            "owner": f"%{_escaped(wanted.owner)}%",
            "tags": json.dumps(wanted.tags),
            "first": first_id(wanted.since - SKEW) if wanted.since else None,
            "last": first_id(wanted.until + _LATE + SKEW) if wanted.until else None,
            **{name: getattr(wanted, name) for name in ("since", "until", "job", "group")},
            "backfill": wanted.backfill,
        }
        with connection.cursor() as cursor:
            cursor.execute(statement, given)
            return [row[0] for row in cursor.fetchall()]


def count(reader: Reader, wanted: Wanted, most: int, *, above: UUID | None = None) -> int:
    """How many match (and were born after this one), counted up to `most`."""
    return len(ids(reader, wanted, most, above=above))


def _newest(
    conditions: list[str], most: int | None = None, columns: str = "r.id", of: str = "runs_run"
) -> str:
    """The newest runs of which all this is true; a page of them unless told how many."""
    limit = "%(size)s" if most is None else most
    where = _and(conditions)
    return f"select {columns} from {of} r where {where} order by r.id desc limit {limit}"  # noqa: S608 (our own words)


def _merged(branches: list[str]) -> str:
    parts = " union all ".join(f"({branch})" for branch in branches)
    return branches[0] if len(branches) == 1 else _newest([], of=f"({parts})")


def _and(conditions: list[str]) -> str:
    return " and ".join(conditions) or "true"


def _in_states(states: frozenset[State]) -> str:
    """In so many words: a partial index is found by what the statement says."""
    return _in("r.state", sorted(states))


def _in(column: str, words: list[Any]) -> str:
    listed = ", ".join(f"'{word}'" for word in words)
    return f"{column} in ({listed})"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
