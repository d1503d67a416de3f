"""What waits for a person, in the rail, the title and the icon of every page; what stands still,
at its head."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from jobs.page_door import person
from runs.dashboard.live import polling
from runs.templatetags.states import counts_tag, resting, standing_still


@polling.poll
@require_GET
def counts(request: HttpRequest) -> HttpResponse:
    """The numbers in review and among the dead letters, and whether the installation stands
    still, for the poll of every page."""
    rest, still = resting(person(request).id), standing_still()
    region = {"rest": rest, "still": still, "tag": counts_tag(rest, still), "swapped": True}
    return polling.answer(request, "_counts.html", region)
