from __future__ import annotations

from typing import ClassVar, Self
from uuid import UUID, uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q

from jobs.models.team import Team
from jobs.roles import Act
from jobs.schedules.instants import canonical_instant

BY_POLICY, FIRE, DROP = "policy", "fire", "drop"
CHOICES = (BY_POLICY, FIRE, DROP)
REASON_LENGTH = 500


class HoldQuerySet(models.QuerySet["Hold"]):
    def where(self, user_id: int | None) -> Self:
        """The holds of the teams that this person belongs to, and those of the installation."""
        teams = Team.objects.where(user_id, Act.READ)
        return self.filter(Q(team=None) | Q(team__in=teams)).select_related("team", "by")


class Hold(models.Model):
    """Nothing of a team, or of the whole installation (`team` None), starts while it is on. Its
    jobs are untouched beneath it: their moments are claimed, and wait.

    On from `began_at` until `ended_at` is written, by a person or, once `until` has come, by a
    beat. `choices` (job id → fire, drop, or by its policy) and `others` say what becomes of what
    has waited.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    team = models.ForeignKey(Team, null=True, blank=True, on_delete=models.PROTECT)
    reason = models.CharField(max_length=REASON_LENGTH)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="holds_begun",
    )
    began_at = models.DateTimeField()
    until = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="holds_ended",
    )
    choices = models.JSONField(default=dict, blank=True)
    others = models.CharField(max_length=6, default=BY_POLICY)

    team_id: UUID | None
    objects: ClassVar[models.Manager[Hold]] = HoldQuerySet.as_manager()

    class Meta:
        ordering = ("-began_at",)
        constraints = (
            models.UniqueConstraint(
                fields=("team",),
                condition=Q(ended_at=None),
                nulls_distinct=False,
                name="one_open_hold_per_scope",
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="a_hold_has_a_reason"),
            models.CheckConstraint(condition=Q(others__in=CHOICES), name="choice_is_known"),
            models.CheckConstraint(
                condition=Q(ended_at=None) | Q(ended_at__gte=models.F("began_at")),
                name="a_hold_ends_after_it_began",
            ),
        )

    def __str__(self) -> str:
        return f"{self.scope}: {self.reason}"

    @property
    def scope(self) -> str:
        """What it holds, in words."""
        return f"team {self.team.slug}" if self.team else "the whole installation"

    @property
    def words(self) -> str:
        """Why a run waits for it."""
        since = canonical_instant(self.began_at.replace(microsecond=0))
        return f"Held: {self.reason} ({self.scope}, since {since})"

    def choice_for(self, job_id: UUID) -> str | None:
        """What a person chose for a job's moments when they ended it; None where nobody did."""
        chosen: str = self.choices.get(str(job_id), self.others)
        return chosen if str(job_id) in self.choices or chosen != BY_POLICY else None
