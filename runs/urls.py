from __future__ import annotations

from django.urls import URLPattern, path

from runs import action_views, changed_views, views
from runs.audits import views as audit_views
from runs.backfills import views as backfill_views
from runs.badges import public as public_badges
from runs.badges import views as badge_views
from runs.channels import views as channel_views
from runs.dashboard import api_page, export_views
from runs.dashboard.events import views as event_views
from runs.dashboard.lists import views as list_views
from runs.dashboard.lists.exports import SHAPES
from runs.dashboard.live import count_views
from runs.dashboard.many import views as many_views
from runs.dashboard.overview import views as overview_views
from runs.dashboard.overview.overview import REGIONS
from runs.dashboard.saved_views import views as view_pages
from runs.dashboard.stars import views as star_views
from runs.dashboard.upcoming import views as upcoming_views
from runs.holds import views as hold_views
from runs.holds import window_views
from runs.letters import batch as replay_batch
from runs.letters import views as letters_views
from runs.markers import views as marker_views
from runs.receipts import views as receipt_views
from runs.review import views as review_views
from runs.trials import views as trial_views


def _files(page: str, what: str) -> list[URLPattern]:
    """The addresses of a list as a file, beside its page."""
    return [
        path(
            f"{page}/export.{shape}",
            export_views.file,
            {"what": what, "shape": shape},
            name=f"{what}-{shape}",
        )
        for shape in SHAPES
    ]


