"""What the API is asked, as a command of curl to be copied. PURE."""

from __future__ import annotations

import json
from shlex import quote


def command(method: str, address: str, body: object = None) -> str:
    """The command; the token stands in a variable of the shell. `body`: what is sent as JSON, if
    anything is."""
    parts = ["curl" if method == "GET" else f"curl -X {method}"]
    parts.append('-H "Authorization: Token $ONEBEAT_TOKEN"')
    if body is not None:
        text = json.dumps(body, ensure_ascii=False)
        parts += ["-H 'Content-Type: application/json'", f"-d {quote(text)}"]
    return " ".join([*parts, quote(address)])
