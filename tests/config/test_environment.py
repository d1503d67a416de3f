"""A wrong variable is one line that names it, whichever process reads it first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

from config import environment

ROOT = Path(__file__).resolve().parents[2]
KEY = Fernet.generate_key().decode()


def test_what_is_sound_is_read() -> None:
    assert environment.queues(["default", " slow.eu-1 "]) == ["default", "slow.eu-1"]
    assert environment.sealing_keys([]) == []
    assert environment.sealing_keys([KEY, f" {KEY}"]) == [KEY, KEY]
    assert environment.egress("127.0.0.1/32:9000,[fd00::]/8") == "127.0.0.1/32:9000,[fd00::]/8"


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
    "words", [["manage.py", "check"], ["-m", "celery", "-A", "config", "worker"]]
)
@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ONEBEAT_TASK_MODULES", "no.such.module"),
        ("ONEBEAT_TASK_MODULES", "tests.config.broken_tasks"),
        ("ONEBEAT_QUEUES", ""),
        ("ONEBEAT_LEASE", "long"),
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
