"""Nothing inside the network can be reached, whatever a URL or a name server says."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from jobs.targets.addresses import AllowList, AllowListError
from runs.targets import egress
from runs.targets.prepared import NotSent
from tests.runs.loopback import Loopback

NOTHING = AllowList()
PORT = 8_099

# Written into the URL itself.
SPELLED = [
    "127.0.0.1", "127.0.0.2", "127.1", "127.0.1", "127.255.255.254", "0", "0.0.0.0", "0.0.0.1",  # noqa: S104
    "2130706433", "017700000001", "0177.0.0.1", "0x7f000001", "0x7f.1", "0x7f.0.0.1",
    "0X7F.0x0.0x0.0x1", "00000177.0.0.1", "127.0.0.1.", "3232235777", "0xa9fea9fe", "2852039166",
    "0251.0376.0251.0376", "169.254.169.254", "169.254.170.2", "10.0.0.1", "10.255.255.255",
    "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255", "100.64.0.1",
    "100.100.100.200", "192.0.0.192", "192.0.0.1", "168.63.129.16", "192.0.2.1", "198.18.0.1",
    "198.51.100.1", "203.0.113.1", "192.88.99.1", "224.0.0.1", "239.255.255.250", "240.0.0.1",
    "255.255.255.255", "①②⑦.⓪.⓪.①", "１２７.0.0.1", "127。0。0。1",
    "localhost", "LOCALHOST", "[::]",
    "[::1]", "[0:0:0:0:0:0:0:1]", "[::127.0.0.1]", "[::7f00:1]", "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]", "[::ffff:0:127.0.0.1]", "[::ffff:169.254.169.254]", "[::ffff:10.0.0.1]",
    "[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::7f00:1]",
    "[2002:7f00:1::]", "[2002:7f00:1::1]", "[2002:a9fe:a9fe::]", "[2002:a00:1::]",
    "[2001:0:7f00:1::]", "[2001:0:808:808::80ff:fffe]", "[fe80::1]", "[fe80::1%25lo]",
    "[fe80::1%lo]", "[fec0::1]", "[fc00::1]", "[fd00::1]", "[fd00:ec2::254]", "[fd20:ce::254]",
    "[ff02::1]", "[100::1]", "[2001:db8::1]", "[2001:10::1]", "[2001:20::1]", "[3fff::1]",
    "[5f00::1]", "[2606:4700::5efe:127.0.0.1]", "[2606:4700::200:5efe:10.0.0.1]", "[127.0.0.1]",
    "[::1]]", "[[::1]", "user@127.0.0.1", "user:pw@127.0.0.1", "8.8.8.8@127.0.0.1",
    "127.0.0.1%2f@8.8.8.8", "127.0.0.1%00.example",
]  # fmt: skip

# Answered by a name server for a name that looks harmless.
ANSWERED = [
    host.strip("[]")
    for host in SPELLED
    if host not in ("[127.0.0.1]", "[::1]]", "[[::1]")
    and (":" in host or host.count(".") == 3)
    and set(host.strip("[]")) <= set("0123456789abcdef:.")
    and not host.endswith(".")
    and not host.startswith("0")
]


def answer(address: str, port: int) -> tuple[Any, ...]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sockaddr = (address, port, 0, 0) if ":" in address else (address, port)
    return family, socket.SOCK_STREAM, 6, "", sockaddr


def soon(seconds: float = 5.0) -> float:
    return time.monotonic() + seconds


@pytest.fixture(autouse=True)
def dialled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every address that anything in the process dials; none but loopback is let through."""
    seen: list[str] = []
    connect = socket.socket.connect

    def watched(sock: socket.socket, sockaddr: Any) -> None:
        seen.append(sockaddr[0])
        if sockaddr[0] not in ("127.0.0.1", "127.0.0.2", "::1"):
            raise ConnectionRefusedError("not in a test")
        connect(sock, sockaddr)

    monkeypatch.setattr(socket.socket, "connect", watched)
    yield seen


@pytest.fixture
def canary() -> Iterator[Loopback]:
    with Loopback() as listener:
        yield listener


