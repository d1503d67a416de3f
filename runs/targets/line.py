"""One request and its answer over a socket that egress has opened."""

from __future__ import annotations

import http.client
import io
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, cast

from jobs.targets.urls import Place
from runs.faults import fault
from runs.targets.prepared import NotSent

READ_CAP = 1024 * 1024
KEEP = 16 * 1024
_STEP = 64 * 1024

Phase = Literal["sending", "waiting", "reading"]


@dataclass(frozen=True)
class Answer:
    """What came back. `headers` have lower-case names, repeated ones joined with a comma;
    `body_excerpt` is undecoded; `truncated` says that the body went on.
    """

    status: int
    headers: dict[str, str]
    body_excerpt: bytes
    truncated: bool


class Broken(Exception):
    """No whole answer came, after bytes were handed to the socket: the effect is unknown.

    `sent` counts these bytes; `status` is known when the break came after the status line.
    """

    def __init__(self, reason: str, *, phase: Phase, sent: int, status: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.phase = phase
        self.sent = sent
        self.status = status


class Line:
    """An open connection to a place, good for one request."""

    def __init__(self, place: Place, sock: socket.socket, deadline: float) -> None:
        self.place = place
        self._sock = sock
        self._deadline = deadline

    def __enter__(self) -> Line:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up, at once; harmless when done twice."""
        self._sock.close()

    def cut(self) -> None:
        """End both directions, from whatever thread: who waits for an answer wakes up."""
        with suppress(OSError):  # it has ended already
            # Not TLS's own shutdown, which would take the socket apart under its reader.
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)

    def send(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None,
        *,
        deadline: float | None = None,
        read_cap: int = READ_CAP,
        keep: int = KEEP,
    ) -> Answer:
        """Send one request to the URL's path and read its answer until `deadline` (that of
        `prepare` unless given).

        At most `read_cap` bytes are read off the wire and `keep` bytes of body are returned.
        Raises NotSent for a request that cannot be written, Broken from the first byte on.
        """
        wire = _Wire(self._sock, self._deadline if deadline is None else deadline, read_cap)
        request = _written(self.place, method, headers, body)
        try:
            wire.sendall(request)
            wire.phase = "waiting"
            fault("effect.midway", ConnectionResetError)
            response = _final_response(wire, method)
            wire.phase, wire.status = "reading", response.status
            excerpt, truncated = _excerpt(response, keep)
        except (OSError, ValueError, http.client.HTTPException, _Swollen) as error:
            raise _broken(wire, error) from error
        return Answer(response.status, _joined(response), excerpt, truncated)


class _Swollen(Exception):
    """The read cap is reached."""


class _Wire:
    """What http.client takes for a socket: all bytes pass under one deadline, and are counted."""

    def __init__(self, sock: socket.socket, deadline: float, read_cap: int) -> None:
        self.sent = 0
        self.phase: Phase = "sending"
        self.status: int | None = None
        self._sock = sock
        self._deadline = deadline
        self._inbox = _Inbox(_Inbound(self, read_cap), buffer_size=_STEP)

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            handed = self._timed().send(rest)
            self.sent += handed
            rest = rest[handed:]

    def recv_into(self, buffer: memoryview) -> int:
        count = self._timed().recv_into(buffer)
        if count == 0 and self.phase == "waiting":
            # http.client takes headers that the end of the stream cut off for whole ones.
            raise ConnectionResetError("the stream ended before the answer's headers did")
        return count

    def makefile(self, *_: object) -> io.BufferedReader:
        return self._inbox

    def _timed(self) -> socket.socket:
        """The socket, told to wait no longer than what is left. Asked before each single call,
        else a drip of one byte at a time would start the clock anew with every byte.
        """
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the deadline is over")
        self._sock.settimeout(left)
        return self._sock


class _Inbound(io.RawIOBase):
    """The bytes that come in, up to the read cap."""

    def __init__(self, wire: _Wire, read_cap: int) -> None:
        self._wire = wire
        self._left = read_cap

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._left <= 0:
            raise _Swollen
        count = self._wire.recv_into(memoryview(buffer)[: self._left])
        self._left -= count
        return count


class _Inbox(io.BufferedReader):
    """Stays open when a response is done with it: an interim 1xx comes before the one we want."""

    def close(self) -> None:
        pass


def _written(place: Place, method: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
    """The bytes of the request. http.client refuses what could break out of its line."""
    request = _Request(place.host)
    try:
        request.putrequest(method, place.path, skip_host=True, skip_accept_encoding=True)
        for name, value in {**headers, **_framing(place, method, body)}.items():
            request.putheader(name, value)
        request.endheaders(body)
    except (ValueError, http.client.HTTPException) as error:
        raise NotSent("The request cannot be written: a header or the path is not fit.") from error
    return bytes(request.bytes)


def _framing(place: Place, method: str, body: bytes | None) -> dict[str, str]:
    framing = {"Host": place.authority, "Connection": "close", "Accept-Encoding": "identity"}
    if body is not None or method in ("POST", "PUT", "PATCH"):
        framing["Content-Length"] = str(len(body or b""))
    return framing


class _Request(http.client.HTTPConnection):
    """Gathers the bytes of a request; connects to nothing."""

    def __init__(self, host: str) -> None:
        super().__init__(host, 80)
        self.bytes = bytearray()

    def send(self, data: Any) -> None:
        self.bytes += data


def _final_response(wire: _Wire, method: str) -> http.client.HTTPResponse:
    while True:
        response = http.client.HTTPResponse(cast(socket.socket, wire), method=method)
        response.begin()
        if response.status >= 200:
            return response


def _excerpt(response: http.client.HTTPResponse, keep: int) -> tuple[bytes, bool]:
    """The first `keep` bytes of the body, and whether it went on. The rest is read and dropped:
    a target may still be at work while it writes.
    """
    excerpt = b""
    dropped = 0
    try:
        excerpt = response.read(keep)
        while more := response.read(_STEP):
            dropped += len(more)
    except _Swollen:
        return excerpt, True
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return excerpt, dropped > 0


def _joined(response: http.client.HTTPResponse) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in response.getheaders():
        lower = name.lower()
        joined[lower] = f"{joined[lower]}, {value}" if lower in joined else value
    return joined


def _broken(wire: _Wire, error: Exception) -> Broken:
    while_doing = {
        "sending": "while the request was being sent",
        "waiting": "before an answer came",
        "reading": "in the middle of the answer",
    }[wire.phase]
    match error:
        case TimeoutError():
            what = "The time limit passed"
        case OSError() | http.client.IncompleteRead():
            what = "The connection broke"
        case _Swollen():
            what = "Too much came"
        case _:
            what = "Something that is not HTTP came"
    return Broken(f"{what} {while_doing}.", phase=wire.phase, sent=wire.sent, status=wire.status)
