"""In which zone the person at the browser reads times: the one they chose, else the browser's."""

from __future__ import annotations

from django.http import HttpRequest

from jobs import zones

_CHOSEN = "timezone"  # in the session
_COOKIE = "browser_zone"  # static/page.js writes it


def zone_of(request: HttpRequest) -> str:
    """The reader's zone; UTC where nobody has named one that is known here."""
    named = (chosen_zone(request), request.COOKIES.get(_COOKIE, ""))
    return next((name for name in named if name in zones.names()), "UTC")


def chosen_zone(request: HttpRequest) -> str:
    """The zone that this person chose, empty where they go by the browser's."""
    session = getattr(request, "session", None)  # an early error page has none
    return str(session.get(_CHOSEN, "")) if session is not None else ""


def choose_zone(request: HttpRequest, name: str) -> None:
    """Read times in this zone from now on; an empty name goes by the browser again.

    Raises ScheduleError (field `timezone`) for no zone.
    """
    if name:
        request.session[_CHOSEN] = zones.check(name)
    else:
        request.session.pop(_CHOSEN, None)


def for_pages(request: HttpRequest) -> dict[str, str]:
    """The context processor: every page may say `reader_zone`."""
    return {"reader_zone": zone_of(request)}
