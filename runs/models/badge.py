from __future__ import annotations

from typing import ClassVar, Self
from uuid import UUID, uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q

from jobs.definitions.tag_words import LENGTH
from jobs.models import Job, Team
from jobs.roles import Act


class BadgeQuerySet(models.QuerySet["Badge"]):
    def where(self, user_id: int | None, act: Act = Act.READ) -> Self:
        """Those of the teams in which this person may do this."""
        return self.filter(team__any_of=Team.objects.where(user_id, act).values("id"))


class Badge(models.Model):
    """How a job, the jobs with a tag, or all jobs of a team stand, for everybody who has the
    address. The address holds the key; here is its digest alone."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE)
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.CASCADE)
    tag = models.CharField(max_length=LENGTH, blank=True, default="")
    label = models.CharField(max_length=60)
    digest = models.CharField(max_length=64, unique=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    team_id: UUID
    job_id: UUID | None
    objects: ClassVar[models.Manager[Badge]] = BadgeQuerySet.as_manager()

    class Meta:
        constraints: ClassVar = (
            models.CheckConstraint(
                condition=Q(job=None) | Q(tag=""), name="a_badge_is_of_a_job_or_of_a_tag"
            ),
            models.CheckConstraint(condition=~Q(label=""), name="a_badge_says_of_what_it_is"),
        )

    def __str__(self) -> str:
        return self.label
