from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig
from django.conf import settings


class JobsConfig(AppConfig):
    name = "jobs"

    def ready(self) -> None:
        """Import the installation's own tasks, so that every process knows their names."""
        for module in settings.TASK_MODULES:
            import_module(module)
