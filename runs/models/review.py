from __future__ import annotations

from uuid import UUID, uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from runs.models.run import Run

_PERSON = settings.AUTH_USER_MODEL
PENDING, APPROVED, REFUSED, WITHDRAWN, OVERTAKEN = STATES = (
    *("pending", "approved", "refused", "withdrawn", "overtaken"),
)
ANSWERS = ("happened", "did_not", "cannot_tell")


class ReviewClaim(models.Model):
    """Somebody looks at a run in review, until then; one that ran out may be taken over."""

    run = models.OneToOneField(Run, primary_key=True, on_delete=models.CASCADE)
    by = models.ForeignKey(_PERSON, on_delete=models.CASCADE)
    at = models.DateTimeField()
    until = models.DateTimeField()

    class Meta:
        constraints = (
            models.CheckConstraint(condition=Q(until__gt=F("at")), name="a_claim_has_an_end"),
        )

    def __str__(self) -> str:
        return f"{self.by} looks at {self.run_id}"


class ProbeAnswer(models.Model):
    """What a job's probe said about the key of a run, and when: append-only. `by` is who had it
    asked."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="probe_answers")
    key = models.CharField(max_length=200)
    at = models.DateTimeField()
    answer = models.CharField(max_length=11)
    detail = models.TextField(blank=True, default="")
    by = models.ForeignKey(_PERSON, null=True, on_delete=models.SET_NULL)

    class Meta:
        ordering = ("run", "id")
        constraints = (
            models.CheckConstraint(condition=Q(answer__in=ANSWERS), name="answer_is_known"),
        )

    def __str__(self) -> str:
        return f"{self.answer} of {self.key}"


class Approval(models.Model):
    """What one person asked for and a second one is to approve: `act`, with its arguments in
    `asked`, about a run.

    Pending until somebody answers, a decision overtakes it, or `expires_at` has passed.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    team = models.ForeignKey("jobs.Team", on_delete=models.CASCADE)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="approvals")
    act = models.CharField(max_length=20)
    asked = models.JSONField(default=dict)
    note = models.TextField()
    by = models.ForeignKey(_PERSON, on_delete=models.CASCADE, related_name="approvals_asked")
    at = models.DateTimeField()
    expires_at = models.DateTimeField()
    state = models.CharField(max_length=9, default=PENDING)
    answered_by = models.ForeignKey(
        _PERSON, null=True, blank=True, on_delete=models.SET_NULL, related_name="approvals_answered"
    )
    answered_at = models.DateTimeField(null=True, blank=True)
    answer_note = models.TextField(blank=True, default="")

    team_id: UUID
    run_id: UUID
    by_id: int

    class Meta:
        ordering = ("-at",)
        constraints = (
            models.UniqueConstraint(
                fields=("run",), condition=Q(state=PENDING), name="one_pending_approval_per_run"
            ),
            models.CheckConstraint(condition=Q(state__in=STATES), name="approval_state_is_known"),
            models.CheckConstraint(
                condition=Q(state=PENDING, answered_at=None)
                | (~Q(state=PENDING) & Q(answered_at__isnull=False)),
                name="approval_answered_iff_not_pending",
            ),
            models.CheckConstraint(
                condition=~Q(state=APPROVED) | Q(answered_by=None) | ~Q(answered_by=F("by")),
                name="nobody_approves_their_own",
            ),
        )
        indexes = (
            models.Index(
                fields=("team", "at"), condition=Q(state=PENDING), name="pending_approvals"
            ),
        )

    def __str__(self) -> str:
        return f"{self.act}, asked by {self.by}"
