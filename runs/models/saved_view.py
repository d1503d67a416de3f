from __future__ import annotations

from typing import ClassVar, Self
from uuid import UUID, uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q

from jobs.models import Team
from jobs.roles import Act

PAGES = ("jobs", "runs")


class SavedViewQuerySet(models.QuerySet["SavedView"]):
    def where(self, user_id: int | None) -> Self:
        """This person's own, and those that are shared with a team whose things they may read."""
        teams = Team.objects.where(user_id, Act.READ)
        return self.filter(Q(owner=user_id, team=None) | Q(team__in=teams))


class SavedView(models.Model):
    """A filter of a list under a name: its owner's alone, or shared with a team."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    team = models.ForeignKey(Team, null=True, blank=True, on_delete=models.CASCADE)
    page = models.CharField(max_length=4)
    name = models.CharField(max_length=60)
    query = models.JSONField()  # dashboard/finding/filters.py: parameter → its values, both sorted
    created_at = models.DateTimeField(auto_now_add=True)

    owner_id: int
    team_id: UUID | None
    objects: ClassVar[models.Manager[SavedView]] = SavedViewQuerySet.as_manager()

    class Meta:
        ordering = ("name", "id")
        constraints = (
            models.UniqueConstraint(
                fields=("owner", "page", "name"),
                condition=Q(team=None),
                name="one_view_per_name_of_a_person",
            ),
            models.UniqueConstraint(
                fields=("team", "page", "name"),
                condition=Q(team__isnull=False),
                name="one_view_per_name_in_a_team",
            ),
            models.CheckConstraint(condition=Q(page__in=PAGES), name="a_view_is_of_a_list"),
        )

    def __str__(self) -> str:
        return self.name


class HomeView(models.Model):
    """The view with which a person begins; without one they begin with the first page."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE
    )
    view = models.ForeignKey(SavedView, on_delete=models.CASCADE)

    def __str__(self) -> str:
        return f"{self.user} begins with {self.view}"
