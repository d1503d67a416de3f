"""The platform staff's admin of what happened: shown, never written."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from jobs.api_shapes import masked_target
from jobs.read_only_admin import ReadOnlyAdmin
from runs.models import (
    Approval,
    Attempt,
    AuditReport,
    Backfill,
    Badge,
    Beat,
    Channel,
    Decision,
    Delivery,
    HomeView,
    IdempotencyKey,
    Installation,
    Marker,
    Message,
    PollCount,
    ProbeAnswer,
    ReceiptKey,
    Replay,
    ReplayItem,
    ReviewClaim,
    Run,
    SavedView,
    Star,
    Tombstone,
    Trial,
    Tried,
    ZoneData,
)
from runs.states import State


class StateFilter(admin.SimpleListFilter):
    """By state, out of the states that there are: asking the rows would read the history."""

    title = parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Every state."""
        return [(state.value, state.value) for state in State]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> QuerySet[Run]:
        """The runs in the chosen state."""
        return queryset.filter(state=self.value()) if self.value() else queryset


class SnapshotAdmin(ReadOnlyAdmin):
    """Of what has a `snapshot` of its target: it is shown with its secrets masked."""

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """All but secrets."""
        names = [field.name for field in self.model._meta.fields if field.name != "snapshot"]
        return [*names, "masked"]

    @admin.display(description="snapshot")
    def masked(self, row: Run | Trial) -> dict[str, Any]:
        """What it calls, secrets masked."""
        return masked_target(row.snapshot)


@admin.register(Run)
class RunAdmin(SnapshotAdmin):
    """Runs, newest first."""

    list_display = ("key", "job", "state", "effect", "attempt", "due_at", "finished_at")
    list_filter = (StateFilter,)
    list_select_related = ("job",)
    ordering = ("-id",)


@admin.register(Trial)
class TrialAdmin(SnapshotAdmin):
    """Test requests, newest first."""

    list_display = ("key", "team", "job_name", "by", "at", "outcome", "effect")
    list_select_related = ("team", "by")
    ordering = ("-at",)


@admin.register(Tried)
class TriedAdmin(ReadOnlyAdmin):
    """The jobs of which a run is known to have had an outcome."""

    list_display = ("job_id",)


@admin.register(PollCount)
class PollCountAdmin(ReadOnlyAdmin):
    """How often each person's pages have asked for news of late."""

    list_display = ("user", "since", "polls")
    list_select_related = ("user",)
    ordering = ("-since",)


@admin.register(AuditReport)
class AuditReportAdmin(ReadOnlyAdmin):
    """What the daily audits found, newest first."""

    list_display = ("team", "made_at", "since", "until", "jobs", "due", "runs", "skipped")
    list_select_related = ("team",)


@admin.register(ReceiptKey)
class ReceiptKeyAdmin(ReadOnlyAdmin):
    """The keys that sign receipts, newest first; their private halves are not shown."""

    list_display = ("public", "created_at")
    fields = ("public", "created_at")


@admin.register(Attempt)
class AttemptAdmin(ReadOnlyAdmin):
    """Attempts, newest first."""

    list_display = ("run_id", "number", "worker", "started_at", "ended_at", "outcome", "effect")
    ordering = ("-id",)


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin):
    """What people decided, newest first."""

    list_display = ("run_id", "decision", "by", "at", "from_state", "to_state", "attempt")
    list_select_related = ("by",)
    ordering = ("-id",)


@admin.register(ReviewClaim)
class ReviewClaimAdmin(ReadOnlyAdmin):
    """Who looks at what is in review, until when."""

    list_display = ("run_id", "by", "at", "until")
    list_select_related = ("by",)
    ordering = ("-at",)


@admin.register(ProbeAnswer)
class ProbeAnswerAdmin(ReadOnlyAdmin):
    """What the probes said, newest first."""

    list_display = ("run_id", "key", "answer", "at", "by")
    list_select_related = ("by",)
    ordering = ("-id",)


@admin.register(Approval)
class ApprovalAdmin(ReadOnlyAdmin):
    """What waits, or waited, for a second person, newest first."""

    list_display = ("team", "act", "run_id", "by", "at", "state", "answered_by")
    list_select_related = ("team", "by", "answered_by")
    ordering = ("-at",)


