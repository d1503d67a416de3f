from __future__ import annotations

from django.conf import settings
from django.db import models

from runs.models.run import Run


class Decision(models.Model):
    """What a person did with a run that rested: append-only, written with the transition."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="decisions")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    at = models.DateTimeField()
    decision = models.CharField(max_length=12)
    note = models.TextField()
    from_state = models.CharField(max_length=9)
    to_state = models.CharField(max_length=9)
    attempt = models.PositiveIntegerField()  # the token that was decided on
    # The new key, where one was chosen in place of the run's own.
    key = models.CharField(max_length=200, blank=True, default="")
    # Who approved it, where two pairs of eyes were asked for.
    second = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="seconded"
    )

    class Meta:
        ordering = ("run", "at")
        # Not unique by (run, attempt, from_state): a run again that is taken back before it starts
        # is in review once more. That one decision wins is the work of the guarded UPDATE.

    def __str__(self) -> str:
        return f"{self.decision} on {self.run}"
