"""`python -m tests.chaos`: random faults against real processes, judged by an independent oracle.

The seed is the first line, the figures as one JSON object the last; exit code 1 on any finding.
tests/chaos/README.md says what is proved by it.
"""

from __future__ import annotations

import argparse
import json
import secrets
import shutil
import sys
import tempfile
from pathlib import Path

from tests.chaos import plan, play
from tests.chaos.stage import BROKERS, ended_by_signal, opened

_SKIPPED = 1.1  # moments for each run: those that come while a job that runs alone is busy are none


def main() -> int:
    ended_by_signal()
    options = _options()
    print(f"seed {options.seed}", flush=True)
    seconds = max(options.minutes * 60, _SKIPPED * options.runs / options.rate)
    folder = Path(tempfile.mkdtemp(prefix="onebeat-chaos-"))
    asked = play.Options(options.seed, seconds, options.rate, options.pause)
    with opened(folder / "stage", options.broker, options.seed) as stage:
        verdict = play.play(stage, asked)
    if verdict.well and not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"the logs and the ledger are kept in {folder}", file=sys.stderr)
    print(json.dumps(verdict.figures()))
    return 0 if verdict.well else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--seed", type=_seed, default=None, help="drawn where it is not given")
    parser.add_argument("--minutes", type=float, default=5.0, help="under faults")
    parser.add_argument("--broker", choices=BROKERS, default="rabbitmq")
    parser.add_argument("--rate", type=int, default=40, help="moments a second")
    parser.add_argument(
        "--pause", type=float, default=plan.PAUSE, help="seconds between two faults, on average"
    )
    parser.add_argument("--runs", type=int, default=10_000, help="at least; the time grows with it")
    parser.add_argument("--keep", action="store_true", help="the folder, though all went well")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = secrets.randbelow(1_000_000)
    if options.rate < 1 or options.minutes <= 0 or options.pause <= 0:
        parser.error("--rate, --minutes and --pause: a positive number")
    return options


def _seed(text: str) -> int | None:
    return int(text) if text else None


if __name__ == "__main__":
    sys.exit(main())
