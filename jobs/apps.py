from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


class JobsConfig(AppConfig):
    name = "jobs"

    def ready(self) -> None:
        """Import the installation's own tasks, so that every process knows their names; and put
        sign-ins on record."""
        for module in settings.TASK_MODULES:
            _load(module)
        import_module("jobs.sign_ins").watch()


def _load(module: str) -> None:
    try:
        import_module(module)
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise ImproperlyConfigured(
            f"ONEBEAT_TASK_MODULES: {module!r} cannot be imported ({said})."
            " Mend the module, or its name."
        ) from error
