"""Two people who decide about what rests, both at once about the same runs: one of them wins.

They use the product's own rules, past every line: what they do is no fault. What they choose is
drawn by seed, key and attempt.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import DatabaseError, InterfaceError, connection

from tests.chaos.stage import Stage

_PAUSE = 1.5  # seconds between two looks
_AT_ONCE = 20
# Of a hundred runs; the rest is left as it is.
_OF_REVIEW = {"run_again": 35, "happened": 20, "close": 15}
_OF_DEAD = {"replay": 60, "discard": 10}
_RESTING = """
select r.id, r.key, r.attempt, r.state from runs_run r join jobs_job j on j.id = r.job_id
  join jobs_team t on t.id = j.team_id
 where t.slug = 'chaos' and r.state in ('REVIEW', 'DEAD') order by r.id desc limit %s
"""


@contextmanager
def deciding(stage: Stage) -> Iterator[None]:
    """They are at work while the block runs. Django must be set up."""
    from jobs.models import User

    done = threading.Event()
    people = [User.objects.create_user(f"person {number}", password=None) for number in (1, 2)]
    threads = [threading.Thread(target=_work, args=(stage, who, done)) for who in people]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in threads:
            thread.join()


def choice(seed: int, key: str, attempt: int, state: str) -> str | None:
    """What both do with this run; None: nothing."""
    digest = hashlib.sha256(f"person {seed} {key} {attempt}".encode()).digest()
    drawn = digest[0] * 100 // 256
    for what, share in (_OF_REVIEW if state == "REVIEW" else _OF_DEAD).items():
        if drawn < share:
            return what
        drawn -= share
    return None


def _work(stage: Stage, who: object, done: threading.Event) -> None:
    try:
        while not done.wait(_PAUSE):
            for run_id, key, attempt, state in stage.ask(_RESTING, _AT_ONCE):
                if what := choice(stage.seed, key, attempt, state):
                    with suppress(DatabaseError, InterfaceError):  # it is down just now
                        _decide(run_id, what, attempt, who)
    finally:
        connection.close()


def _decide(run_id: object, what: str, attempt: int, who: object) -> None:
    from runs.letters import replay
    from runs.review import deciding as review
    from runs.review import run_again

    given = {"token": attempt, "note": "As the seed says.", "by": who}
    with suppress(review.Stale, run_again.NotYetSettled):  # the other one was first; too early
        match what:
            case "replay":
                replay.replay(run_id, **given)  # type: ignore[arg-type]
            case "discard":
                replay.discard(run_id, **given)  # type: ignore[arg-type]
            case _:
                review.decide(run_id, what, **given)  # type: ignore[arg-type]
