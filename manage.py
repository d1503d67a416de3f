"""Django's command line: mistakes in the environment, and a database away, are one line."""

from __future__ import annotations

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db.utils import OperationalError
from environs import EnvError

from config import databases


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        execute_from_command_line(sys.argv)
    except (ImproperlyConfigured, EnvError) as error:
        sys.exit(_refuse(str(error)))
    except OperationalError as error:
        reason = databases.away(error, named=bool(os.environ.get("DATABASE_URL")))
        if reason is None:
            raise
        sys.exit(_refuse(reason))


def _refuse(reason: str) -> int:
    print(reason, file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
