"""What waits for a person, in the rail, the title and the icon of every page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from jobs.page_door import person
from runs.dashboard.live import polling
from runs.templatetags.states import resting


@polling.poll
@require_GET
def counts(request: HttpRequest) -> HttpResponse:
    """The numbers in review and among the dead letters, for the poll of every page."""
    rest = resting(person(request).id)
    region = {"rest": rest, "tag": "/".join(rest.values()), "swapped": True}
    return polling.answer(request, "_counts.html", region)
