"""What is wrong with the definition of a job. PURE."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: the field's path, what is wrong with it, what to do."""

    field: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" + (f" {self.hint}" if self.hint else "")


class DefinitionError(ValueError):
    """The input is no job. Carries every problem found, not the first alone."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems
