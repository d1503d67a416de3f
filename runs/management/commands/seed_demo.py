"""Create the demo, as `manage.py up` does at each start. Secrets come by the environment."""

from __future__ import annotations

import os
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs import whence
from jobs.definitions.definitions import DefinitionError
from jobs.whence import Whence
from runs import demo
from runs.demo import Demo

_REFUSED = 2


class Command(BaseCommand):
    help = (
        "Create the demo's person, team and jobs where they are missing. Password and token are "
        "read from ONEBEAT_DEMO_PASSWORD and ONEBEAT_DEMO_TOKEN."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--username", required=True)
        parser.add_argument("--target-url", required=True, help="as http://127.0.0.1:9000/")

    def handle(self, *args: Any, username: str, target_url: str, **options: Any) -> None:
        password, token = _secret("ONEBEAT_DEMO_PASSWORD"), _secret("ONEBEAT_DEMO_TOKEN")
        try:
            with whence.bound(Whence(whence.COMMAND)):
                demo.seed(Demo(username, password, token, target_url))
        except DefinitionError as error:
            raise CommandError(str(error), returncode=_REFUSED) from None


def _secret(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise CommandError(f"{name}: is not set. Give it by the environment.", returncode=_REFUSED)
    return value
