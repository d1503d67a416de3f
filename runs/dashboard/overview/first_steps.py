"""What a new team does first, how far it has come, and a demo job to see the product run."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from jobs import clock, editing, offer
from jobs.definitions import definitions
from jobs.models import Job, Membership, Team, Token, User
from jobs.roles import Act
from runs.models import Channel, Run

DEMO = "demo-hello"
_RUNS = 10  # then it ends by itself


@dataclass(frozen=True)
class Steps:
    """Which of the first steps are done in this person's teams; the team in which they may
    register a job, look after channels."""

    job: bool
    run: bool
    channel: bool
    members: bool
    token: bool
    editable: Team | None
    administered: Team | None

    @property
    def done(self) -> int:
        """How many."""
        return sum((self.job, self.run, self.channel, self.members, self.token))

    @property
    def is_new(self) -> bool:
        """Whether nothing has run yet, so that there is little else to look at."""
        return not (self.job and self.run)


def of(user: User) -> Steps:
    """How far this person's teams have come."""
    teams = list(Team.objects.where(user.id, Act.READ))
    theirs = Q(team__in=teams)
    return Steps(
        job=Job.objects.filter(theirs, deleted_at=None).exists(),
        run=Run.objects.filter(job__team__in=teams).exists(),
        channel=Channel.objects.filter(theirs).exists(),
        members=Membership.objects.filter(theirs).exclude(user=user).exists(),
        token=Token.objects.filter(theirs, user=user, revoked_at=None).exists(),
        editable=Team.objects.where(user.id, Act.EDIT).first(),
        administered=Team.objects.where(user.id, Act.ADMINISTER).first(),
    )


def demo_job(team: Team, *, by: User) -> Job:
    """A job of the team that says hello each minute, ten times; the one that is there already
    where somebody was faster."""
    shape = {
        "name": DEMO,
        "description": "Says hello each minute, ten times. Delete it whenever you like.",
        "schedule": {"cron": "* * * * *", "timezone": "UTC"},
        "target": {"type": "task", "name": "demo.hello", "kwargs": {"name": team.name}},
        "idempotent": True,
        "max_runs": _RUNS,
    }
    definition = definitions.read(shape, now=clock.now(), known=offer.offered())
    try:
        return editing.register(team, definition, by=by)
    except editing.NameTaken:
        return Job.objects.get(team=team, name=DEMO, deleted_at=None)
