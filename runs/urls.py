from __future__ import annotations

from django.urls import path

from runs import action_views, backfill_views, hold_views, views

urlpatterns = [
    path("", views.home, name="home"),
    path("jobs/", views.jobs, name="jobs"),
    path("jobs/<uuid:job_id>/runs/", views.job_runs, name="job-runs"),
    path("jobs/<uuid:job_id>/run-now/", action_views.run_now, name="job-run-now"),
    path("jobs/<uuid:job_id>/backfill/", backfill_views.job_backfill, name="job-backfill"),
    path("backfills/<uuid:backfill_id>/", backfill_views.backfill_page, name="backfill"),
    path(
        "backfills/<uuid:backfill_id>/progress/",
        backfill_views.backfill_progress,
        name="backfill-progress",
    ),
    path("backfills/<uuid:backfill_id>/stop/", backfill_views.backfill_stop, name="backfill-stop"),
    path("runs/", views.runs, name="runs"),
    path("runs/<uuid:run_id>/", views.run, name="run"),
    path("runs/<uuid:run_id>/decide/", action_views.decide, name="run-decide"),
    path("runs/<uuid:run_id>/replay/", action_views.replay_run, name="run-replay"),
    path("runs/<uuid:run_id>/discard/", action_views.discard_run, name="run-discard"),
    path("runs/<uuid:run_id>/cancel/", action_views.cancel_run, name="run-cancel"),
    path("review/", views.review, name="review"),
    path("holds/", hold_views.all_holds, name="holds"),
    path("holds/<uuid:hold_id>/", hold_views.one_hold, name="hold"),
    path("dead-letters/", views.dead_letters, name="dead-letters"),
]
