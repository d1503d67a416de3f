"""A client of the REST API as its users are: a token in a header, JSON both ways."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.test import Client

from jobs.models import Team, User
from tests import make

ROOT = "/api/v1/"
JSON = "application/json"
PROBLEM = "application/problem+json"


@dataclass
class Answer:
    """What came back; `body` is the JSON, None where there is none."""

    status: int
    body: Any
    headers: dict[str, str]

    @property
    def fields(self) -> list[str]:
        """The fields that a problem names."""
        return [error["field"] for error in self.body["errors"]]


class Api:
    """Calls below `/api/v1/` with a token, or as nobody."""

    def __init__(self, secret: str | None = None) -> None:
        headers = {} if secret is None else {"Authorization": f"Token {secret}"}
        self.client = Client(headers=headers)

    @classmethod
    def of(cls, team: Team, user: User) -> Api:
        """With a new token of this person for the team."""
        return cls(make.token(team, user))

    def get(self, path: str) -> Answer:
        """GET of a path below the root, or of a whole address such as `next`."""
        return self.call("GET", path)

    def post(self, path: str, data: object = None) -> Answer:
        """POST of JSON; None sends no body."""
        return self.call("POST", path, data)

    def put(self, path: str, data: object) -> Answer:
        """PUT of JSON."""
        return self.call("PUT", path, data)

    def patch(self, path: str, data: object) -> Answer:
        """PATCH with JSON."""
        return self.call("PATCH", path, data)

    def delete(self, path: str) -> Answer:
        """DELETE."""
        return self.call("DELETE", path)

    def call(
        self, method: str, path: str, data: object = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """Any method; bytes go out as they are."""
        body = data if isinstance(data, bytes) else b"" if data is None else json.dumps(data)
        where = path if path.startswith(("http", "/")) else ROOT + path
        answer = self.client.generic(method, where, body, content_type=JSON, headers=headers)
        text = answer.content.decode()
        kind = answer.headers.get("Content-Type", "")
        return Answer(
            answer.status_code,
            json.loads(text) if "json" in kind and text else None,
            dict(answer.headers),
        )
