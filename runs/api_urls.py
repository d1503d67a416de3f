"""The addresses of runs under `/api/v1/`."""

from __future__ import annotations

from django.urls import path

from runs import api, keys_api, reports_api
from runs.audits import api as audit_api
from runs.backfills import api as backfill_api
from runs.badges import api as badges_api
from runs.channels import api as channels_api
from runs.dashboard.events import api as events_api
from runs.dashboard.job import why_api
from runs.dashboard.lists import api as lists_api
from runs.dashboard.many import api as many_api
from runs.dashboard.overview import api as overview_api
from runs.dashboard.saved_views import api as views_api
from runs.dashboard.stars import api as stars_api
from runs.dashboard.upcoming import api as upcoming_api
from runs.holds import api as holds_api
from runs.holds import window_api
from runs.letters import api as letters_api
from runs.letters import batch as replay_batch
from runs.markers import api as markers_api
from runs.receipts import api as receipts_api
from runs.review import api as review_api
from runs.trials import api as trials_api

urlpatterns = [
    path("overview/", overview_api.OverviewDoor.as_view(), name="api-overview"),
    path("upcoming/", upcoming_api.UpcomingDoor.as_view(), name="api-upcoming"),
    path("upcoming/density/", upcoming_api.DensityDoor.as_view(), name="api-upcoming-density"),
    path("jobs/", lists_api.JobsDoor.as_view(), name="api-jobs"),
    path("jobs/bulk/", many_api.BulkDoor.as_view(), name="api-jobs-bulk"),
    path("views/", views_api.ViewsDoor.as_view(), name="api-views"),
    path("views/<uuid:view_id>/", views_api.ViewDoor.as_view(), name="api-view"),
    path("jobs/<uuid:job_id>/star/", stars_api.StarDoor.as_view(), name="api-job-star"),
    path("jobs/<uuid:job_id>/run/", api.RunNowDoor.as_view(), name="api-job-run"),
    path("jobs/<uuid:job_id>/test/", trials_api.TrialsDoor.as_view(), name="api-job-test"),
    path("jobs/<uuid:job_id>/why/", why_api.WhyDoor.as_view(), name="api-job-why"),
    path(
        "jobs/<uuid:job_id>/backfill/",
        backfill_api.BackfillsDoor.as_view(),
        name="api-job-backfill",
    ),
    path("backfills/<uuid:backfill_id>/", backfill_api.BackfillDoor.as_view(), name="api-backfill"),
    path(
        "backfills/<uuid:backfill_id>/stop/",
        backfill_api.StopDoor.as_view(),
        name="api-backfill-stop",
    ),
    path("badges/", badges_api.BadgesDoor.as_view(), name="api-badges"),
    path("badges/<uuid:badge_id>/", badges_api.BadgeDoor.as_view(), name="api-badge"),
    path("events/", events_api.EventsDoor.as_view(), name="api-events"),
    path("audit/", audit_api.AuditDoor.as_view(), name="api-audit"),
    path("audit/reports/", audit_api.AuditReportsDoor.as_view(), name="api-audit-reports"),
    path("runs/", lists_api.RunsDoor.as_view(), name="api-runs"),
    path("runs/<uuid:run_id>/", api.RunDoor.as_view(), name="api-run"),
    path("runs/<uuid:run_id>/receipt/", receipts_api.ReceiptDoor.as_view(), name="api-run-receipt"),
    path("receipts/key/", receipts_api.ReceiptKeysDoor.as_view(), name="api-receipt-key"),
    path("runs/<uuid:run_id>/decide/", api.DecideDoor.as_view(), name="api-run-decide"),
    path("runs/<uuid:run_id>/replay/", api.ReplayDoor.as_view(), name="api-run-replay"),
    path("runs/<uuid:run_id>/cancel/", api.CancelDoor.as_view(), name="api-run-cancel"),
    path("runs/<uuid:run_id>/discard/", api.DiscardDoor.as_view(), name="api-run-discard"),
    path(
        "runs/<uuid:run_id>/complete/", reports_api.CompleteDoor.as_view(), name="api-run-complete"
    ),
    path("review/", review_api.ReviewsDoor.as_view(), name="api-reviews"),
    path("review/bulk/", review_api.BulkDoor.as_view(), name="api-review-bulk"),
    path("review/<uuid:run_id>/", review_api.ReviewDoor.as_view(), name="api-review"),
    path("review/<uuid:run_id>/claim/", review_api.ClaimDoor.as_view(), name="api-review-claim"),
    path(
        "review/<uuid:run_id>/release/",
        review_api.ReleaseDoor.as_view(),
        name="api-review-release",
    ),
    path("review/<uuid:run_id>/probe/", review_api.ProbeDoor.as_view(), name="api-review-probe"),
    path("approvals/", review_api.ApprovalsDoor.as_view(), name="api-approvals"),
    path("approvals/<uuid:approval_id>/", review_api.ApprovalDoor.as_view(), name="api-approval"),
    path("dead-letters/", letters_api.GroupsDoor.as_view(), name="api-dead-letters"),
    path("dead-letters/<uuid:group_id>/", letters_api.GroupDoor.as_view(), name="api-dead-group"),
    path(
        "dead-letters/<uuid:group_id>/replay/",
        letters_api.ReplayGroupDoor.as_view(),
        name="api-dead-group-replay",
    ),
    path(
        "dead-letters/<uuid:group_id>/discard/",
        letters_api.DiscardGroupDoor.as_view(),
        name="api-dead-group-discard",
    ),
    path("replays/", letters_api.ReplaysDoor.as_view(), name="api-replays"),
    path("replays/<uuid:replay_id>/", letters_api.ReplayDoor.as_view(), name="api-replay"),
    path(
        "replays/<uuid:replay_id>/items/",
        letters_api.ReplayItemsDoor.as_view(),
        name="api-replay-items",
    ),
    *(
        path(
            f"replays/<uuid:replay_id>/{steer.__name__}/",
            letters_api.SteerDoor.as_view(),
            {"steer": steer},
            name=f"api-replay-{steer.__name__}",
        )
        for steer in (
            replay_batch.approve,
            replay_batch.pause,
            replay_batch.resume,
            replay_batch.cancel,
        )
    ),
    path("channels/", channels_api.ChannelsDoor.as_view(), name="api-channels"),
    path("channels/<uuid:channel_id>/", channels_api.ChannelDoor.as_view(), name="api-channel"),
    path(
        "channels/<uuid:channel_id>/deliveries/",
        channels_api.DeliveriesDoor.as_view(),
        name="api-channel-deliveries",
    ),
    path(
        "channels/<uuid:channel_id>/test/",
        channels_api.TestDoor.as_view(),
        name="api-channel-test",
    ),
    path(
        "channels/<uuid:channel_id>/secret/",
        channels_api.SecretDoor.as_view(),
        name="api-channel-secret",
    ),
    path(
        "channels/<uuid:channel_id>/retry/",
        channels_api.RetryDoor.as_view(),
        name="api-channel-retry",
    ),
    path("holds/", holds_api.HoldsDoor.as_view(), name="api-holds"),
    path("holds/windows/<uuid:window_id>/", window_api.WindowDoor.as_view(), name="api-window"),
    path("holds/<uuid:hold_id>/", holds_api.HoldDoor.as_view(), name="api-hold"),
    path("holds/<uuid:hold_id>/owed/", holds_api.OwedDoor.as_view(), name="api-hold-owed"),
    path("holds/<uuid:hold_id>/end/", holds_api.EndDoor.as_view(), name="api-hold-end"),
    path("markers/", markers_api.MarkersDoor.as_view(), name="api-markers"),
    path("markers/<uuid:marker_id>/", markers_api.MarkerDoor.as_view(), name="api-marker"),
    path("keys/<str:key>/<str:step>/", keys_api.StepDoor.as_view(), name="api-key-step"),
]
