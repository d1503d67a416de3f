from __future__ import annotations

from typing import ClassVar, Self
from uuid import UUID, uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q

from jobs.models import Team, User
from jobs.roles import Act

MAIL, WEBHOOK = "mail", "webhook"
WAYS = (MAIL, WEBHOOK)


class ChannelQuerySet(models.QuerySet["Channel"]):
    def where(self, user: User, act: Act = Act.READ) -> Self:
        """The channels of the teams in which this person may do this, and to the platform's
        staff those of the installation."""
        theirs = Q(team__in=Team.objects.where(user.id, act))
        ours = Q(team=None) if user.is_staff else Q()
        return self.filter(theirs | ours).select_related("team", "by")


class Channel(models.Model):
    """Where a team, or the platform's staff (`team` None), is told, and of which `kinds` of
    things (runs/channels/messages.py). At most `per_minute` sendings a minute; what is more is
    combined.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    team = models.ForeignKey(Team, null=True, blank=True, on_delete=models.CASCADE)
    name = models.CharField(max_length=120)
    way = models.CharField(max_length=7)
    address = models.TextField()  # a URL, or mail addresses one a line
    secret = models.TextField(blank=True, default="")  # sealed; of a webhook
    kinds = models.JSONField(default=list)
    per_minute = models.PositiveSmallIntegerField(default=6)
    created_at = models.DateTimeField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )

    team_id: UUID | None
    objects: ClassVar[models.Manager[Channel]] = ChannelQuerySet.as_manager()

    class Meta:
        ordering = ("team", "name")
        constraints = (
            models.UniqueConstraint(
                fields=("team", "name"), nulls_distinct=False, name="one_channel_per_name"
            ),
            models.CheckConstraint(condition=Q(way__in=WAYS), name="way_is_known"),
            models.CheckConstraint(
                condition=Q(way=MAIL, secret="") | (Q(way=WEBHOOK) & ~Q(secret="")),
                name="a_webhook_is_signed",
            ),
            models.CheckConstraint(
                condition=Q(per_minute__gte=1), name="a_channel_takes_one_a_minute"
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def scope(self) -> str:
        """Whose it is, in words."""
        return f"team {self.team.slug}" if self.team else "the platform's staff"

    @property
    def place(self) -> str:
        """Where it leads, for those who only read: a URL may hold a secret in its path."""
        scheme, _, rest = self.address.partition("://")
        return f"{scheme}://{rest.partition('/')[0]}/…" if rest else self.address

    @property
    def addresses(self) -> list[str]:
        """The mail addresses."""
        return self.address.split()
