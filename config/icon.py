"""The icon for what is not a page of ours: browsers ask for it under this name."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.templatetags.static import static
from django.views.decorators.http import require_safe


@require_safe
def favicon(request: HttpRequest) -> HttpResponse:
    """Where it lies in this release."""
    return redirect(static("icon.svg"))
