"""The addresses of jobs under `/api/v1/`."""

from __future__ import annotations

from django.urls import path

from jobs import api
from jobs.calendars import api as calendar_api

urlpatterns = [
    path("jobs/<uuid:job_id>/", api.JobDoor.as_view(), name="api-job"),
    path("jobs/<uuid:job_id>/pause/", api.PauseDoor.as_view(), name="api-job-pause"),
    path("jobs/<uuid:job_id>/resume/", api.ResumeDoor.as_view(), name="api-job-resume"),
    path(
        "jobs/<uuid:job_id>/signing-secret/",
        api.SigningSecretDoor.as_view(),
        name="api-job-signing-secret",
    ),
    path("jobs/<uuid:job_id>/due/", api.DueDoor.as_view(), name="api-job-due"),
    path("jobs/<uuid:job_id>/versions/", api.VersionsDoor.as_view(), name="api-job-versions"),
    path("calendars/", calendar_api.CalendarsDoor.as_view(), name="api-calendars"),
    path("calendars/<slug:name>/", calendar_api.CalendarItemDoor.as_view(), name="api-calendar"),
    path(
        "calendars/<slug:name>/preview/",
        calendar_api.CalendarPreviewDoor.as_view(),
        name="api-calendar-preview",
    ),
    path(
        "calendars/<slug:name>/versions/",
        calendar_api.CalendarVersionsDoor.as_view(),
        name="api-calendar-versions",
    ),
]
