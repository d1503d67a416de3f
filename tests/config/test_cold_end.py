from __future__ import annotations

import subprocess
import sys

from config import pool_watch
from tests.conftest import ROOT

# A handler that waits for what the signal interrupted, as Celery's may.
HANGS = """
import os, signal, threading, types
from config import cold_end

held = threading.Lock()
signal.signal(signal.SIGQUIT, lambda number, frame: held.acquire())
cold_end.PATIENCE = 1
conf = types.SimpleNamespace(worker_soft_shutdown_timeout=0.0)
cold_end.bound(types.SimpleNamespace(app=types.SimpleNamespace(conf=conf)))
with held:
    os.kill(os.getpid(), signal.SIGQUIT)
    signal.pause()
"""


def test_a_cold_end_that_waits_for_itself_is_over_in_seconds() -> None:
    ended = subprocess.run([sys.executable, "-c", HANGS], cwd=ROOT, timeout=60)
    assert ended.returncode == pool_watch.EXIT_CODE
