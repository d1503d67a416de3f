from __future__ import annotations

from typing import ClassVar, Self
from uuid import UUID, uuid4

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.functions import Lower

from jobs.calendars.days import RULES, Use
from jobs.definitions.definitions import POLICIES
from jobs.definitions.overlaps import OVERLAPS
from jobs.definitions.values import COMPLETIONS, DAY
from jobs.models.calendar import Calendar
from jobs.models.team import Team
from jobs.roles import Act

TAKES_TURNS = "(j.overlap <> 'allow' or j.block_on_review)"  # of a job `j`, in SQL


class JobQuerySet(models.QuerySet["Job"]):
    def where(self, user_id: int | None, act: Act = Act.READ) -> Self:
        """The jobs, not deleted, of the teams in which this person may do this."""
        return self.ever(user_id, act).filter(deleted_at=None)

    def ever(self, user_id: int | None, act: Act = Act.READ) -> Self:
        """The same with those that were deleted."""
        teams = Team.objects.where(user_id, act)
        return self.filter(team__any_of=teams.values("id")).select_related("team")


class Job(models.Model):
    """A team's standing instruction. Wide, read by primary key, never touched by a fire."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, db_index=False)  # jobs_of_a_team
    name = models.CharField(max_length=120)
    description = models.TextField(blank=True, default="")
    runbook = models.TextField(blank=True, default="")
    schedule = models.JSONField()
    target = models.JSONField()
    templated = models.BooleanField(default=False)  # the target holds values of the moment
    signing_secret = models.TextField()  # sealed
    idempotent = models.BooleanField()
    max_attempts = models.PositiveSmallIntegerField()
    backoff = models.PositiveIntegerField()
    cap = models.PositiveIntegerField()
    retry_unsent = models.BooleanField(default=False)
    timeout = models.PositiveIntegerField()
    completion = models.CharField(max_length=8, default="answer", db_default="answer")
    deadline = models.PositiveIntegerField(default=DAY, db_default=DAY)
    refusal_codes = models.JSONField(default=list, db_default=[], blank=True)
    follow_redirects = models.PositiveSmallIntegerField(default=0, db_default=0)
    late_after = models.PositiveIntegerField(default=30, db_default=30)
    overlap = models.CharField(max_length=9)
    block_on_review = models.BooleanField()
    queue_limit = models.PositiveIntegerField()
    catch_up_policy = models.CharField(max_length=4)
    catch_up_window = models.PositiveIntegerField()
    catch_up_limit = models.PositiveIntegerField()
    starts_at = models.DateTimeField(null=True, blank=True)
    ends_at = models.DateTimeField(null=True, blank=True)
    max_runs = models.PositiveIntegerField(null=True, blank=True)
    runs_begun = models.PositiveIntegerField(default=0)  # since `max_runs` was set
    finished = models.BooleanField(default=False)  # it has had its `max_runs`
    skip_next = models.PositiveIntegerField(default=0)
    skip_reason = models.TextField(blank=True, default="")
    spread = models.PositiveIntegerField(default=0)
    start_delay = models.PositiveIntegerField(default=0)  # its place in `spread`, in seconds
    queue = models.CharField(max_length=60)
    calendar = models.ForeignKey(
        Calendar, null=True, blank=True, on_delete=models.PROTECT, db_index=False
    )
    calendar_rule = models.CharField(max_length=8, blank=True, default="")
    calendar_version = models.PositiveIntegerField(null=True, blank=True)
    paused = models.BooleanField(default=False)
    paused_until = models.DateTimeField(null=True, blank=True)
    paused_reason = models.TextField(blank=True, default="")
    # What its runs in review go by (jobs/definitions/probes.py); seconds from when one came there.
    probe = models.JSONField(null=True, blank=True)
    decide_by = models.PositiveIntegerField(null=True, blank=True)
    pause_after_reviews = models.PositiveIntegerField(null=True, blank=True)
    critical = models.BooleanField(default=False)
    # By what it is found, and whom to ask about it.
    tags = models.JSONField(default=list, db_default=[], blank=True)
    owner = models.CharField(max_length=120, blank=True, default="", db_default="")
    deleted_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    version = models.PositiveIntegerField(default=1)
    version_began_at = models.DateTimeField()
    # By which version of the zone data its next moment was worked out; empty where it is the
    # same by all of them. Beats claim only what was worked out by their own (runs/zone_data.py).
    zone_data = models.CharField(max_length=12, blank=True, default="")
    periodic_task_id = models.IntegerField(null=True, blank=True, unique=True)

    team_id: UUID
    calendar_id: str | None
    objects: ClassVar[models.Manager[Job]] = JobQuerySet.as_manager()

    class Meta:
        ordering = ("name",)
        indexes = (
            models.Index(
                fields=("name", "id"), condition=models.Q(deleted_at=None), name="jobs_by_name"
            ),
            # As a person looks for one, who does not remember its capitals.
            models.Index(
                Lower("name"),
                "id",
                condition=models.Q(deleted_at=None),
                name="jobs_by_name_in_any_case",
            ),
            # Whose a run is, deleted jobs and all, and until when a decision on it is wanted.
            models.Index(fields=("team", "id"), include=("decide_by",), name="jobs_of_a_team"),
            # How all of them stand is counted along this, without their wide rows.
            models.Index(
                fields=("team", "paused", "id"),
                condition=models.Q(deleted_at=None),
                name="jobs_as_they_stand",
            ),
            models.Index(
                fields=("zone_data",),
                condition=models.Q(deleted_at=None) & ~models.Q(zone_data=""),
                name="jobs_by_zone_data",
            ),
            models.Index(
                fields=("id",),
                condition=models.Q(
                    pause_after_reviews__isnull=False, paused=False, deleted_at=None
                ),
                name="jobs_that_pause_themselves",
            ),
            models.Index(
                fields=("calendar", "id"),
                condition=models.Q(calendar__isnull=False),
                name="jobs_by_a_calendar",
            ),
            GinIndex(fields=("tags",), opclasses=("jsonb_path_ops",), name="jobs_by_a_tag"),
        )
        constraints = (
            models.UniqueConstraint(
                fields=("team", "name"),
                condition=models.Q(deleted_at=None),
                name="one_job_per_name_in_a_team",
            ),
            models.CheckConstraint(
                condition=models.Q(paused=True) | models.Q(paused_until=None),
                name="only_a_paused_job_has_an_end_of_pause",
            ),
            models.CheckConstraint(
                condition=models.Q(start_delay__lte=models.F("spread")),
                name="delay_lies_within_the_spread",
            ),
            models.CheckConstraint(
                condition=models.Q(finished=False) | models.Q(runs_begun__gte=models.F("max_runs")),
                name="finished_only_with_its_runs",
            ),
            models.CheckConstraint(
                condition=models.Q(catch_up_policy__in=POLICIES), name="catch_up_policy_is_known"
            ),
            models.CheckConstraint(
                condition=models.Q(overlap__in=OVERLAPS), name="overlap_is_known"
            ),
            models.CheckConstraint(
                condition=models.Q(completion__in=COMPLETIONS), name="completion_is_known"
            ),
            models.CheckConstraint(
                condition=~models.Q(overlap="cancel")
                | (models.Q(idempotent=True) & ~models.Q(catch_up_policy="all")),
                name="only_a_safe_job_cancels_its_runs",
            ),
            models.CheckConstraint(
                condition=models.Q(calendar=None, calendar_rule="", calendar_version=None)
                | models.Q(
                    calendar__isnull=False, calendar_rule__in=RULES, calendar_version__isnull=False
                ),
                name="a_calendar_has_a_rule_and_a_version",
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def serial(self) -> bool:
        """Whether at most one of its runs is active at a time."""
        return self.overlap != "allow"

    @property
    def takes_turns(self) -> bool:
        """Whether its runs may be in one another's way at all: `TAKES_TURNS`, in Python."""
        return self.serial or self.block_on_review

    @property
    def runs_left(self) -> int | None:
        """How many more moments may become runs; None: no bound."""
        return None if self.max_runs is None else max(0, self.max_runs - self.runs_begun)

    @property
    def calendar_use(self) -> Use | None:
        """The version of a calendar that its moments go by, and how; None for every day."""
        if self.calendar_id is None or self.calendar_version is None:
            return None
        rule = next(rule for rule in RULES if rule == self.calendar_rule)
        return Use(self.calendar_id, rule, self.calendar_version)

    @property
    def mirrored(self) -> bool:
        """Whether a PeriodicTask row owns this job, so that it is read-only here."""
        return self.periodic_task_id is not None


class JobVersion(models.Model):
    """What a job was from `began_at` until the next version began. Append-only.

    The claim works out an overdue moment by the version in force at that moment, and the
    auditor what should have fired.
    """

    job = models.ForeignKey(Job, on_delete=models.CASCADE)
    number = models.PositiveIntegerField()
    began_at = models.DateTimeField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    definition = models.JSONField()
    changes = models.JSONField(default=dict)

    job_id: UUID

    class Meta:
        ordering = ("job", "number")
        constraints = (
            models.UniqueConstraint(fields=("job", "number"), name="one_version_per_number"),
        )

    def __str__(self) -> str:
        return f"{self.job_id} version {self.number}"
