"""Who is in a team, and as what: added, given another role, taken out. By the team's admins.

A team keeps an admin, and one that asks for two pairs of eyes is given its admins by the
platform's staff: one person alone could make a second one of their own.
"""

from __future__ import annotations

import structlog
from django.db import transaction
from django.db.models import QuerySet

from jobs import events
from jobs.events import Subject
from jobs.models import Membership, Team, Token, User
from jobs.roles import Role
from jobs.tokens import tokens

MOST = 500  # that a page shows

log = structlog.get_logger("onebeat.membership")


class Refused(Exception):
    """What cannot be done with a member, at which field, and what to do."""

    def __init__(self, field: str, said: str) -> None:
        self.field = field
        super().__init__(said)


def of(team: Team) -> QuerySet[Membership]:
    """The members of a team, by name; at most so many as a page shows."""
    return team.membership_set.select_related("user", "team").order_by("user__username")[:MOST]


@transaction.atomic
def add(team: Team, username: str, role: Role, *, by: User) -> Membership:
    """A member more. Raises Refused where nobody of this name may sign in, who is in the team
    already, or for an admin whom one person alone may not make."""
    _lock(team)
    user = User.objects.filter(username=username, is_active=True).first()
    if user is None:
        raise Refused(
            "username",
            f"Nobody who may sign in is called “{username}”. Mend the name, or ask the "
            "platform’s staff to add the person first.",
        )
    if there := team.membership_set.filter(user=user).first():
        raise Refused("username", f"{username} is in the team as {there.role}. Change it below.")
    _check_alone(team, role)
    member = Membership.objects.create(team=team, user=user, role=role)
    events.record("member.added", of_member(member), by=by, changes=_role(None, role))
    log.info("member.added", team=team.slug, user=username, role=str(role))
    return member


@transaction.atomic
def change(member: Membership, role: Role, *, by: User) -> Membership:
    """Another role for a member. Raises Refused for the last admin, for an admin whom one person
    alone may not make, and where the member is gone."""
    _lock(member.team)
    there = _there(member)
    if there.role == role:
        return there
    _check_alone(there.team, role)
    _check_last(there)
    before, there.role = there.role, role
    there.save(update_fields=["role"])
    events.record("member.changed", of_member(there), by=by, changes=_role(before, role))
    log.info("member.changed", team=there.team.slug, user=there.user.get_username(), role=role)
    return there


@transaction.atomic
def remove(member: Membership, *, by: User) -> None:
    """Take a member out, and revoke the tokens that act for them in this team. Raises Refused for
    the last admin, and where the member is gone."""
    _lock(member.team)
    there = _there(member)
    _check_last(there)
    for token in Token.objects.filter(team=there.team, user=there.user, revoked_at=None):
        tokens.revoke(token.id, by=by)
    events.record("member.removed", of_member(there), by=by, changes=_role(there.role, None))
    there.delete()
    log.info("member.removed", team=there.team.slug, user=there.user.get_username())


def of_member(member: Membership) -> Subject:
    """A membership, as the record names it."""
    return Subject("membership", member.pk, member.user.get_username(), member.team_id)


def _role(before: str | None, after: str | None) -> events.Changes:
    sides = {"from": before, "to": after}
    return {"role": {side: role for side, role in sides.items() if role is not None}}


def _lock(team: Team) -> None:
    """Two admins who take each other out leave one."""
    Team.objects.select_for_update(no_key=True).get(id=team.id)


def _there(member: Membership) -> Membership:
    found = Membership.objects.select_related("team", "user").filter(pk=member.pk).first()
    if found is None:
        raise Refused("role", "Somebody took this member out meanwhile. Nothing was done.")
    return found


def _check_alone(team: Team, role: str) -> None:
    if role == Role.ADMIN and team.two_pairs_of_eyes:
        raise Refused(
            "role",
            "This team asks for two pairs of eyes, so that no admin makes another one alone. Ask "
            "the platform’s staff, or choose another role.",
        )


def _check_last(member: Membership) -> None:
    others = member.team.membership_set.filter(role=Role.ADMIN, user__is_active=True)
    if member.role == Role.ADMIN and not others.exclude(pk=member.pk).exists():
        raise Refused(
            "role",
            f"{member.user.get_username()} is the last admin of {member.team.name}. Make somebody "
            "else an admin first.",
        )
