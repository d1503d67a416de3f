"""The platform staff's admin of people, teams, tokens and jobs.

A job is shown here and edited through its rules alone: the pages and the API do, and so do the
two actions of its list.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from jobs import clock, editing
from jobs.api_shapes import masked_target
from jobs.editing import Gone, Pause, ReadOnly
from jobs.models import (
    Asked,
    AuditEvent,
    Calendar,
    CalendarVersion,
    Due,
    Hold,
    Job,
    JobVersion,
    MaintenanceWindow,
    Membership,
    Preference,
    Team,
    Token,
    User,
)
from jobs.periodic_tasks import admin as periodic_task_admin
from jobs.read_only_admin import PlainAdmin, ReadOnlyAdmin
from jobs.recorded_admin import record_all, staff
from jobs.tokens import tokens

admin.site.site_header = admin.site.site_title = "Onebeat administration"

admin.site.register(User, UserAdmin)


@admin.register(Team)
class TeamAdmin(PlainAdmin):
    """Teams; one that owns jobs cannot be deleted."""

    list_display = ("slug", "name", "two_pairs_of_eyes", "created_at")
    search_fields = ("slug", "name")
    readonly_fields = ("created_at",)


@admin.register(Membership)
class MembershipAdmin(PlainAdmin):
    """Who is what in which team."""

    list_display = ("user", "team", "role", "created_at")
    list_filter = ("role",)
    list_select_related = ("user", "team")
    search_fields = ("user__username", "team__slug")
    autocomplete_fields = ("user", "team")
    readonly_fields = ("created_at",)


@admin.register(Hold)
class HoldAdmin(ReadOnlyAdmin):
    """Holds, the newest first; begun and ended on the pages and by the API."""

    list_display = ("team", "reason", "by", "began_at", "until", "ended_at", "ended_by")
    list_select_related = ("team", "by", "ended_by")
    ordering = ("-began_at",)


@admin.register(MaintenanceWindow)
class MaintenanceWindowAdmin(ReadOnlyAdmin):
    """Holds that are planned, the last to begin first; planned and cancelled on the pages and by
    the API."""

    list_display = (
        *("team", "reason", "begins_at", "ends_at", "by", "cancelled_at", "passed_at", "hold"),
    )
    list_select_related = ("team", "by", "hold", "hold__team")
    ordering = ("-begins_at",)


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]
    """What is said of a token that is to be issued."""

    class Meta:
        model = Token
        fields = ("team", "user", "name", "expires_at")

    def clean(self) -> dict[str, Any]:
        """A token of someone outside the team would open nothing."""
        said = super().clean() or {}
        team, user = said.get("team"), said.get("user")
        if team and user and not Membership.objects.filter(team=team, user=user).exists():
            raise ValidationError({"user": f"Is not a member of {team}. Add the membership first."})
        return said

    def clean_expires_at(self) -> Any:
        """The end of a token lies ahead."""
        expires_at = self.cleaned_data["expires_at"]
        if expires_at and expires_at <= clock.now():
            raise ValidationError("Choose a moment to come, or leave it empty.")
        return expires_at


@admin.register(Token)
class TokenAdmin(PlainAdmin):
    """Tokens are issued here, shown once, and revoked; never edited, never deleted."""

    form = TokenForm
    autocomplete_fields = ("team", "user")
    list_display = ("prefix", "name", "team", "user", "expires_at", "last_used_at", "revoked_at")
    list_select_related = ("team", "user")
    search_fields = ("prefix", "name", "team__slug", "user__username")
    actions = ("revoke",)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Of a token that is there all but its digest."""
        told = ("prefix", "created_at", "last_used_at", "revoked_at") if obj else ()
        return (*TokenForm.Meta.fields, *told)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """No."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """No."""
        return False

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Who may issue may revoke."""
        return self.has_add_permission(request)

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Its issue is on record by its rule; this is Django's own."""
        return admin.ModelAdmin.log_addition(self, request, obj, message)

    def save_model(self, request: HttpRequest, obj: Token, form: Any, change: bool) -> None:
        """Issue it; the message is the one place that ever shows the clear text."""
        token, secret = tokens.issue(
            obj.team, obj.user, obj.name, obj.expires_at, by=staff(request)
        )
        obj.id, obj.prefix = token.id, token.prefix
        told = f"The token is {secret} — copy it now, it is not shown again."
        self.message_user(request, told, messages.WARNING)

    @admin.action(description="Revoke the tokens", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Token]) -> None:
        """Refused from their next request on."""
        revoked = sum(tokens.revoke(token.id, by=staff(request)) for token in queryset)
        self.message_user(request, f"{revoked} revoked.")


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    """Jobs, with what pauses and resumes them."""

    list_display = ("name", "team", "idempotent", "paused", "created_at", "deleted_at")
    list_filter = ("paused", "idempotent")
    list_select_related = ("team",)
    search_fields = ("name", "team__slug")
    actions = ("pause", "resume")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """All but secrets."""
        hidden = ("target", "signing_secret")
        names = [field.name for field in Job._meta.fields if field.name not in hidden]
        return [*names, "masked"]

    @admin.display(description="target")
    def masked(self, job: Job) -> dict[str, Any]:
        """What it calls, secrets masked."""
        return masked_target(job.target)

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """The right to change jobs opens the actions alone: no form here writes a job."""
        return request.user.has_perm("jobs.change_job")

    @admin.action(description="Pause the jobs", permissions=["operate"])
    def pause(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        """Until somebody resumes them."""
        reason = Pause(reason="Paused by the platform's staff.")
        self._each(request, queryset, "paused", lambda id, by: editing.pause(id, reason, by=by))

    @admin.action(description="Resume the jobs", permissions=["operate"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Job]) -> None:
        """Active from now on."""
        self._each(request, queryset, "resumed", lambda id, by: editing.resume(id, by=by))

    def _each(
        self,
        request: HttpRequest,
        queryset: QuerySet[Job],
        done: str,
        act: Callable[[Any, Any], Job],
    ) -> None:
        count = 0
        for job in queryset:
            try:
                act(job.id, request.user)
                count += 1
            except Gone:
                self.message_user(request, f"“{job}” was deleted.", messages.ERROR)
            except ReadOnly as error:
                self.message_user(request, f"“{job}”: {error}", messages.ERROR)
        self.message_user(request, f"{count} {done}.")


@admin.register(JobVersion)
class JobVersionAdmin(ReadOnlyAdmin):
    """The history of edits."""

    list_display = ("job", "number", "began_at", "by")
    list_select_related = ("job", "by")
    ordering = ("-id",)
    fields = ("job", "number", "began_at", "by", "changed")

    @admin.display(description="changes")
    def changed(self, version: JobVersion) -> dict[str, Any]:
        """From what to what, secrets masked."""
        shown = dict(version.changes)
        if "target" in shown:
            shown["target"] = {
                side: value and masked_target(value) for side, value in shown["target"].items()
            }
        return shown


@admin.register(Calendar)
class CalendarAdmin(ReadOnlyAdmin):
    """Calendars; «View on site» leads to the page where staff change them by their rule."""

    list_display = ("name", "version", "description", "deleted_at")
    search_fields = ("name",)


@admin.register(CalendarVersion)
class CalendarVersionAdmin(ReadOnlyAdmin):
    """What calendars have said."""

    list_display = ("calendar", "number", "began_at", "by", "known_until")
    list_select_related = ("calendar", "by")
    ordering = ("-id",)


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    """Who did what, the newest first."""

    list_display = ("at", "who", "verb", "kind", "name", "team", "door", "request_id")
    list_select_related = ("team",)
    ordering = ("-id",)


@admin.register(Asked)
class AskedAdmin(ReadOnlyAdmin):
    """Requests with an `Idempotency-Key`; what they were answered is sealed and not shown."""

    list_display = ("team", "key", "status", "at")
    list_select_related = ("team",)
    ordering = ("-at",)
    fields = ("team", "key", "status", "at")


@admin.register(Preference)
class PreferenceAdmin(ReadOnlyAdmin):
    """How people want the pages."""

    list_display = ("user", "timezone", "theme", "density", "keys")
    list_select_related = ("user",)
    ordering = ("user",)


@admin.register(Due)
class DueAdmin(ReadOnlyAdmin):
    """The next moments, soonest first."""

    list_display = ("job", "at", "shard")
    list_select_related = ("job",)
    ordering = ("at",)


periodic_task_admin.register()
record_all()  # last of all: of every application before this one, and of those that come along
