"""Loaded first by the processes whose host's clock is wrong (tests/chaos/stage.py).

libfaketime 0.9.10 leaves the monotonic clock alone only with FAKETIME_DONT_FAKE_MONOTONIC, and
then its `clock_nanosleep`, which `time.sleep` uses, fails with EINVAL.
"""

from __future__ import annotations

import select
import time
from typing import SupportsIndex


def sleep(seconds: SupportsIndex | float, /) -> None:
    """`time.sleep` by another system call."""
    select.select([], [], [], float(seconds))


time.sleep = sleep
