from __future__ import annotations

from django.db import models


class Installation(models.Model):
    """The one row by which a beat tells whether the database is still the one that it was.

    `identity` and `timeline` are the server's own words; `pulse` counts heartbeats of all beats
    and never goes back, unless the whole database does.
    """

    id = models.SmallIntegerField(primary_key=True, default=1)
    identity = models.CharField(max_length=60)
    timeline = models.BigIntegerField()
    pulse = models.BigIntegerField()
    seen_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.CheckConstraint(condition=models.Q(id=1), name="there_is_one_installation"),
        )

    def __str__(self) -> str:
        return self.identity
