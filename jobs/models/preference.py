from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q


class Theme(models.TextChoices):
    """Light or dark; `system`: as this reader's machine says."""

    SYSTEM = "system", "As this device"
    LIGHT = "light", "Light"
    DARK = "dark", "Dark"


class Density(models.TextChoices):
    """How much room a row has."""

    COMPACT = "compact", "Compact"
    NORMAL = "normal", "Normal"
    ROOMY = "roomy", "Roomy"


class Preference(models.Model):
    """How one person wants the pages. `timezone`: in which they read times, empty for that of
    the browser; `keys`: whether single keys are shortcuts."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True
    )
    timezone = models.CharField(max_length=64, blank=True, default="")
    theme = models.CharField(max_length=6, choices=Theme.choices, default=Theme.SYSTEM)
    density = models.CharField(max_length=7, choices=Density.choices, default=Density.NORMAL)
    keys = models.BooleanField("Shortcuts of a single key", default=True)

    class Meta:
        constraints = [
            models.CheckConstraint(name="a_theme", condition=Q(theme__in=Theme.values)),
            models.CheckConstraint(name="a_density", condition=Q(density__in=Density.values)),
        ]

    def __str__(self) -> str:
        return f"preferences of {self.user}"
