"""A scripted target on a loopback port, for tests that need to see raw bytes."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable
from types import TracebackType

Script = Callable[[socket.socket], None]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def read_request(connection: socket.socket) -> bytes:
    """All bytes of one request, framed by its Content-Length."""
    received = b""
    while b"\r\n\r\n" not in received:
        if not (more := connection.recv(65536)):
            return received
        received += more
    head, _, body = received.partition(b"\r\n\r\n")
    lengths = [
        int(line.split(b":")[1])
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length:")
    ]
    while len(body) < sum(lengths):
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


class Loopback:
    """Accepts on a port of its own and lets `script` play each connection, one at a time."""

    def __init__(
        self,
        script: Script | bytes = OK,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self._script = script
        self._tls = tls
        self._listener = socket.create_server((host, port))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> Loopback:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self._listener.close()

    def url(self, path: str = "/", *, scheme: str = "http", host: str = "127.0.0.1") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._play, args=(connection,), daemon=True).start()

    def _play(self, connection: socket.socket) -> None:
        try:
            if self._tls:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection:
                if callable(self._script):
                    self._script(connection)
                else:
                    self.requests.append(read_request(connection))
                    connection.sendall(self._script)
        except OSError:
            return


def answering(*parts: bytes, every: float = 0.0, for_ever: bool = False) -> Script:
    """A script that reads a request, then sends the parts with a pause between single bytes."""

    def play(connection: socket.socket) -> None:
        read_request(connection)
        while True:
            for part in parts:
                _drip(connection, part, every)
            if not for_ever:
                return

    return play


def _drip(connection: socket.socket, part: bytes, every: float) -> None:
    if not every:
        connection.sendall(part)
        return
    for index in range(len(part)):
        connection.sendall(part[index : index + 1])
        time.sleep(every)  # the fault itself: a target that drips
