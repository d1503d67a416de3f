from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate


class RunsConfig(AppConfig):
    name = "runs"

    def ready(self) -> None:
        """Import the product's own tasks, so that every process knows their names, and its
        checks; the housekeeping is declared with each migration."""
        for module in ("runs.checks", "runs.demo", "runs.watchdog"):
            import_module(module)
        if settings.DEBUG:  # runs/checks.py refuses to start any other that is armed
            import_module("runs.faults").arm(settings.FAULTS)
        housekeeping = import_module("runs.housekeeping")
        post_migrate.connect(housekeeping.declare, sender=self)
