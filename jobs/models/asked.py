from __future__ import annotations

from uuid import UUID

from django.db import models

from jobs.models.team import Team


class Asked(models.Model):
    """A request that was made with an `Idempotency-Key`, and the answer it got: the same request
    made again gets that answer and does nothing. Written in the transaction of what it did."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE)
    key = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=64)  # of address and content
    status = models.PositiveSmallIntegerField(null=True)  # null only until its transaction ends
    answer = models.TextField(blank=True, default="")  # sealed: it may hold a secret shown once
    at = models.DateTimeField()

    team_id: UUID

    class Meta:
        verbose_name, verbose_name_plural = "answered request", "answered requests"
        constraints = (
            models.UniqueConstraint(fields=("team", "key"), name="one_request_per_key_of_a_team"),
        )
        indexes = (models.Index(fields=("at",), name="requests_to_forget"),)

    def __str__(self) -> str:
        return f"{self.team_id} {self.key}"
