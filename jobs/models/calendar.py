from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.validators import validate_slug
from django.db import models
from django.urls import reverse


class Calendar(models.Model):
    """Working days that any job of the organisation may go by. The name is its key for good:
    versions of jobs refer to it, so one that was deleted goes on under a new version."""

    name = models.CharField(primary_key=True, max_length=60, validators=[validate_slug])
    description = models.TextField(blank=True, default="")
    version = models.PositiveIntegerField()
    created_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """Its page, where whoever may change it does."""
        return reverse("calendar", args=[self.name])


class CalendarVersion(models.Model):
    """What a calendar said from `began_at` until the next version. Append-only.

    `content` holds what people gave (weekdays, typed days, country, iCal) and `days`, all days
    off as they were worked out when this version was written: new holiday data never change it.
    """

    calendar = models.ForeignKey(Calendar, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    began_at = models.DateTimeField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    content = models.JSONField()
    days: models.JSONField[dict[str, str], dict[str, str]] = models.JSONField()
    known_until = models.DateField(null=True, blank=True)

    calendar_id: str
    by_id: int | None

    class Meta:
        ordering = ("calendar", "number")
        constraints = (
            models.UniqueConstraint(
                fields=("calendar", "number"), name="one_calendar_version_per_number"
            ),
        )

    def __str__(self) -> str:
        return f"{self.calendar_id} version {self.number}"

    @property
    def weekdays(self) -> list[str]:
        """The working weekdays, as `mon`."""
        found: Any = self.content["weekdays"]
        return list(found)
