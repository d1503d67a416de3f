from __future__ import annotations

from typing import Any, ClassVar, Self
from uuid import UUID, uuid4

from django.conf import settings
from django.db import models

from jobs.roles import Act, Role, roles_that_may

PLATFORM = "platform"  # the team of the PeriodicTask mirrors and of the housekeeping


@models.ForeignKey.register_lookup
@models.UUIDField.register_lookup
class AnyOf(models.Lookup):
    """`team__any_of=teams.values("id")`: as `in`, with the rows looked up once, before all else.

    A subquery may be joined instead, and how many things of how many teams come out of it is
    guessed from statistics that nobody gathers for as small a table as that of the members: a
    list of fifty runs then reads every job.
    """

    lookup_name = "any_of"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """In the words of PostgreSQL."""
        left, of_left = self.process_lhs(compiler, connection)
        right, of_right = self.process_rhs(compiler, connection)
        return f"{left} = any(array{right})", (*of_left, *of_right)


class TeamQuerySet(models.QuerySet["Team"]):
    def where(self, user_id: int | None, act: Act) -> Self:
        """The teams in which this person may do this, as of now: every query of a team's
        things starts here (SECURITY: membership is read on each request)."""
        return self.filter(
            membership__user_id=user_id,
            membership__user__is_active=True,
            membership__role__in=roles_that_may(act),
        )


class Team(models.Model):
    """Who owns jobs. A job belongs to its team, not to the person who registered it."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    # Some acts of one person wait for a second one (runs/review/approvals.py).
    two_pairs_of_eyes = models.BooleanField(
        default=False,
        help_text="A run again under a new key, and the replay of many, wait for a second person.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[models.Manager[Team]] = TeamQuerySet.as_manager()

    class Meta:
        ordering = ("slug",)

    def __str__(self) -> str:
        return self.slug


class Membership(models.Model):
    """One person's role in one team."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    role = models.CharField(max_length=10, choices=[(role.value, role.value) for role in Role])
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("team", "user"), name="one_role_per_member"),
            models.CheckConstraint(
                condition=models.Q(role__in=[role.value for role in Role]), name="role_is_known"
            ),
        )

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.team}"


class Token(models.Model):
    """An API token: acts for one person in one team, never beyond that person's role.

    Only the SHA-256 of its 256 random bits is stored, so that a dump holds nothing usable.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    name = models.CharField(max_length=120)
    prefix = models.CharField(max_length=16)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    team_id: UUID

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.name})"
