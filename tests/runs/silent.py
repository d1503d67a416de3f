"""A target that keeps whoever calls it waiting."""

from __future__ import annotations

import socket
import ssl
import threading

from tests.runs.loopback import Loopback, read_request


class Silent(Loopback):
    """Reads the request and answers only when the other side hangs up."""

    def __init__(self, beginning: bytes = b"", *, tls: ssl.SSLContext | None = None) -> None:
        self.read = threading.Event()
        self.beginning = beginning
        super().__init__(self._stay, tls=tls)

    def __enter__(self) -> Silent:
        return self

    def _stay(self, connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(self.beginning)
        self.read.set()
        connection.recv(1)