@admin.register(Backfill)
class BackfillAdmin(ReadOnlyAdmin):
    """Backfills, newest first."""

    list_display = ("id", "job", "since", "until", "state", "made", "passed", "by", "created_at")
    list_select_related = ("job", "by")
    ordering = ("-id",)


@admin.register(Replay)
class ReplayAdmin(ReadOnlyAdmin):
    """Replays of many dead runs, newest first."""

    list_display = ("id", "job", "state", "count", "replayed", "passed", "by", "created_at")
    list_select_related = ("job", "by")
    ordering = ("-id",)


@admin.register(ReplayItem)
class ReplayItemAdmin(ReadOnlyAdmin):
    """What became of each run of a replay, newest first."""

    list_display = ("replay_id", "place", "run_id", "result", "reason", "at")
    ordering = ("-id",)


@admin.register(IdempotencyKey)
class IdempotencyKeyAdmin(ReadOnlyAdmin):
    """Keys, newest first."""

    list_display = ("key", "step", "state", "holder", "created_at", "expires_at")
    ordering = ("-id",)


@admin.register(Beat)
class BeatAdmin(ReadOnlyAdmin):
    """The replicas of the scheduler."""

    list_display = ("name", "host", "pid", "tzdata", "started_at", "seen_at")
    ordering = ("-seen_at",)


@admin.register(ZoneData)
class ZoneDataAdmin(ReadOnlyAdmin):
    """The versions of zone data that beats have worked with. One that was taken back may be
    deleted: until then the beats that have older ones wait for those with it."""

    list_display = ("version", "seen_at", "recomputed_at")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """As the person's rights say."""
        return admin.ModelAdmin.has_delete_permission(self, request, obj)


@admin.register(Installation)
class InstallationAdmin(ReadOnlyAdmin):
    """By which the beats know the database again."""

    list_display = ("identity", "timeline", "pulse", "seen_at")


@admin.register(Channel)
class ChannelAdmin(ReadOnlyAdmin):
    """Who hears of what; made and changed on the pages."""

    list_display = ("name", "team", "way", "address", "kinds", "per_minute")
    list_select_related = ("team",)
    exclude = ("secret",)


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    """What was sent, and what is to be, newest first."""

    list_display = ("id", "channel", "created_at", "tries", "next_at", "sent_at", "given_up_at")
    list_select_related = ("channel",)
    ordering = ("-created_at",)


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
    """The outbox, newest first."""

    list_display = ("event", "channel", "kind", "count", "at", "delivery")
    list_select_related = ("channel", "delivery")
    ordering = ("-id",)


@admin.register(Tombstone)
class TombstoneAdmin(ReadOnlyAdmin):
    """What is left of pruned runs."""

    list_display = ("job_id", "due_at", "ending")
    ordering = ("-id",)


@admin.register(Marker)
class MarkerAdmin(ReadOnlyAdmin):
    """What changed and when, newest first; written and removed on the pages and by the API."""

    list_display = ("text", "team", "at", "tag", "by", "created_at")
    list_select_related = ("team", "by")


@admin.register(SavedView)
class SavedViewAdmin(ReadOnlyAdmin):
    """Filters of lists under a name; saved and changed on the pages."""

    list_display = ("name", "page", "team", "owner", "created_at")
    list_select_related = ("team", "owner")


@admin.register(Star)
class StarAdmin(ReadOnlyAdmin):
    """Who wants which jobs at hand."""

    list_display = ("user", "job")
    list_select_related = ("user", "job")


@admin.register(Badge)
class BadgeAdmin(ReadOnlyAdmin):
    """Badges, the newest first; their keys are nowhere."""

    list_display = ("label", "team", "job", "tag", "by", "created_at", "revoked_at")
    list_select_related = ("team", "job", "by")
    exclude = ("digest",)
    ordering = ("-created_at",)


@admin.register(HomeView)
class HomeViewAdmin(ReadOnlyAdmin):
    """With which view a person begins."""

    list_display = ("user", "view")
    list_select_related = ("user", "view")
