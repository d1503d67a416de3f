"""A POST made twice with one `Idempotency-Key` does its work once and answers twice alike.

A client that heard nothing back may simply ask again. The key belongs to the token's team and
holds for a day. What is refused is not kept: mended, it may come with the same key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now
from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, sealing
from jobs.definitions.definitions import Problem
from jobs.json_values import json_text
from jobs.models import Asked
from jobs.problems import BadRequest, Unprocessable

HEADER = "Idempotency-Key"
KEPT = timedelta(days=1)
_LONGEST = 200

_Post = TypeVar("_Post", bound=Callable[..., Response])

# A second request with the key waits here until the first one's transaction has ended.
_BEGIN = """
insert into jobs_asked (team_id, key, fingerprint, answer, at)
values (%(team)s, %(key)s, %(fingerprint)s, '', now())
on conflict (team_id, key) do update
   set fingerprint = excluded.fingerprint, status = null, answer = '', at = excluded.at
 where jobs_asked.at < now() - %(kept)s * interval '1 second'
returning id
"""


def once(post: _Post) -> _Post:
    """For the `post` of a door: with the header, one effect and one answer for each key."""

    @wraps(post)
    def posted(door: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
        key = request.headers.get(HEADER)
        if key is None:
            return post(door, request, *args, **kwargs)
        _check(key)
        with transaction.atomic():
            asked = _Asked(request, key)
            if not asked.begins():
                return asked.answered()
            answer = post(door, request, *args, **kwargs)
            asked.keep(answer)
        return answer

    return posted  # type: ignore[return-value]


class _Asked:
    """One request with its key."""

    def __init__(self, request: Request, key: str) -> None:
        self.team, self.key = access.team_id(request), key
        said = f"{request.path} {json_text(request.data)}"
        self.fingerprint = hashlib.sha256(said.encode()).hexdigest()

    def begins(self) -> bool:
        given: dict[str, Any] = {
            "team": self.team,
            "key": self.key,
            "fingerprint": self.fingerprint,
        }
        with connection.cursor() as cursor:
            cursor.execute(_BEGIN, {**given, "kept": KEPT.total_seconds()})
            return cursor.fetchone() is not None

    def keep(self, answer: Response) -> None:
        """Refusals leave as exceptions, and undo the row with everything else."""
        told = json_text({"data": answer.data, "headers": dict(answer.headers)})
        self._row().update(
            status=answer.status_code, answer=sealing.seal(told, settings.SEALING_KEYS)
        )

    def answered(self) -> Response:
        row = self._row().get()
        if row.fingerprint != self.fingerprint:
            hint = "Make a new key for a new request."
            raise Unprocessable(Problem(HEADER, "was used for another request.", hint))
        told = json.loads(sealing.unseal(row.answer, settings.SEALING_KEYS))
        return Response(told["data"], status=row.status, headers=told["headers"])

    def _row(self) -> Any:
        return Asked.objects.filter(team_id=self.team, key=self.key)


def forget() -> int:
    """Delete the requests whose day is over; how many."""
    return Asked.objects.filter(at__lt=Now() - KEPT).delete()[0]


def _check(key: str) -> None:
    if not 1 <= len(key) <= _LONGEST or not key.isascii() or not key.isprintable():
        hint = f"Give 1 to {_LONGEST} printable ASCII characters, as a UUID."
        raise BadRequest(Problem(HEADER, "is no key.", hint))
