"""What `manage.py up` is told, read and asked about before anything is started or written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from config import installation, reachable
from config.installation import UpFailed
from config.programs import Options


def options(host: str, port: str, data: str) -> Options:
    """The options as they are typed; UpFailed names the one that is none."""
    if not host.strip():
        raise UpFailed("HOST is empty. Say 127.0.0.1, or an address of this machine.")
    if not data.strip():
        raise UpFailed("DATA is empty. Say a folder that you can write.")
    if not (port.isascii() and port.isdigit() and 1 <= int(port[:6]) <= installation.LAST_PORT):
        raise UpFailed(f"PORT={port[:80]} is none. Say one from 1 to {installation.LAST_PORT}.")
    return Options(host.strip(), int(port), Path(data).resolve())


def require(options: Options) -> None:
    """Raise UpFailed unless what HOST, DATABASE_URL and BROKER_URL name is there."""
    _translated(lambda: reachable.host(options.host, installation.family(options.host)))
    for variable, ask in (("DATABASE_URL", reachable.database), ("BROKER_URL", reachable.broker)):
        if url := os.environ.get(variable):
            _asked(ask, url)
    # Of a folder that is not there no earlier start can be left over, which would hold the port.
    if not os.path.exists(options.data):
        installation.require_free(options.host, options.port)


def _asked(ask: Callable[[str], None], url: str) -> None:
    _translated(lambda: ask(url))


def _translated(ask: Callable[[], None]) -> None:
    try:
        ask()
    except reachable.Unreachable as error:
        raise UpFailed(str(error)) from error
