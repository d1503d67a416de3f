"""Every address: the pages at the root, the API under `/api/v1/`, the staff's admin, the probes."""

from __future__ import annotations

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from config import icon
from jobs.api_door import Index, Nowhere
from runs import health

handler500 = "jobs.request_ids.unexpected_error"
LISTS = (
    ("jobs", "api-jobs"),
    ("runs", "api-runs"),
    ("upcoming", "api-upcoming"),
    ("review", "api-reviews"),
    ("approvals", "api-approvals"),
    ("calendars", "api-calendars"),
    ("dead-letters", "api-dead-letters"),
    ("replays", "api-replays"),
    ("holds", "api-holds"),
    ("channels", "api-channels"),
    ("views", "api-views"),
    ("badges", "api-badges"),
    ("events", "api-events"),
)
api: list[URLPattern | URLResolver] = [
    path("", include("jobs.api_urls")),
    path("", include("runs.api_urls")),
    path("", Index.as_view(routes=LISTS), name="api-index"),
    path("<path:anywhere>", Nowhere.as_view(), name="api-nowhere"),
]
urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
    path("favicon.ico", icon.favicon, name="favicon"),
    path("admin/", admin.site.urls),
    path("api/v1/", include(api)),
    path("", include("jobs.urls")),
    path("", include("runs.urls")),
]
