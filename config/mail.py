"""How the installation reaches people: EMAIL_URL, ONEBEAT_URL, ONEBEAT_WATCHDOG_URL."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from jobs.targets.errors import TargetError
from jobs.targets.urls import split_url

_SHAPE = "Write smtp+tls://user:password@host:587, smtps:// (465), smtp:// (25) or console:."
_PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}


def backend(url: str) -> dict[str, Any]:
    """The EMAIL_ settings that this URL means; empty: there is no mail. What is said of a wrong
    one tells no password."""
    if not url or url.partition(":")[0] == "console":
        return {"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"}
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ImproperlyConfigured(
            f"EMAIL_URL: it has no readable host and port. {_SHAPE}"
        ) from None
    if parts.scheme not in _PORTS or not host:
        raise ImproperlyConfigured(f"EMAIL_URL: it names no mail server. {_SHAPE}")
    return {
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_HOST": host,
        "EMAIL_PORT": port or _PORTS[parts.scheme],
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_TLS": parts.scheme == "smtp+tls",
        "EMAIL_USE_SSL": parts.scheme == "smtps",
    }


def address(url: str) -> str:
    """ONEBEAT_URL without a slash at its end: what links begin with; empty: it is not known."""
    try:
        parts = urlsplit(url)
        wrong = url and (parts.scheme not in ("http", "https") or not parts.hostname or parts.query)
    except ValueError:
        wrong = True
    if wrong:
        raise ImproperlyConfigured(
            f"ONEBEAT_URL: {url[:80]!r} is no address of a site. Write it as https://onebeat.example."
        )
    return url.rstrip("/")


def watchdog(url: str) -> str:
    """ONEBEAT_WATCHDOG_URL: one that may be called at all, or empty."""
    try:
        if url:
            split_url(url)
    except TargetError as error:
        raise ImproperlyConfigured(f"ONEBEAT_WATCHDOG_URL: {error}") from None
    return url
