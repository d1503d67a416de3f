"""Write a marker, and remove one: the rule behind every door."""

from __future__ import annotations

import structlog
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from jobs import events
from jobs.models import Team, User
from runs import subjects
from runs.markers.content import Content
from runs.models import Marker

log = structlog.get_logger("onebeat.marker")


class KeyTaken(Exception):
    """The key is of a marker of the team that says something else."""

    def __init__(self, marker: Marker) -> None:
        super().__init__(f"is the key of another marker: {marker.text}.")
        self.marker = marker


def write(team: Team, content: Content, *, by: User | None) -> tuple[Marker, bool]:
    """The marker, and whether it is new: the one of the same key where there is one that says the
    same, however often and at once it is asked for. Raises KeyTaken."""
    try:
        with transaction.atomic():
            marker = _insert(team, content, by)
    except IntegrityError as error:
        if "one_marker_per_key" not in str(error):
            raise
        if there := _there(team, content):
            return there, False
        return write(team, content, by=by)  # it was removed just now
    log.info("marker.written", marker=str(marker.id), team=team.slug, by=_who(by))
    return marker, True


def remove(marker: Marker, *, by: User | None) -> bool:
    """The marker gone from every page; False where somebody has removed it meanwhile."""
    with transaction.atomic():
        found = Marker.objects.select_for_update().filter(id=marker.id).first()
        if found is None:
            return False
        events.record("marker.removed", subjects.of_marker(found), by=by)
        found.delete()
    log.info("marker.removed", marker=str(marker.id), by=_who(by))
    return True


def _insert(team: Team, content: Content, by: User | None) -> Marker:
    marker = Marker(team=team, by=by, created_at=Now(), **vars(content))
    marker.save(force_insert=True)
    marker.refresh_from_db(fields=["created_at"])
    changes = {"at": {"from": None, "to": content.at.isoformat()}}
    events.record("marker.written", subjects.of_marker(marker), by=by, changes=changes)
    return marker


def _there(team: Team, content: Content) -> Marker | None:
    marker = Marker.objects.filter(team=team, key=content.key).select_related("by", "team").first()
    if marker is not None and (marker.text, marker.url, marker.tag) != content.said:
        raise KeyTaken(marker)
    return marker


def _who(by: User | None) -> str | None:
    return by.get_username() if by else None
