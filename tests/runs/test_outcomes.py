"""What each answer of a target means, and what is kept of it."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from runs import evidence, outcomes
from runs.outcomes import Effect, Kind, Outcome

NOW = datetime(2026, 11, 29, 18, 0, tzinfo=UTC)
KEY = "job:2026-11-29T18:00:00Z"


def of(status: int, body: bytes = b"", **more: Any) -> Outcome:
    headers = more.pop("headers", {})
    return outcomes.of_answer(status, headers, body, key=KEY, now=NOW, **more)


@pytest.mark.parametrize(
    ("statuses", "kind", "effect"),
    [
        ((200, 201, 202, 204, 206, 299), Kind.SUCCEEDED, Effect.DONE),
        ((301, 302, 304, 307, 308), Kind.FAILED, Effect.MAYBE),
        ((400, 401, 403, 404, 405, 410, 413, 422, 451, 499), Kind.REFUSED, Effect.NONE),
        ((408, 409, 425), Kind.FAILED, Effect.MAYBE),
        ((429,), Kind.FAILED, Effect.NONE),
        ((500, 502, 503, 504, 599, 600, 999), Kind.FAILED, Effect.MAYBE),
    ],
)
def test_a_status_means(statuses: tuple[int, ...], kind: Kind, effect: Effect) -> None:
    for status in statuses:
        outcome = of(status)
        assert (outcome.kind, outcome.effect, outcome.status) == (kind, effect, status)
        assert str(status) in outcome.reason
        assert outcome.pause_job is (status == 410)


def test_a_conflict_that_echoes_our_key_is_still_at_work() -> None:
    later = of(409, headers={"IDEMPOTENCY-KEY": KEY, "Retry-After": "7"})
    assert (later.kind, later.effect, later.retry_after) == (Kind.LATER, Effect.MAYBE, 7)
    assert of(409, headers={"Idempotency-Key": KEY + "x"}).kind is Kind.FAILED


def test_a_job_may_name_codes_that_say_nothing_was_done() -> None:
    refused = of(503, refusal_codes=(503,))
    assert (refused.kind, refused.effect) == (Kind.REFUSED, Effect.NONE)
    assert of(200, refusal_codes=(200,)).kind is Kind.SUCCEEDED


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        (" 0 ", 0),
        ("9" * 400, outcomes.LONGEST_WAIT),
        ("Sun, 29 Nov 2026 18:01:30 GMT", 90),
        ("Sun, 29 Nov 2026 17:00:00 GMT", 0),
        ("Sunday, 29-Nov-26 18:01:30 GMT", 90),
        ("Fri, 31 Dec 9999 23:59:59 -1200", outcomes.LONGEST_WAIT),
        ("Mon, 01 Jan 0001 00:00:00 +1200", 0),
        ("Sun, 29 Nov 99999 18:01:30 GMT", None),
        ("-5", None),
        ("1.5", None),
        ("٣", None),
        ("soon", None),
        ("", None),
        ("\0", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    for status in (429, 503):
        assert of(status, headers={"retry-after": value}).retry_after == seconds
    assert of(404, headers={"retry-after": value}).retry_after is None


def test_what_is_kept_can_be_stored_and_shown() -> None:
    kept = of(200, b"a\0b\x1b[2J\xff\xfe\xed\xa0\xbd\tok\n", headers={"X-A": "1\0"}).answer
    assert kept["body"] == "a\ufffdb\ufffd[2J\ufffd\ufffd\ufffd\ufffd\ufffd\tok\n"
    assert kept["headers"] == {"x-a": "1\ufffd"}
    json.dumps(kept, allow_nan=False).encode()


def test_what_is_kept_is_capped() -> None:
    headers = {f"x-{n}": "v" * 10_000 for n in range(100)}
    kept = of(200, b"a" * 100_000, headers=headers).answer
    assert kept["truncated"] is True
    assert len(json.dumps(kept)) < 16 * 1024 + 40 * 1_200


def test_a_compressed_body_is_named_and_not_opened() -> None:
    kept = of(200, b"\x1f\x8b", headers={"Content-Encoding": "gzip"}).answer
    assert (kept["body"], kept["compressed"]) == ("", "gzip")


def test_no_secret_is_kept() -> None:
    kept = of(
        200,
        b'{"you sent": "Bearer hush-hush", "or": "hush-hush"} and at the end hush-h',
        headers={"Set-Cookie": "session=1", "X-Echo": "Bearer hush-hush"},
        truncated=True,
        secrets=("Bearer hush-hush",),
    ).answer
    assert "hush" not in json.dumps(kept)
    assert "session" not in json.dumps(kept)


def test_named_secrets_are_cut_from_a_traceback() -> None:
    text = "db://x password=hunter2 token: 'abc' API_KEY=\"k\" Authorization: Bearer xyz done"
    clean = evidence.redact_named(text)
    assert clean.endswith("done")
    assert not any(secret in clean for secret in ("hunter2", "abc", '"k"', "xyz"))


@pytest.mark.parametrize("letter", ["x", "-", "passwd", "token", " ", "'", "token=", "api_key "])
def test_a_text_made_to_be_slow_is_not(letter: str) -> None:
    began = time.monotonic()
    evidence.of_error(letter * (400_000 // len(letter)), ("x" * 8_000,))
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("value", [None, 1, "x", [1, {"a": 2.5}], 10**30, "\\u0000"])
def test_a_small_json_value_is_kept_as_it_is(value: object) -> None:
    assert evidence.of_value(value) == {"value": value}


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {1, 2},
        float("nan"),
        "a" * 20_000,
        b"\0\xff",
        Hostile(),
        10**5000,
        {"a": Hostile()},
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_other_value_is_kept_as_text(value: object) -> None:
    kept = evidence.of_value(value)
    assert len(str(kept["repr"])) <= evidence.KEEP
    assert "\0" not in str(kept["repr"])


def test_nul_in_a_value_is_replaced_in_the_value_not_in_its_text() -> None:
    """K152, K153."""
    assert evidence.of_value({"a\0": ["x\0y", "\\u0000"]}) == {
        "value": {"a\ufffd": ["x\ufffdy", "\\u0000"]}
    }


def test_silence_is_unknown_and_a_call_not_made_had_no_effect() -> None:
    assert (outcomes.unknown("x").kind, outcomes.unknown("x").effect) == (
        Kind.UNKNOWN,
        Effect.MAYBE,
    )
    assert (outcomes.not_sent("x").kind, outcomes.not_sent("x").effect) == (
        Kind.NOT_SENT,
        Effect.NONE,
    )
