"""A test request: a person tries a target out. It is marked as a test, and calls for real.

No run comes of it: it is not tried again, holds nobody up and stands in no number. It is recorded
before its first byte and again at its end, goes through the egress like every call, and asks for
the same care as the effect that it may have.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from jobs import clock, events, holds, sealing
from jobs.models import Job, Team, User
from jobs.reading import is_name
from jobs.targets import shapes as targets
from jobs.targets.shapes import HttpTarget, TargetError
from runs import asked_of_target, calls, outcomes, snapshots, subjects
from runs.asked_of_target import Request
from runs.by_hand import Held
from runs.models import Trial
from runs.outcomes import Effect, Kind, Outcome
from runs.targets import http
from runs.targets.prepared import NotSent

LONGEST = 10  # seconds: a person waits for it, and so does a thread of the web server
MOST, WITHIN = 10, timedelta(minutes=1)  # of a team

log = structlog.get_logger("onebeat.trial")


class NotHttp(Exception):
    """Only what is called over HTTP can be tried out: a task is code of the worker's own."""

    def __init__(self) -> None:
        super().__init__("Its target is a task: only an HTTP target can be sent a test request.")


class NotConfirmed(Exception):
    """What is not safe to repeat is tried out only by who names it. `name`: as it is typed."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"This may have the job’s effect. Type “{name}”; nothing was sent.")


class Taken(Exception):
    """Another team's test request has this id: whoever asks made it up."""

    def __init__(self) -> None:
        super().__init__("This page cannot be used any more: open it anew. Nothing was sent.")


class TooMany(Exception):
    """The team has sent as many as go in a minute. `wait`: seconds until the next may go."""

    def __init__(self, wait: float) -> None:
        self.wait = max(1, round(wait))
        super().__init__(
            f"A team sends {MOST} test requests a minute at most. Try again in {self.wait} s; "
            "nothing was sent."
        )


@dataclass(frozen=True)
class Asked:
    """What a test request is to call. `snapshot`: the target with the moment's values filled in,
    secrets sealed. `job` is None for one that is not registered; its key then names its team."""

    team: Team
    job: Job | None
    name: str
    idempotent: bool
    snapshot: dict[str, Any]
    timeout: int
    refusal_codes: list[int] = field(default_factory=list)
    follow_redirects: int = 0
    id: UUID = field(default_factory=uuid4)
    same_key_as: Trial | None = None
    attempt: int = 1  # with its key

    @property
    def key(self) -> str:
        """Its own, never that of a moment; another's where it is to be the same call again."""
        if self.same_key_as is not None:
            return self.same_key_as.key
        return key_of(self.job.id if self.job else self.team.id, self.id)

    @property
    def request(self) -> Request:
        """What would be sent, secrets masked."""
        return asked_of_target.of_call(self.call(targets.masked(_http(self.snapshot))))

    def call(self, target: targets.Target, signing_secret: str = "") -> http.Call:
        """The call, of that target."""
        if not isinstance(target, HttpTarget):
            raise NotHttp
        return http.Call(
            target=target,
            key=self.key,
            job_id=str(self.job.id) if self.job else "",
            run_id="",
            due_at=None,
            attempt=self.attempt,
            timeout=float(min(self.timeout, LONGEST)),
            refusal_codes=self.refusal_codes,
            follow=self.follow_redirects,
            signing_secret=signing_secret,
            test=True,
        )


def key_of(owner: UUID, trial: UUID) -> str:
    """The key of a test request of a job, or of a team for a job to be."""
    return f"{owner}:test:{trial}"


def of_job(job: Job, id: UUID | None = None) -> Asked:
    """The job's target as it is now, called as if it were due now. Raises NotHttp."""
    id = id or uuid4()
    _http(job.target)
    return Asked(
        team=job.team,
        job=job,
        name=job.name,
        idempotent=job.idempotent,
        snapshot=snapshots.of_job(job, moment=clock.now(), key=key_of(job.id, id)),
        timeout=job.timeout,
        refusal_codes=list(job.refusal_codes),
        follow_redirects=job.follow_redirects,
        id=id,
    )


