"""A target to try the product on: it honours Idempotency-Key and keeps a ledger of what it did.

Standard library only; it shares no code with the product, so that its ledger is evidence.

| request | answer |
|---|---|
| POST / | acts, 200 |
| POST /slow?seconds=S | acts after S seconds, 200 |
| POST /drop | acts, then drops the connection unanswered |
| POST /status/CODE | CODE; acts only where that is a 2xx |
| GET / | the ledger's last lines, as text |

A key that was acted on is answered with the stored answer, marked by the header
Idempotency-Replayed, and not acted on again; one that is being acted on just now: 409 that echoes
the key; one that came with another request: 422.

The ledger is JSON lines, each on disk before anything else happens: `{"key", "phase": "in", …}`
for every request, then `{"key", "phase": "acted", …}` once for every key. A request without a
key is given one of its own. A restart reads the ledger, so no key is forgotten.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import socket
import sys
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

BODY_LIMIT = 1 << 20  # bytes
LONGEST = 3600.0  # seconds that /slow takes at most
SHOWN = 50  # lines of the ledger at GET /

Entry = dict[str, Any]


@dataclass
class Effect:
    """What a key stands for: the request it came with, and the answer once it was acted on."""

    request: str
    answer: str | None = None


class Ledger:
    """The file and what is in it. Safe for many threads, not for two processes."""

    def __init__(self, path: Path):
        self._path = path
        self._lock = threading.Lock()
        self._effects: dict[str, Effect] = {}
        for entry in self._entries():
            if entry.get("phase") == "acted":
                self._effects[entry["key"]] = Effect(entry["request"], entry["answer"])

    def begin(self, key: str, request: str, about: Entry) -> tuple[int, str | None]:
        """Note the request; say what to do: 200 with the stored answer or None (act now),
        409 or 422."""
        with self._lock:
            self._append({"key": key, "phase": "in", "request": request, **about})
            known = self._effects.setdefault(key, Effect("", None))
            if known.request == "":
                known.request = request
                return 200, None
            if known.request != request:
                return 422, None
            return (409, None) if known.answer is None else (200, known.answer)

    def acted(self, key: str, answer: str) -> None:
        """The effect itself: this line is what the target does for a living."""
        with self._lock:
            effect = self._effects[key]
            line = {"key": key, "phase": "acted", "request": effect.request, "answer": answer}
            self._append(line)
            effect.answer = answer

    def forget(self, key: str) -> None:
        """Nothing was done for this key; the next request with it starts afresh."""
        with self._lock:
            self._effects.pop(key, None)

    def tail(self, count: int) -> str:
        """The last `count` entries, a line each."""
        return "".join(json.dumps(entry) + "\n" for entry in self._entries()[-count:])

    def _append(self, entry: Entry) -> None:
        line = json.dumps({"at": time.time(), **entry}) + "\n"
        with self._path.open("a+b") as file:
            if not _ends_a_line(file):
                line = "\n" + line
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())

    def _entries(self) -> list[Entry]:
        entries: list[Entry] = []
        if self._path.exists():
            for line in self._path.read_bytes().splitlines():
                with suppress(ValueError):  # half a line: the process was killed as it wrote
                    entries.append(json.loads(line))
        return entries


def _ends_a_line(file: Any) -> bool:
    if file.seek(0, os.SEEK_END) == 0:
        return True
    file.seek(-1, os.SEEK_END)
    return bool(file.read(1) == b"\n")


class Handler(BaseHTTPRequestHandler):
    """One request; `server.ledger` outlives it."""

    protocol_version = "HTTP/1.1"
    server: Target

    def do_GET(self) -> None:
        if self.path != "/":
            return self._answer(404, "Only GET / is here.\n")
        return self._answer(200, self.server.ledger.tail(SHOWN))

    def do_POST(self) -> None:
        body = self._body()
        if body is None:
            return self._answer(413, f"A body has a Content-Length of at most {BODY_LIMIT}.\n")
        key = self.headers.get("Idempotency-Key") or f"unkeyed-{uuid.uuid4()}"
        request = hashlib.sha256(self.path.encode() + b"\n" + body).hexdigest()
        about = {"path": self.path, "attempt": self.headers.get("Onebeat-Attempt")}
        match self.server.ledger.begin(key, request, about):
            case 200, None:
                return self._act(key)
            case 200, str(stored):
                return self._answer(200, stored, replayed=True)
            case 409, _:
                return self._answer(409, "still at it\n", key)
            case _:
                return self._answer(422, "this key came with another request\n", key)

    def _act(self, key: str) -> None:
        url = urlsplit(self.path)
        code = self._code(url.path)
        if code is None:
            self.server.ledger.forget(key)
            return self._answer(404, "POST /, /slow?seconds=, /drop or /status/CODE.\n")
        if not 200 <= code < 300:
            self.server.ledger.forget(key)
            return self._answer(code, "nothing was done\n")
        if url.path == "/slow":
            time.sleep(_seconds(url.query))
        answer = json.dumps({"acted": key}) + "\n"
        self.server.ledger.acted(key, answer)
        return self._drop() if url.path == "/drop" else self._answer(code, answer)

    def _code(self, path: str) -> int | None:
        if path in ("/", "/slow", "/drop"):
            return 200
        number = path.removeprefix("/status/")
        known = path != number and number.isascii() and number.isdigit()
        return int(number) if known and 200 <= int(number) <= 599 else None

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit()):
            self.close_connection = True
            return None
        if int(length) > BODY_LIMIT:
            self.close_connection = True
            return None
        return self.rfile.read(int(length))

    def _drop(self) -> None:
        self.close_connection = True
        with suppress(OSError):  # the caller has gone already
            self.connection.shutdown(socket.SHUT_RDWR)

    def _answer(
        self, code: int, text: str, key: str | None = None, *, replayed: bool = False
    ) -> None:
        self.send_response(code)
        if replayed:
            self.send_header("Idempotency-Replayed", "true")
        if key is not None:
            self.send_header("Idempotency-Key", key)
        kind = "application/json" if text.startswith("{") else "text/plain; charset=utf-8"
        self.send_header("Content-Type", kind)
        if code not in (204, 304):
            self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        if code not in (204, 304):
            self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        print((format % args).encode("ascii", "backslashreplace").decode(), flush=True)


class Target(ThreadingHTTPServer):
    """The server and its ledger."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], ledger: Ledger):
        super().__init__(address, Handler)
        self.ledger = ledger

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that was killed as it waited is no error of the target's."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def _seconds(query: str) -> float:
    with suppress(ValueError, KeyError):
        return min(max(float(parse_qs(query)["seconds"][0]), 0.0), LONGEST)
    return 1.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m config.example_target")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--ledger", type=Path, required=True)
    options = parser.parse_args()
    target = Target((options.host, options.port), Ledger(options.ledger))
    print(f"listening on {target.server_address[1]}", flush=True)
    with suppress(KeyboardInterrupt):
        target.serve_forever()


if __name__ == "__main__":
    main()
