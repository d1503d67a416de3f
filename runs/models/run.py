from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar, Self
from uuid import UUID

import uuid_utils.compat
from django.db import models
from django.db.models import F, Q
from django.db.models.lookups import GreaterThan

from jobs.definitions.values import DAY
from jobs.models import Hold, Job, Team
from jobs.roles import Act
from runs.states import FINAL, Origin, ReviewClass, State

_SENDABLE = (State.CLAIMED, State.ENQUEUED, State.RETRYING)
_ACTIVE = (*_SENDABLE, State.RUNNING)


def new_id() -> UUID:
    """A version 7 UUID: runs sort by their birth, so that lists page on the primary key."""
    return uuid_utils.compat.uuid7()


class RunQuerySet(models.QuerySet["Run"]):
    def where(self, user_id: int | None, act: Act = Act.READ) -> Self:
        """The runs of the teams in which this person may do this."""
        teams = Team.objects.where(user_id, act)
        return self.filter(job__team__any_of=teams.values("id")).select_related("job", "job__team")


class Run(models.Model):
    """One firing of a job. Its state changes only by runs/transitions.py.

    `attempt` counts starts and is the fencing token, never reset; `failures` counts attempts
    that failed or were lost, against `max_attempts`. `snapshot` is what it calls: an edit of
    the job changes nothing under it.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # No foreign key in the database: its check would lock, and so write, the wide Job row at
    # each fire. Jobs are never deleted from their table (`deleted_at`), so nothing can dangle.
    job = models.ForeignKey(Job, on_delete=models.DO_NOTHING, db_index=False, db_constraint=False)
    job_version = models.PositiveIntegerField()
    key = models.CharField(max_length=200)
    origin = models.CharField(max_length=8)
    backfill = models.ForeignKey(
        "runs.Backfill",
        on_delete=models.DO_NOTHING,
        null=True,
        blank=True,
        db_index=False,
        db_constraint=False,
    )
    due_at = models.DateTimeField(null=True, blank=True)
    # Minutes that its zone was ahead of UTC at the (last) moment, by the zone data in use when it
    # was claimed; of a job whose moments depend on none: null.
    utc_offset = models.SmallIntegerField(null=True, blank=True)
    skipped_until = models.DateTimeField(null=True, blank=True)
    skipped_count = models.PositiveIntegerField(null=True, blank=True)

    state = models.CharField(max_length=9)
    # Of a serial job, as the job was when the run became active: what the index below asks.
    serial = models.BooleanField(default=False)
    # The run in whose way this one was: it waits for that one, or was skipped for it.
    blocked_by = models.UUIDField(null=True, blank=True)
    # The hold whose end it waits for. Without a constraint, for the same reason as the job.
    hold = models.ForeignKey(
        Hold,
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        db_index=False,
        db_constraint=False,
    )
    # A person let it past the holds that were on at this instant.
    let_past_at = models.DateTimeField(null=True, blank=True)
    effect = models.CharField(max_length=5, default="none")
    review_class = models.CharField(max_length=8, blank=True, default="")
    reason = models.TextField(blank=True, default="")
    # The failures like which it died last, and when; both stay when it is replayed.
    error_group = models.UUIDField(null=True, blank=True)
    died_at = models.DateTimeField(null=True, blank=True)

    snapshot = models.JSONField()
    idempotent = models.BooleanField()
    max_attempts = models.PositiveSmallIntegerField()
    backoff = models.PositiveIntegerField()
    cap = models.PositiveIntegerField()
    retry_unsent = models.BooleanField()
    timeout = models.PositiveIntegerField()
    completion = models.CharField(max_length=8, default="answer", db_default="answer")
    deadline = models.PositiveIntegerField(default=DAY, db_default=DAY)
    refusal_codes = models.JSONField(null=True, blank=True)
    follow_redirects = models.PositiveSmallIntegerField(default=0, db_default=0)
    queue = models.CharField(max_length=60)

    attempt = models.PositiveIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0)
    # The start of a job that spreads its starts, whatever its moment; never before this.
    not_before = models.DateTimeField(null=True, blank=True)
    sends = models.PositiveIntegerField(default=0)
    send_at = models.DateTimeField(null=True, blank=True)
    lease_id = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    intent_at = models.DateTimeField(null=True, blank=True)
    # The target took it on and will report by itself: `lease_until` says until when.
    accepted_at = models.DateTimeField(null=True, blank=True)
    stop_asked_at = models.DateTimeField(null=True, blank=True)
    # When its team was told that it has not started in time (runs/channels/outbox.py).
    late_at = models.DateTimeField(null=True, blank=True)

    # The states that it has passed through: runs/passages.py.
    passed = models.JSONField(default=list, db_default=models.Value([], models.JSONField()))
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    # Since when it is in review, or when it came there last.
    review_at = models.DateTimeField(null=True, blank=True)

    job_id: UUID
    backfill_id: UUID | None
    hold_id: UUID | None
    takes_turns: bool  # its job's, where a query has read it with the run
    objects: ClassVar[models.Manager[Run]] = RunQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=("job", "due_at"),
                condition=Q(due_at__isnull=False) & ~Q(state=State.SKIPPED),
                name="one_run_per_due_moment",
            ),
            models.UniqueConstraint(
                fields=("job",),
                condition=Q(serial=True, state__in=_ACTIVE),
                name="one_active_run_of_a_serial_job",
            ),
            models.CheckConstraint(
                condition=Q(state__in=[state.value for state in State]), name="state_is_known"
            ),
            models.CheckConstraint(
                condition=Q(state__in=FINAL, finished_at__isnull=False)
                | (~Q(state__in=FINAL) & Q(finished_at__isnull=True)),
                name="run_finished_iff_final",
            ),
            models.CheckConstraint(
                condition=Q(state=State.RUNNING, lease_id__isnull=False, lease_until__isnull=False)
                | (~Q(state=State.RUNNING) & Q(lease_until__isnull=True)),
                name="run_leased_iff_running",
            ),
            models.CheckConstraint(
                condition=~Q(state=State.REVIEW)
                | (Q(review_class__in=[c.value for c in ReviewClass]) & ~Q(reason="")),
                name="review_only_with_a_reason",
            ),
            models.CheckConstraint(
                condition=~Q(state=State.REVIEW) | Q(review_at__isnull=False),
                name="review_since_an_instant",
            ),
            models.CheckConstraint(
                condition=~Q(state=State.WAITING) | ~Q(reason=""),
                name="waiting_only_with_a_reason",
            ),
            models.CheckConstraint(
                condition=Q(state=State.WAITING) | Q(hold=None), name="only_a_waiting_run_is_held"
            ),
            models.CheckConstraint(
                condition=Q(state__in=_SENDABLE, send_at__isnull=False)
                | (~Q(state__in=_SENDABLE) & Q(send_at__isnull=True)),
                name="run_to_send_iff_not_started",
            ),
            models.CheckConstraint(
                condition=~Q(state=State.DEAD) | Q(idempotent=True),
                name="only_an_idempotent_run_is_dead",
            ),
            models.CheckConstraint(
                condition=~Q(state=State.DEAD)
                | Q(error_group__isnull=False, died_at__isnull=False),
                name="dead_run_belongs_to_a_group",
            ),
            models.CheckConstraint(
                condition=Q(state=State.SKIPPED, skipped_count__isnull=False)
                | (~Q(state=State.SKIPPED) & Q(skipped_count__isnull=True)),
                name="skipped_run_counts_its_moments",
            ),
            models.CheckConstraint(
                condition=Q(origin=Origin.HAND) | Q(due_at__isnull=False),
                name="only_a_run_by_hand_has_no_moment",
            ),
            models.CheckConstraint(
                condition=Q(origin=Origin.BACKFILL, backfill__isnull=False)
                | (~Q(origin=Origin.BACKFILL) & Q(backfill__isnull=True)),
                name="backfilled_iff_of_a_backfill",
            ),
        )
        indexes = (
            models.Index(
                fields=("send_at",), condition=Q(state__in=_SENDABLE), name="runs_to_send"
            ),
            models.Index(
                fields=("lease_until",), condition=Q(state=State.RUNNING), name="silent_runs"
            ),
            # With what lists ask of all of them, so that it is read off the index: whose they are,
            # since when they wait, how they are sorted and put in groups.
            models.Index(
                fields=("id",),
                include=("job", "review_at", "review_class"),
                condition=Q(state=State.REVIEW),
                name="runs_in_review",
            ),
            models.Index(
                fields=("id",),
                include=("job", "error_group", "died_at", "due_at", "created_at"),
                condition=Q(state=State.DEAD),
                name="dead_letters",
            ),
            models.Index(
                fields=("error_group", "state", "id"),
                condition=Q(error_group__isnull=False),
                name="runs_of_an_error_group",
            ),
            models.Index(fields=("job", "id"), name="runs_of_a_job"),
            models.Index(fields=("job",), condition=Q(state=State.WAITING), name="waiting_runs"),
            models.Index(
                fields=("backfill", "state"),
                condition=Q(backfill__isnull=False),
                name="runs_of_a_backfill",
            ),
            models.Index(
                fields=("hold", "job"),
                condition=Q(state=State.WAITING, hold__isnull=False),
                name="held_runs",
            ),
            # Lists of what is not fine are read along these; what succeeds pays for none of them.
            models.Index(
                fields=("state", "id"),
                condition=Q(state__in=(State.SKIPPED, State.CANCELLED, State.CLOSED)),
                name="runs_put_aside",
            ),
            models.Index(
                fields=("origin", "id"),
                condition=Q(origin__in=(Origin.HAND, Origin.BACKFILL)),
                name="runs_asked_for",
            ),
            models.Index(
                fields=("id",),
                condition=Q(GreaterThan(F("created_at") - F("due_at"), timedelta(minutes=1))),
                name="runs_a_minute_late",
            ),
            # With the constraint on serial runs: whatever may be in another run's way.
            models.Index(
                fields=("job",),
                condition=Q(state=State.REVIEW) | Q(serial=False, state__in=_ACTIVE),
                name="runs_in_the_way",
            ),
        )

    def __str__(self) -> str:
        return self.key

    @property
    def report_until(self) -> datetime | None:
        """Until when its target's report is waited for; None where none is."""
        waits = self.state == State.RUNNING and self.accepted_at is not None
        return self.lease_until if waits else None

    @property
    def is_final(self) -> bool:
        return self.state in FINAL
