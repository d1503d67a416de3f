"""A TCP proxy of the tests' own, to take a server away from its clients and give it back."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
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
    after `heal` it forwards again, on the same port. `hang` keeps every connection and lets
    nothing through until `go_on`. `delay`: seconds that every piece takes longer."""

    def __init__(self, upstream: Address) -> None:
        self.delay = 0.0
        self._flows = threading.Event()
        self._flows.set()
        self._to_lose, self._what = 0, b""
        self._mute: set[socket.socket] = set()  # servers whose next answer goes nowhere
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
            self._to_lose = 0
        _shut(self._listener)
        for line in lines:
            _shut(line)
        self._flows.set()  # only now: what hung must not pass before its line is cut

    def heal(self) -> None:
        """The server is back."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self._open = True
        self._serve()

    def hang(self) -> None:
        """Nothing passes; who connects waits."""
        self._flows.clear()

    def go_on(self) -> None:
        """What was held passes, in its order."""
        self._flows.set()

    def lose_answers(self, count: int, to: bytes = b"COMMIT") -> None:
        """The next `count` requests that hold these bytes reach the server; their connections
        end in place of the answers."""
        with self._lock:
            self._to_lose, self._what = count, to

    @property
    def answers_to_lose(self) -> int:
        """How many of `lose_answers` have not come yet."""
        return self._to_lose

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
        for pump in (self._requests, self._answers):
            ends = (client, server)
            threading.Thread(target=self._pump, args=(pump, *ends), daemon=True).start()
        return None

    def _pump(
        self,
        pump: Callable[[socket.socket, socket.socket], None],
        client: socket.socket,
        server: socket.socket,
    ) -> None:
        with suppress(OSError):
            pump(client, server)
        for line in (client, server):
            _shut(line)
        with self._lock:
            self._lines -= {client, server}
            self._mute.discard(server)

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        while data := client.recv(65536):
            self._hold()
            if self._is_to_lose(data):
                self._mute.add(server)
            server.sendall(data)

    def _answers(self, client: socket.socket, server: socket.socket) -> None:
        while (data := server.recv(65536)) and server not in self._mute:
            self._hold()
            client.sendall(data)

    def _hold(self) -> None:
        self._flows.wait()
        if self.delay:
            time.sleep(self.delay)

    def _is_to_lose(self, data: bytes) -> bool:
        with self._lock:
            if not self._to_lose or self._what not in data:
                return False
            self._to_lose -= 1
            return True


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
