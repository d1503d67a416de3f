"""Where the answer of a target sends its caller, and what may be said there. PURE.

A redirect is followed only where the same call goes on: 307 and 308 with its method and body, 301,
302 and 303 for a GET or HEAD alone. A POST that became a GET might be answered 200 by a page that
asks people to sign in. Each hop is a URL like any other, and goes through the egress.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from urllib.parse import urldefrag, urljoin

from jobs.targets.errors import TargetError
from jobs.targets.headers import is_secret_header
from jobs.targets.urls import Place, split_url

_SAME_CALL = (307, 308)
_BY_GET = (301, 302, 303)


class NotFollowed(Exception):
    """The text, for people, says why the call ends here."""


def leads_on(status: int) -> bool:
    """Whether an answer sends its caller elsewhere."""
    return status in (*_SAME_CALL, *_BY_GET)


def hop(
    url: str,
    status: int,
    headers: Mapping[str, str],
    *,
    method: str,
    ports: Collection[int] | None = None,
) -> str:
    """The URL to call next, in place of `url`. Raises NotFollowed."""
    if status in _BY_GET and method not in ("GET", "HEAD"):
        raise NotFollowed(f"a {method} would become a GET")
    location = headers.get("location", "").strip()
    if not location:
        raise NotFollowed("it does not say where to")
    try:
        following = urldefrag(urljoin(url, location)).url
        here, there = split_url(url, ports=ports), split_url(following, ports=ports)
    except (TargetError, ValueError):
        raise NotFollowed("where it leads cannot be called") from None
    if (here.scheme, there.scheme) == ("https", "http"):
        raise NotFollowed("it leads from https to http")
    return following


def headers_for(headers: Mapping[str, str], here: Place, there: Place) -> dict[str, str]:
    """The headers of the call that goes on: what was given for one origin is not sent to
    another, neither secrets nor the signature, which vouches for the call."""
    if here.origin == there.origin:
        return dict(headers)
    return {
        name: value
        for name, value in headers.items()
        if not is_secret_header(name) and not name.lower().startswith("webhook-")
    }
