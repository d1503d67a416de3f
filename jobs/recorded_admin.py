"""What staff write in the admin is on record with what everybody else does (jobs/events.py)."""

from __future__ import annotations

from typing import Any, cast

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from jobs import events
from jobs.events import Subject
from jobs.models import Team, User


def staff(request: HttpRequest) -> User:
    """Who has signed in to the admin."""
    return cast(User, request.user)


def subject(row: Model) -> Subject:
    """What a row of the admin is called: a team's where it is of one."""
    if isinstance(row, User):
        return events.of_person(row)
    if isinstance(row, Team):
        return events.of_team(row)
    return Subject(row._meta.model_name or "", row.pk, str(row), getattr(row, "team_id", None))


class RecordedAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Each row that is added, changed or deleted here is an act of its own: Django calls these
    in the transaction of the change."""

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """A row was added."""
        events.record("admin.added", subject(obj), by=staff(request))
        return super().log_addition(request, obj, message)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """What the form changes, for the record."""
        request.recorded_changes = _changes(form)  # type: ignore[attr-defined]
        super().save_model(request, obj, form, change)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Fields of a row were changed; a new password comes without a form's change."""
        changes, said = getattr(request, "recorded_changes", {}), _fields(message)
        what = subject(obj)
        events.record("admin.changed", what, by=staff(request), reason=said, changes=changes)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        """Rows are about to be deleted."""
        events.record_each("admin.deleted", map(subject, queryset), by=staff(request))
        return super().log_deletions(request, queryset)


def record_all() -> None:
    """Whatever an application has brought into the admin is recorded too."""
    for model, found in list(admin.site._registry.items()):
        if not isinstance(found, RecordedAdmin):
            admin.site.unregister(model)
            admin.site.register(model, type(type(found).__name__, (RecordedAdmin, type(found)), {}))


def _changes(form: Any) -> events.Changes:
    """From what to what, by field; nothing of a password."""
    return {
        name: {"from": _plain(form.initial.get(name)), "to": _plain(form.cleaned_data.get(name))}
        for name in form.changed_data
        if "password" not in name
    }


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple | QuerySet):
        return [_plain(one) for one in value]
    if isinstance(value, Model):
        return value.pk if isinstance(value.pk, int) else str(value.pk)
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def _fields(message: Any) -> str:
    """What Django's own message says was changed: `Changed: Name, Role.`"""
    if not isinstance(message, list):
        return str(message)
    names = [
        str(field)
        for part in message
        for what in part.values()
        for field in what.get("fields", [what.get("object", "")])
    ]
    return f"Changed: {', '.join(names)}." if names else ""
