"""Every page for everybody: strangers sign in, other teams find nothing, viewers change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from django.test import Client
from django.urls import URLPattern

from jobs import holds
from jobs import urls as jobs_urls
from jobs.calendars import content as calendar_content
from jobs.calendars import editing as calendar_editing
from jobs.models import Hold, Job, MaintenanceWindow, Membership, Token, User
from jobs.tokens import tokens
from runs import urls as runs_urls
from runs.models import Approval, Backfill, Channel, Marker, Replay, Run
from runs.review import approvals
from runs.states import State
from tests import make
from tests.undone import undone

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Rule:
    """Who may: the lowest role for GET and for POST; None where the method is not known."""

    get: str | None
    post: str | None


PAGES = {
    "settings": Rule("viewer", "viewer"),
    "team-switch": Rule(None, "viewer"),
    "members": Rule("viewer", "admin"),
    "member-change": Rule(None, "admin"),
    "member-remove": Rule(None, "admin"),
    "tokens": Rule("viewer", "admin"),
    "token-revoke": Rule(None, "admin"),  # of somebody else
    "api-page": Rule("viewer", None),
    "badges": Rule("viewer", "editor"),
    "badge-revoke": Rule(None, "editor"),
    "job-badge": Rule("editor", "editor"),
    "home": Rule("viewer", None),
    "overview-summary": Rule("viewer", None),
    "overview-attention": Rule("viewer", None),
    "overview-numbers": Rule("viewer", None),
    "overview-starred": Rule("viewer", None),
    "overview-next": Rule("viewer", None),
    "overview-machinery": Rule("viewer", None),
    "overview-demo": Rule(None, "editor"),
    "more": Rule("viewer", None),
    "counts": Rule("viewer", None),
    "upcoming": Rule("viewer", None),
    "jobs": Rule("viewer", None),
    "start": Rule("viewer", None),
    "view-new": Rule("viewer", "viewer"),
    "view": Rule("viewer", "viewer"),  # whoever may not change it may begin with it
    "view-delete": Rule(None, "editor"),
    "jobs-many": Rule("operator", "operator"),
    "jobs-csv": Rule("viewer", None),
    "jobs-json": Rule("viewer", None),
    "runs-csv": Rule("viewer", None),
    "runs-json": Rule("viewer", None),
    "job": Rule("viewer", None),
    "job-new": Rule("editor", "editor"),
    "job-preview": Rule("viewer", None),
    "job-filled": Rule(None, "viewer"),
    "job-edit": Rule("editor", "editor"),
    "job-star": Rule(None, "viewer"),
    "job-pause": Rule(None, "operator"),
    "job-pause-preview": Rule("operator", None),
    "job-skip": Rule(None, "operator"),
    "job-resume": Rule(None, "operator"),
    "job-signing-secret": Rule(None, "editor"),
    "job-delete": Rule("editor", "editor"),
    "calendars": Rule("viewer", None),
    "calendar": Rule("viewer", None),
    "calendar-new": Rule("editor", "editor"),
    "calendar-subdivisions": Rule("viewer", None),
    "calendar-edit": Rule("editor", "editor"),
    "calendar-delete": Rule(None, "editor"),
    "job-runs": Rule("viewer", None),
    "job-run-now": Rule("operator", "operator"),
    "job-run-changed": Rule("editor", "editor"),
    "job-test": Rule("operator", "operator"),
    "job-test-typed": Rule(None, "editor"),
    "trial": Rule("viewer", "operator"),
    "job-backfill": Rule("operator", "operator"),
    "backfill": Rule("viewer", None),
    "backfill-progress": Rule("viewer", None),
    "backfill-stop": Rule(None, "operator"),
    "runs": Rule("viewer", None),
    "run": Rule("viewer", None),
    "runs-live": Rule("viewer", None),
    "run-live": Rule("viewer", None),
    "audit": Rule("viewer", None),
    "audit-firings": Rule("viewer", None),
    "events-csv": Rule("viewer", None),
    "events-json": Rule("viewer", None),
    "run-receipt": Rule("viewer", None),
    "run-receipt-file": Rule("viewer", None),
    "run-decide": Rule(None, "operator"),
    "run-replay": Rule(None, "operator"),
    "run-discard": Rule(None, "operator"),
    "run-cancel": Rule(None, "operator"),
    "review-live": Rule("viewer", None),
    "review": Rule("viewer", None),
    "review-many": Rule("viewer", "viewer"),  # about what they may decide: nothing, of viewers
    "review-item": Rule("viewer", None),
    "review-news": Rule("viewer", None),
    "review-others": Rule("viewer", None),
    "review-take": Rule(None, "operator"),
    "review-release": Rule(None, "operator"),
    "review-probe": Rule(None, "operator"),
    "approval": Rule(None, "operator"),
    "dead-letters-live": Rule("viewer", None),
    "dead-letters": Rule("viewer", None),
    "dead-group-live": Rule("viewer", None),
    "dead-group": Rule("viewer", None),
    "dead-group-replay": Rule("operator", "operator"),
    "dead-group-discard": Rule("operator", "operator"),
    "replay": Rule("viewer", None),
    "replay-progress": Rule("viewer", None),
    "replay-approve": Rule(None, "operator"),
    "replay-pause": Rule(None, "operator"),
    "replay-resume": Rule(None, "operator"),
    "replay-cancel": Rule(None, "operator"),
    "channels": Rule("viewer", "admin"),
    "channel": Rule("viewer", "admin"),
    "channel-test": Rule(None, "admin"),
    "channel-secret": Rule(None, "admin"),
    "channel-retry": Rule(None, "admin"),
    "channel-delete": Rule(None, "admin"),
    "markers": Rule("viewer", "operator"),
    "marker-remove": Rule(None, "operator"),
    "holds-live": Rule("viewer", None),
    "holds": Rule("viewer", "operator"),
    "hold": Rule("viewer", "operator"),
    "window-new": Rule("operator", "operator"),
    "window-preview": Rule("operator", None),
    "window": Rule("viewer", "operator"),
    "window-cancel": Rule(None, "operator"),
}
SHARED = {name for name in PAGES if name.startswith("calendar")}  # of the whole organisation
OPEN = {"sign-in", "sign-out", "badge-svg", "badge-json"}  # tests/dashboard/test_badges.py
ROLES = ("viewer", "operator", "editor", "admin")
LISTS = {
    "start",
    "view-new",
    "jobs-many",
    "audit",
    "audit-firings",
    "events-csv",
    "events-json",
    "review-live",
    "dead-letters-live",
    "holds-live",
    "review-many",
    "settings",
    "api-page",
    "team-switch",
    "members",
    "tokens",
    "badges",
    "home",
    "overview-summary",
    "overview-attention",
    "overview-numbers",
    "overview-starred",
    "overview-next",
    "overview-machinery",
    "overview-demo",
    "more",
    "counts",
    "upcoming",
    "jobs",
    "jobs-csv",
    "jobs-json",
    "runs",
    "runs-live",
    "runs-csv",
    "runs-json",
    "review",
    "dead-letters",
    "job-new",
    "job-test-typed",
    "job-preview",
    "job-filled",
    "holds",
    "window-new",
    "window-preview",
    "markers",
    "channels",
}


def routes() -> Iterator[URLPattern]:
    """The routes of both apps' pages."""
    for pattern in [*jobs_urls.urlpatterns, *runs_urls.urlpatterns]:
        assert isinstance(pattern, URLPattern)
        yield pattern


