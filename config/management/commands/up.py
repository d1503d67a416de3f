"""`manage.py up`: the whole product on this machine."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from config import preflight, supervise
from config.installation import UpFailed


class Command(BaseCommand):
    """Exits 0 after a signal, 2 with one line on standard error when it cannot start."""

    help = "Start web, beats, a worker and an example target, on PostgreSQL that comes along."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", default="8000")
        parser.add_argument("--data", default=".onebeat")

    def handle(self, *, host: str, port: str, data: str, **_: Any) -> None:
        try:
            supervise.up(preflight.options(host, port, data))
        except UpFailed as error:
            print(error, file=sys.stderr)
            sys.exit(2)
