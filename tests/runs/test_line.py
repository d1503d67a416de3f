"""One request and its answer: under the deadline, under the caps, and never more than one."""

from __future__ import annotations

import gzip
import socket
import ssl
import struct
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs.targets.addresses import AllowList
from runs.targets import egress
from runs.targets.egress import Answer, Broken, NotSent
from tests.runs.certificate import contexts
from tests.runs.loopback import Loopback, answering, read_request

LOOPBACK = AllowList.parse("127.0.0.0/8")
HEAD = b"HTTP/1.1 200 OK\r\n"


def call(
    target: Loopback,
    *,
    method: str = "POST",
    path: str = "/",
    headers: dict[str, str] | None = None,
    body: bytes | None = b"{}",
    seconds: float = 5.0,
) -> Answer:
    deadline = time.monotonic() + seconds
    with egress.prepare(target.url(path), allow=LOOPBACK, deadline=deadline) as line:
        return line.send(method, headers or {}, body)


def test_the_request_is_framed_by_us_and_the_answer_comes_back() -> None:
    with Loopback(
        b"HTTP/1.1 201 Created\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 2\r\n\r\nhi"
    ) as target:
        answer = call(target, path="/a?b=c%20d", headers={"X-Mine": "1"}, body=b"[1]")
    assert answer == Answer(201, {"x-a": "1, 2", "content-length": "2"}, b"hi", False)
    head, _, body = target.requests[0].partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /a?b=c%20d HTTP/1.1"
    assert set(lines[1:]) == {
        f"Host: 127.0.0.1:{target.port}", "X-Mine: 1", "Connection: close",
        "Accept-Encoding: identity", "Content-Length: 3",
    }  # fmt: skip
    assert body == b"[1]"


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE"])
def test_a_request_without_a_body_has_no_length(method: str) -> None:
    with Loopback() as target:
        assert call(target, method=method, body=None).status == 200
    assert b"content-length" not in target.requests[0].lower()


def test_an_interim_answer_is_passed_over() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    with Loopback(interim + HEAD + b"Content-Length: 2\r\n\r\nok") as target:
        assert call(target) == Answer(200, {"content-length": "2"}, b"ok", False)


def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    with Loopback() as inside:
        location = f"HTTP/1.1 302 Found\r\nLocation: {inside.url()}\r\nContent-Length: 0\r\n\r\n"
        with Loopback(location.encode()) as target:
            assert call(target).status == 302
        assert inside.connections == 0


def test_the_environments_proxies_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with Loopback() as proxy, Loopback() as target:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url())
        assert call(target).status == 200
        assert proxy.connections == 0


CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
SIZED = HEAD + b"Content-Length: 99999\r\n\r\n"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"
DRIPS = {
    "status line": (answering(HEAD, every=0.05), "waiting"),
    "headers": (answering(HEAD + b"X-A: " + b"a" * 1000, every=0.05), "waiting"),
    "interim answers": (answering(INTERIM, every=0.01, for_ever=True), "waiting"),
    "body": (answering(SIZED, b"a" * 1000, every=0.01), "reading"),
    "chunks": (answering(CHUNKED + b"1\r\na\r\n" * 999, every=0.005), "reading"),
}


@pytest.mark.parametrize("drip", DRIPS)
def test_a_drip_ends_at_the_deadline(drip: str) -> None:
    script, phase = DRIPS[drip]
    with Loopback(script) as target:
        began = time.monotonic()
        with pytest.raises(Broken, match="time limit") as broken:
            call(target, seconds=0.8)
    assert 0.7 < time.monotonic() - began < 20
    assert broken.value.phase == phase
    assert broken.value.sent > 0
    assert broken.value.status == (200 if phase == "reading" else None)


def test_a_target_that_never_reads_ends_at_the_deadline() -> None:
    hold: list[socket.socket] = []
    began = time.monotonic()
    with (
        Loopback(lambda connection: hold.append(connection.dup())) as target,
        pytest.raises(Broken, match="time limit") as broken,
    ):
        call(target, body=b"a" * 30_000_000, seconds=2)
    assert time.monotonic() - began < 20
    assert broken.value.phase == "sending"
    assert 0 < broken.value.sent < 30_000_000


def test_a_target_that_says_nothing_ends_at_the_deadline() -> None:
    began = time.monotonic()
    with (
        Loopback(lambda connection: [*iter(lambda: connection.recv(999), b"")].clear()) as target,
        pytest.raises(Broken, match="time limit passed before an answer"),
    ):
        call(target, seconds=0.5)
    assert 0.4 < time.monotonic() - began < 20


def test_an_endless_answer_is_cut_at_the_cap() -> None:
    began = time.monotonic()
    with Loopback(answering(HEAD + b"\r\n", *[b"a" * 65536] * 10_000)) as target:
        answer = call(target, seconds=30)
    assert (len(answer.body_excerpt), answer.truncated) == (16 * 1024, True)
    assert time.monotonic() - began < 20


