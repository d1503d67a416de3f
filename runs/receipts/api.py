"""The API's doors to receipts."""

from __future__ import annotations

from uuid import UUID

from django.shortcuts import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import asked, clock
from jobs.api_door import Door
from jobs.api_shapes import instant
from runs.decide_door import runs_of
from runs.receipts import keys as receipt_keys
from runs.receipts import receipt


class ReceiptDoor(Door):
    """`runs/{id}/receipt/`: everything on record of a run, signed."""

    def get(self, request: Request, run_id: UUID) -> Response:
        """`receipt`, and the `signature` over its canonical JSON."""
        asked.parameters(request, ())
        run = get_object_or_404(runs_of(request), id=run_id)
        return Response(receipt_keys.signed(receipt.of_run(run, now=clock.now())))


class ReceiptKeysDoor(Door):
    """`receipts/key/`: what verifies a receipt; the same for everybody with a token."""

    def get(self, request: Request) -> Response:
        """The raw public keys in base64, the one that signs now first."""
        asked.parameters(request, ())
        keys = receipt_keys.public_keys()
        shown = [{"key": key.public, "since": instant(key.created_at)} for key in keys]
        return Response({"algorithm": receipt_keys.ALGORITHM, "keys": shown})
