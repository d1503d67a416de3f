"""How the person at the browser reads pages: in which zone, in which theme, how dense."""

from __future__ import annotations

from django.http import HttpRequest

from jobs.models import Preference, User
from jobs.schedules import zones

_COOKIE = "browser_zone"  # static/page.js writes it


def preference(request: HttpRequest) -> Preference:
    """What this person prefers; what everybody gets, where they have said nothing or are nobody.
    Remembered with the person, so that a page asks the database once."""
    user = getattr(request, "user", None)  # an early error page has none
    if not isinstance(user, User):
        return Preference()
    try:
        return user.preference
    except Preference.DoesNotExist:
        user.preference = Preference(user=user)
        return user.preference


def zone_of(request: HttpRequest) -> str:
    """The reader's zone: the one they chose, else the browser's; UTC where nobody has named one
    that is known here."""
    named = (preference(request).timezone, request.COOKIES.get(_COOKIE, ""))
    return next((name for name in named if name in zones.names()), "UTC")


def for_pages(request: HttpRequest) -> dict[str, object]:
    """The context processor: every page may say `reader_zone` and `prefers`."""
    return {"reader_zone": zone_of(request), "prefers": preference(request)}
