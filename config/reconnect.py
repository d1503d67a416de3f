"""How soon a worker looks for a broker that is away.

Celery waits two seconds longer after each try, up to thirty, and has no setting for it: a broker
that was away for half a minute would be found up to half a minute after its return, when all that
fell due meanwhile is late already.
"""

from __future__ import annotations

from typing import Any

import kombu
from celery.app import amqp

_PAUSES = {"interval_start": 0.5, "interval_step": 0.5, "interval_max": 2.0}  # seconds


class Connection(kombu.Connection):
    """Tries again after half a second, and never more than two seconds later."""

    def ensure_connection(self, *args: Any, **kwargs: Any) -> Any:
        """As kombu's own, with other pauses where the caller names none."""
        return super().ensure_connection(*args, **{**_PAUSES, **kwargs})


class Amqp(amqp.AMQP):
    """Celery makes its connections to the broker with this one's `Connection`."""

    Connection = Connection
