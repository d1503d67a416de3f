"""What is wrong with a target, said so that whoever wrote it can mend it."""

from __future__ import annotations

import reprlib

MASK = "********"
REQUIRED = "is required"  # of a field left empty: there is nothing to quote

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80
_SHORT.maxlevel = 2


class TargetError(ValueError):
    """A target that cannot be accepted.

    `field` is the path in the API's shape (`target.url`, `target.args[0].a`), `value` what
    stood there (masked already where it is a secret). `message` quotes it shortened and says
    what is wrong, `hint` what to write instead; both are sentences.
    """

    def __init__(self, field: str, value: object, problem: str, hint: str) -> None:
        self.field = field
        self.value = value
        self.message = f"{problem}." if problem == REQUIRED else f"{shown(value)} {problem}."
        self.hint = f"{hint[:1].upper()}{hint[1:]}."
        super().__init__(f"{field}: {self.message} {self.hint}")


def shown(value: object) -> str:
    """A short printable form of any value, however long or deep it is."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # Python refuses to print an integer of more than 4,300 digits
        return "a number too long to show"


def step(path: str, key: str) -> str:
    """The path one key further in: `target.body.a`, or `target.body["a b"]` for odd keys."""
    return f"{path}.{key}" if key.isidentifier() and key.isascii() else f"{path}[{shown(key)}]"
