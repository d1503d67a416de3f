"""What should have happened against what did. Shares no code with the product. PURE.

What was due is worked out by brute force from the cast (`Part.moments`); what was done stands in
the target's ledger; what the product says of it, in its rows. Each moment is ok, or there is a
finding: missed, doubled, early, unexplained, false review.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from tests.chaos.behaviour import KIND_ANSWERS, Doing
from tests.chaos.cast import Part
from tests.chaos.records import Attempt, Ledger, Request, Run

_AT_REST = {"SUCCEEDED", "DEAD", "REVIEW", "SKIPPED", "CLOSED", "CANCELLED"}


class What(StrEnum):
    """Kinds of findings."""

    MISSED = "missed"
    DOUBLED = "doubled"
    EARLY = "early"
    UNEXPLAINED = "unexplained"
    FALSE_REVIEW = "false review"


@dataclass(frozen=True)
class Finding:
    what: What
    job: str
    moment: datetime | None
    why: str

    def __str__(self) -> str:
        return f"{self.what}: {self.job} at {self.moment}: {self.why}"


@dataclass(frozen=True)
class Trouble:
    """While it lasted, the outcome of an attempt could get lost."""

    began: datetime
    ended: datetime

    def met(self, attempt: Attempt) -> bool:
        over = attempt.ended_at
        return attempt.started_at <= self.ended and (over is None or over >= self.began)


@dataclass(frozen=True)
class Oracle:
    """Everything that the verdict rests on."""

    cast: Sequence[Part]
    runs: Sequence[Run]
    ledger: Ledger
    troubles: Sequence[Trouble] = ()

    def findings(self) -> list[Finding]:
        """All of them; none where all is well."""
        parts = {part.name: part for part in self.cast}
        rows: defaultdict[str, list[Run]] = defaultdict(list)
        for run in self.runs:
            rows[run.job].append(run)
        found = [each for part in self.cast for each in self._of_job(part, rows[part.name])]
        found += [each for run in self.runs for each in self._of_run(parts[run.job], run)]
        return [*found, *self._unknown_keys()]

    def lags(self) -> list[float]:
        """Seconds from each moment to its first request, sorted."""
        first = (
            (min(request.at for request in requests) - run.due_at).total_seconds()
            for run in self.runs
            if (requests := self.ledger.requests.get(run.key))
        )
        return sorted(first)

    # ── moments ──────────────────────────────────────────────────────────────────────────

    def _of_job(self, part: Part, rows: Sequence[Run]) -> Iterator[Finding]:
        due = part.moments
        records = Counter(moment for row in rows for moment in _covered(row, part))
        for moment in due:
            if not records[moment]:
                yield Finding(What.MISSED, part.name, moment, "no run, and no word why")
            elif records[moment] > 1:
                yield Finding(What.DOUBLED, part.name, moment, f"{records[moment]} records")
        for moment in records.keys() - set(due):
            yield Finding(What.UNEXPLAINED, part.name, moment, "this was never due")

    def _unknown_keys(self) -> Iterator[Finding]:
        known = {run.key for run in self.runs}
        for key in self.ledger.requests.keys() - known:
            yield Finding(What.UNEXPLAINED, key, None, "the target was called for no run")

    # ── runs ─────────────────────────────────────────────────────────────────────────────

    def _of_run(self, part: Part, run: Run) -> Iterator[Finding]:
        requests = self.ledger.requests.get(run.key, [])
        effects = self.ledger.effects.get(run.key, [])
        told = (
            *self._early(run, requests),
            *self._doubled(part, run, requests, effects),
            *self._repeats(run, requests),
            *self._attempts(run),
            *_decided_twice(run),
            *self._reviews(part, run, requests),
            *self._state(part, run, requests, effects),
        )
        for what, why in told:
            yield Finding(what, run.job, run.due_at, f"{why} ({run.state}, {run.key})")

    def _early(self, run: Run, requests: Sequence[Request]) -> Iterator[tuple[What, str]]:
        starts = [attempt.started_at for attempt in run.attempts]
        instants = [run.created_at, *starts, *(request.at for request in requests)]
        if min(instants) < run.due_at:
            yield What.EARLY, f"something happened at {min(instants)}"

    def _doubled(
        self, part: Part, run: Run, requests: Sequence[Request], effects: Sequence[datetime]
    ) -> Iterator[tuple[What, str]]:
        allowed = 1 if part.idempotent else 1 + run.again
        if len(effects) > allowed:
            yield What.DOUBLED, f"{len(effects)} effects"
        elif not part.idempotent and len(requests) > allowed:
            yield What.DOUBLED, f"{len(requests)} requests of a run that may not be repeated"

    def _repeats(self, run: Run, requests: Sequence[Request]) -> Iterator[tuple[What, str]]:
        intended = {attempt.number for attempt in run.attempts if attempt.intent_at}
        for number, times in Counter(request.attempt for request in requests).items():
            if times > 1:
                yield What.UNEXPLAINED, f"{times} requests of attempt {number}"
            if number not in intended:
                yield What.UNEXPLAINED, f"a request of attempt {number}, which has no intent"

    def _attempts(self, run: Run) -> Iterator[tuple[What, str]]:
        numbers = [attempt.number for attempt in run.attempts]
        if numbers != [*range(1, run.attempt + 1)]:
            yield What.UNEXPLAINED, f"attempts {numbers} of {run.attempt}"
        if run.state in _AT_REST and any(attempt.ended_at is None for attempt in run.attempts):
            yield What.UNEXPLAINED, "an attempt without an end"

    def _reviews(
        self, part: Part, run: Run, requests: Sequence[Request]
    ) -> Iterator[tuple[What, str]]:
        for number in run.reviewed:
            if part.idempotent:
                yield What.UNEXPLAINED, "a review of a run that may be repeated"
            elif not self._has_a_cause(run, number, requests):
                yield What.FALSE_REVIEW, f"after attempt {number}: {run.reason}"

    def _state(
        self, part: Part, run: Run, requests: Sequence[Request], effects: Sequence[datetime]
    ) -> Iterator[tuple[What, str]]:
        match run.state:
            case "SUCCEEDED" if run.decided != "happened":
                yield from _succeeded(part, run, requests, effects)
            case "DEAD":
                yield from _dead(part, run, requests)
            case "SKIPPED" if part.alone and run.reason:
                return
            case "CLOSED" if run.decided in ("close", "discard"):
                return
            case "SUCCEEDED" | "REVIEW":
                return
            case "SKIPPED" | "CLOSED" | "CANCELLED":
                yield What.UNEXPLAINED, f"nobody asked for it: {run.reason!r}"
            case _ if not requests:
                yield What.MISSED, "it was never carried out"
            case _:
                yield What.UNEXPLAINED, "it never came to rest"

    def _has_a_cause(self, run: Run, number: int, requests: Sequence[Request]) -> bool:
        """What the target did with this attempt, or a fault that met it."""
        met = [request.doing for request in requests if request.attempt == number]
        if any(doing not in KIND_ANSWERS for doing in met):
            return True
        # "Not sent" may come of earlier attempts, too: each was lost before its intent. Those that
        # came after it are a person's doing.
        blamed = [
            each
            for each in run.attempts
            if each.number == number or (not met and each.number < number)
        ]
        met_by_faults = (any(fault.met(attempt) for fault in self.troubles) for attempt in blamed)
        return bool(blamed) and all(met_by_faults)


def _decided_twice(run: Run) -> Iterator[tuple[What, str]]:
    counts = Counter((decision.attempt, decision.state) for decision in run.decisions)
    for (number, state), times in counts.items():
        if times > 1:
            yield What.DOUBLED, f"{times} decisions in {state} after attempt {number}"


def _covered(row: Run, part: Part) -> Iterator[datetime]:
    """The moments that a row stands for."""
    moment = row.due_at
    while moment <= (row.skipped_until or row.due_at):
        yield moment
        moment += timedelta(seconds=part.every)


def _succeeded(
    part: Part, run: Run, requests: Sequence[Request], effects: Sequence[datetime]
) -> Iterator[tuple[What, str]]:
    if not effects:
        yield What.UNEXPLAINED, "a success without an effect"
    doing = {request.attempt: request.doing for request in requests}
    if not part.idempotent and doing.get(run.attempt) not in KIND_ANSWERS:
        yield What.UNEXPLAINED, f"a success of which the target knows: {doing}"


def _dead(part: Part, run: Run, requests: Sequence[Request]) -> Iterator[tuple[What, str]]:
    refused = any(
        request.doing is Doing.REFUSE and request.attempt == run.attempt for request in requests
    )
    if not part.idempotent:
        yield What.UNEXPLAINED, "dead, though it may not be repeated"
    elif not refused and run.failures < run.max_attempts:
        yield What.UNEXPLAINED, f"dead after {run.failures} failures"


def counted(findings: Iterable[Finding]) -> Mapping[What, int]:
    """How many of each."""
    return Counter(finding.what for finding in findings)
