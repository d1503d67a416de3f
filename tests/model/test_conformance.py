"""The check of logged transitions explains what can happen, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runs.states import State
from tests.model import conformance
from tests.model.conformance import Line, Told, missing_lines

S = State


def walk(*lines: Line | State) -> list[Line]:
    return [Line(line) if isinstance(line, State) else line for line in lines]


FIRST, SECOND = Line(S.RUNNING, 1), Line(S.RUNNING, 2)
ENDED = Line(S.SUCCEEDED, 1)

EXPLAINED: list[tuple[Told, int]] = [
    ({"worker": walk(FIRST, ENDED)}, 0),
    ({"beat": walk(S.SKIPPED)}, 0),
    ({"beat": walk(S.REVIEW), "web": walk(Line(S.CLAIMED, 0)), "worker": walk(FIRST, ENDED)}, 0),
    # Sent again, retried by two workers; which worker's lines come first nobody can tell.
    (
        {
            "b": walk(SECOND, Line(S.SUCCEEDED, 2)),
            "a": walk(FIRST, Line(S.RETRYING, 1)),
        },
        0,
    ),
    # Killed before its line: the rescue's tells that it had started.
    ({"beat": walk(Line(S.REVIEW, 1))}, 1),
    ({"worker": walk(FIRST, SECOND)}, 1),
    ({"web": walk(S.WAITING, Line(S.CLAIMED, 0)), "worker": walk(FIRST, ENDED)}, 0),
]
STRANGE: list[Told] = [
    {"a": walk(FIRST), "b": walk(FIRST)},  # two starts under one token
    {"a": walk(FIRST, ENDED), "b": walk(Line(S.RETRYING, 1))},  # two endings of one attempt
    {"a": walk(FIRST, ENDED), "b": walk(SECOND)},  # a start after the end
    {"a": walk(ENDED, FIRST)},
    {"a": walk(SECOND, FIRST)},
    {"beat": walk(S.SKIPPED), "worker": walk(FIRST)},
    {"worker": walk(Line(S.RUNNING, 0))},
    {"worker": walk(FIRST, Line(S.CLOSED, 1), Line(S.SUCCEEDED, 1))},
]


@pytest.mark.parametrize(("told", "missing"), EXPLAINED)
def test_a_walk_is_explained(told: Told, missing: int) -> None:
    assert missing_lines(told) == missing


@pytest.mark.parametrize("told", STRANGE)
def test_what_is_no_walk_is_not(told: Told) -> None:
    assert missing_lines(told) is None


def test_logs_are_read_by_process_and_torn_lines_left_out(tmp_path: Path) -> None:
    def line(state: str, token: int, pid: int) -> str:
        return json.dumps({"event": f"run.{state}", "run": "r", "token": token, "pid": pid})

    log = tmp_path / "worker0.log"
    # The second process was frozen between the commit and the line of its start.
    told = [line("running", 2, 7), line("succeeded", 2, 7), line("running", 1, 8)]
    log.write_text("\n".join(["Celery starts", *told, '{"event": "run.runn']))
    (tmp_path / "beat0.log").write_text(line("retrying", 1, 3))

    report = conformance.of_logs([log, tmp_path / "beat0.log"])

    assert (report.runs, report.lines, report.missing, report.unexplained) == (1, 4, 0, {})
    log.write_text("\n".join(told + told))
    assert list(conformance.of_logs([log]).unexplained) == ["r"]
