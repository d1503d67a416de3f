"""A wrong variable is one line that names it, whichever process reads it first."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured
from environs import EnvError

from config import environment

ROOT = Path(__file__).resolve().parents[2]
KEY = Fernet.generate_key().decode()


def test_what_is_sound_is_read() -> None:
    assert environment.queues(["default", " slow.eu-1 "]) == ["default", "slow.eu-1"]
    assert environment.sealing_keys([]) == []
    assert environment.sealing_keys([KEY, f" {KEY}"]) == [KEY, KEY]
    assert environment.egress("127.0.0.1/32:9000,[fd00::]/8") == "127.0.0.1/32:9000,[fd00::]/8"


def test_an_address_of_traces_has_a_place_for_one() -> None:
    assert environment.trace_url("") == ""
    sound = "https://traces.example/trace/{trace}?from=onebeat"
    assert environment.trace_url(sound) == sound
    for wrong in (
        "traces",
        "https://traces.example/",
        "ftp://x/{trace}",
        "https://{trace}/",
        "{trace}",
    ):
        with pytest.raises(ImproperlyConfigured, match=r"^ONEBEAT_TRACE_URL: .* leads to no trace"):
            environment.trace_url(wrong)


@pytest.mark.parametrize(
    "names", [[], [""], ["default", ""], ["a b"], ["-x"], ["x" * 41], ["é"], ["a\nb"]]
)
def test_queues_that_no_broker_would_take_are_refused(names: list[str]) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^ONEBEAT_QUEUES: .* names no queue\. Write"):
        environment.queues(names)


@pytest.mark.parametrize(
    "wrong", ["", "hidden", KEY[:-4], "é" * 44], ids=["empty", "short", "cut", "no ASCII"]
)
def test_a_key_that_is_none_is_told_by_its_place_and_not_shown(wrong: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^ONEBEAT_SEALING_KEYS: number 2 of 2") as told:
        environment.sealing_keys([KEY, wrong])
    assert KEY not in str(told.value)
    assert not wrong or wrong not in str(told.value)


@pytest.mark.parametrize("text", ["nonsense", "10.0.0.1/8", "10.0.0.0/8:0"])
def test_networks_that_cannot_be_read_are_refused(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^ONEBEAT_EGRESS_ALLOW: .*write entries as"):
        environment.egress(text)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ONEBEAT_LEASE", "long"),
        ("ONEBEAT_LEASE", "0"),
        ("ONEBEAT_LEASE", "nan"),
        ("ONEBEAT_SWEEP", "0"),
        ("ONEBEAT_RESEND", "-1"),
        ("ONEBEAT_STOP_GRACE", "inf"),
        ("ONEBEAT_SOFT_SHUTDOWN", "soon"),
        ("ONEBEAT_STATEMENT_TIMEOUT", "0"),
        ("ONEBEAT_LOCK_TIMEOUT", "0"),
    ],
)
def test_a_time_that_would_undo_a_promise_is_refused(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(EnvError, match=variable):
        runpy.run_path(str(ROOT / "config" / "settings.py"))


@pytest.mark.parametrize(
    "words", [["manage.py", "check"], ["-m", "celery", "-A", "config", "worker"]]
)
@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ONEBEAT_TASK_MODULES", "no.such.module"),
        ("ONEBEAT_TASK_MODULES", "tests.config.broken_tasks"),
        ("ONEBEAT_QUEUES", ""),
        ("ONEBEAT_LEASE", "0"),
        ("BROKER_URL", "kafka://u:hidden@127.0.0.1:1/x"),
        ("DATABASE_URL", "mysql://u:hidden@127.0.0.1:1/x"),
    ],
)
def test_every_process_refuses_in_one_line(words: list[str], variable: str, value: str) -> None:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, variable: value},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert variable in line
    assert "hidden" not in line
