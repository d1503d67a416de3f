"""What a simulation must have come to, by a list of moments that is counted out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from jobs.models import Due, Job
from runs import passages
from runs.models import Attempt, Run
from runs.outcomes import Effect
from runs.states import EDGES, ReviewClass, State
from tests.simulation.world import World


@dataclass(frozen=True)
class Said:
    """A job of the simulation, as it was registered."""

    job: Job
    every: int
    anchor: datetime
    until: datetime

    def moments(self) -> list[datetime]:
        span = int((self.until - self.anchor).total_seconds())
        return [self.anchor + timedelta(seconds=at) for at in range(0, span + 1, self.every)]


def faults(world: World, jobs: list[Said]) -> list[str]:
    """Everything that breaks a promise; nothing in a sound product."""
    found = [fault for said in jobs for fault in _of_moments(said)]
    found += [f"a due row is left: {due.job.name}" for due in Due.objects.select_related("job")]
    raw = Counter(key for key, _, _ in world.effects)
    began = {(key, token): at for key, token, at in world.effects}
    for run in Run.objects.select_related("job"):
        found += [f"{run.job.name} {run.due_at} {run.state}: {said}" for said in _of_run(run)]
        found += [f"{run.key}: {said}" for said in _of_effects(world, run, raw[run.key])]
    for (key, token), at in began.items():
        attempt = Attempt.objects.select_related("run").get(run__key=key, number=token)
        if attempt.run.due_at is None or at < attempt.run.due_at:
            found.append(f"early: {key} at {at}")
        if attempt.intent_at is None or at < attempt.intent_at:
            found.append(f"an effect without an intent: {key}, attempt {token}")
    return found


def _of_moments(said: Said) -> Iterator[str]:
    name = said.job.name
    runs = Run.objects.filter(job=said.job)
    fired = Counter(run.due_at for run in runs.exclude(state=State.SKIPPED) if run.due_at)
    skipped = runs.filter(state=State.SKIPPED)
    records = [(run.due_at, run.skipped_until or run.due_at) for run in skipped]
    due = said.moments()
    for moment in due:
        on_record = any(first <= moment <= last for first, last in records if first and last)
        if fired[moment] > 1:
            yield f"doubled: {name} {moment}"
        if not fired[moment] and not on_record:
            yield f"missed: {name} {moment}"
    for moment in fired.keys() - set(due):
        yield f"never due: {name} {moment}"


def _of_effects(world: World, run: Run, effects: int) -> Iterator[str]:
    if not run.idempotent and effects > 1 + world.run_again[run.key]:
        yield f"{effects} effects, {world.run_again[run.key]} decisions"
    if effects > run.attempt:
        yield f"{effects} effects in {run.attempt} attempts"
    if run.state == State.SUCCEEDED and not effects and run.key not in world.happened:
        yield "a success without an effect"
    if effects and run.effect == Effect.NONE:
        yield "an effect that the run does not know of"


def _of_run(run: Run) -> Iterator[str]:
    states = [passage.state for passage in passages.read(run.passed)]
    if states[-1:] != [run.state]:
        yield f"it says that it passed {states}"
    for before, after in pairwise(states):
        if after not in EDGES[before]:
            yield f"{before} → {after} is no edge"
    if not run.idempotent and run.state == State.DEAD:
        yield "dead, and not safe to repeat"
    if run.idempotent and State.REVIEW in states:
        yield "in review, and safe to repeat"
    if run.state == State.REVIEW and not _has_a_cause(run):
        yield f"a review without a cause: {run.review_class}"
    unknown = Attempt.objects.filter(run=run, effect=Effect.MAYBE, outcome__in=("unknown", "lost"))
    if not run.idempotent and unknown.exists() and State.REVIEW not in states:
        yield "unknown, and nobody was asked"


def _has_a_cause(run: Run) -> bool:
    attempts = Attempt.objects.filter(run=run)
    if run.review_class == ReviewClass.MISSED:
        return True
    if run.review_class == ReviewClass.UNKNOWN:
        return attempts.filter(intent_at__isnull=False).exclude(outcome="succeeded").exists()
    return attempts.exclude(outcome="succeeded").exists()
