from __future__ import annotations

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """The installation: its checks and its `up` command."""

    name = "config"
