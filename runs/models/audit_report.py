from __future__ import annotations

from django.db import models

from jobs.models import Team


class AuditReport(models.Model):
    """What one audit found of one team's jobs in a window: counts, and its gaps as JSON."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE)
    made_at = models.DateTimeField()
    since = models.DateTimeField()
    until = models.DateTimeField()
    jobs = models.PositiveIntegerField()
    due = models.PositiveBigIntegerField()
    runs = models.PositiveBigIntegerField()
    skipped = models.PositiveBigIntegerField()
    pruned = models.PositiveBigIntegerField()
    gaps = models.JSONField(default=list)

    class Meta:
        ordering = ("-id",)
        indexes = (models.Index(fields=("team", "-id"), name="audits_of_a_team"),)

    def __str__(self) -> str:
        return f"audit of {self.team} until {self.until}"
