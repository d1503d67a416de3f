"""Two beats, one of them with older zone data: who claims what while the upgrade is on its way."""

from __future__ import annotations

import os
import shutil
from datetime import datetime, timedelta
from importlib import resources
from pathlib import Path

import pytest

from jobs import clock
from jobs.models import Due, Job, Team
from jobs.schedules import zones
from runs.models import Run, ZoneData
from tests.servers import wait_until
from tests.story.conftest import register
from tests.story.processes import ROOT, Product
from tests.zone_rules import PLACE, tzif

pytestmark = pytest.mark.story

NOTE = {"type": "task", "name": "story.note"}
OLDER = "2020a"


@pytest.fixture
def older(tmp_path: Path) -> str:
    """PYTHONPATH with another version of the zone data: it knows no summer time at PLACE."""
    package = tmp_path / "older" / "tzdata"
    shutil.copytree(str(resources.files("tzdata")), package)
    (package / "__init__.py").write_text(f"IANA_VERSION = {OLDER!r}\n")
    (package / "zoneinfo" / PLACE).write_bytes(tzif(120, []))
    return os.pathsep.join([str(package.parent), str(ROOT)])


def due(job: Job) -> object:
    return Due.objects.get(job=job).at


def fell_due(job: Job, moment: datetime) -> None:
    """The job is older than this moment of its own, and nobody has claimed it."""
    Job.objects.filter(id=job.id).update(version_began_at=moment - timedelta(minutes=1))
    Due.objects.filter(job=job).update(at=moment)


def fires(job: Job, times: int = 1) -> None:
    before = Run.objects.filter(job=job).count()
    wait_until(
        lambda: Run.objects.filter(job=job).count() >= before + times,
        seconds=30,
        what=f"{job} is claimed",
    )


@pytest.mark.timeout(300)
def test_an_upgrade_of_the_zone_data_goes_through_the_beats(
    product: Product, team: Team, older: str
) -> None:
    june = register(team, "june", {"cron": "0 12 15 6 *", "timezone": PLACE}, NOTE)
    elapsed = register(team, "elapsed", {"every": 1}, NOTE)
    ours = due(june)
    product.beat(PYTHONPATH=older)
    theirs = june.due.at + timedelta(hours=1)
    wait_until(lambda: due(june) == theirs, seconds=60, what="the older beat works out its own")

    newer = product.beat()
    wait_until(lambda: due(june) == ours, seconds=60, what="the newer one works out anew")
    assert sorted(ZoneData.objects.values_list("version", flat=True)) == [OLDER, zones.version()]
    newer.kill()

    local = register(team, "local", {"cron": "* * * * *", "timezone": PLACE}, NOTE)
    fell_due(local, clock.now().replace(second=0, microsecond=0))
    fires(elapsed, times=3)
    assert not Run.objects.filter(job=local).exists(), "the older beat left it"

    product.beat()
    fires(local)
    assert due(june) == ours
    told = [line["event"] for line in product.errors()]
    assert "beat.zone_data_older" in told
    assert set(told) <= {"beat.zone_data_older", "rescue.overdue"}