@pytest.fixture
def job() -> Job:
    author = calendar_editing.Editor(make.person("author", is_staff=True), frozenset())
    calendar_editing.create("bank", calendar_content.read({}), by=author)
    return make.job(make.team(), name="of-payments")


@pytest.fixture
def run(job: Job) -> Run:
    return make.run(job, State.REVIEW)


def address(name: str, job: Job, run: Run) -> str:
    """Where the page of this name stands for this job and run."""
    route = next(str(one.pattern) for one in routes() if one.name == name)
    for part, found in PARTS.items():
        if part in route:
            route = route.replace(part, str(found(job, run)))
    return "/" + route


def hold_of(job: Job) -> Hold:
    """The hold that there is, else one of the team of the job."""
    return Hold.objects.first() or holds.begin(job.team, "A move.", by=None)


def token_of(job: Job) -> Token:
    """A token that somebody holds in the team of the job."""
    token, _ = tokens.issue(job.team, make.operator(job.team, "holder"), "pipeline")
    return token


def mate_of(job: Job) -> Membership:
    """A member of the team of the job who asks for nothing themselves."""
    found = Membership.objects.filter(team=job.team, user__username="mate").first()
    return found or make.viewer(job.team, "mate").membership_set.get()


def approval_of(run: Run) -> Approval:
    """What waits for a second person about this run."""
    if there := Approval.objects.filter(run=run).first():
        return there
    asker = make.operator(run.job.team, "asker")
    return approvals.ask(run.id, token=None, new_key=True, note="n", by=asker)


# What stands in an address: the one that there is, else a new one.
PARTS: dict[str, Callable[[Job, Run], object]] = {
    "<uuid:job_id>": lambda job, run: job.id,
    "<uuid:run_id>": lambda job, run: run.id,
    "<slug:name>": lambda job, run: "bank",
    "<uuid:backfill_id>": lambda job, run: (
        (Backfill.objects.filter(job=job).first() or make.backfill(job)).id
    ),
    "<uuid:group_id>": lambda job, run: make.dead(job).error_group,
    "<uuid:replay_id>": lambda job, run: (
        (Replay.objects.filter(job=job).first() or make.replay(job)).id
    ),
    "<uuid:approval_id>": lambda job, run: approval_of(run).id,
    "<uuid:trial_id>": lambda job, run: make.trial(job).id,
    "<int:member_id>": lambda job, run: mate_of(job).pk,
    "<uuid:token_id>": lambda job, run: (Token.objects.first() or token_of(job)).id,
    "<uuid:view_id>": lambda job, run: make.view(job.team).id,
    "<uuid:badge_id>": lambda job, run: make.badge(job.team).id,
    "<uuid:hold_id>": lambda job, run: hold_of(job).id,
    "<uuid:window_id>": lambda job, run: (
        (MaintenanceWindow.objects.first() or make.window(job.team)).id
    ),
    "<uuid:marker_id>": lambda job, run: (Marker.objects.first() or make.marker(job.team)).id,
    "<uuid:channel_id>": lambda job, run: (
        (Channel.objects.first() or make.channel(job.team, "dead")).id
    ),
}


