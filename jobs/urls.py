from __future__ import annotations

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from jobs import member_views, settings_views, team_switch, views
from jobs.calendars import views as calendar_views
from jobs.foresight import views as foresight_views
from jobs.tokens import views as token_views

urlpatterns = [
    path(
        "sign-in/",
        LoginView.as_view(
            redirect_authenticated_user=True, template_name="registration/login.html"
        ),
        name="sign-in",
    ),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("settings/", settings_views.your_settings, name="settings"),
    path("settings/tokens/", token_views.all_tokens, name="tokens"),
    path("settings/tokens/<uuid:token_id>/revoke/", token_views.revoke, name="token-revoke"),
    path("teams/switch/", team_switch.switch, name="team-switch"),
    path("settings/members/", member_views.all_members, name="members"),
    path("settings/members/<int:member_id>/role/", member_views.change, name="member-change"),
    path("settings/members/<int:member_id>/remove/", member_views.remove, name="member-remove"),
    path("jobs/new/", views.job_new, name="job-new"),
    path("jobs/preview/", foresight_views.job_preview, name="job-preview"),
    path("jobs/preview/target/", foresight_views.job_filled, name="job-filled"),
    path("jobs/<uuid:job_id>/", views.job, name="job"),
    path("jobs/<uuid:job_id>/edit/", views.job_edit, name="job-edit"),
    path("jobs/<uuid:job_id>/pause/", views.job_pause, name="job-pause"),
    path(
        "jobs/<uuid:job_id>/pause/preview/",
        foresight_views.job_pause_preview,
        name="job-pause-preview",
    ),
    path("jobs/<uuid:job_id>/resume/", views.job_resume, name="job-resume"),
    path("jobs/<uuid:job_id>/skip/", views.job_skip, name="job-skip"),
    path("jobs/<uuid:job_id>/signing-secret/", views.job_signing_secret, name="job-signing-secret"),
    path("jobs/<uuid:job_id>/delete/", views.job_delete, name="job-delete"),
    path("calendars/", calendar_views.calendar_list, name="calendars"),
    path("calendars/new/", calendar_views.calendar_new, name="calendar-new"),
    path(
        "calendars/subdivisions/",
        calendar_views.calendar_subdivisions,
        name="calendar-subdivisions",
    ),
    path("calendars/<slug:name>/", calendar_views.calendar, name="calendar"),
    path("calendars/<slug:name>/edit/", calendar_views.calendar_edit, name="calendar-edit"),
    path("calendars/<slug:name>/delete/", calendar_views.calendar_delete, name="calendar-delete"),
]
