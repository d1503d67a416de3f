"""The button that stars a job, on its page and in its row of the list."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from jobs.page_door import back_of, job_for, page, person
from runs.dashboard.stars import stars


@page
@require_POST
def job_star(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Star the job, or with `on=no` take the star away. htmx gets the button as it is now, a plain
    form the page that it stood on."""
    job, on = job_for(request, job_id), request.POST.get("on") != "no"
    if on:
        stars.put(job, by=person(request))
    else:
        stars.take(job, by=person(request))
    if getattr(request, "htmx", None):
        return render(request, "dashboard/_star.html", {"job": job, "starred": on})
    back = back_of(request)
    return redirect(back) if back else redirect("job", job.id)
