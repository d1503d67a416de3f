from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Self
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import Q

from jobs.models import Job, Team
from jobs.roles import Act
from runs.models.run import Run, new_id

MOST_PER_MINUTE = 6_000


class Going(StrEnum):
    """Whether a replay still sends dead runs again; one that is asked for waits for a second
    person."""

    ASKED = "asked"
    OPEN = "open"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    DONE = "done"


class Result(StrEnum):
    """What became of one dead run of a replay."""

    TO_COME = "to come"
    REPLAYED = "replayed"
    PASSED = "passed over"


NOT_OVER = (Going.ASKED, Going.OPEN, Going.PAUSED)


class ReplayQuerySet(models.QuerySet["Replay"]):
    def where(self, user_id: int | None, act: Act = Act.READ) -> Self:
        """The replays of the teams in which this person may do this."""
        teams = Team.objects.where(user_id, act)
        return self.filter(job__team__in=teams).select_related("job", "job__team", "by")


class Replay(models.Model):
    """Dead runs of one error group that are sent again, at most `per_minute`, the oldest moment
    first.

    Which ones was settled when it began: its items, those that were dead `as_of` then. `said` is
    what they died of. `trying`: nothing more goes before the first has succeeded. `next_at` is when
    the next may go. `reason` says why it stands still, or why it ended.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    job = models.ForeignKey(Job, on_delete=models.PROTECT, db_index=False)
    error_group = models.UUIDField()
    said = models.TextField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    # Who approved it, where two pairs of eyes were asked for.
    second = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="replays_seconded",
    )
    note = models.TextField(blank=True, default="")
    per_minute = models.PositiveSmallIntegerField()
    trying = models.BooleanField(default=False)
    as_of = models.DateTimeField()
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    next_at = models.DateTimeField()
    state = models.CharField(max_length=9, default=Going.OPEN)
    count = models.PositiveIntegerField()
    replayed = models.PositiveIntegerField(default=0)
    passed = models.PositiveIntegerField(default=0)
    reason = models.TextField(blank=True, default="")

    job_id: UUID
    objects: ClassVar[models.Manager[Replay]] = ReplayQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=("error_group",),
                condition=Q(state__in=NOT_OVER),
                name="one_replay_of_a_group_at_a_time",
            ),
            models.CheckConstraint(
                condition=Q(state__in=[state.value for state in Going]),
                name="replay_state_is_known",
            ),
            models.CheckConstraint(
                condition=Q(state__in=NOT_OVER, finished_at__isnull=True)
                | (~Q(state__in=NOT_OVER) & Q(finished_at__isnull=False)),
                name="replay_finished_iff_over",
            ),
            models.CheckConstraint(
                condition=Q(per_minute__gte=1, per_minute__lte=MOST_PER_MINUTE),
                name="replay_has_a_pace",
            ),
            models.CheckConstraint(
                condition=Q(second=None) | ~Q(second=models.F("by")),
                name="nobody_seconds_their_own_replay",
            ),
            models.CheckConstraint(
                condition=Q(count__gte=models.F("replayed") + models.F("passed")),
                name="replay_deals_with_each_once",
            ),
        )
        indexes = (
            models.Index(
                fields=("next_at",), condition=Q(state=Going.OPEN), name="replays_to_carry_on"
            ),
            models.Index(fields=("error_group", "id"), name="replays_of_a_group"),
            models.Index(fields=("job", "id"), name="replays_of_a_job"),
        )

    def __str__(self) -> str:
        return f"replay {self.id}"

    @property
    def is_over(self) -> bool:
        return self.state not in NOT_OVER

    @property
    def left(self) -> int:
        """How many dead runs it has not dealt with."""
        return self.count - self.replayed - self.passed


class ReplayItem(models.Model):
    """One dead run of a replay. `place`: from 1, in the order in which they go. `reason` says why
    it was passed over."""

    replay = models.ForeignKey(
        Replay, on_delete=models.CASCADE, db_index=False, related_name="items"
    )
    # Without a constraint: its check would lock ten thousand runs that people may be deciding on.
    run = models.ForeignKey(
        Run, on_delete=models.CASCADE, db_constraint=False, related_name="replays"
    )
    place = models.PositiveIntegerField()
    result = models.CharField(max_length=11, default=Result.TO_COME)
    reason = models.TextField(blank=True, default="")
    at = models.DateTimeField(null=True, blank=True)

    run_id: UUID

    class Meta:
        ordering = ("replay", "place")
        constraints = (
            models.UniqueConstraint(fields=("replay", "place"), name="one_item_per_place"),
            models.UniqueConstraint(fields=("replay", "run"), name="a_replay_has_a_run_once"),
            models.CheckConstraint(
                condition=Q(result=Result.TO_COME, at__isnull=True)
                | Q(result__in=(Result.REPLAYED, Result.PASSED), at__isnull=False),
                name="replay_item_dealt_with_iff_it_has_a_result",
            ),
        )
        indexes = (
            models.Index(
                fields=("replay", "place"),
                condition=Q(result=Result.TO_COME),
                name="items_to_replay",
            ),
        )

    def __str__(self) -> str:
        return f"{self.replay_id} {self.place}: {self.result}"
