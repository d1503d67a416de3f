"""Failures that are alike: the reason of a failure without what differs from run to run. PURE."""

from __future__ import annotations

import re
from uuid import UUID, uuid5

NO_REASON = "No reason was given."
_READ = 1_000  # characters of a reason that count
_SHORTEST_ID = 6  # characters; a shorter word with digits in it keeps its letters

# One pass; the first alternative that fits wins. Every repetition is bounded, since a target
# chooses the text. A status or an error number is what was said, not an accident of this run.
_VARIES = re.compile(
    r"""
    (?P<kept>\b(?:answered|status|code|errno|http)[ ]\(?\d{1,5}\b)
  | (?P<url>\b[a-z][a-z0-9+.-]{1,15}://[^\s"'<>()]{1,300})
  | (?P<email>(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6})
  | (?P<time>\b\d{4}-\d\d-\d\d
        (?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:[ ]?(?:Z|[+-]\d\d:?\d\d))?)?
      | \b\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\b)
  | (?P<id>\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b | \b0x[0-9a-f]{1,64}\b)
  | (?P<address>\[?\b(?:[0-9a-f]{1,4}:){2,7}(?::?[0-9a-f]{1,4}){1,7}\b\]?(?::\d{1,5})?
      | \b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b)
  | (?P<value>"[^"]{0,200}" | “[^”]{0,200}” | ‘[^’]{0,200}’ | `[^`]{0,200}`
      | (?<!\w)'[^']{0,200}'(?!\w))
  | (?P<hex>\b(?=[a-f]{0,40}\d)[0-9a-f]{12,128}\b)
  | (?P<word>\b(?=[^\W\d]{0,40}\d)\w{1,128}\b)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_DIGITS = re.compile(r"\d{1,128}")


def alike(reason: str) -> str:
    """The reason with a placeholder for each id, number, quoted value, instant and address, on
    one line; the number of a status or an error stays."""
    text = " ".join(reason[:_READ].split())
    return _VARIES.sub(_placeholder, text) or NO_REASON


def group_of(job_id: UUID, reason: str) -> UUID:
    """The group of a job's dead run that failed for this reason: the same whenever and wherever
    it is worked out."""
    return uuid5(job_id, alike(reason).casefold())


def _placeholder(found: re.Match[str]) -> str:
    match found.lastgroup:
        case "kept":
            return found[0]
        case "value":
            return f"{found[0][0]}…{found[0][-1]}"
        case "hex":
            return "<id>"
        case "word":
            return _word(found[0])
        case kind:
            return f"<{kind}>"


def _word(text: str) -> str:
    if len(text) >= _SHORTEST_ID and not text.isdecimal():
        return "<id>"
    return _DIGITS.sub("#", text)
