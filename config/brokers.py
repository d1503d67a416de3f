"""BROKER_URL: which broker carries the hints, and the options that its transport needs."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

SCHEMES = ("amqp", "amqps", "redis", "rediss", "pgmq")


def pgmq_url(database_url: str) -> str:
    """PGMQ inside the product's own database. Only the scheme matters: the address goes by
    `conn_string`, which can name a unix socket as well."""
    return (
        "pgmq" + database_url[database_url.index("://") :] if "://" in database_url else "pgmq://"
    )


def scheme(url: str) -> str:
    """The part before `://`, checked; raises ImproperlyConfigured naming BROKER_URL."""
    found = urlsplit(url).scheme
    if found not in SCHEMES:
        shapes = (
            "amqp://user:password@host:5672/vhost, redis://host:6379/0 or pgmq://user@host/name"
        )
        raise ImproperlyConfigured(f"BROKER_URL: unknown scheme {found!r}. Write {shapes}.")
    return found


def known(url: str) -> str:
    """The URL as it is; raises ImproperlyConfigured for a scheme that is none of ours."""
    scheme(url)
    return url


def address(url: str) -> str:
    """What Celery gets as `broker_url`: for PGMQ the scheme (see `pgmq_url`) and a host that
    nobody asks, without which kombu warns."""
    return "pgmq://localhost" if scheme(url) == "pgmq" else url


def transport_options(url: str) -> dict[str, Any]:
    """The measured options of each transport (see README, «Brokers»)."""
    match scheme(url):
        case "pgmq":
            return {
                "conn_string": _libpq(url),
                "init_extension": False,
                "pool_size": 4,
                "pool_timeout": 3,
                "polling_interval": 0.02,
                "wait_time_seconds": 0,
                "use_notify": True,
                "notify_throttle_interval_ms": 0,
                "visibility_timeout": 3600,
            }
        case "redis" | "rediss":
            return {
                "visibility_timeout": 3600,
                "socket_timeout": 10,
                "socket_connect_timeout": 4,
                "socket_keepalive": True,
                "health_check_interval": 10,
            }
        case _:
            return {"confirm_publish": True, "confirm_timeout": 3, "read_timeout": 10}


def _libpq(url: str) -> str:
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    wanted = ("host", "port", "dbname", "user", "password")
    found = conninfo_to_dict("postgresql" + url[url.index("://") :])
    return make_conninfo(**{name: str(found[name]) for name in wanted if found.get(name)})
