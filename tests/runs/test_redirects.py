"""Redirects that a job opts in to: each hop checked as the first, secrets kept to their origin."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

import pytest

from jobs.definitions import definitions
from jobs.targets.addresses import AllowList
from jobs.targets.shapes import HttpTarget
from jobs.targets.urls import split_url
from runs.outcomes import Effect, Kind, Outcome
from runs.targets import http, redirects
from tests import make
from tests.runs.loopback import Loopback

SECRET = "whsec_" + "A" * 32
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def to(location: str, status: int = 307) -> bytes:
    head = f"HTTP/1.1 {status} Elsewhere\r\nLocation: {location}\r\n"
    return f"{head}Content-Length: 0\r\n\r\n".encode()


def called(url: str, follow: int, allow: str = "127.0.0.0/8", **changes: Any) -> Outcome:
    target = HttpTarget(changes.pop("method", "POST"), url, {"Authorization": "top-secret"}, {})
    call = http.Call(
        target=target,
        key="job:2026-11-29T18:00:00Z",
        job_id="job",
        run_id="run",
        due_at=datetime(2026, 11, 29, 18, tzinfo=UTC),
        attempt=1,
        timeout=5.0,
        signing_secret=SECRET,
        callback="1.secret-of-the-report",
        follow=follow,
        **changes,
    )
    return http.prepare(call, allow=AllowList.parse(allow)).perform()


@pytest.mark.parametrize("status", [307, 308])
def test_a_chain_is_followed_with_method_and_body_and_told(status: int) -> None:
    with ExitStack() as stack:
        last = stack.enter_context(Loopback(OK))
        second = stack.enter_context(Loopback(to(last.url("/done"), status)))
        first = stack.enter_context(Loopback(to(second.url("/b"), status)))
        outcome = called(first.url("/a"), follow=2)
    assert (outcome.kind, outcome.status) == (Kind.SUCCEEDED, 200)
    assert outcome.answer["redirects"] == [second.url("/b"), last.url("/done")]
    request = last.requests[0].decode()
    assert request.startswith("POST /done HTTP/1.1")
    assert request.endswith("\r\n\r\n{}")
    assert "Idempotency-Key: job:2026-11-29T18:00:00Z" in request


def test_secrets_stay_with_their_origin() -> None:
    with Loopback(OK) as other, Loopback(to(other.url("/x"))) as first:
        called(first.url(), follow=1)
    sent, passed_on = first.requests[0].decode().lower(), other.requests[0].decode().lower()
    for secret in ("top-secret", "webhook-signature", "1.secret-of-the-report"):
        assert secret in sent
        assert secret not in passed_on


def test_within_one_origin_they_go_along() -> None:
    answers = iter([to("/further?a=1#part"), OK])

    def play(connection: Any) -> None:
        target.requests.append(connection.recv(65536))
        connection.sendall(next(answers))

    with Loopback(play) as target:
        assert called(target.url("/a/b"), follow=3).kind is Kind.SUCCEEDED
    assert target.requests[1].startswith(b"POST /further?a=1 ")
    assert b"top-secret" in target.requests[1]


@pytest.mark.parametrize(
    ("location", "status", "follow", "said"),
    [
        ("https://ledger.example/", 307, 0, "redirects are not followed"),
        ("/again", 307, 2, "one more than 2"),
        ("/signed-out", 302, 3, "a POST would become a GET"),
        ("/signed-out", 303, 3, "a POST would become a GET"),
        ("http://127.0.0.1:5432/", 307, 3, "where it leads cannot be called"),
        ("ftp://ledger.example/", 308, 3, "where it leads cannot be called"),
        ("http://user:pw@ledger.example/", 308, 3, "where it leads cannot be called"),
        ("http://[::1", 308, 3, "where it leads cannot be called"),
        ("", 307, 3, "it does not say where to"),
        ("http://10.0.0.1/", 307, 3, "is not open to targets"),
        ("http://nowhere.invalid/", 307, 3, "does not resolve"),
    ],
)
def test_what_is_not_followed_is_a_failure_that_says_why(
    location: str, status: int, follow: int, said: str
) -> None:
    with Loopback(to(location, status)) as target:
        outcome = called(target.url(), follow=follow, allow=f"127.0.0.1/32:{target.port}")
    assert (outcome.kind, outcome.effect, outcome.status) == (Kind.FAILED, Effect.MAYBE, status)
    assert said in outcome.reason


def test_a_get_may_be_sent_elsewhere_by_any_of_them() -> None:
    with Loopback(OK) as last, Loopback(to(last.url("/new"), 301)) as first:
        assert called(first.url(), follow=1, method="GET").kind is Kind.SUCCEEDED


def test_a_hop_never_leaves_tls() -> None:
    with pytest.raises(redirects.NotFollowed, match="from https to http"):
        redirects.hop("https://a.example/", 307, {"location": "http://a.example/"}, method="GET")
    here, there = split_url("https://a.example/"), split_url("https://a.example:8443/")
    assert redirects.headers_for({"Cookie": "x", "A": "b"}, here, there) == {"A": "b"}


def test_a_hop_that_breaks_leaves_the_outcome_unknown() -> None:
    with Loopback(b"") as gone, Loopback(to(gone.url("/"))) as first:
        outcome = called(first.url(), follow=1)
    assert (outcome.kind, outcome.effect) == (Kind.UNKNOWN, Effect.MAYBE)
    assert outcome.answer["redirects"] == [gone.url("/")]


@pytest.mark.django_db
@pytest.mark.parametrize("given", [-1, 4, True, "1"])
def test_how_many_is_read_with_its_bounds(given: object) -> None:
    assert make.definition(follow_redirects=3).follow_redirects == 3
    with pytest.raises(definitions.DefinitionError) as refused:
        make.definition(follow_redirects=given)
    assert [problem.field for problem in refused.value.problems] == ["follow_redirects"]
