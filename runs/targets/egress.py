"""The only module that opens sockets to a target.

A name is resolved once; every address it has must be public or listed by the installation; one of
these very addresses is dialled, and the peer checked, before the first byte. No proxies, no netrc,
no redirects, no decoding. Everything ends at the caller's deadline, in `time.monotonic()`
seconds, however slowly the other side drips.
"""

from __future__ import annotations

import queue
import socket
import ssl
import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Protocol

from jobs.targets.addresses import Address, AllowList, plain
from jobs.targets.errors import TargetError
from jobs.targets.urls import Place, split_url
from runs.targets.line import Answer, Broken, Line
from runs.targets.prepared import NotSent

__all__ = ["AllowList", "Answer", "Broken", "Line", "NotSent", "prepare"]

CONNECT_SECONDS = 5.0
RESOLVE_SECONDS = 10.0
_MOST_DIALLED = 4


class Resolver(Protocol):
    """`socket.getaddrinfo`, or a stand-in."""

    def __call__(self, host: str, port: int, *, type: int) -> Sequence[tuple[Any, ...]]: ...


SYSTEM_RESOLVER: Resolver = socket.getaddrinfo


@dataclass(frozen=True)
class _Answered:
    """One address of a name, with what the socket wants to know to dial it."""

    family: int
    sockaddr: tuple[Any, ...]
    address: Address


def prepare(
    url: str,
    *,
    allow: AllowList,
    deadline: float,
    resolver: Resolver = SYSTEM_RESOLVER,
    ports: Collection[int] | None = None,
    tls: ssl.SSLContext | None = None,
) -> Line:
    """An open line to the URL's host, over TLS where it says https, with nothing sent on it yet.

    Raises NotSent. `ports` as in `split_url`; `tls` replaces the system's trust.
    """
    place = _place(url, ports)
    answers = _checked(_resolved(place, deadline, resolver), place, allow)
    try:
        sock = _dialled(answers, deadline)
        return Line(place, _secured(sock, place, deadline, tls), deadline)
    except (OSError, ssl.CertificateError) as error:
        raise _no_connection(place, answers, allow, error) from error


def _place(url: str, ports: Collection[int] | None) -> Place:
    try:
        return split_url(url, ports=ports)
    except TargetError as error:
        raise NotSent(f"The URL cannot be called: {error.message} {error.hint}") from error


def _resolved(place: Place, deadline: float, resolver: Resolver) -> list[_Answered]:
    """All addresses of the host. In a thread of its own, as a look-up cannot be interrupted."""
    box: queue.SimpleQueue[Sequence[tuple[Any, ...]] | Exception] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            box.put(resolver(place.host, place.port, type=socket.SOCK_STREAM))
        except Exception as error:
            box.put(error)

    threading.Thread(target=look_up, daemon=True, name="egress-look-up").start()
    try:
        found = box.get(timeout=max(0.0, min(RESOLVE_SECONDS, deadline - time.monotonic())))
    except queue.Empty:
        raise NotSent(f"The name {place.host} was not resolved in time.") from None
    if isinstance(found, Exception):
        raise NotSent(f"The name {place.host} does not resolve.", repr(found)) from found
    return _distinct(found)


def _distinct(found: Sequence[tuple[Any, ...]]) -> list[_Answered]:
    inet = (entry for entry in found if entry[0] in (socket.AF_INET, socket.AF_INET6))
    by_address = {entry[4][0]: entry for entry in inet}
    return [
        _Answered(family, sockaddr, ip_address(sockaddr[0]))
        for family, _, _, _, sockaddr in by_address.values()
    ]


def _checked(answers: list[_Answered], place: Place, allow: AllowList) -> list[_Answered]:
    """The answers, if every one may be called: a name with one inside address is refused."""
    if not answers:
        raise NotSent(f"The name {place.host} has no address.")
    for answer in answers:
        if not allow.allows(answer.address, place.port):
            raise NotSent(
                f"{place.host} is not open to targets: it has an address inside the network.",
                f"{answer.address} port {place.port} is neither public nor listed",
            )
    return answers


def _dialled(answers: list[_Answered], deadline: float) -> socket.socket:
    """A socket connected to the first of the addresses that answers, within five seconds in all."""
    end = min(deadline, time.monotonic() + CONNECT_SECONDS)
    chosen = answers[:_MOST_DIALLED]
    for index, answer in enumerate(chosen):
        share = (end - time.monotonic()) / (len(chosen) - index)
        try:
            return _connected(answer, share)
        except OSError as error:
            failure = error
    raise failure


def _connected(answer: _Answered, seconds: float) -> socket.socket:
    if seconds <= 0:
        raise TimeoutError("no time left to connect")
    sock = socket.socket(answer.family, socket.SOCK_STREAM)
    try:
        sock.settimeout(seconds)
        sock.connect(answer.sockaddr)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer = ip_address(sock.getpeername()[0])
        if plain(peer) != plain(answer.address):
            raise ConnectionError(f"dialled {answer.address}, reached {peer}")
    except BaseException:
        sock.close()
        raise
    return sock


def _secured(
    sock: socket.socket, place: Place, deadline: float, tls: ssl.SSLContext | None
) -> socket.socket:
    """The socket under TLS, the certificate checked against the host; as it is for http."""
    if place.scheme == "http":
        return sock
    try:
        end = min(deadline, time.monotonic() + CONNECT_SECONDS)
        sock.settimeout(max(0.001, end - time.monotonic()))
        context = tls or ssl.create_default_context()
        return context.wrap_socket(sock, server_hostname=place.host.rstrip("."))
    except BaseException:
        sock.close()
        raise


def _no_connection(
    place: Place, answers: list[_Answered], allow: AllowList, error: OSError
) -> NotSent:
    """One and the same sentence for inside hosts, or it would tell which ports are open there."""
    detail = f"{place.authority}: {error!r}"
    if any(allow.lists(answer.address, place.port) for answer in answers):
        return NotSent(f"No connection to {place.authority} could be made.", detail)
    if isinstance(error, ssl.SSLCertVerificationError):
        why = f"its certificate is not accepted ({error.verify_message})"
    elif isinstance(error, ssl.SSLError):
        why = "it does not speak TLS as we do"
    elif isinstance(error, TimeoutError):
        why = "it did not answer in time"
    else:
        why = "the connection was refused or cut"
    return NotSent(f"No connection to {place.authority} could be made: {why}.", detail)