def test_endless_headers_are_cut() -> None:
    script = answering(HEAD, b"X-A: " + b"a" * 60_000 + b"\r\n", for_ever=True)
    with Loopback(script) as target, pytest.raises(Broken) as broken:
        call(target, seconds=30)
    assert broken.value.phase == "waiting"


def test_endless_interim_answers_are_cut_at_the_cap() -> None:
    script = answering(INTERIM * 999, for_ever=True)
    with Loopback(script) as target, pytest.raises(Broken, match="Too much"):
        call(target, seconds=30)


def test_a_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(b"\0" * 20_000_000)
    head = HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    with Loopback(head + bomb) as target:
        answer = call(target)
    assert answer.body_excerpt == bomb[: 16 * 1024]
    assert answer.headers["content-encoding"] == "gzip"


def test_a_long_answer_is_read_to_its_end_and_kept_in_part() -> None:
    with Loopback(HEAD + b"Content-Length: 100000\r\n\r\n" + b"a" * 100_000) as target:
        assert call(target) == Answer(200, {"content-length": "100000"}, b"a" * 16384, True)


@pytest.mark.parametrize(
    ("said", "phase"),
    [
        (b"", "waiting"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "waiting"),
        (b"\x00\xff\xfe" * 100, "waiting"),
        (b"HTTP/1.1 999999 No\r\n\r\n", "waiting"),
        (b"HTTP/1.1 200 OK\r\nX-A: 1", "waiting"),
        (HEAD + b"Content-Length: 10\r\n\r\nabc", "reading"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab", "reading"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nab", "reading"),
    ],
)
def test_half_an_answer_or_none_is_broken(said: bytes, phase: str) -> None:
    with Loopback(said) as target, pytest.raises(Broken) as broken:
        call(target)
    assert broken.value.phase == phase


def test_a_reset_after_the_request_is_broken() -> None:
    def reset(connection: socket.socket) -> None:
        read_request(connection)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with Loopback(reset) as target, pytest.raises(Broken, match="broke before an answer"):
        call(target)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.text(min_size=1, max_size=20) | st.just("X-A"),
    value=st.text(max_size=30)
    | st.sampled_from(["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\r X-Evil: 1"]),
)
def test_no_header_breaks_out_of_its_line(name: str, value: str) -> None:
    with Loopback() as target:
        try:
            call(target, method="GET", headers={name: value}, body=None)
        except NotSent:
            return
        except Broken:
            pytest.fail("a request went out that was not sound")
    head = target.requests[0].partition(b"\r\n\r\n")[0].decode("latin-1")
    given_lines = [line for line in head.split("\r\n")[1:] if not line.startswith(
        ("Host: ", "Connection: ", "Accept-Encoding: "))]  # fmt: skip
    assert len(given_lines) <= 1
    assert "\n" not in head.replace("\r\n", "")


@pytest.mark.parametrize("path", ["/a b", "/a\r\nX-Evil:1", "/\x00", "/é", "/a\tb", "/\x7f"])
def test_no_path_breaks_out_of_its_line(path: str) -> None:
    with Loopback() as target:
        with pytest.raises(NotSent):
            call(target, path=path)
        assert target.connections == 0


def test_tls_is_checked_against_the_host(tmp_path: Path) -> None:
    server, trusting = contexts(tmp_path, "right.example")
    with Loopback(tls=server) as target:
        deadline = time.monotonic() + 5

        def prepared(host: str, tls: ssl.SSLContext | None) -> egress.Line:
            return egress.prepare(
                target.url(scheme="https", host=host),
                allow=LOOPBACK,
                deadline=deadline,
                tls=tls,
                resolver=lambda host, port, *, type: socket.getaddrinfo(
                    "127.0.0.1", port, type=type
                ),
            )

        with prepared("right.example", trusting) as line:
            assert line.send("GET", {}, None).status == 200
        with pytest.raises(NotSent) as mismatch:
            prepared("wrong.example", trusting)
        with pytest.raises(NotSent) as untrusted:
            prepared("right.example", None)
    assert "mismatch" in mismatch.value.detail
    assert "verify failed" in untrusted.value.detail
    assert len(target.requests) == 1


def test_the_team_cannot_tell_an_open_inside_port_from_a_closed_one() -> None:
    with Loopback() as target:
        reasons = {}
        for host in ("127.0.0.1", "127.0.0.2"):  # something listens on the first only
            with pytest.raises(NotSent) as refused:
                deadline = time.monotonic() + 0.5
                url = target.url(scheme="https", host=host)
                egress.prepare(url, allow=LOOPBACK, deadline=deadline)
            reasons[host] = refused.value.reason.replace(host, "HOST")
    assert reasons["127.0.0.1"] == reasons["127.0.0.2"]
