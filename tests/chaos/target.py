"""The independent target: what it was asked and what it did stands in a file that it fsyncs.

    python -m tests.chaos.target --ledger FILE --seed S [--quiet]

Standard library only; it shares no code with the product. `POST /once/JOB` honours the key: an
effect that was done is not done again, one under way is answered with 409 and our key.
`POST /raw/JOB` acts whenever it is called. Each request is written before anything is done about
it (`in`), each effect as it takes place (`acted`): JSON lines that are on disk before the caller
learns anything. Many lines share one fsync.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from asyncio import StreamReader, StreamWriter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos import behaviour
from tests.chaos.behaviour import Doing, Temper

_BODY_LIMIT = 1 << 16
_TIMEOUT = 20.0  # seconds for a caller to say what it wants


class Ledger:
    """Lines that are on disk when `write` returns; those that wait together share one fsync."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._lines: list[bytes] = []
        self._written: asyncio.Future[None] | None = None
        self._turn = asyncio.Lock()

    async def write(self, **entry: object) -> None:
        self._lines.append(json.dumps({"at": time.time(), **entry}).encode() + b"\n")
        if self._written is None:
            self._written = asyncio.get_running_loop().create_future()
            self._task = asyncio.ensure_future(self._commit())
        await asyncio.shield(self._written)

    async def _commit(self) -> None:
        async with self._turn:
            lines, self._lines = self._lines, []
            written, self._written = self._written, None
            await asyncio.to_thread(self._append, b"".join(lines))
            assert written is not None
            written.set_result(None)

    def _append(self, data: bytes) -> None:
        os.write(self._file, data)
        os.fsync(self._file)


@dataclass(frozen=True)
class Request:
    """One call. `honours`: whether the target looks at its key."""

    honours: bool
    job: str
    key: str
    attempt: int


@dataclass(frozen=True)
class Answer:
    status: int
    key: str = ""
    retry_after: int = 0

    def bytes(self) -> bytes:
        lines = [f"HTTP/1.1 {self.status} Said", "Content-Length: 2", "Connection: close"]
        lines += [f"Idempotency-Key: {self.key}"] if self.key else []
        lines += [f"Retry-After: {self.retry_after}"] if self.retry_after else []
        return ("\r\n".join(lines) + "\r\n\r\n{}").encode()


@dataclass
class Target:
    """The effects, and what is done with each request. None: the connection is dropped."""

    ledger: Ledger
    temper: Temper
    done: set[str] = field(default_factory=set)
    under_way: set[str] = field(default_factory=set)

    async def answer(self, request: Request) -> Answer | None:
        doing = self.temper.of(request.key, request.attempt)
        await self._note("in", request, doing=doing)
        match doing:
            case Doing.REFUSE:
                return Answer(404)
            case Doing.BUSY:
                return Answer(429, retry_after=1)
            case Doing.FAIL_BEFORE:
                return Answer(500)
            case Doing.RESET_BEFORE:
                return None
        held = await self._act(request, doing)
        if doing is Doing.RESET_AFTER:
            return None
        return held or Answer(500 if doing is Doing.FAIL_AFTER else 200)

    async def _act(self, request: Request, doing: Doing) -> Answer | None:
        """The effect, unless its key is done; the answer while another request does it."""
        if request.honours and request.key in self.done:
            return None
        if request.honours and request.key in self.under_way:
            return Answer(409, key=request.key)
        self.under_way.add(request.key)
        await asyncio.sleep(_SECONDS.get(doing, 0.0))
        await self._note("acted", request)
        self.done.add(request.key)
        self.under_way.discard(request.key)
        return None

    async def _note(self, phase: str, request: Request, **more: object) -> None:
        about = {"job": request.job, "key": request.key, "attempt": request.attempt}
        await self.ledger.write(phase=phase, **about, **more)

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """One connection, one request."""
        with suppress(OSError, EOFError, ValueError, LookupError, TimeoutError):
            answer = await self.answer(await asyncio.wait_for(_read(reader), _TIMEOUT))
            if answer is None:
                writer.transport.abort()
                return
            writer.write(answer.bytes())
            await writer.drain()
        writer.close()


_SECONDS = {Doing.SLOW: behaviour.SLOW_FOR, Doing.HANG: behaviour.HANGS_FOR}


async def _read(reader: StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    await reader.readexactly(min(int(headers.get("content-length", "0")), _BODY_LIMIT))
    _, kind, job = head[0].split(" ")[1].split("/")
    # Header values above are lower-cased; keys consist of digits, hex and the letters T and Z.
    key = next(line[17:] for line in head if line.lower().startswith("idempotency-key: "))
    return Request(kind == "once", job, key, int(headers["onebeat-attempt"]))


async def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.target")
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quiet", action="store_true", help="act on everything at once")
    options = parser.parse_args()
    temper = Temper(options.seed, behaviour.QUIET if options.quiet else behaviour.TROUBLED)
    target = Target(Ledger(options.ledger), temper)
    server = await asyncio.start_server(target.serve, "127.0.0.1", 0, backlog=512)
    print(f"listening on {server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main())
