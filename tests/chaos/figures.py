"""`python -m tests.chaos.figures F6 F7 …`: one scene each, its figures as a line of JSON.

    python -m tests.chaos.figures [--broker rabbitmq] [--minutes 1] F6 F7 F8 F9 F10 F11 F12 F14

The last line holds them all, with the target of each and whether it is reached; exit code 1 where
one is not. The others are measured by `python -m tests.chaos` (F1, F2, F3, F5) and by the suite
(F4: the crash matrix; F15: the seeded bugs); tests/chaos/README.md names every command.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.chaos.scenes import SCENES, Figures
from tests.chaos.stage import BROKERS, LIFE, ended_by_signal, opened

# Of these nothing is cut or hung: the lines between the processes would be measured with them.
_STRAIGHT = ("F6", "F14")
_CLEAN = ("missed", "doubled", "early", "unexplained", "false_reviews")


def _clean(found: Figures) -> bool:
    return not any(found[name] for name in _CLEAN)


def _soaked(found: Figures) -> bool:
    early, late = found["early"], found["late"]
    bloat = late["due_table_kb"] + late["due_indexes_kb"]
    return bool(
        found["memory_growth"] <= 0.05
        and found["most_connections"] <= early["connections"] + 8
        and bloat <= 2 * (early["due_table_kb"] + early["due_indexes_kb"])
    )


TARGETS: dict[str, tuple[str, Callable[[Figures], bool]]] = {
    "F6": (
        "p50 ≤ 0.5 s, p95 ≤ 1 s, p99 ≤ 2 s",
        lambda f: f["p50"] <= 0.5 and f["p95"] <= 1 and f["p99"] <= 2,
    ),
    "F7": ("added p99 ≤ 3 s", lambda f: f["added_p99"] <= 3),
    "F8": ("decided ≤ 35 s", lambda f: f["decided_s"] <= 35),
    "F9": (
        "broker ≤ 30 s, database ≤ 10 s, nothing by hand",
        lambda f: (
            f["broker_back_s"] <= 30
            and f["database_back_s"] <= 10
            and not f["by_hand"]
            and _clean(f)
        ),
    ),
    "F10": ("F1 to F5 unchanged", lambda f: _clean(f) and not f["reviews"]),
    "F11": ("0 missed, 0 doubled, 0 reviews", lambda f: _clean(f) and not f["reviews"]),
    "F12": (
        "parents alive; others' p99 ≤ 5 s; poison ends DEAD or in REVIEW",
        lambda f: (
            f["parents_alive"]
            and f["others"]["p99"] <= 5
            and set(f["poison"]) == {"DEAD", "REVIEW"}
        ),
    ),
    "F14": ("memory +≤ 5 %, no growing bloat, connections bounded", _soaked),
}


def main() -> int:
    ended_by_signal()
    options = _options()
    found = {name: _measured(name, options) for name in options.figures}
    print(json.dumps(found))
    return 0 if all(figures["reached"] for figures in found.values()) else 1


def _measured(name: str, options: argparse.Namespace) -> dict[str, Any]:
    words, reached = TARGETS[name]
    how: dict[str, Any] = {"times": LIFE, "quiet_target": True, "straight": name in _STRAIGHT}
    with (
        tempfile.TemporaryDirectory(prefix="onebeat-figures-") as folder,
        opened(Path(folder) / "stage", options.broker, 0, **how) as stage,
    ):
        figures = SCENES[name](stage, minutes=options.minutes)
    told = {**figures, "target": words, "reached": bool(reached(figures))}
    print(json.dumps({name: told}), file=sys.stderr, flush=True)
    return told


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.figures")
    parser.add_argument("figures", nargs="*", metavar="F6", help="all where none is named")
    parser.add_argument("--broker", choices=BROKERS, default="rabbitmq")
    parser.add_argument("--minutes", type=float, default=1.0, help="of F6, F10 and F14")
    options = parser.parse_args()
    options.figures = options.figures or list(SCENES)
    if unknown := [name for name in options.figures if name not in SCENES]:
        parser.error(f"no such figure: {', '.join(unknown)}; there are {', '.join(SCENES)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
