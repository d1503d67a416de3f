"""What the pages call the fields of a job."""

from __future__ import annotations

from django import template

from jobs.forms import JobForm

register = template.Library()


@register.filter
def field_label(name: str) -> str:
    """The label of a field of the register form."""
    return JobForm.label_of(name)
