from __future__ import annotations

from typing import ClassVar, Self
from uuid import UUID, uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q

from jobs.models import Team
from jobs.roles import Act

TEXT_LENGTH, URL_LENGTH, KEY_LENGTH = 200, 500, 200


class MarkerQuerySet(models.QuerySet["Marker"]):
    def where(self, user_id: int | None, act: Act = Act.READ) -> Self:
        """The markers of the teams in which this person may do this."""
        return self.filter(team__in=Team.objects.where(user_id, act))


class Marker(models.Model):
    """Something changed at this instant: a deploy of what the jobs of a team call, a migration,
    an incident. With a `tag` it is about the team's jobs that have that tag, else about all of
    them.

    `key` is what a pipeline calls it, so that one that tries again writes one; empty where
    nobody gave one.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE)
    at = models.DateTimeField()
    text = models.CharField(max_length=TEXT_LENGTH)
    url = models.CharField(max_length=URL_LENGTH, blank=True, default="")
    tag = models.CharField(max_length=40, blank=True, default="")
    key = models.CharField(max_length=KEY_LENGTH, blank=True, default="")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    created_at = models.DateTimeField()

    team_id: UUID
    objects: ClassVar[models.Manager[Marker]] = MarkerQuerySet.as_manager()

    class Meta:
        ordering = ("-at", "-id")
        indexes = (models.Index(fields=("team", "at"), name="markers_of_a_team"),)
        constraints = (
            models.UniqueConstraint(
                fields=("team", "key"), condition=~Q(key=""), name="one_marker_per_key"
            ),
            models.CheckConstraint(condition=~Q(text=""), name="a_marker_says_something"),
        )

    def __str__(self) -> str:
        return self.text
