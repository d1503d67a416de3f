"""Public holidays by country and subdivision, from the `holidays` package."""

from __future__ import annotations

from datetime import date
from functools import lru_cache
from typing import Any

import holidays
from holidays.registry import COUNTRIES


@lru_cache(maxsize=1)
def countries() -> dict[str, str]:
    """Two-letter codes and names, by name."""
    found = {
        next(code for code in codes[1:] if len(code) == 2): module.replace("_", " ").title()
        for module, codes in COUNTRIES.items()
    }
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


@lru_cache(maxsize=512)
def subdivisions(country: str) -> dict[str, str]:
    """The codes of a known country's parts, each with its name or the code again, by name."""
    of = _of(country)
    names: dict[str, str] = {code: name for name, code in of.subdivisions_aliases.items()}
    found = {code: names.get(code, code) for code in of.subdivisions}
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def days_of(country: str, subdivision: str, first: int, last: int) -> dict[date, str]:
    """The holidays of these years, in English where the package has it so."""
    of = _of(country)
    english = "en_US" if "en_US" in of.supported_languages else None
    found = holidays.country_holidays(
        country,
        subdiv=subdivision or None,
        years=range(first, last + 1),
        expand=False,
        language=english,
    )
    return dict(sorted(found.items()))


def last_known_year(country: str) -> int:
    """The last year of which the package knows this country's holidays."""
    return int(_of(country).end_year)


def _of(country: str) -> Any:
    return holidays.country_holidays(country)
