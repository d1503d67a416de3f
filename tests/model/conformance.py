"""Whether what processes logged of their transitions is a walk of the picture in runs/states.py.

A transition is logged after its commit, by the process that made it. So within one process the
order of the lines is that of the commits; between processes nothing is known, for hosts' clocks may
be wrong and a process may be frozen between a commit and its line. The fencing token orders them:
a start raises it by one, nothing else changes it. A run is explained when there is one order of
its lines, each process's own kept, that is a walk. A beat or a worker that is killed, or that never
hears of its own commit, leaves a line out: how many are missing is counted.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from runs.states import BORN, EDGES, RESTING, State

_NEVER_LOGGED = frozenset({State.ENQUEUED})  # of a whole batch only its number is
_EVENTS = {f"run.{state.lower()}": state for state in State} | {"run.missed": State.REVIEW}
_MOST_MISSING = 8  # more than any story kills processes around one run


class Line(NamedTuple):
    """A transition as it was logged: into `state`, at the run's `token` where it was known."""

    state: State
    token: int | None = None


Told = Mapping[str, Sequence[Line]]  # the lines of one run by the process that logged them


@dataclass
class Report:
    """Runs and lines that were looked at, lines that are missing by what the others say, and the
    runs that no order explains, each with its lines."""

    runs: int = 0
    lines: int = 0
    missing: int = 0
    unexplained: dict[str, Told] = field(default_factory=dict)


def of_logs(logs: Iterable[Path]) -> Report:
    """What the log files of a story or a fault run say, one JSON object a line; others are left
    out. Beats log births that a moment's earlier run kept from being written: they do no harm."""
    told: dict[str, dict[str, list[Line]]] = defaultdict(lambda: defaultdict(list))
    for log in logs:
        for run, process, line in _lines(log):
            told[run][process].append(line)
    return of_lines(told)


def of_lines(told: Mapping[str, Told]) -> Report:
    """The same for lines at hand: run → process → its lines in order."""
    report = Report(runs=len(told))
    for run, by_process in told.items():
        report.lines += sum(map(len, by_process.values()))
        missing = missing_lines(by_process)
        if missing is None:
            report.unexplained[run] = by_process
        else:
            report.missing += missing
    return report


def _lines(log: Path) -> Iterator[tuple[str, str, Line]]:
    for text in log.read_text(errors="replace").splitlines():
        found = _object(text)
        state = _EVENTS.get(str(found.get("event")))
        if state is not None and "run" in found:
            process = f"{log.name} {found.get('pid', '')}"
            yield str(found["run"]), process, Line(state, found.get("token"))


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text) if text.startswith("{") else {}
    except ValueError:  # cut off by a kill
        return {}
    return found if isinstance(found, dict) else {}


# ── the search ───────────────────────────────────────────────────────────────────────────


class _Here(NamedTuple):
    """How many lines of each process are behind, and where the run is (None: not born)."""

    read: tuple[int, ...]
    state: State | None = None
    token: int = 0


def missing_lines(by_process: Told) -> int | None:
    """The fewest lines that must be missing if these are a walk; None where no walk has them."""
    lines = list(by_process.values())
    start, end = _Here((0,) * len(lines)), tuple(map(len, lines))
    most = max((line.token or 0 for each in lines for line in each), default=0)
    todo, least = deque([(0, start)]), {start: 0}
    while todo:  # those that miss the fewest lines first
        missing, here = todo.popleft()
        if here.read == end:
            return missing
        for cost, there in _onward(lines, here, most):
            total = missing + cost
            if total < least.get(there, _MOST_MISSING + 1):
                least[there] = total
                (todo.append if cost else todo.appendleft)((total, there))
    return None


def _onward(lines: Sequence[Sequence[Line]], here: _Here, most: int) -> Iterator[tuple[int, _Here]]:
    """Where the run may be next: by a line that is there, or by one that is missing (at a cost,
    unless it is one that nobody logs). `most`: the highest token of any line."""
    for to in sorted(EDGES[here.state] if here.state else BORN):
        if to is State.SKIPPED and here.token:
            continue  # what was started is never dropped
        token = here.token + (to is State.RUNNING)
        free = to in _NEVER_LOGGED or here.state is None
        if token <= most and (free or _may_be_missing(here.state, to)):
            yield (0 if free else 1), _Here(here.read, to, token)
        for process, read in enumerate(here.read):
            line = lines[process][read] if read < len(lines[process]) else None
            if line is not None and line.state is to and line.token in (None, token):
                behind = (*here.read[:process], read + 1, *here.read[process + 1 :])
                yield 0, _Here(behind, to, token)


def _may_be_missing(state: State | None, to: State) -> bool:
    """Not into a review without an attempt, nor out of a rest: a person is in it there, through
    a process that nobody kills. (By such steps almost anything could be explained.)"""
    return state not in RESTING and (to is not State.REVIEW or state is State.RUNNING)
