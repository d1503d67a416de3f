"""Which acts the audit shows: the same parameters for the page, the API and the files."""

from __future__ import annotations

from django.db.models import QuerySet

from jobs.models import AuditEvent
from runs.dashboard.events import words as event_words
from runs.dashboard.finding import filters


class EventFilter(filters.SpanFilter):
    """Acts by who did them, what they did (`verb`), to what kind of thing and under which name,
    of which team and when; by the ids of a job, a run, and a request."""

    who = filters.text("Who")
    verb = filters.several("Did", "Anything", list(event_words.VERBS.items()))
    kind = filters.several("To", "Anything", list(event_words.KINDS.items()))
    q = filters.text("Named")
    since = filters.InstantField("Since")
    until = filters.InstantField("Until")
    job = filters.identifier("Job’s id")
    run = filters.identifier("Run’s id")
    request = filters.text("Request’s id")

    field_order = (
        *("who", "verb", "kind", "q", "team", "since", "until", "request", "job", "run"),
    )

    def applied(self, rows: QuerySet[AuditEvent]) -> QuerySet[AuditEvent]:
        """The rows that a valid filter asks for."""
        said = self.cleaned_data
        wanted = {
            "who__iexact": said["who"],
            "verb__in": said["verb"],
            "kind__in": said["kind"],
            "name__icontains": said["q"],
            "team__slug": said["team"],
            "at__gte": said["since"],
            "at__lt": said["until"],
            "job_id": said["job"],
            "run_id": said["run"],
            "request_id": said["request"],
        }
        return rows.filter(**{name: value for name, value in wanted.items() if value})
