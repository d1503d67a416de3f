from __future__ import annotations

from django.db import models


class Beat(models.Model):
    """One replica of the scheduler; live while `seen_at` is fresh by the database's clock."""

    name = models.CharField(max_length=120, primary_key=True)
    host = models.CharField(max_length=120)
    pid = models.IntegerField()
    tzdata = models.CharField(max_length=20)
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField()

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
