"""Who may do what: one table, read by views, API, admin and templates alike. PURE."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a member is in a team; each role may do all that the one before it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    EDITOR = "editor"
    ADMIN = "admin"


MEANS = {
    Role.VIEWER: "reads everything of the team, secrets masked",
    Role.OPERATOR: "also runs, pauses, holds, decides, replays and cancels",
    Role.EDITOR: "also registers, edits and deletes jobs",
    Role.ADMIN: "also looks after members, tokens and channels",
}


class Act(StrEnum):
    """What a door asks leave for."""

    READ = "read"
    OPERATE = "operate"  # run now, pause, resume, decide, replay, cancel
    EDIT = "edit"  # register, change and delete jobs
    ADMINISTER = "administer"  # members, tokens, secrets


_LOWEST = {
    Act.READ: Role.VIEWER,
    Act.OPERATE: Role.OPERATOR,
    Act.EDIT: Role.EDITOR,
    Act.ADMINISTER: Role.ADMIN,
}
_ORDER = list(Role)


def may(role: str, act: Act) -> bool:
    """Whether a member of this role may do this; an unknown role may nothing."""
    return role in _ORDER and _ORDER.index(Role(role)) >= _ORDER.index(_LOWEST[act])


def roles_that_may(act: Act) -> list[str]:
    """The roles for a query: `membership__role__in=roles_that_may(Act.EDIT)`."""
    return [str(role) for role in _ORDER if may(role, act)]
