"""The signed receipt of a run; or whether one that somebody has is genuine (exit 1: it is not)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs import clock
from runs.models import Run
from runs.receipts import keys as receipt_keys
from runs.receipts import receipt

_REFUSED = 2


class Command(BaseCommand):
    help = "Print the signed receipt of a run, or verify one: exit 1 where it is not genuine."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run_id", nargs="?", type=UUID, metavar="RUN_ID")
        parser.add_argument(
            "--verify", type=Path, metavar="FILE", help="a receipt (of this run, if one is named)"
        )

    def handle(self, *args: Any, run_id: UUID | None, verify: Path | None, **options: Any) -> None:
        if verify is not None:
            return self._verify(verify, run_id)
        if run_id is None:
            raise CommandError("Name a run, or a file with --verify.", returncode=_REFUSED)
        run = Run.objects.select_related("job", "job__team").filter(id=run_id).first()
        if run is None:
            raise CommandError(f"There is no run {run_id}; it may be too old to be kept.")
        document = receipt_keys.signed(receipt.of_run(run, now=clock.now()))
        self.stdout.write(json.dumps(document, ensure_ascii=False, indent=2))

    def _verify(self, file: Path, run_id: UUID | None) -> None:
        try:
            document = json.loads(file.read_bytes())
        except (OSError, ValueError) as error:
            raise CommandError(f"{file} cannot be read: {error}", returncode=_REFUSED) from None
        if not receipt_keys.is_genuine(document):
            raise CommandError(f"{file} is no receipt that this installation has signed.")
        named = document["receipt"].get("run")
        if run_id is not None and named != str(run_id):
            raise CommandError(f"{file} is genuine, and of another run: {named}.")
        self.stdout.write(f"Genuine: the receipt of run {named}.")
