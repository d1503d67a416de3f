"""One chaos run from its first process to its verdict."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.chaos import cast, plan, records
from tests.chaos.conduct import Conductor, Made
from tests.chaos.oracle import Finding, Oracle, Trouble, What, counted
from tests.chaos.people import deciding
from tests.chaos.plan import Kind
from tests.chaos.stage import Stage, now, supervised
from tests.model import conformance
from tests.servers import wait_until

_READY = 4.0  # seconds from the cast's registration to its first moment
_WRONG = 120  # seconds that a host's clock may be wrong by
_STILL = 6.0  # seconds in which nothing may move at the end
_AFTERMATH = 1.5  # seconds after a fault is healed in which it may still be felt
# A lost message, a beat that dies: neither can make the outcome of an attempt unknown.
_HARMLESS = {
    *(Kind.KILL_BEAT, Kind.FREEZE_BEAT, Kind.DOUBLE_MESSAGES, Kind.WARM_STOP),
    *(Kind.KILL_BROKER, Kind.HANG_BROKER, Kind.CUT_BROKER, Kind.WIPE_BROKER),
}


@dataclass(frozen=True)
class Options:
    """`rate`: moments a second; `pause`: seconds between two faults, on average; `bound`: seconds
    in which all must be at rest at the end."""

    seed: int
    seconds: float
    rate: int
    pause: float = plan.PAUSE
    bound: float = 180.0
    faults: bool = True


@dataclass
class Verdict:
    """What a run came to."""

    seed: int
    runs: int
    reviews: int
    findings: list[Finding]
    faults: dict[str, int]
    lags: list[float]
    spoilt: list[str] = field(default_factory=list)

    @property
    def well(self) -> bool:
        return not self.findings and not self.spoilt

    def figures(self) -> dict[str, Any]:
        """The JSON object of the last line."""
        found = counted(self.findings)
        return {
            "runs": self.runs,
            "missed": found.get(What.MISSED, 0),
            "doubled": found.get(What.DOUBLED, 0),
            "early": found.get(What.EARLY, 0),
            "unexplained": found.get(What.UNEXPLAINED, 0) + len(self.spoilt),
            "reviews": self.reviews,
            "false_reviews": found.get(What.FALSE_REVIEW, 0),
            "seed": self.seed,
            "faults": self.faults,
            "lag": {f"p{share}": percentile(self.lags, share) for share in (50, 95, 99)},
        }


def play(stage: Stage, options: Options) -> Verdict:
    """Three beats and two workers, one host of each with a wrong clock, the cast and the faults."""
    for clock in (0, _WRONG, -_WRONG):
        stage.beat(clock=clock)
    for clock in (0, -_WRONG):
        stage.worker(clock=clock)
    stage.set_up_django()
    stage.up()
    first = datetime.fromtimestamp(int(now() + _READY), UTC)
    parts = cast.cast(options.rate, first=first, seconds=options.seconds)
    cast.register(parts, stage.target)
    with supervised(stage):
        with deciding(stage) if options.faults else nullcontext():
            conductor = _under_faults(stage, options, first)
        spoilt = [*conductor.failed, *come_to_rest(stage, bound=options.bound)]
    return judged(stage, parts, spoilt, conductor.made)


def _under_faults(stage: Stage, options: Options, first: datetime) -> Conductor:
    conductor = Conductor(stage, began=time.monotonic() + (first.timestamp() - now()))
    if options.faults:
        conductor.play(plan.of(options.seed, seconds=options.seconds, pause=options.pause))
    time.sleep(max(0.0, first.timestamp() + options.seconds + 1 - now()))
    conductor.heal()
    return conductor


# ── the end ──────────────────────────────────────────────────────────────────────────────

_MOVING = """
select count(*) from runs_run r join jobs_job j on j.id = r.job_id join jobs_team t
    on t.id = j.team_id
 where t.slug = 'chaos' and r.state in ('CLAIMED', 'ENQUEUED', 'RUNNING', 'RETRYING', 'WAITING')
"""
_STILL_DUE = """
select count(*) from jobs_due d join jobs_job j on j.id = d.job_id join jobs_team t
    on t.id = j.team_id where t.slug = 'chaos'
"""
_TRACE = """
select (select count(*) from runs_attempt), (select count(*) from runs_run),
       (select md5(string_agg(state || attempt, ',' order by id)) from runs_run
         where job_id in (select j.id from jobs_job j join jobs_team t on t.id = j.team_id
                           where t.slug = 'chaos'))
"""


def come_to_rest(stage: Stage, *, bound: float) -> list[str]:
    """Whatever is wrong with the end: all rests within the bound, and then nothing moves."""
    try:
        wait_until(
            lambda: stage.ask(_STILL_DUE) == [(0,)] and stage.ask(_MOVING) == [(0,)],
            seconds=bound,
            what="all is at rest",
        )
    except AssertionError as error:
        return [f"{error}: {stage.ask(_MOVING)} move, {stage.ask(_STILL_DUE)} are due"]
    before = stage.ask(_TRACE), _arrived(stage)
    time.sleep(_STILL)  # what must not happen has no condition to wait for
    after = stage.ask(_TRACE), _arrived(stage)
    return [] if before == after else [f"it did not stay quiet: {before} became {after}"]


def _arrived(stage: Stage) -> int:
    """How many requests have come to the target. When it acts on one that nobody waits for any
    more is its own affair."""
    return sum(map(len, records.ledger(stage.ledger).requests.values()))


def judged(
    stage: Stage, parts: Sequence[cast.Part], spoilt: Sequence[str], made: Sequence[Made] = ()
) -> Verdict:
    """The verdict on all that has happened on the stage. `spoilt`: what is wrong already."""
    runs = records.runs(stage.ask)
    troubles = [_trouble(each) for each in made if each.kind not in _HARMLESS]
    oracle = Oracle(parts, runs, records.ledger(stage.ledger), troubles)
    findings, wrong = oracle.findings(), [*spoilt, *_strayed(stage)]
    for line in [*findings[:50], *wrong]:
        print(line, file=sys.stderr)
    return Verdict(
        stage.seed,
        runs=sum(run.state != "SKIPPED" for run in runs),
        reviews=sum(len(run.reviewed) for run in runs),
        findings=findings,
        faults=dict(sorted(Counter(str(each.kind) for each in made).items())),
        lags=oracle.lags(),
        spoilt=wrong,
    )


def _strayed(stage: Stage) -> list[str]:
    """Runs whose logged transitions are no walk of the picture of a run's life."""
    report = conformance.of_logs([stage.own_log, *(host.log for host in stage.hosts)])
    return [f"no walk: {run}: {lines}" for run, lines in report.unexplained.items()]


def _trouble(made: Made) -> Trouble:
    ended = made.healed + _AFTERMATH
    return Trouble(datetime.fromtimestamp(made.began, UTC), datetime.fromtimestamp(ended, UTC))


def percentile(values: Sequence[float], share: float) -> float | None:
    """Of sorted values; None where there is none."""
    if not values:
        return None
    return round(values[min(len(values) - 1, int(len(values) * share / 100))], 3)
