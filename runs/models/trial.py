from __future__ import annotations

from datetime import timedelta
from typing import ClassVar, Self
from uuid import UUID, uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q

from jobs.models import Job, Team
from jobs.roles import Act
from runs.ages import lasted


class TrialQuerySet(models.QuerySet["Trial"]):
    def where(self, user_id: int | None, act: Act = Act.READ) -> Self:
        """The test requests of the teams in which this person may do this."""
        teams = Team.objects.where(user_id, act)
        return self.filter(team__in=teams).select_related("team", "job", "by", "same_key_as")


class Trial(models.Model):
    """A test request: what a person had called to try a target out. No run, and in no number.

    `job` is null for a job that was not registered yet. `snapshot` is what was called, secrets
    sealed; `sent` and `answer` are capped and masked. Without an outcome it is under way, or its
    process died: nobody knows.
    """

    id = models.UUIDField(primary_key=True, default=uuid4)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, db_index=False)
    job = models.ForeignKey(
        Job, null=True, blank=True, on_delete=models.DO_NOTHING, db_index=False, db_constraint=False
    )
    job_name = models.CharField(max_length=120, blank=True, default="")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    at = models.DateTimeField()
    key = models.CharField(max_length=200)
    same_key_as = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="repeats"
    )
    idempotent = models.BooleanField()
    snapshot = models.JSONField()
    timeout = models.PositiveIntegerField()
    refusal_codes = models.JSONField(default=list)
    follow_redirects = models.PositiveSmallIntegerField(default=0)
    sent = models.JSONField(default=dict)
    ended_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=10, blank=True, default="")
    effect = models.CharField(max_length=5, blank=True, default="")
    reason = models.TextField(blank=True, default="")
    answer = models.JSONField(default=dict)

    team_id: UUID
    job_id: UUID | None
    objects: ClassVar[models.Manager[Trial]] = TrialQuerySet.as_manager()

    class Meta:
        ordering = ("-at",)
        constraints = (
            models.CheckConstraint(
                condition=Q(ended_at=None, outcome="")
                | (Q(ended_at__isnull=False) & ~Q(outcome="")),
                name="trial_ended_iff_it_has_an_outcome",
            ),
        )
        indexes = (
            models.Index(fields=("team", "at"), name="trials_of_a_team_lately"),
            models.Index(fields=("job", "at"), name="trials_of_a_job"),
        )

    @property
    def took(self) -> timedelta | None:
        """How long it was until its end, which a process that died never wrote."""
        return lasted(self.at, self.ended_at)

    def __str__(self) -> str:
        return f"test request {self.key}"
