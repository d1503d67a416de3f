"""The holds that are on, for the top of every page."""

from __future__ import annotations

from django import template
from django.db.models import QuerySet

from jobs.models import Hold

register = template.Library()


@register.simple_tag
def holds_on(user_id: int | None) -> QuerySet[Hold]:
    """Those of this person's teams and of the installation, the newest first."""
    return Hold.objects.where(user_id).filter(ended_at=None)
