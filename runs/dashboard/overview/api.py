"""The API's door to the Overview: the same numbers, of the token's team."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from jobs import access, asked
from jobs.api_door import Door
from jobs.api_shapes import instant
from jobs.roles import Act
from runs.dashboard.overview import machinery, overview
from runs.dashboard.overview.numbers import MOST, Numbers
from runs.dashboard.overview.overview import Reader
from runs.dashboard.overview.standing import Resting, Standing
from runs.dashboard.windows import LENGTHS, USUAL
from runs.states import UNDER_WAY


class OverviewDoor(Door):
    """`overview/`: how it stands, and what was due in `?window=` has become of."""

    def get(self, request: Request) -> Response:
        """Counts end at a cap; `more` says that there are more."""
        asked.parameters(request, ("window",))
        length = asked.choices(request, "window", tuple(LENGTHS)) or [USUAL]
        team = access.team(request, Act.READ)
        reader = Reader(access.person(request), teams=[team.id])
        standing: Standing = overview.summary(reader)["standing"]
        numbers: Numbers = overview.counted(reader, length[-1])["numbers"]
        return Response(
            {
                "as_of": instant(reader.now),
                "counted_at": instant(standing.at or reader.now),
                "sentence": standing.sentence,
                "jobs": _jobs(standing),
                "review": _resting(standing.review),
                "dead_letters": {**_resting(standing.dead), "groups": standing.dead.groups},
                "in_flight": {
                    state: _resting(resting)["count"]
                    for state, resting in standing.runs.items()
                    if state in UNDER_WAY
                },
                "window": _window(numbers),
                "machinery": _machinery(),
            }
        )


def _jobs(found: Standing) -> dict[str, int]:
    jobs = found.jobs
    return {
        "total": jobs.total,
        "fine": jobs.fine,
        "failing": jobs.failing,
        "late": jobs.late,
        "paused": jobs.paused,
    }


def _resting(found: Resting) -> dict[str, Any]:
    return {
        "count": min(found.count, found.most),
        "more": found.count > found.most,
        "oldest_at": instant(found.oldest),
    }


def _window(found: Numbers) -> dict[str, Any]:
    counted = {"due": min(found.due, MOST), "more": found.more}
    window = found.window
    return {
        "name": window.length.name,
        "since": instant(window.since),
        "until": instant(window.until),
        "counted_at": instant(found.at),
        **counted,
        **(dict.fromkeys(found.parts) if found.more else found.parts),
        "missed": None if found.more else found.missed,
    }


def _machinery() -> dict[str, Any]:
    found = machinery.look()
    return {
        "live_beats": found.beats,
        "beat_seen_at": instant(found.beat_seen_at),
        "workers_heard": found.workers,
        "worker_heard_at": instant(found.worker_heard_at),
        "delay_p50": found.usual_delay,
        "delay_p95": found.slow_delay,
        "sent_not_started": found.sent,
        "unclaimed": found.unclaimed,
    }
