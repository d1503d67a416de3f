"""Calling a URL: what goes out, and what comes of it."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from jobs.targets.addresses import AllowList
from jobs.targets.shapes import HttpTarget
from runs.outcomes import Effect, Kind
from runs.targets import http
from runs.targets.prepared import NotSent, Prepared
from tests.runs.loopback import Loopback, answering

LOOPBACK = AllowList.parse("127.0.0.0/8")
DUE = datetime(2026, 11, 29, 18, 0, tzinfo=UTC)
SECRET, PREVIOUS = (base64.b64encode(bytes([n]) * 24).decode() for n in (1, 2))
KEY = "job-1:2026-11-29T18:00:00Z"


def call_of(target: Loopback, **changes: Any) -> http.Call:
    shape = {"method": "POST", "url": target.url("/settle"), "headers": {}, "body": {"a": 1}}
    fields = {name: changes.pop(name, default) for name, default in shape.items()}
    given: dict[str, Any] = {
        "key": KEY, "job_id": "job-1", "run_id": "run-1", "due_at": DUE, "attempt": 3,
        "timeout": 5.0,
        "signing_secret": SECRET, **changes,
    }  # fmt: skip
    return http.Call(target=HttpTarget(**fields), **given)


def prepared(call: http.Call) -> Prepared:
    return http.prepare(call, allow=LOOPBACK)


def received(target: Loopback) -> tuple[dict[str, str], bytes]:
    head, _, body = target.requests[0].partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")[1:]
    names = [line.partition(":")[0].lower() for line in lines]
    assert len(names) == len(set(names)), "a header went out twice"
    return dict(zip(names, (line.partition(": ")[2] for line in lines), strict=True)), body


def test_the_target_learns_which_run_and_which_attempt_it_is() -> None:
    with Loopback() as target:
        outcome = prepared(call_of(target)).perform()
    assert (outcome.kind, outcome.effect, outcome.status) == (Kind.SUCCEEDED, Effect.DONE, 200)
    headers, body = received(target)
    assert headers["idempotency-key"] == KEY
    assert headers["onebeat-job"] == "job-1"
    assert headers["onebeat-run"] == "run-1"
    assert headers["onebeat-scheduled-for"] == "2026-11-29T18:00:00Z"
    assert headers["onebeat-attempt"] == "3"
    assert headers["user-agent"] == "Onebeat"
    assert headers["content-type"] == "application/json"
    assert json.loads(body) == {"a": 1}


def test_the_attempts_of_a_run_are_spans_of_one_trace() -> None:
    run = "01a22ed8-72dc-769b-af88-93db9641620d"
    seen = []
    for number in (1, 2, 2):
        with Loopback() as target:
            prepared(call_of(target, run_id=run, attempt=number)).perform()
        seen.append(received(target)[0]["traceparent"].split("-"))
    assert {(version, trace, flags) for version, trace, _, flags in seen} == {
        ("00", run.replace("-", ""), "01")
    }
    first, second, again = (span for _, _, span, _ in seen)
    assert first != second == again and len(first) == 16 and int(first, 16)


def test_a_job_that_says_its_own_trace_is_left_its_own() -> None:
    with Loopback() as target:
        prepared(call_of(target, headers={"TraceParent": "00-1-2-01"})).perform()
    sent = target.requests[0].lower().split(b"\r\n")
    assert [line for line in sent if line.startswith(b"traceparent")] == [b"traceparent: 00-1-2-01"]


def test_a_run_by_hand_has_no_moment() -> None:
    with Loopback() as target:
        prepared(call_of(target, due_at=None)).perform()
    assert "onebeat-scheduled-for" not in received(target)[0]


def test_nothing_is_sent_before_it_is_performed() -> None:
    with Loopback() as target:
        ready = prepared(call_of(target))
        ready.close()
        ready.close()
        assert b"".join(target.requests) == b""


@pytest.mark.parametrize(
    "body", [{"n": 123456789012345678901234567890}, {"é": "😀"}, [], 0, "", False]
)
def test_the_body_is_its_json_digit_for_digit(body: object) -> None:
    with Loopback() as target:
        prepared(call_of(target, body=body)).perform()
    sent = received(target)[1]
    assert sent == json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("method", "length"), [("GET", None), ("HEAD", None), ("DELETE", None), ("POST", "0")]
)
def test_no_body_is_sent_where_there_is_none(method: str, length: str | None) -> None:
    with Loopback() as target:
        assert prepared(call_of(target, method=method, body=None)).perform().status == 200
    headers, body = received(target)
    assert (headers.get("content-length"), body) == (length, b"")
    assert "content-type" not in headers


def test_text_of_another_type_is_sent_as_it_is() -> None:
    with Loopback() as target:
        prepared(call_of(target, headers={"content-type": "text/plain"}, body="a=1")).perform()
    headers, body = received(target)
    assert (headers["content-type"], body) == ("text/plain", b"a=1")


@pytest.mark.parametrize("secret", [SECRET, f"whsec_{SECRET}", PREVIOUS])
def test_the_signature_verifies_with_the_new_secret_and_the_one_before(secret: str) -> None:
    with Loopback() as target:
        prepared(call_of(target, body={"é": 1}, previous_secret=PREVIOUS)).perform()
    headers, body = received(target)
    assert headers["webhook-id"] == KEY
    assert Webhook(secret).verify(body, headers) == {"é": 1}
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(body + b" ", headers)


def test_the_signature_is_that_of_the_published_vector() -> None:
    with Loopback() as target:
        call = call_of(
            target,
            key="msg_p5jXN8AQM9LWM0D4loKWxJek",
            body={"test": 2432232314},
            signing_secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        )
        at = datetime.fromtimestamp(1614265330, UTC)
        http.prepare(call, allow=LOOPBACK, now=lambda: at).perform()
    headers, body = received(target)
    assert body == b'{"test":2432232314}'
    # The vector's payload has a blank after the colon, which our compact JSON has not: the vector
    # ties the signing to the standard, and ours to the signing.
    sign = Webhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").sign
    assert headers["webhook-signature"] == sign(call.key, at, body.decode())
    vector = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert sign(call.key, at, '{"test": 2432232314}') == vector


def test_without_a_secret_there_is_no_signature() -> None:
    with Loopback() as target:
        prepared(call_of(target, signing_secret="")).perform()
    assert not [name for name in received(target)[0] if name.startswith("webhook-")]


@pytest.mark.parametrize("changes", [{"signing_secret": "é"}, {"headers": {"X-A": "a\nb"}}])
def test_a_request_that_cannot_be_written_was_not_sent(changes: dict[str, Any]) -> None:
    with Loopback() as target:
        try:
            outcome = prepared(call_of(target, **changes)).perform()
        except NotSent:
            return
        assert (outcome.kind, outcome.effect) == (Kind.NOT_SENT, Effect.NONE)
    assert b"".join(target.requests) == b""


def test_a_refused_address_was_not_sent() -> None:
    with Loopback() as target, pytest.raises(NotSent):
        http.prepare(call_of(target), allow=AllowList())


def test_silence_is_unknown() -> None:
    with Loopback(answering()) as target:
        outcome = prepared(call_of(target)).perform()
    assert (outcome.kind, outcome.effect) == (Kind.UNKNOWN, Effect.MAYBE)
    assert outcome.answer["phase"] == "waiting"


def test_an_answer_cut_in_the_middle_is_unknown_and_keeps_its_status() -> None:
    with Loopback(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok") as target:
        outcome = prepared(call_of(target)).perform()
    assert (outcome.kind, outcome.status) == (Kind.UNKNOWN, 200)


def test_retry_after_and_the_echoed_key_are_read() -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=60)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    with Loopback(
        f"HTTP/1.1 503 No\r\nRetry-After: {soon}\r\nContent-Length: 0\r\n\r\n".encode()
    ) as target:
        outcome = prepared(call_of(target)).perform()
    assert 50 < (outcome.retry_after or 0) <= 60
    echo = f"HTTP/1.1 409 No\r\nidempotency-key: {KEY}\r\nContent-Length: 0\r\n\r\n"
    with Loopback(echo.encode()) as target:
        assert prepared(call_of(target)).perform().kind is Kind.LATER


def test_a_secret_that_the_target_echoes_is_not_kept() -> None:
    secret = "Bearer hush-hush-hush"
    body = f'{{"auth": "{secret}", "sign": "{SECRET}"}}'
    said = f"HTTP/1.1 200 OK\r\nX-Echo: {secret}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    with Loopback(said.encode()) as target:
        ready = prepared(call_of(target, headers={"Authorization": secret}))
        kept = json.dumps([ready.sent, ready.perform().answer])
    assert received(target)[0]["authorization"] == secret
    assert "hush" not in kept
    assert SECRET not in kept
