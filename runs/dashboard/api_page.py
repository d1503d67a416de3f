"""The page of the API: what it is asked, as commands about the reader's own things."""

from __future__ import annotations

from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from jobs.page_door import jobs_of, page
from runs.dashboard import curl
from runs.page_door import runs_of

JOB, RUN = "JOB_ID", "RUN_ID"  # where the reader has none


class Example(NamedTuple):
    """What a command does, and the command."""

    words: str
    command: str


@page
@require_GET
def api_page(request: HttpRequest) -> HttpResponse:
    """How the API is used, with the ids of a job and a run that the reader sees."""
    job = jobs_of(request).order_by("name").values_list("id", "name").first()
    run = job and runs_of(request).filter(job=job[0]).order_by("-id").values_list("id").first()
    examples = _examples(request, str(job[0]) if job else JOB, str(run[0]) if run else RUN)
    context = {"examples": examples, "job": job, "has_run": bool(run)}
    return render(request, "dashboard/api.html", context)


def _examples(request: HttpRequest, job: str, run: str) -> list[Example]:
    root = request.build_absolute_uri(reverse("api-index"))

    def asked(words: str, method: str, path: str, body: object = None) -> Example:
        return Example(words, curl.command(method, f"{root}{path}", body))

    return [
        asked("What is wrong just now", "GET", "overview/"),
        asked("The jobs that are failing", "GET", "jobs/?state=failing"),
        asked("One job", "GET", f"jobs/{job}/"),
        asked("Its next ten moments", "GET", f"jobs/{job}/due/?count=10"),
        asked("Why it has not run", "GET", f"jobs/{job}/why/"),
        asked("Run it now", "POST", f"jobs/{job}/run/"),
        asked("Pause it", "POST", f"jobs/{job}/pause/", {"reason": "The ledger moves."}),
        asked("Resume it", "POST", f"jobs/{job}/resume/"),
        asked("Its runs of the last day", "GET", f"runs/?job={job}&since=24h"),
        asked("One run with its attempts", "GET", f"runs/{run}/"),
        asked("Everything on record of it, signed", "GET", f"runs/{run}/receipt/"),
        asked("What waits for a decision", "GET", "review/"),
        asked("Say that something changed", "POST", "markers/", {"text": "deploy of billing 4.2"}),
        asked("Register a job", "POST", "jobs/", _JOB),
    ]


_JOB = {
    "name": "nightly-report",
    "schedule": {"cron": "30 3 * * *", "timezone": "Europe/Berlin"},
    "target": {"type": "http", "method": "POST", "url": "https://reports.example/nightly"},
    "idempotent": True,
}