urlpatterns = [
    path("", overview_views.home, name="home"),
    path("counts/", count_views.counts, name="counts"),
    *(
        path(f"overview/{name}/", overview_views.region, {"name": name}, name=f"overview-{name}")
        for name in REGIONS
    ),
    path("overview/demo/", overview_views.demo_job, name="overview-demo"),
    path("more/", views.more, name="more"),
    path("upcoming/", upcoming_views.coming, name="upcoming"),
    path("start/", view_pages.start, name="start"),
    path("views/new/", view_pages.view_new, name="view-new"),
    path("views/<uuid:view_id>/", view_pages.view, name="view"),
    path("views/<uuid:view_id>/delete/", view_pages.view_delete, name="view-delete"),
    path("jobs/", list_views.jobs, name="jobs"),
    path("jobs/many/", many_views.many, name="jobs-many"),
    *_files("jobs", "jobs"),
    path("jobs/<uuid:job_id>/badge/", badge_views.job_badge, name="job-badge"),
    path("settings/api/", api_page.api_page, name="api-page"),
    path("settings/badges/", badge_views.all_badges, name="badges"),
    path("settings/badges/<uuid:badge_id>/revoke/", badge_views.revoke, name="badge-revoke"),
    path("badges/<str:key>.svg", public_badges.svg, name="badge-svg"),
    path("badges/<str:key>.json", public_badges.as_json, name="badge-json"),
    path("jobs/<uuid:job_id>/star/", star_views.job_star, name="job-star"),
    path("jobs/<uuid:job_id>/runs/", views.job_runs, name="job-runs"),
    path("jobs/<uuid:job_id>/run-now/", action_views.run_now, name="job-run-now"),
    path("jobs/<uuid:job_id>/run-changed/", changed_views.run_changed, name="job-run-changed"),
    path("jobs/test/", trial_views.typed_test, name="job-test-typed"),
    path("jobs/<uuid:job_id>/test/", trial_views.job_test, name="job-test"),
    path("tests/<uuid:trial_id>/", trial_views.one, name="trial"),
    path("jobs/<uuid:job_id>/backfill/", backfill_views.job_backfill, name="job-backfill"),
    path("backfills/<uuid:backfill_id>/", backfill_views.backfill_page, name="backfill"),
    path(
        "backfills/<uuid:backfill_id>/progress/",
        backfill_views.backfill_progress,
        name="backfill-progress",
    ),
    path("backfills/<uuid:backfill_id>/stop/", backfill_views.backfill_stop, name="backfill-stop"),
    path("audit/", event_views.audit, name="audit"),
    path("audit/firings/", audit_views.audit, name="audit-firings"),
    *_files("audit", "events"),
    path("runs/", list_views.runs, name="runs"),
    path("runs/live/", list_views.runs_live, name="runs-live"),
    *_files("runs", "runs"),
    path("runs/<uuid:run_id>/", views.run, name="run"),
    path("runs/<uuid:run_id>/live/", views.run_live, name="run-live"),
    path("runs/<uuid:run_id>/decide/", review_views.decide, name="run-decide"),
    path("runs/<uuid:run_id>/receipt/", receipt_views.receipt, name="run-receipt"),
    path("runs/<uuid:run_id>/receipt.json", receipt_views.receipt_file, name="run-receipt-file"),
    path("runs/<uuid:run_id>/replay/", action_views.replay_run, name="run-replay"),
    path("runs/<uuid:run_id>/discard/", action_views.discard_run, name="run-discard"),
    path("runs/<uuid:run_id>/cancel/", action_views.cancel_run, name="run-cancel"),
    path("review/", review_views.queue, name="review"),
    path("review/live/", review_views.queue_live, name="review-live"),
    path("review/many/", review_views.many, name="review-many"),
    path("review/<uuid:run_id>/", review_views.item, name="review-item"),
    path("review/<uuid:run_id>/news/", review_views.item_news, name="review-news"),
    path("review/<uuid:run_id>/others/", review_views.item_others, name="review-others"),
    path("review/<uuid:run_id>/take/", review_views.take, name="review-take"),
    path("review/<uuid:run_id>/release/", review_views.release, name="review-release"),
    path("review/<uuid:run_id>/probe/", review_views.ask_probe, name="review-probe"),
    path("approvals/<uuid:approval_id>/", review_views.answer, name="approval"),
    path("channels/", channel_views.all_channels, name="channels"),
    path("channels/<uuid:channel_id>/", channel_views.one_channel, name="channel"),
    path("channels/<uuid:channel_id>/test/", channel_views.channel_test, name="channel-test"),
    path("channels/<uuid:channel_id>/secret/", channel_views.channel_secret, name="channel-secret"),
    path("channels/<uuid:channel_id>/retry/", channel_views.channel_retry, name="channel-retry"),
    path("channels/<uuid:channel_id>/delete/", channel_views.channel_delete, name="channel-delete"),
    path("markers/", marker_views.all_markers, name="markers"),
    path("markers/<uuid:marker_id>/remove/", marker_views.remove, name="marker-remove"),
    path("holds/", hold_views.all_holds, name="holds"),
    path("holds/live/", hold_views.holds_live, name="holds-live"),
    path("holds/windows/new/", window_views.new_window, name="window-new"),
    path("holds/windows/preview/", window_views.window_preview, name="window-preview"),
    path("holds/windows/<uuid:window_id>/", window_views.one_window, name="window"),
    path(
        "holds/windows/<uuid:window_id>/cancel/", window_views.cancel_window, name="window-cancel"
    ),
    path("holds/<uuid:hold_id>/", hold_views.one_hold, name="hold"),
    path("dead-letters/", letters_views.all_groups, name="dead-letters"),
    path("dead-letters/live/", letters_views.groups_live, name="dead-letters-live"),
    path("dead-letters/<uuid:group_id>/live/", letters_views.group_live, name="dead-group-live"),
    path("dead-letters/<uuid:group_id>/", letters_views.one_group, name="dead-group"),
    path(
        "dead-letters/<uuid:group_id>/replay/", letters_views.replay_group, name="dead-group-replay"
    ),
    path(
        "dead-letters/<uuid:group_id>/discard/",
        letters_views.discard_group,
        name="dead-group-discard",
    ),
    path("replays/<uuid:replay_id>/", letters_views.one_replay, name="replay"),
    path(
        "replays/<uuid:replay_id>/progress/", letters_views.replay_progress, name="replay-progress"
    ),
    *(
        path(
            f"replays/<uuid:replay_id>/{steer.__name__}/",
            letters_views.replay_steer,
            {"steer": steer, "done": done},
            name=f"replay-{steer.__name__}",
        )
        for steer, done in (
            (replay_batch.approve, "Approved, and recorded with your name. It goes on by itself."),
            (replay_batch.pause, "Paused. Nothing more goes until somebody resumes it."),
            (replay_batch.resume, "It goes on."),
            (replay_batch.cancel, "Cancelled. What has been sent again goes on."),
        )
    ),
]
