"""What `manage.py up` runs, and where it listens."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from config.children import Program

# Nothing listens to what workers tell each other; told to nobody, it is an error with PGMQ.
QUIET = ("--without-gossip", "--without-mingle", "--without-heartbeat")


@dataclass(frozen=True)
class Options:
    """Where to listen and where everything is kept (an absolute path)."""

    host: str
    port: int
    data: Path

    @property
    def url(self) -> str:
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host  # noqa: S104
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def programs(options: Options, target_port: int, ledger: Path) -> Iterable[Program]:
    """What is run, in the order in which it is asked to end."""
    python = (sys.executable, "-m")
    # Without its banner of forty lines the address and the sign-in stay in sight.
    celery = (*python, "celery", "--quiet", "-A", "config")
    host = f"[{options.host}]" if ":" in options.host else options.host
    for number in (1, 2):
        yield Program("beat", f"beat-{number}", (*celery, "beat"))
    web = ("--no-control-socket", "--worker-class", "gthread", "--threads", "8")
    address = ("--graceful-timeout", "5", "--bind", f"{host}:{options.port}")
    yield Program("web", "web", (*python, "gunicorn", "config.wsgi", *address, *web))
    yield Program("worker", "worker", (*celery, "worker", "--concurrency", "4", *QUIET))
    target = ("config.example_target", "--port", str(target_port), "--ledger", str(ledger))
    yield Program("target", "target", (*python, *target))
