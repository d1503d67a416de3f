"""The choice of a team, at the head of every page."""

from __future__ import annotations

from typing import Any

from django import template

from jobs import team_switch
from jobs.team_switch import Switch

register = template.Library()


@register.simple_tag(takes_context=True)
def team_choice(context: Any) -> Switch:
    """The reader's teams, and the one that this page, or the one before, is about."""
    return team_switch.of(context["request"])
