"""Random cron expressions of the whole grammar, from a seed."""

from __future__ import annotations

from random import Random

HOURS_NEAR_CHANGES = (0, 1, 2, 3, 23)


def some(dice: Random) -> str:
    fields = minute(dice), hour(dice), date(dice), month(dice), weekday(dice)
    return " ".join(fields)


def spans(dice: Random, low: int, high: int) -> str:
    first = dice.randint(low, high)
    last = dice.randint(first, high)
    step = dice.randint(1, max(1, (high - low) // 2))
    plain, range_ = str(first), f"{first}-{last}"
    forms = (
        plain,
        plain,
        range_,
        f"{range_}/{step}",
        f"{first}/{step}",
        f"*/{step}",
        f"{first}-{first}",
    )
    return dice.choice(forms)


def listed(dice: Random, low: int, high: int) -> str:
    return ",".join(spans(dice, low, high) for _ in range(dice.choice((1, 1, 2, 3))))


def minute(dice: Random) -> str:
    return dice.choice(("*", "0", "30", "*/15", listed(dice, 0, 59)))


def hour(dice: Random) -> str:
    near = str(dice.choice(HOURS_NEAR_CHANGES))
    return dice.choice(("*", near, near, "*/2", "0-3", listed(dice, 0, 23)))


def date(dice: Random) -> str:
    word = dice.choice(("L", "LW", f"L-{dice.randint(1, 30)}", f"{dice.randint(1, 31)}W"))
    return dice.choice(("*", "*", "*", "1-31", listed(dice, 1, 31), word, f"1,{word}"))


def month(dice: Random) -> str:
    return dice.choice(("*", "*", "*", "*", "jan-DEC", listed(dice, 1, 12)))


def weekday(dice: Random) -> str:
    day = dice.choice(("0", "3", "6", "7", "sun", "FRI"))
    word = dice.choice((f"{day}#{dice.randint(1, 5)}", f"{day}L"))
    return dice.choice(("*", "*", "*", "mon-fri", "5-7", "0-7", listed(dice, 0, 6), word))