def resolving(*addresses: str) -> egress.Resolver:
    def resolver(host: str, port: int, *, type: int) -> list[tuple[Any, ...]]:
        return [answer(address, port) for address in addresses]

    return resolver


def test_there_are_enough_forms() -> None:
    assert len(set(SPELLED)) >= 80
    assert len(set(ANSWERED)) >= 40


@pytest.mark.parametrize("host", SPELLED)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_inside_address_spelled_in_the_url_is_never_dialled(
    host: str, scheme: str, canary: Loopback, dialled: list[str]
) -> None:
    """K151."""
    with pytest.raises(NotSent):
        egress.prepare(f"{scheme}://{host}:{canary.port}/", allow=NOTHING, deadline=soon())
    assert dialled == []
    assert canary.connections == 0


@pytest.mark.parametrize("address", ANSWERED)
def test_a_name_that_resolves_inside_is_never_dialled(
    address: str, canary: Loopback, dialled: list[str]
) -> None:
    with pytest.raises(NotSent, match="is not open to targets") as refused:
        egress.prepare(
            f"http://ok.example:{canary.port}/",
            allow=NOTHING,
            deadline=soon(),
            resolver=resolving(address),
        )
    assert address not in refused.value.reason
    assert dialled == []


@pytest.mark.parametrize(
    "addresses", list(itertools.permutations(["8.8.8.8", "1.1.1.1", "127.0.0.1"]))
)
def test_one_inside_address_among_public_ones_refuses_the_name(
    addresses: tuple[str, ...], dialled: list[str]
) -> None:
    with pytest.raises(NotSent):
        egress.prepare(
            "https://ok.example/", allow=NOTHING, deadline=soon(), resolver=resolving(*addresses)
        )
    assert dialled == []


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"])
def test_a_public_address_is_dialled_as_it_was_answered(address: str, dialled: list[str]) -> None:
    with pytest.raises(NotSent, match="refused or cut"):
        egress.prepare(
            "http://ok.example/", allow=NOTHING, deadline=soon(), resolver=resolving(address)
        )
    assert dialled == [address]


def test_a_thousand_flipping_answers_never_reach_the_other_address(dialled: list[str]) -> None:
    with Loopback() as target, Loopback(host="127.0.0.2", port=target.port) as canary:
        calls = itertools.count()

        def flipping(host: str, port: int, *, type: int) -> list[tuple[Any, ...]]:
            return [answer(("127.0.0.1", "127.0.0.2")[next(calls) % 2], port)]

        allow = AllowList.parse(f"127.0.0.1/32:{target.port}")
        opened = refused = 0
        for _ in range(1_000):
            try:
                egress.prepare(
                    target.url(host="flip.example"), allow=allow, deadline=soon(), resolver=flipping
                ).close()
                opened += 1
            except NotSent:
                refused += 1
        assert (opened, refused, next(calls)) == (500, 500, 1_000)
        assert set(dialled) == {"127.0.0.1"}
        assert canary.connections == 0


def test_a_peer_that_is_not_the_one_dialled_is_hung_up_on(
    monkeypatch: pytest.MonkeyPatch, canary: Loopback
) -> None:
    monkeypatch.setattr(socket.socket, "getpeername", lambda _: ("127.0.0.9", canary.port))
    with pytest.raises(NotSent) as refused:
        egress.prepare(canary.url(), allow=AllowList.parse("127.0.0.1"), deadline=soon())
    assert "127.0.0.9" in refused.value.detail
    assert "127.0.0.9" not in refused.value.reason
    assert b"".join(canary.requests) == b""


@pytest.mark.parametrize(
    ("entry", "reached"),
    [
        ("127.0.0.1/32:{port}", True),
        ("127.0.0.0/8", True),
        ("10.0.0.0/8, 127.0.0.1:{port}", True),
        ("127.0.0.1/32:1", False),
        ("127.0.0.2", False),
        ("::1", False),
        ("", False),
    ],
)
def test_the_list_opens_what_it_names_and_nothing_else(
    entry: str, reached: bool, canary: Loopback, dialled: list[str]
) -> None:
    allow = AllowList.parse(entry.format(port=canary.port))
    with contextlib.suppress(NotSent):
        egress.prepare(canary.url(), allow=allow, deadline=soon()).close()
    assert (dialled != []) is reached


