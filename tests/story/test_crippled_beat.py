"""A beat that cannot say that it is there: ownership saves work, and nothing rests on it."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import psycopg
import pytest

from jobs import clock
from jobs.models import Team
from runs.models import Run
from tests.servers import wait_until
from tests.story import many
from tests.story.processes import Product

pytestmark = [pytest.mark.story, pytest.mark.timeout(180)]

JOBS, EVERY, ROUNDS = 60, 3, 4
_NO_TABLE = "create schema crippled; create table crippled.runs_beat (nothing int)"
_SESSION = "-c timezone=UTC -c lock_timeout=4s -c search_path=crippled,public"


@pytest.fixture
def crippled_url(product_url: str) -> str:
    """DATABASE_URL of one for whom the table of the live beats is no such table."""
    with psycopg.connect(product_url, autocommit=True) as owner:
        owner.execute(_NO_TABLE)
    parts = urlsplit(product_url)
    query = urlencode([*parse_qsl(parts.query), ("options", _SESSION)], quote_via=quote)
    return parts._replace(query=query).geturl()


def test_a_beat_that_cannot_say_that_it_is_there_doubles_nothing_k082(
    crippled_url: str, product: Product, team: Team
) -> None:
    sound = product.beat()
    crippled = product.beat(DATABASE_URL=crippled_url)
    first = clock.now() + timedelta(seconds=15)
    jobs = many.jobs(team, [first] * JOBS, every=EVERY)
    moments = [first + number * timedelta(seconds=EVERY) for number in range(ROUNDS)]
    runs = Run.objects.filter(job__in=jobs, due_at__lte=moments[-1], state="ENQUEUED")
    wait_until(lambda: runs.count() >= JOBS * ROUNDS, seconds=60, what="every run is sent")
    expected = Counter((job.id, moment) for job in jobs for moment in moments)
    assert Counter(runs.values_list("job_id", "due_at")) == expected
    said = crippled.log.read_text()
    assert said.count('"step": "_join"') > 3  # it says so, and goes on trying
    assert not crippled.ended
    sound.kill()  # the one that owned every shard
    later = Run.objects.filter(job__in=jobs, due_at__gt=clock.now(), state="CLAIMED")
    wait_until(lambda: later.count() >= JOBS, seconds=30, what="the other claims what is late")
