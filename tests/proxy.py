"""A TCP proxy of the tests' own, to take a server away from its clients and give it back."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit

Address = str | tuple[str, int]  # a unix socket's path, or host and port


def address_of(database_url: str) -> Address:
    """Where the server of a DATABASE_URL listens."""
    parts = urlsplit(database_url)
    folder = parse_qs(parts.query).get("host", [""])[0]
    if folder.startswith("/"):
        return f"{folder}/.s.PGSQL.{parts.port or 5432}"
    return parts.hostname or "127.0.0.1", parts.port or 5432


class Proxy:
    """Forwards every connection to `upstream`, until `cut` ends them all and refuses new ones;
    after `heal` it forwards again, on the same port."""

    def __init__(self, upstream: Address) -> None:
        self._upstream = upstream
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._lines: set[socket.socket] = set()
        self._open = True
        self._serve()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cut()

    def cut(self) -> None:
        """The server is away: connections drop, new ones are refused."""
        with self._lock:
            self._open = False
            lines, self._lines = self._lines, set()
        _shut(self._listener)
        for line in lines:
            _shut(line)

    def heal(self) -> None:
        """The server is back."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._open = True
        self._serve()

    def _serve(self) -> None:
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                self._join(client)

    def _join(self, client: socket.socket) -> None:
        try:
            server = _connected(self._upstream)
        except OSError:
            return _shut(client)
        with self._lock:
            forward = self._open
            self._lines |= {client, server} if forward else set()
        if not forward:
            _shut(client)
            return _shut(server)
        for source, sink in ((client, server), (server, client)):
            threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()
        return None

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for line in (source, sink):
            _shut(line)
        with self._lock:
            self._lines -= {source, sink}


def _connected(address: Address) -> socket.socket:
    if isinstance(address, tuple):
        return socket.create_connection(address, timeout=None)
    line = socket.socket(socket.AF_UNIX)
    line.connect(address)
    return line


def _shut(line: socket.socket) -> None:
    with suppress(OSError):  # wakes the thread that reads it; closing alone would not
        line.shutdown(socket.SHUT_RDWR)
    line.close()
