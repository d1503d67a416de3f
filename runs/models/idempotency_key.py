from __future__ import annotations

from django.db import models

from runs.models.run import Run


class IdempotencyKey(models.Model):
    """What became of one intended effect. Step `""` is the run's own row; a handler's steps
    are rows of their own. A higher attempt takes over from a lower one."""

    key = models.CharField(max_length=200)
    step = models.CharField(max_length=120, blank=True, default="")
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.SET_NULL)
    fingerprint = models.CharField(max_length=64)
    holder = models.PositiveIntegerField()
    state = models.CharField(max_length=4)
    answer = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("key", "step"), name="one_row_per_key_and_step"),
            models.CheckConstraint(
                condition=models.Q(state__in=("held", "done")), name="key_is_held_or_done"
            ),
        )
        indexes = (models.Index(fields=("expires_at",), name="keys_to_expire"),)

    def __str__(self) -> str:
        return f"{self.key} {self.step}".strip()
