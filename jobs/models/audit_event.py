from __future__ import annotations

from typing import ClassVar, Self
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.db.models.functions import Upper

from jobs.models.team import Team
from jobs.models.user import User
from jobs.roles import Act
from jobs.whence import DOORS

NAME_LENGTH = 200


class AuditEventQuerySet(models.QuerySet["AuditEvent"]):
    def where(self, user: User) -> Self:
        """What this person may read: their teams', what is everybody's, their own, and to the
        platform's staff what is of no team."""
        seen = Q(team__in=Team.objects.where(user.id, Act.READ)) | Q(shared=True)
        seen |= Q(team=None) if user.is_staff else Q(team=None, by=user)
        return self.filter(seen)


class AuditEvent(models.Model):
    """Who did what to what: written in the transaction of the act. Append-only: a trigger
    refuses every change and deletion.

    It says of itself who it was (`who`) and what it was about (`kind`, `object_id`, `name`): both
    may be gone since, so that nothing here holds on to a row. `lines` are what changed: part,
    from, to, secrets masked. `shared`: of no team, and everybody's to read.
    """

    at = models.DateTimeField()
    team = models.ForeignKey(
        Team, models.DO_NOTHING, null=True, db_constraint=False, db_index=False
    )
    shared = models.BooleanField(default=False)
    by = models.ForeignKey(User, models.DO_NOTHING, null=True, db_constraint=False, db_index=False)
    who = models.CharField(max_length=150, blank=True)  # empty: Onebeat itself
    verb = models.CharField(max_length=40)
    kind = models.CharField(max_length=40)
    object_id = models.CharField(max_length=80)
    name = models.CharField(max_length=NAME_LENGTH)
    job_id = models.UUIDField(null=True)
    run_id = models.UUIDField(null=True)
    lines = models.JSONField(default=list)
    reason = models.TextField(blank=True)
    door = models.CharField(max_length=7)
    address = models.GenericIPAddressField(null=True)
    token = models.CharField(max_length=16, blank=True)
    request_id = models.CharField(max_length=64, blank=True)

    team_id: UUID | None
    by_id: int | None
    objects: ClassVar[models.Manager[AuditEvent]] = AuditEventQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("team", "id"), name="events_of_a_team"),
            models.Index(fields=("team", "verb", "id"), name="events_of_a_verb"),
            models.Index("team", Upper("who"), "id", name="events_of_a_person"),
            models.Index(fields=("team", "at"), name="events_of_a_time"),
            models.Index(
                fields=("job_id", "id"), condition=Q(job_id__isnull=False), name="events_of_a_job"
            ),
            models.Index(
                fields=("run_id", "id"), condition=Q(run_id__isnull=False), name="events_of_a_run"
            ),
            models.Index(
                fields=("request_id",), condition=~Q(request_id=""), name="events_of_a_request"
            ),
        )
        constraints = (
            models.CheckConstraint(condition=Q(door__in=DOORS), name="door_is_known"),
            models.CheckConstraint(
                condition=Q(shared=False) | Q(team=None), name="what_is_shared_is_of_no_team"
            ),
        )

    def __str__(self) -> str:
        return f"{self.who or 'Onebeat'}: {self.verb} {self.name}"
