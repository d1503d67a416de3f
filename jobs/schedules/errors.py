"""The one error that leaves the modules of time. PURE."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence

REQUIRED = "is required"  # of a field left empty: there is nothing to quote

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60
_SHORT.maxlevel = 2


def short(value: object) -> str:
    """`value` as one printable piece of text, at most about 60 characters of it."""
    return _SHORT.repr(value)


class ScheduleError(ValueError):
    """A schedule that cannot be kept: which field, which value, what is wrong, what to do.

    `field` is a path in the job (`schedule.cron`, `schedule[1].at`). `value` is what was given,
    of any JSON type and size; `message` quotes it shortened and says what is wrong with it, as
    `hint` says the remedy; both are sentences. `beside`: what else is wrong with the same schedule.
    """

    beside: tuple[ScheduleError, ...] = ()

    def __init__(self, field: str, value: object, problem: str, hint: str) -> None:
        super().__init__(field, value, problem, hint)
        self.field = field
        self.value = value
        self.problem = problem
        self.hint = hint

    @property
    def message(self) -> str:
        if self.problem == REQUIRED:
            return f"{REQUIRED}."
        return f"{short(self.value)} {self.problem}."

    def __str__(self) -> str:
        return f"{self.field}: {self.message} {self.hint}"

    def under(self, path: str) -> ScheduleError:
        """The same error, its field inside `path`."""
        found = ScheduleError(f"{path}.{self.field}", self.value, self.problem, self.hint)
        found.beside = tuple(error.under(path) for error in self.beside)
        return found

    @classmethod
    def of(cls, errors: Sequence[ScheduleError]) -> ScheduleError:
        """Several of one schedule as one: the first, with the others beside it."""
        first, *others = errors
        first.beside = tuple(others)
        return first
