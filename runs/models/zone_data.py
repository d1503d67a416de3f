from __future__ import annotations

from django.db import models


class ZoneData(models.Model):
    """A version of the zone data that some beat has worked with; outlives the beats.

    `recomputed_at`: when every next moment had been worked out by it for the first time.
    """

    version = models.CharField(max_length=12, primary_key=True)
    seen_at = models.DateTimeField()
    recomputed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-version",)
        verbose_name_plural = "zone data"

    def __str__(self) -> str:
        return self.version
