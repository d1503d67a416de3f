"""The admin of django-celery-beat's rows, which jobs mirror."""

from __future__ import annotations

from typing import Any

from celery import current_app
from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django_celery_beat import admin as celery_beat
from django_celery_beat.models import PeriodicTask

from jobs import events, task_registry
from jobs.periodic_tasks import mirror
from jobs.recorded_admin import RecordedAdmin, staff, subject


def _tasks() -> list[tuple[str, str]]:
    """None chosen, and each task that may run: django-celery-beat alone knows Celery's."""
    current_app.loader.import_default_modules()
    allowed = filter(mirror.may_run, current_app.tasks)
    names = sorted({*task_registry.names(), *allowed})
    return [("", ""), *((name, name) for name in names)]


class PeriodicTaskForm(celery_beat.PeriodicTaskForm):  # type: ignore[misc]
    """A row, its task chosen out of those that may run, or written."""

    regtask = forms.ChoiceField(label="Task (registered)", required=False, choices=_tasks)


class PeriodicTaskAdmin(RecordedAdmin, celery_beat.PeriodicTaskAdmin):  # type: ignore[misc]
    """The rows that jobs mirror, written as ever, but for a few things."""

    form = PeriodicTaskForm
    # A drop-down would hold each schedule there is: of one-off rows there may be a million.
    raw_id_fields = ("clocked", "crontab", "interval", "solar")
    # Its own form holds an inline script, which our Content-Security-Policy refuses.
    change_form_template = "admin/change_form.html"
    # «Run now» would send the task past the runs, under no key: the mirrored job's own is there.
    actions = ("enable_tasks", "disable_tasks", "toggle_tasks")

    def save_model(self, request: HttpRequest, obj: PeriodicTask, form: Any, change: bool) -> None:
        """Saved all the same where its job will not run: the message says why it will not."""
        super().save_model(request, obj, form, change)
        if reason := mirror.why_paused(obj.pk):
            self.message_user(request, f"The job of this row is paused. {reason}", messages.WARNING)

    def get_action(self, action: Any) -> Any:
        """An action that is on record: these write rows past Django's own."""
        found = super().get_action(action)
        if found is None or found[1] not in self.actions:
            return found
        write, name, described = found

        @transaction.atomic
        def recorded(model_admin: Any, request: HttpRequest, rows: QuerySet[PeriodicTask]) -> Any:
            about, said = map(subject, rows), name.replace("_", " ")
            events.record_each("admin.changed", about, by=staff(request), reason=said)
            return write(model_admin, request, rows)

        return recorded, name, described


def register() -> None:
    """Ours in the place of the one that came along."""
    admin.site.unregister(PeriodicTask)
    admin.site.register(PeriodicTask, PeriodicTaskAdmin)
