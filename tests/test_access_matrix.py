"""Every address of the API, every method, everyone who may knock: a new one without a row fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from jobs import holds
from jobs.calendars import content as calendar_content
from jobs.calendars import editing as calendar_editing
from jobs.models import CalendarVersion, Hold, Job, MaintenanceWindow, Membership, Team
from jobs.roles import Role
from runs import idempotency, steps
from runs.models import (
    Approval,
    Backfill,
    Badge,
    Channel,
    Marker,
    Replay,
    Run,
    SavedView,
    Star,
    Trial,
)
from runs.review import approvals
from runs.states import State
from tests import make
from tests.api import Api
from tests.runs.histories import aged
from tests.undone import undone

pytestmark = pytest.mark.django_db

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
NOBODY, OTHER_TEAM, OTHER_TOKEN = "nobody", "other team", "own person, other team's token"
TARGET = "the target"  # whom the secret of an attempt lets in, and no token
ROLES = ("viewer", "operator", "editor", "admin")

# name of the route → method → the lowest role; a method that is not here is answered by 405
ROUTES: dict[str, dict[str, str]] = {
    "api-index": {"GET": "viewer"},
    "api-jobs": {"GET": "viewer", "POST": "editor"},
    "api-job": {"GET": "viewer", "PUT": "editor", "PATCH": "editor", "DELETE": "editor"},
    "api-job-pause": {"POST": "operator"},
    "api-job-signing-secret": {"POST": "editor"},
    "api-job-resume": {"POST": "operator"},
    "api-job-run": {"POST": "operator"},
    "api-job-test": {"GET": "viewer", "POST": "operator"},
    "api-job-star": {"GET": "viewer", "PUT": "viewer", "DELETE": "viewer"},
    "api-job-due": {"GET": "viewer"},
    "api-job-why": {"GET": "viewer"},
    "api-job-versions": {"GET": "viewer"},
    "api-job-backfill": {"GET": "viewer", "POST": "operator"},
    "api-backfill": {"GET": "viewer"},
    "api-backfill-stop": {"POST": "operator"},
    "api-calendars": {"GET": "viewer", "POST": "editor"},
    "api-calendar": {"GET": "viewer", "PUT": "editor", "DELETE": "editor"},
    "api-calendar-preview": {"POST": "viewer"},
    "api-calendar-versions": {"GET": "viewer"},
    "api-overview": {"GET": "viewer"},
    "api-jobs-bulk": {"POST": "operator"},
    "api-views": {"GET": "viewer", "POST": "viewer"},
    "api-view": {"GET": "viewer", "PATCH": "editor", "DELETE": "editor"},
    "api-markers": {"GET": "viewer", "POST": "operator"},
    "api-marker": {"GET": "viewer", "DELETE": "operator"},
    "api-badges": {"GET": "viewer", "POST": "editor"},
    "api-badge": {"DELETE": "editor"},
    "api-runs": {"GET": "viewer"},
    "api-upcoming": {"GET": "viewer"},
    "api-upcoming-density": {"GET": "viewer"},
    "api-run": {"GET": "viewer"},
    "api-audit": {"GET": "viewer"},
    "api-events": {"GET": "viewer"},
    "api-audit-reports": {"GET": "viewer"},
    "api-run-receipt": {"GET": "viewer"},
    "api-receipt-key": {"GET": "viewer"},
    "api-run-decide": {"POST": "operator"},
    "api-run-replay": {"POST": "operator"},
    "api-run-discard": {"POST": "operator"},
    "api-run-cancel": {"POST": "operator"},
    "api-run-complete": {"POST": "the target"},
    "api-dead-letters": {"GET": "viewer"},
    "api-dead-group": {"GET": "viewer"},
    "api-dead-group-replay": {"POST": "operator"},
    "api-dead-group-discard": {"POST": "operator"},
    "api-replays": {"GET": "viewer"},
    "api-replay": {"GET": "viewer"},
    "api-replay-items": {"GET": "viewer"},
    "api-replay-approve": {"POST": "operator"},
    "api-replay-pause": {"POST": "operator"},
    "api-replay-resume": {"POST": "operator"},
    "api-replay-cancel": {"POST": "operator"},
    "api-key-step": {"GET": "viewer", "POST": "operator", "PUT": "operator"},
    "api-reviews": {"GET": "viewer"},
    "api-review": {"GET": "viewer"},
    "api-review-bulk": {"POST": "operator"},
    "api-review-claim": {"POST": "operator"},
    "api-review-release": {"POST": "operator"},
    "api-review-probe": {"POST": "operator"},
    "api-approvals": {"GET": "viewer"},
    "api-approval": {"GET": "viewer", "POST": "operator"},
    "api-channels": {"GET": "viewer", "POST": "admin"},
    "api-channel": {"GET": "viewer", "PUT": "admin", "DELETE": "admin"},
    "api-channel-deliveries": {"GET": "viewer"},
    "api-channel-test": {"POST": "admin"},
    "api-channel-secret": {"POST": "admin"},
    "api-channel-retry": {"POST": "admin"},
    "api-holds": {"GET": "viewer", "POST": "operator"},
    "api-hold": {"GET": "viewer"},
    "api-window": {"GET": "viewer", "PATCH": "operator", "DELETE": "operator"},
    "api-hold-owed": {"GET": "viewer"},
    "api-hold-end": {"POST": "operator"},
}
NOW = "2026-01-01T00:00:00Z"
NOWHERE = "api-nowhere"
SHARED = ("api-calendars", "api-calendar", "api-calendar-preview", "api-calendar-versions")
# What everybody with a token may ask, each of their own team.
INDEX = (
    "api-index",
    "api-events",
    "api-receipt-key",
    "api-audit",
    "api-overview",
    "api-upcoming-density",
)
MANY = ("api-review-bulk", "api-jobs-bulk")  # by which another team acts on its own
OWN = ("api-views", "api-badges")  # where everybody makes their own
LISTS = (
    "api-markers",
    "api-badges",
    "api-views",
    "api-audit-reports",
    "api-jobs",
    "api-runs",
    "api-upcoming",
    "api-reviews",
    "api-approvals",
    "api-holds",
    "api-dead-letters",
    "api-replays",
    "api-channels",
)  # where another team sees its own, not a 404
BY_MAIL = {"way": "mail", "address": "ops@example.org", "kinds": ["dead"]}
BODIES: dict[str, object] = {
    "api-jobs-bulk": {"do": "resume", "as_of": NOW, "expected": 0},
    "api-views": {"page": "jobs", "name": "new", "query": {"state": "paused"}},
    "api-view": {"name": "renamed"},
    "api-badges": {"label": "Nightly"},
    "api-jobs": make.shape(name="new", team="payments"),
    "api-job": make.shape(name="edited"),
    "api-job-backfill": {"from": NOW, "to": NOW, "dry_run": True},
    "api-calendars": {"name": "new-one"},
    "api-calendar": {"days_off": [{"date": "2030-01-01"}]},
    "api-run-decide": {"decision": "close", "note": "Looked."},
    "api-run-replay": {"note": "Mended."},
    "api-review-bulk": {"decision": "close", "note": "Looked.", "as_of": NOW, "expected": 0},
    "api-approval": {"answer": "approve"},
    "api-run-discard": {"note": "Of no use."},
    "api-dead-group-replay": {"expected": 1},
    "api-dead-group-discard": {"expected": 1, "note": "Of no use."},
    "api-key-step": {"attempt": 1},
    "api-channels": {"name": "new", "team": "payments", **BY_MAIL},
    "api-channel": {"name": "edited", **BY_MAIL},
    "api-markers": {"text": "deploy of billing 4.2", "team": "payments"},
    "api-holds": {"reason": "A move.", "team": "payments"},
    "api-window": {"reason": "Another move."},
}
REVIEWS = ("api-review", "api-review-claim", "api-review-release", "api-review-probe")
STATES = {
    **dict.fromkeys(("api-run-decide", "api-approval", *REVIEWS), State.REVIEW),
    "api-run-cancel": State.CLAIMED,
    "api-key-step": State.RUNNING,
}


@dataclass
class Stage:
    """A team with a job and a run, and the paths to them."""

    team: Team
    job: Job
    run: Run
    backfill: Backfill
    hold: Hold | None
    approval: Approval | None
    replay: Replay | None
    channel: Channel
    marker: Marker

    def path(self, route: str) -> str:
        pattern = str(patterns()[route])
        path = pattern.replace("<uuid:job_id>", str(self.job.id))
        path = path.replace("<uuid:backfill_id>", str(self.backfill.id))
        path = path.replace("<uuid:run_id>", str(self.run.id)).replace("<slug:name>", "bank")
        if self.approval:
            path = path.replace("<uuid:approval_id>", str(self.approval.id))
        path = path.replace("<uuid:group_id>", str(self.run.error_group))
        path = path.replace("<uuid:replay_id>", str(self.replay.id if self.replay else ""))
        path = path.replace("<str:key>/<str:step>", f"{self.run.key}/charge")
        path = path.replace("<uuid:view_id>", str(make.view(self.team).id))
        path = path.replace("<uuid:marker_id>", str(self.marker.id))
        path = path.replace("<uuid:badge_id>", str(make.badge(self.team).id))
        path = path.replace("<uuid:channel_id>", str(self.channel.id))
        if "<uuid:window_id>" in path:
            window = MaintenanceWindow.objects.first()
            path = path.replace("<uuid:window_id>", str(window.id if window else ""))
        return path.replace("<uuid:hold_id>", str(self.hold.id)) if self.hold else path

    def as_it_is(self) -> list[Any]:
        """What may not change where a request is refused."""
        jobs = Job.objects.order_by("id").values_list("id", "version", "team", "deleted_at")
        held = Hold.objects.order_by("id").values_list("id", "ended_at")
        backfills = Backfill.objects.order_by("id").values_list("id", "state")
        versions = CalendarVersion.objects.order_by("id").values_list("calendar", "number")
        runs = Run.objects.order_by("id").values_list("id", "state")
        replays = Replay.objects.order_by("id").values_list("id", "state")
        channels = Channel.objects.order_by("id").values_list("id", "name", "secret")
        views = SavedView.objects.order_by("id").values_list("id", "name")
        badges = Badge.objects.order_by("id").values_list("id", "revoked_at")
        stars = Star.objects.order_by("id").values_list("user", "job")
        columns = ("id", "reason", "cancelled_at")
        windows = MaintenanceWindow.objects.order_by("id").values_list(*columns)
        trials = Trial.objects.order_by("id").values_list("id")
        markers = Marker.objects.order_by("id").values_list("id", "text")
        return [
            *badges,
            *stars,
            *windows,
            *trials,
            *views,
            *markers,
            *jobs,
            *held,
            *versions,
            *runs,
            *backfills,
            *replays,
            *channels,
        ]


def patterns() -> dict[str, str]:
    """The routes below `/api/v1/` by name."""
    return {
        str(pattern.name): str(pattern.pattern)
        for pattern in _api(get_resolver().url_patterns, "")
        if pattern.name
    }


def _api(found: list[Any], prefix: str) -> Iterator[URLPattern]:
    for pattern in found:
        here = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver) and here in ("", "api/v1/"):
            yield from _api(pattern.url_patterns, here)
        elif isinstance(pattern, URLPattern) and here.startswith("api/v1/"):
            yield pattern


def stage(route: str) -> Stage:
    team = make.team()
    author = calendar_editing.Editor(make.person("author", is_staff=True), frozenset())
    calendar_editing.create("bank", calendar_content.read({}), by=author)
    state = STATES.get(route, State.DEAD)
    job = aged(make.job(team, idempotent=state is not State.REVIEW), timedelta(days=9999))
    held = "<uuid:hold_id>" in patterns()[route]
    hold = holds.begin(team, "A move.", by=None) if held else None
    run = make.run(job, state)
    if route == "api-key-step":
        idempotency.take(run.key, run_id=run.id, holder=1, payload=run.snapshot)
        steps.claim(run.key, "charge", run_id=run.id, attempt=1)
        steps.finish(run.key, "charge", attempt=1, answer="charged")
    approval = None
    if route == "api-approval":
        asker = make.operator(team, "asker")
        approval = approvals.ask(run.id, token=None, new_key=True, note="Not seen.", by=asker)
    make.view(team)
    make.badge(team)
    if route == "api-window":
        make.window(team)
    marker = make.marker(team)
    replay = make.replay(job) if "api-replay" in route else None
    return Stage(team, job, run, make.backfill(job), hold, approval, replay, webhook(team), marker)


def webhook(team: Team) -> Channel:
    """A channel that nobody may call: what is sent to it is refused at once."""
    channel = make.channel(team, "dead", way="webhook", address="https://hooks.example/")
    Channel.objects.filter(id=channel.id).update(address="http://127.0.0.1:9/")
    return channel


def api_of(who: str, team: Team) -> Api:
    match who:
        case "nobody":
            return Api()
        case "other team":
            return Api.of(make.team("elsewhere"), make.outsider())
        case "own person, other team's token":
            person, other = make.member(team, Role.ADMIN, "both"), make.team("other")
            Membership.objects.create(team=other, user=person, role=Role.ADMIN)
            return Api.of(other, person)
        case _:
            return Api.of(team, make.member(team, Role(who)))


def expected(route: str, method: str, who: str) -> set[int]:
    lowest = ROUTES[route][method]
    if lowest == TARGET:
        return {404}
    if who == NOBODY:
        return {401}
    if who in (OTHER_TEAM, OTHER_TOKEN) and route in SHARED:
        return {200, 201, 204}  # calendars are everybody's, and no job goes by this one
    if who in (OTHER_TEAM, OTHER_TOKEN):
        if route in OWN:
            return {200, 201}
        listed = route in (*LISTS, *INDEX) and method == "GET"
        return {200} if listed or route in MANY else {404}
    return {200, 201, 204} if ROLES.index(who) >= ROLES.index(lowest) else {403}


def cases(route: str) -> Iterator[tuple[str, str]]:
    """Each method of the address, by each who may knock."""
    for method, lowest in ROUTES[route].items():
        for who in (NOBODY, OTHER_TEAM, OTHER_TOKEN, *ROLES):
            if who != "admin" or lowest == "admin":  # else the editor has shown it
                yield method, who


def test_every_route_has_its_row() -> None:
    assert set(patterns()) == {*ROUTES, NOWHERE}


@pytest.mark.parametrize("route", ROUTES)
def test_who_may_do_what(route: str) -> None:
    """K149."""
    there = stage(route)
    before = there.as_it_is()
    for method, who in cases(route):
        with undone():
            check(there, route, method, who, before)


def check(there: Stage, route: str, method: str, who: str, before: list[Any]) -> None:
    api = api_of(who, there.team)
    answer = api.call(method, there.path(route), BODIES.get(route, {}) if method != "GET" else None)
    assert answer.status in expected(route, method, who), (method, who, answer.body)
    if answer.status >= 400 or method == "GET":
        assert there.as_it_is() == before, (method, who)
    if route in (*LISTS, *MANY) and answer.status == 200 and who in (OTHER_TEAM, OTHER_TOKEN):
        assert answer.body["results"] == [], (method, who)


@pytest.mark.parametrize("route", ROUTES)
def test_no_other_method_does_anything(route: str) -> None:
    there = stage(route)
    editor, nobody, before = api_of("editor", there.team), Api(), there.as_it_is()
    for method in {*METHODS, "OPTIONS", "TRACE"} - set(ROUTES[route]):
        assert editor.call(method, there.path(route), {}).status == 405
        assert nobody.call(method, there.path(route), {}).status in (401, 405)
    assert there.as_it_is() == before


@pytest.mark.parametrize(("who", "status"), [(NOBODY, 401), (OTHER_TEAM, 404), ("editor", 404)])
def test_what_is_nowhere_is_nowhere_for_everyone(who: str, status: int) -> None:
    api = api_of(who, make.team())
    for method in METHODS:
        assert api.call(method, "no/such/thing/").status == status


def test_a_viewer_of_another_teams_run_and_of_none_is_told_the_same() -> None:
    there = stage("api-run")
    api = api_of(OTHER_TEAM, there.team)
    hidden = api.get(there.path("api-run")).body
    there.run.delete()
    assert api.get(there.path("api-run")).body == hidden
