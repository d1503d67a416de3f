"""A job's moment on a page: on the job's clock first, then on the reader's, and in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from jobs.models import Job
from jobs.templatetags.moments import moment

AT = datetime(2026, 11, 30, 1, 0, tzinfo=UTC)


def shown(zone: str, reader: str, at: datetime = AT) -> str:
    job = Job(schedule=[{"cron": "0 2 * * *", "timezone": zone}])
    return re.sub(r"<[^>]+>", "", moment({"reader_zone": reader}, at, job))


@pytest.mark.parametrize(
    ("zone", "reader", "words"),
    [
        ("Europe/Berlin", "Europe/Berlin", "Mon 30 Nov 2026 02:00 Berlin 01:00 UTC"),
        ("Europe/Berlin", "UTC", "Mon 30 Nov 2026 02:00 Berlin 01:00 UTC"),
        ("Europe/Berlin", "Asia/Tokyo", "Mon 30 Nov 2026 02:00 Berlin 10:00 Tokyo 01:00 UTC"),
        ("UTC", "Asia/Tokyo", "Mon 30 Nov 2026 01:00 UTC 10:00 Tokyo"),
        ("UTC", "UTC", "Mon 30 Nov 2026 01:00 UTC"),
        (
            "Asia/Tokyo",
            "America/New_York",
            "Mon 30 Nov 2026 10:00 Tokyo Sun 29 Nov 20:00 New York 01:00 UTC",
        ),
        ("America/New_York", "UTC", "Sun 29 Nov 2026 20:00 New York Mon 30 Nov 01:00 UTC"),
        ("Europe/Berlin", "", "Mon 30 Nov 2026 02:00 Berlin 01:00 UTC"),
        ("Moon/Crater", "Asia/Tokyo", "Mon 30 Nov 2026 01:00 UTC Mon 30 Nov 2026 10:00 Tokyo"),
    ],
)
def test_each_clock_is_named_once(zone: str, reader: str, words: str) -> None:
    """K145: no time is told without its zone, and a day where it is another one."""
    assert shown(zone, reader).startswith(words)


def test_an_instant_of_no_job_is_told_on_the_readers_clock() -> None:
    assert "02:00 Berlin</time>" in moment({"reader_zone": "Europe/Berlin"}, AT)
    assert moment({"reader_zone": "Europe/Berlin"}, None) == "–"
