"""What this installation offers to jobs: tasks, queues, inside networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from django.conf import settings

from jobs import task_registry
from jobs.calendars import kept as kept_calendars
from jobs.calendars.days import InForce, Use
from jobs.definitions.definitions import Known
from jobs.models import Calendar
from jobs.targets.addresses import AllowList


def offered() -> Known:
    """What the names in a job are checked against, at every door alike."""
    return Known(
        tasks=task_registry.names(),
        misfit=task_registry.misfit,
        queues=settings.QUEUES,
        egress=AllowList.parse(settings.EGRESS_ALLOW),
        calendars=Calendars(),
    )


class Calendars(Mapping[str, InForce]):
    """The calendars of the organisation, each read when it is asked for."""

    def __getitem__(self, name: str) -> InForce:
        versions = Calendar.objects.filter(name=name, deleted_at=None)
        version = None if "\0" in name else versions.values_list("version", flat=True).first()
        if version is None:
            raise KeyError(name)
        return InForce(version, kept_calendars.calendar(Use(name, "skip", version)))

    def __iter__(self) -> Iterator[str]:
        return iter(Calendar.objects.filter(deleted_at=None).values_list("name", flat=True))

    def __len__(self) -> int:
        return Calendar.objects.filter(deleted_at=None).count()
