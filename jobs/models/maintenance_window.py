from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Self
from uuid import UUID, uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from jobs.models.hold import REASON_LENGTH, Hold
from jobs.models.team import Team
from jobs.roles import Act

PLANNED = Q(hold=None, cancelled_at=None, passed_at=None)
STATES = {
    "planned": PLANNED,
    "began": Q(hold__isnull=False),
    "cancelled": Q(cancelled_at__isnull=False),
    "passed": Q(passed_at__isnull=False),
}


class MaintenanceWindowQuerySet(models.QuerySet["MaintenanceWindow"]):
    def where(self, user_id: int | None) -> Self:
        """The windows of the teams that this person belongs to, and those of the installation."""
        teams = Team.objects.where(user_id, Act.READ)
        found = self.filter(Q(team=None) | Q(team__in=teams))
        return found.select_related("team", "by", "cancelled_by", "hold")

    def planned(self) -> Self:
        """Those that are still to begin."""
        return self.filter(PLANNED)

    def ahead(self) -> Self:
        """Those that are still to begin, and those whose hold is on."""
        on = Q(hold__isnull=False, hold__ended_at=None)
        return self.filter(PLANNED | on).select_related("team", "hold").order_by("begins_at", "id")


class MaintenanceWindow(models.Model):
    """A hold that is planned: of a team, or of the whole installation (`team` None), from
    `begins_at` until `ends_at`.

    It ends in one of three ways: a beat begins its hold, or lets it join the one that is on
    (`hold`); a person cancels it; or no beat was at work before it was over (`passed_at`).
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    team = models.ForeignKey(Team, null=True, blank=True, on_delete=models.PROTECT)
    reason = models.CharField(max_length=REASON_LENGTH)
    begins_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="windows_planned",
    )
    created_at = models.DateTimeField()
    cancelled_at = models.DateTimeField(null=True, blank=True)
    cancelled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="windows_cancelled",
    )
    passed_at = models.DateTimeField(null=True, blank=True)
    hold = models.ForeignKey(
        Hold, null=True, blank=True, on_delete=models.PROTECT, related_name="windows"
    )

    team_id: UUID | None
    hold_id: UUID | None
    objects: ClassVar[models.Manager[MaintenanceWindow]] = MaintenanceWindowQuerySet.as_manager()

    class Meta:
        ordering = ("begins_at", "id")
        indexes = (
            # The beats ask each second.
            models.Index(fields=("begins_at",), condition=PLANNED, name="windows_to_begin"),
        )
        constraints = (
            models.UniqueConstraint(
                fields=("team", "begins_at", "ends_at"),
                condition=PLANNED,
                nulls_distinct=False,
                name="one_planned_window_of_a_kind",
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="a_window_has_a_reason"),
            models.CheckConstraint(
                condition=Q(ends_at__gt=F("begins_at")), name="a_window_ends_after_it_begins"
            ),
            models.CheckConstraint(
                condition=Q(hold=None, cancelled_at=None)
                | Q(hold=None, passed_at=None)
                | Q(cancelled_at=None, passed_at=None),
                name="a_window_comes_to_one_end",
            ),
        )

    def __str__(self) -> str:
        return f"{self.scope}: {self.reason}"

    @property
    def scope(self) -> str:
        """What it is to hold, in words."""
        return f"team {self.team.slug}" if self.team else "the whole installation"

    @property
    def state(self) -> str:
        """One of STATES."""
        if self.hold_id is not None:
            return "began"
        if self.cancelled_at is not None:
            return "cancelled"
        return "passed" if self.passed_at is not None else "planned"

    @property
    def until(self) -> datetime | None:
        """Until when its moments wait, as far as anybody knows: once begun it is its hold's."""
        return self.hold.until if self.hold else self.ends_at