def test_every_page_has_a_rule() -> None:
    assert {route.name for route in routes()} == {*PAGES, *OPEN}


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_stranger_is_sent_to_sign_in(method: str, job: Job, run: Run) -> None:
    """K148."""
    for name in sorted(PAGES):
        with undone():
            where = address(name, job, run)
            answer = Client().generic(method.upper(), where)
            assert answer.status_code == 302, name
            assert answer.headers["Location"] == f"/sign-in/?next={where}"


@pytest.mark.parametrize("method", ["get", "post"])
def test_another_team_finds_nothing(method: str, job: Job, run: Run) -> None:
    """K149."""
    outsider = make.outsider()
    for name in sorted(PAGES.keys() - LISTS - SHARED):
        with undone():
            expected = 404 if getattr(PAGES[name], method) else 405
            assert status(outsider, method, address(name, job, run)) == expected, name
            job.refresh_from_db()
            run.refresh_from_db()
            assert (job.version, run.state) == (1, "REVIEW"), name


@pytest.mark.parametrize("name", ["home", "jobs", "runs", "review", "dead-letters"])
def test_a_list_shows_nothing_of_another_team(name: str, job: Job, run: Run) -> None:
    make.run(job, State.DEAD)
    client = Client()
    client.force_login(make.outsider())
    for query in ("", f"?job={job.id}&team=payments&q=of-payments&cursor={run.id}"):
        page = client.get(address(name, job, run) + query).content.decode()
        assert "of-payments</a>" not in page
        assert str(run.id) not in page.partition("<table")[2]
        rail = page.partition("<nav")[2].partition("</nav>")[0]
        assert "waiting" not in rail, "the rail counts its own teams' runs"


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_role_does_what_it_may_and_no_more(role: str, method: str, job: Job, run: Run) -> None:
    user = getattr(make, role)(make.team())
    for name, rule in PAGES.items():
        lowest = getattr(rule, method)
        if role == "admin" and lowest != "admin":
            continue  # the editor has shown it
        with undone():
            found = status(user, method, address(name, job, run))
            if lowest is None:
                assert found == 405, name
            elif ROLES.index(role) < ROLES.index(lowest):
                assert found == 403, name
            else:
                assert found in (200, 302, 422, 409), (name, found)


def test_a_viewer_sees_no_button_that_would_be_refused(job: Job, run: Run) -> None:
    client = Client()
    client.force_login(make.viewer(make.team()))
    told = ("channels", "channel")
    for name in (
        "jobs",
        "job",
        "run",
        "review",
        "backfill",
        "dead-group",
        "replay",
        "holds",
        "hold",
        "window",
        *told,
    ):
        page = client.get(address(name, job, run)).content.decode()
        for path in (
            "pause",
            "resume",
            "edit",
            "delete",
            "run-now",
            "decide",
            "replay",
            "new",
            "stop",
            "discard",
            "cancel",
        ):
            assert f"/{path}/" not in page.partition("<main")[2], (name, path)
        if name in (*told, "holds", "hold", "window"):
            assert "<form" not in page.partition("<main")[2], name


def test_a_member_who_leaves_sees_nothing_at_once(job: Job, run: Run) -> None:
    user = make.operator(make.team())
    assert status(user, "get", address("run", job, run)) == 200
    user.membership_set.all().delete()
    assert status(user, "get", address("run", job, run)) == 404


def test_staff_see_no_team_that_they_are_not_in(job: Job, run: Run) -> None:
    staff = make.person("staff", is_staff=True, is_superuser=True)
    assert status(staff, "get", address("job", job, run)) == 404


def test_no_change_without_the_csrf_token(job: Job, run: Run) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(make.editor(make.team()))
    for name in (name for name, rule in PAGES.items() if rule.post):
        with undone():
            answer = client.post(address(name, job, run), {"note": "n", "decision": "close"})
            assert answer.status_code == 403, name
            assert "Please send it again" in answer.content.decode()


def test_no_cache_keeps_a_page(job: Job, run: Run) -> None:
    client = Client()
    client.force_login(make.editor(make.team()))
    for name in (name for name, rule in PAGES.items() if rule.get):
        with undone():
            answer = client.get(address(name, job, run))
            assert "no-store" in answer.headers["Cache-Control"], name


def status(user: User, method: str, where: str) -> int:
    client = Client()
    client.force_login(user)
    return int(client.generic(method.upper(), where).status_code)
