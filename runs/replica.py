"""The name of this process, by which a run's receipt says which beat claimed it and sent it."""

from __future__ import annotations

import os
import socket
from functools import cache
from uuid import uuid4


def name() -> str:
    """The same for as long as the process lives, and of no other; at most 83 characters."""
    return _of(os.getpid())


@cache
def _of(pid: int) -> str:
    # A forked child has a name of its own. Celery makes a second scheduler, only for its banner:
    # both say the same name.
    return f"{socket.gethostname()[:60]}-{pid}-{uuid4().hex[:8]}"
