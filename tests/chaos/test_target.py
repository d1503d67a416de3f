"""The target as its callers meet it: what it answers, and what stands in its ledger by then."""

from __future__ import annotations

import http.client
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos import records
from tests.chaos.behaviour import TROUBLED, Doing, Temper
from tests.servers import Child, wait_until

TEMPER = Temper(7, TROUBLED)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("target") / "ledger.jsonl"


@pytest.fixture(scope="module")
def address(ledger: Path) -> Iterator[str]:
    log = ledger.with_name("target.log")
    words = ["-m", "tests.chaos.target", "--ledger", str(ledger), "--seed", str(TEMPER.seed)]
    child = Child([sys.executable, *words], log=log)
    wait_until(lambda: "listening on" in log.read_text(), seconds=30, what="it listens")
    yield f"127.0.0.1:{log.read_text().split()[-1]}"
    child.kill()


def key_that_meets(doing: Doing) -> str:
    return next(key for number in range(100_000) if TEMPER.of(key := f"key {number}", 1) is doing)


def ask(address: str, kind: str, key: str, attempt: int = 1) -> int | None:
    """The status; None where the connection was dropped."""
    line = http.client.HTTPConnection(address, timeout=10)
    headers = {"Idempotency-Key": key, "Onebeat-Attempt": str(attempt)}
    try:
        line.request("POST", f"/{kind}/job-1", body=b"{}", headers=headers)
        return line.getresponse().status
    except (ConnectionError, http.client.RemoteDisconnected):
        return None
    finally:
        line.close()


FATES = {
    Doing.ACT: (200, 1),
    Doing.FAIL_BEFORE: (500, 0),
    Doing.FAIL_AFTER: (500, 1),
    Doing.RESET_BEFORE: (None, 0),
    Doing.RESET_AFTER: (None, 1),
    Doing.REFUSE: (404, 0),
    Doing.BUSY: (429, 0),
    Doing.SLOW: (200, 1),
}


@pytest.mark.parametrize("doing", FATES)
def test_what_is_answered_and_what_is_on_disk_by_then(
    address: str, ledger: Path, doing: Doing
) -> None:
    status, effects = FATES[doing]
    key = key_that_meets(doing)
    assert ask(address, "raw", key) == status
    found = records.ledger(ledger)
    assert [request.doing for request in found.requests[key]] == [doing]
    assert len(found.effects.get(key, [])) == effects


def test_a_key_is_honoured_where_it_is_asked_to_be(address: str, ledger: Path) -> None:
    for kind, effects in (("once", 1), ("raw", 3)):
        key = f"{kind} and again"
        numbers = (n for n in range(1, 100) if TEMPER.of(key, n) is Doing.ACT)
        attempts = [next(numbers) for _ in range(3)]
        assert [ask(address, kind, key, number) for number in attempts] == [200] * 3
        found = records.ledger(ledger)
        assert len(found.effects[key]) == effects
        assert [request.attempt for request in found.requests[key]] == attempts
