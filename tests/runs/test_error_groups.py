"""Failures that are alike fall into one group, and others do not."""

from __future__ import annotations

import time
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs import error_groups
from runs.error_groups import alike, group_of

JOB = UUID("0190a5a0-0000-7000-8000-000000000001")


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("The target answered 503 Service Unavailable.",) * 2,
        ("The worker fell silent before it began.",) * 2,
        ("[Errno 111] Connection refused",) * 2,
        ("Order 4711 of 12 failed", "Order # of # failed"),
        ("KeyError: 'customer-99'", "KeyError: '…'"),
        ('no such column "x 1"', 'no such column "…"'),
        ("It doesn't answer, and can't", "It doesn't answer, and can't"),
        ("lease 5f0c7a4e-4b1c-4e0d-9f5e-1f2a3b4c5d6e is over", "lease <id> is over"),
        ("object at 0x7f9a2c", "object at <id>"),
        ("commit 9fceb02d0ae598e95dc970b7", "commit <id>"),
        ("the decade is accede faced", "the decade is accede faced"),
        ("trace req9x8y7z said no", "trace <id> said no"),
        ("step a1 of b2", "step a# of b#"),
        ("late since 2026-11-29T18:00:00.123Z", "late since <time>"),
        ("late since 2026-11-29 18:00:00+01:00 today", "late since <time> today"),
        ("at 18:00:07,123 it fell", "at <time> it fell"),
        ("connect to 10.0.0.7:8443 timed out", "connect to <address> timed out"),
        ("connect to [2001:db8::7]:443 timed out", "connect to <address> timed out"),
        ("GET https://ledger.example/orders/7?x=1 failed", "GET <url> failed"),
        ("mail to ann.b+1@bank.example bounced", "mail to <email> bounced"),
        ("two\n lines\there", "two lines here"),
        ("", error_groups.NO_REASON),
        ("  \n", error_groups.NO_REASON),
    ],
)
def test_what_differs_from_run_to_run_gives_way_to_a_placeholder(reason: str, said: str) -> None:
    assert alike(reason) == said


def test_a_group_is_of_one_job_and_one_kind_of_failure() -> None:
    same = group_of(JOB, "order 1 at 10.0.0.1 failed")
    assert same == group_of(JOB, "Order 23 at 10.0.0.2:80 failed")
    assert same != group_of(uuid4(), "order 1 at 10.0.0.1 failed")
    answered = {group_of(JOB, f"The target answered {status}.") for status in (500, 502, 503)}
    assert len(answered) == 3


def test_a_group_keeps_its_id_from_release_to_release() -> None:
    assert str(group_of(JOB, "Order 4711 failed")) == "d7d4d4f4-9287-545f-aec2-f9d94de58a25"


@given(st.text(max_size=1_500))
def test_any_text_has_a_group_that_is_its_own(reason: str) -> None:
    said = alike(reason)
    assert said and "\n" not in said
    assert group_of(JOB, reason) == group_of(JOB, reason)


@pytest.mark.parametrize(
    "piece",
    [
        "'",
        '"',
        "a",
        "1",
        "a1",
        "1:",
        "f:",
        "a@",
        "a.",
        "1.",
        "0x",
        "http ",
        "x://",
        "“",
        "::",
        "a-",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    began = time.process_time()
    for text in (piece * 50_000, f"{piece} " * 25_000, f"1{piece * 499} !"):
        alike(text)
    assert time.process_time() - began < 5
