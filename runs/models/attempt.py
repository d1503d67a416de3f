from __future__ import annotations

from uuid import UUID

from django.db import models

from runs.models.run import Run


class Attempt(models.Model):
    """One try of a run: evidence, written at its start and once more at its end.

    `sent` and `answer` are capped and masked. `late` is what a worker reported after its run
    had been taken from it: evidence, never a state.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, db_index=False, related_name="attempts")
    number = models.PositiveIntegerField()
    lease_id = models.UUIDField()
    worker = models.CharField(max_length=200)
    started_at = models.DateTimeField()
    intent_at = models.DateTimeField(null=True, blank=True)
    # SHA-256, in hexadecimal, of the secret by which the target may report on this attempt.
    callback_digest = models.CharField(max_length=64, blank=True, default="", db_default="")
    reported_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    # Until when its worker had the run, by the last heartbeat before its end was written.
    lease_until = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=10, blank=True, default="")
    effect = models.CharField(max_length=5, blank=True, default="")
    reason = models.TextField(blank=True, default="")
    sent = models.JSONField(default=dict)
    answer = models.JSONField(default=dict)
    late = models.JSONField(null=True, blank=True)

    run_id: UUID

    class Meta:
        ordering = ("run", "number")
        constraints = (
            models.UniqueConstraint(fields=("run", "number"), name="one_attempt_per_token"),
            models.CheckConstraint(
                condition=models.Q(ended_at=None, outcome="")
                | (models.Q(ended_at__isnull=False) & ~models.Q(outcome="")),
                name="attempt_ended_iff_it_has_an_outcome",
            ),
        )

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.run_id}"