def once_more(earlier: Trial) -> Asked:
    """The same call with the same key: what it answers shows whether its target honours it."""
    first = earlier.same_key_as or earlier
    return Asked(
        team=earlier.team,
        job=earlier.job,
        name=earlier.job_name,
        idempotent=earlier.idempotent,
        snapshot=earlier.snapshot,
        timeout=earlier.timeout,
        refusal_codes=earlier.refusal_codes,
        follow_redirects=earlier.follow_redirects,
        same_key_as=first,
        attempt=first.repeats.count() + 2,
    )


def send(asked: Asked, *, confirmed: str, by: User) -> Trial:
    """The test request, sent and ended. `confirmed` is what was typed as the job's name. A second
    click finds the first one's. Raises NotConfirmed, Held under a hold, TooMany, Taken."""
    if not asked.idempotent and not is_name(confirmed, asked.name):
        raise NotConfirmed(asked.name)
    if hold := holds.over(asked.team.id):
        raise Held(hold)
    trial, is_new = _recorded(asked, by)
    if not is_new:
        return trial
    outcome = _performed(asked, trial)
    Trial.objects.filter(id=trial.id).update(
        ended_at=Now(),
        outcome=outcome.kind,
        effect=outcome.effect,
        reason=outcome.reason,
        answer=outcome.answer,
    )
    trial.refresh_from_db()
    log.info("trial.sent", trial=str(trial.id), outcome=outcome.kind, by=by.get_username())
    return trial


def of_a_job(job: Job, count: int = 10) -> list[Trial]:
    """The newest of a job."""
    return list(Trial.objects.filter(job=job).select_related("by")[:count])


def _recorded(asked: Asked, by: User) -> tuple[Trial, bool]:
    """Its record, before anything is sent, and whether it has none yet. One at a time in a team,
    so that no two pass the bound together."""
    with transaction.atomic():
        Team.objects.select_for_update(no_key=True).get(id=asked.team.id)
        if there := Trial.objects.filter(id=asked.id).first():
            if there.team_id != asked.team.id:
                raise Taken
            return there, False
        _refuse_too_many(asked.team)
        made = Trial.objects.create(
            id=asked.id,
            team=asked.team,
            job=asked.job,
            job_name=asked.name,
            by=by,
            at=Now(),
            key=asked.key,
            same_key_as=asked.same_key_as,
            idempotent=asked.idempotent,
            snapshot=asked.snapshot,
            timeout=asked.timeout,
            refusal_codes=asked.refusal_codes,
            follow_redirects=asked.follow_redirects,
        )
        events.record("trial.sent", subjects.of_trial(made), by=by)
    return made, True


def _refuse_too_many(team: Team) -> None:
    lately = Trial.objects.filter(team=team, at__gt=Now() - WITHIN)
    newest = lately.order_by("-at").values("at")[:MOST]
    if len(times := [row["at"] for row in newest]) >= MOST:
        raise TooMany((min(times) + WITHIN - clock.now()).total_seconds())


def _performed(asked: Asked, trial: Trial) -> Outcome:
    try:
        secret = asked.job.signing_secret if asked.job else ""
        opened = sealing.unseal(secret, settings.SEALING_KEYS) if secret else ""
        call = asked.call(calls.unsealed(_http(asked.snapshot)), opened)
        with closing(http.prepare(call, allow=calls.allowed())) as prepared:
            Trial.objects.filter(id=trial.id).update(sent=prepared.sent)
            return prepared.perform()
    except NotSent as refused:
        return outcomes.not_sent(refused.reason)
    except sealing.SealingError as error:
        return outcomes.not_sent(f"A secret of the job cannot be opened: {error}")
    except Exception as error:  # whatever it was, it may have come after the first byte
        log.exception("trial.error", trial=str(trial.id))
        return Outcome(Kind.UNKNOWN, Effect.MAYBE, f"{type(error).__name__}: {error}"[:500])


def _http(snapshot: dict[str, Any]) -> HttpTarget:
    try:
        found = targets.load(snapshot)
    except TargetError:
        raise NotHttp from None
    if not isinstance(found, HttpTarget):
        raise NotHttp
    return found
