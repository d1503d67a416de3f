"""Which markers are listed: the same parameters for the page and the API."""

from __future__ import annotations

from django.db.models import QuerySet

from runs.dashboard.finding import filters
from runs.models import Marker

NEWEST = ("-at", "-id")


class MarkerFilter(filters.SpanFilter):
    """Markers from when to when, about jobs with a tag, of a team."""

    since = filters.InstantField("Since")
    until = filters.InstantField("Until")
    tag = filters.TagsField("For jobs tagged")

    field_order = ("since", "until", "tag", "team")

    def applied(self, rows: QuerySet[Marker]) -> QuerySet[Marker]:
        """The rows that a valid filter asks for; a marker has one tag at most, so of several
        tags any will do."""
        said = self.cleaned_data
        wanted = {
            "at__gte": said["since"],
            "at__lt": said["until"],
            "tag__in": said["tag"],
            "team__slug": said["team"],
        }
        return rows.filter(**{name: value for name, value in wanted.items() if value})
