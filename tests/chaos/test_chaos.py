"""Half a minute of random faults at one seed, the smallest form of `make chaos`, and its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import servers

ROOT = Path(__file__).resolve().parents[2]
SEED, RUNS = 11, 500
CLEAN = dict.fromkeys(("missed", "doubled", "early", "unexplained", "false_reviews"), 0)
# What the run brings itself; a server of the suite's is left alone.
_OF_THE_SUITE = ("DATABASE_URL", "BROKER_URL", "ONEBEAT_DATA", "DJANGO_SETTINGS_MODULE")


@pytest.mark.story
@pytest.mark.chaos
@pytest.mark.timeout(290)
def test_half_a_minute_of_faults_misses_and_doubles_nothing() -> None:
    servers.require("faketime")
    words = ["--seed", str(SEED), "--minutes", "0.45", "--rate", "20", "--runs", str(RUNS)]
    env = {name: value for name, value in os.environ.items() if name not in _OF_THE_SUITE}
    done = subprocess.run(
        [sys.executable, "-m", "tests.chaos", "--broker", "pgmq", *words],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert lines and lines[0] == f"seed {SEED}", done.stderr[-5000:]
    figures = json.loads(lines[-1])
    assert {name: figures[name] for name in CLEAN} == CLEAN, done.stderr[-5000:]
    assert figures["runs"] >= RUNS
    assert sum(figures["faults"].values()) >= 4
    assert done.returncode == 0


_STAGED = """
import contextlib, time
from tests.chaos.stage import ended_by_signal
ended_by_signal()
with contextlib.ExitStack() as started:
    started.callback(print, "ended")
    print("begun", flush=True)
    time.sleep(60)
"""


def test_a_run_that_is_terminated_ends_what_it_has_started() -> None:
    words = [sys.executable, "-c", _STAGED]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as staged:
        assert staged.stdout is not None
        assert staged.stdout.readline() == "begun\n"
        staged.terminate()
        assert staged.stdout.read() == "ended\n"
    assert staged.returncode == 128 + signal.SIGTERM
