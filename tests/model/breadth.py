"""A search of every order of events, breadth first, so that the trace of a fault is a shortest."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

_State = TypeVar("_State", bound=Hashable)
Onward = Iterable[tuple[str, _State, bool]]  # (what happens, what is then, whether it must)


@dataclass(frozen=True)
class Found:
    """What a search came to: the fault ("" for none), how it came about, how many states."""

    fault: str
    trace: tuple[str, ...]
    states: int


def explore(
    first: _State,
    onward: Callable[[_State], Onward[_State]],
    wrong: Callable[[_State, bool], str],
    *,
    limit: int,
) -> Found:
    """Every state that is reached from the first. `wrong` is asked of each, and whether it is at
    rest: nothing that must happen would change it."""
    came: dict[_State, tuple[_State, str] | None] = {first: None}
    todo = deque([first])
    while todo:
        now = todo.popleft()
        nexts = list(onward(now))
        at_rest = not any(must and after != now for _, after, must in nexts)
        if fault := wrong(now, at_rest):
            return Found(fault, _trace(came, now), len(came))
        for name, after, _ in nexts:
            if after not in came:
                came[after] = (now, name)
                todo.append(after)
        if len(came) > limit:
            return Found("more states than the limit", (), len(came))
    return Found("", (), len(came))


def _trace(came: dict[_State, tuple[_State, str] | None], now: _State) -> tuple[str, ...]:
    names: list[str] = []
    while (before := came[now]) is not None:
        now, name = before
        names.append(name)
    return tuple(reversed(names))