@pytest.mark.parametrize("carrier", ["64:ff9b::127.0.0.1", "2002:7f00:1::", "2001:0:7f00:1::"])
def test_the_list_does_not_open_what_another_address_carries(carrier: str) -> None:
    with pytest.raises(NotSent, match="not open"):
        egress.prepare(
            "http://x.example/",
            allow=AllowList.parse("127.0.0.0/8"),
            deadline=soon(),
            resolver=resolving(carrier),
        )


@pytest.mark.parametrize(
    "text", ["10.0.0.1/8", "10.0.0.0/33", "127.0.0.1:0", "127.0.0.1:70000", "fd00::/8 443", "a.b"]
)
def test_a_list_that_cannot_be_read_says_which_entry_and_how_to_write_it(text: str) -> None:
    with pytest.raises(AllowListError, match="write entries as") as wrong:
        AllowList.parse(f"10.0.0.0/8,{text}")
    assert text in str(wrong.value)


def test_a_list_reads_both_kinds_of_address() -> None:
    allow = AllowList.parse("10.1.0.0/16, [fd00::]/8:9000, ::1, [::1]:80,127.0.0.1/32:9000")
    read = [f"{entry.network} {entry.port}" for entry in allow.entries]
    assert read == [
        "10.1.0.0/16 None", "fd00::/8 9000", "::1/128 None", "::1/128 80", "127.0.0.1/32 9000"
    ]  # fmt: skip
    assert not allow.is_open
    assert AllowList.parse("0.0.0.0/0").is_open


@pytest.mark.parametrize("port", [22, 25, 110, 5432, 6379, 11211])
def test_ports_of_other_protocols_are_refused_though_listed(port: int, dialled: list[str]) -> None:
    with pytest.raises(NotSent, match="port"):
        egress.prepare(
            f"http://127.0.0.1:{port}/", allow=AllowList.parse("127.0.0.0/8"), deadline=soon()
        )
    assert dialled == []


def test_a_port_outside_the_installations_ports_is_refused(dialled: list[str]) -> None:
    with pytest.raises(NotSent, match="80, 443"):
        egress.prepare("http://ok.example:8080/", allow=NOTHING, deadline=soon(), ports=(80, 443))
    assert dialled == []


@pytest.mark.parametrize("scheme", ["file", "gopher", "ftp", "dict", "data", "unix", "javascript"])
def test_other_schemes_are_refused(scheme: str, dialled: list[str]) -> None:
    with pytest.raises(NotSent, match="neither http nor https"):
        egress.prepare(f"{scheme}://127.0.0.1/", allow=NOTHING, deadline=soon())
    assert dialled == []


def test_a_name_that_does_not_resolve_was_not_sent() -> None:
    def failing(host: str, port: int, *, type: int) -> list[tuple[Any, ...]]:
        raise socket.gaierror("no such name")

    with pytest.raises(NotSent, match="does not resolve"):
        egress.prepare("http://no.example/", allow=NOTHING, deadline=soon(), resolver=failing)


def test_a_name_server_that_hangs_ends_at_the_deadline() -> None:
    over = threading.Event()

    def hanging(host: str, port: int, *, type: int) -> list[tuple[Any, ...]]:
        over.wait(60)  # the fault itself: a look-up that nobody can interrupt
        return []

    began = time.monotonic()
    with pytest.raises(NotSent, match="in time"):
        egress.prepare("http://x.example/", allow=NOTHING, deadline=soon(0.2), resolver=hanging)
    assert time.monotonic() - began < 20
    over.set()


def test_the_next_address_is_tried_when_the_first_is_dead(canary: Loopback) -> None:
    line = egress.prepare(
        canary.url(host="two.example"),
        allow=AllowList.parse("127.0.0.0/8"),
        deadline=soon(),
        resolver=resolving("127.0.0.2", "127.0.0.1"),
    )
    with line:
        assert line.send("GET", {}, None).status == 200
