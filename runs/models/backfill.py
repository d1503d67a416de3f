from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Self
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import Q

from jobs.models import Job, Team
from jobs.roles import Act
from runs.models.run import new_id

MOST_ACTIVE = 100


class Progress(StrEnum):
    """Whether a backfill still makes runs."""

    OPEN = "open"
    STOPPED = "stopped"
    DONE = "done"


class BackfillQuerySet(models.QuerySet["Backfill"]):
    def where(self, user_id: int | None, act: Act = Act.READ) -> Self:
        """The backfills of the teams in which this person may do this."""
        teams = Team.objects.where(user_id, act)
        return self.filter(job__team__in=teams).select_related("job", "job__team", "by")


class Backfill(models.Model):
    """A job's moments from `since` to `until`, both included, that are run afterwards, in the
    order of time or in `reverse`, at most `max_active` under way at a time.

    `cursor` is the last moment it has dealt with: everything before it (in its direction) has a
    run. `moments` is how many the range held as it began, `made` how many runs it has written,
    `passed` how many moments had one already. `reason` says why it stands still, or why it ended.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    job = models.ForeignKey(Job, on_delete=models.PROTECT, db_index=False)
    since = models.DateTimeField()
    until = models.DateTimeField()
    reverse = models.BooleanField(default=False)
    max_active = models.PositiveSmallIntegerField(default=1)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    state = models.CharField(max_length=7, default=Progress.OPEN)
    cursor = models.DateTimeField()
    moments = models.PositiveIntegerField()
    made = models.PositiveIntegerField(default=0)
    passed = models.PositiveIntegerField(default=0)
    reason = models.TextField(blank=True, default="")

    job_id: UUID
    objects: ClassVar[models.Manager[Backfill]] = BackfillQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=("job",), condition=Q(state=Progress.OPEN), name="one_open_backfill_of_a_job"
            ),
            models.CheckConstraint(
                condition=Q(state__in=[progress.value for progress in Progress]),
                name="progress_is_known",
            ),
            models.CheckConstraint(
                condition=Q(state=Progress.OPEN, finished_at__isnull=True)
                | (~Q(state=Progress.OPEN) & Q(finished_at__isnull=False)),
                name="backfill_finished_iff_not_open",
            ),
            models.CheckConstraint(
                condition=Q(max_active__gte=1, max_active__lte=MOST_ACTIVE),
                name="backfill_keeps_some_active",
            ),
        )
        indexes = (models.Index(fields=("job", "id"), name="backfills_of_a_job"),)

    @property
    def is_open(self) -> bool:
        return self.state == Progress.OPEN

    def __str__(self) -> str:
        return f"backfill {self.id}"
