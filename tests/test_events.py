"""Every door that changes something leaves a row that says who did it, and from where."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.db import DatabaseError, transaction
from django.test import Client
from django.urls import reverse
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from jobs import clock, editing, events, sign_ins
from jobs.calendars import content as calendar_content
from jobs.calendars import editing as calendar_editing
from jobs.models import AuditEvent, Job, Membership, Team, User
from jobs.recorded_admin import RecordedAdmin
from jobs.roles import Role
from jobs.schedules.instants import canonical_instant
from runs import decisions
from runs.dashboard.events.words import VERBS
from runs.models import Replay, Run
from runs.models.replay import Going
from runs.states import State
from runs.targets import http
from runs.targets.prepared import NotSent
from tests import make
from tests import test_access_matrix as matrix
from tests import test_pages_access as pages
from tests.api import Api
from tests.pages import Browser, typed
from tests.runs.histories import aged

pytestmark = pytest.mark.django_db
ID = "a-request-with-an-id"


@pytest.fixture(autouse=True)
def nothing_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever would call a target, or a probe, is told that it cannot be reached."""

    def refused(*_: Any, **__: Any) -> Any:
        raise NotSent("This is a test.")

    monkeypatch.setattr(http, "prepare", refused)


def newest() -> int:
    return AuditEvent.objects.order_by("-id").values_list("id", flat=True).first() or 0


def since(before: int) -> list[AuditEvent]:
    return list(AuditEvent.objects.filter(id__gt=before).order_by("id"))


def check(before: int, who: User, door: str) -> None:
    """Something was put on record since, each row of it with who, whence and by which request."""
    found = since(before)
    assert found, "nothing is on record"
    for event in found:
        assert (event.by_id, event.who) == (who.pk, who.get_username()), event
        assert (event.door, event.request_id, event.address) == (door, ID, "127.0.0.1"), event
        assert event.verb in VERBS, event


def prepare(route: str, job: Job, replay: Replay | None) -> None:
    """What the stages of the matrix lack for this route to do something."""
    if "probe" in route:
        Job.objects.filter(id=job.id).update(probe={"url": "http://127.0.0.1:9/"})
    if replay and route.endswith("approve"):
        Replay.objects.filter(id=replay.id).update(state=Going.ASKED, by=make.person("first"))
    if replay and route.endswith("resume"):
        Replay.objects.filter(id=replay.id).update(state=Going.PAUSED)


# ── the API ──────────────────────────────────────────────────────────────────────────────

# What asks only; what a target does, which is kept with its run or its key; and what finds
# nothing to do on the stage of the matrix, and is done below.
API_ASKS = {"api-calendar-preview", "api-run-complete", "api-key-step"}
API_IDLE = {
    "api-job-star",
    "api-job-resume",
    "api-jobs-bulk",
    "api-review-bulk",
    "api-job-backfill",
}
WRITES = [
    (route, method)
    for route, methods in matrix.ROUTES.items()
    for method in methods
    if method != "GET" and route not in API_ASKS | API_IDLE
]


@pytest.mark.parametrize(("route", "method"), WRITES)
def test_a_change_by_the_api_is_on_record(route: str, method: str) -> None:
    there = matrix.stage(route)
    who = make.admin(there.team)
    api, body = Api.of(there.team, who), matrix.BODIES.get(route, {})
    prepare(route, there.job, there.replay)
    path, before = there.path(route), newest()
    answer = api.call(method, path, body, headers={"X-Request-ID": ID})
    assert answer.status < 300, answer.body
    check(before, who, "api")
    for event in since(before):
        assert event.token.startswith("ob_")
        assert event.team_id in (there.team.id, None)


def test_the_others_too_where_they_have_something_to_do() -> None:
    team = make.team()
    who, job = make.admin(team), make.job(team, paused=True)
    waits = make.run(make.job(team, name="other", idempotent=False), State.REVIEW)
    Run.objects.filter(id=waits.id).update(review_class="not sent")
    api, headers = Api.of(team, who), {"X-Request-ID": ID}
    yearly = aged(make.job(team, name="old"), timedelta(days=800))
    began = canonical_instant(clock.now() - timedelta(days=400))
    until = canonical_instant(clock.now() - timedelta(minutes=1))
    for path, body in (
        (f"jobs/{job.id}/resume/", {}),
        ("jobs/bulk/", {"do": "pause", "jobs": [str(job.id)], "reason": "A move."}),
        ("review/bulk/", {"decision": "close", "note": "Looked.", "runs": [str(waits.id)]}),
        (f"jobs/{yearly.id}/backfill/", {"from": began, "to": until}),
    ):
        before = newest()
        answer = api.call("POST", path, body, headers=headers)
        assert answer.status < 300, (path, answer.body)
        check(before, who, "api")


def test_a_star_that_is_put_and_taken_is_on_record_of_its_person_alone() -> None:
    team = make.team()
    who, job = make.viewer(team), make.job(team, name="settle")
    api, before = Api.of(team, who), newest()
    for method in ("PUT", "PUT", "DELETE", "DELETE"):  # the second of each changes nothing
        answer = api.call(method, f"jobs/{job.id}/star/", {}, headers={"X-Request-ID": ID})
        assert answer.status < 300, answer.body
    check(before, who, "api")
    assert [event.lines for event in since(before)] == [
        [{"part": "starred", "from": None, "to": "settle"}],
        [{"part": "starred", "from": "settle", "to": None}],
    ]
    assert not AuditEvent.objects.where(make.operator(team)).filter(verb="person.stars").exists()


def test_what_asks_by_the_api_leaves_nothing() -> None:
    there = matrix.stage("api-key-step")
    api, before = Api.of(there.team, make.viewer(there.team)), newest()
    for route, methods in matrix.ROUTES.items():
        path = there.path(route)
        if "GET" in methods and "<" not in path:
            assert api.get(path).status in (200, 404), route
    assert since(before) == []


def _ids(route: str) -> list[str]:
    return [
        part.rpartition(":")[2].partition(">")[0] for part in matrix.patterns()[route].split("<")
    ]


# ── the pages ────────────────────────────────────────────────────────────────────────────

PAGE_ASKS = {"job-filled", "team-switch"}
NOTE = {"note": "Looked.", "reason": "A move."}
CHANNEL = {"name": "new", "way": "mail", "address": "a@example.org", "kinds": ["dead"]}
Form = Callable[[Job, Run], dict[str, Any]]


def seen(run: Run) -> dict[str, Any]:
    """What the form of a group's dead runs says was seen."""
    return {"runs": str(run.id), "expected": "1", "as_of": canonical_instant(clock.now())}


FORMS: dict[str, Form] = {
    "settings": lambda job, run: {"timezone": "UTC", "theme": "dark", "density": "roomy"},
    "members": lambda job, run: {
        "team": job.team.slug,
        "username": make.person("new").username,
        "role": "editor",
    },
    "member-change": lambda job, run: {"role": "editor"},
    "tokens": lambda job, run: {"team": job.team.slug, "name": "pipeline"},
    "badges": lambda job, run: {"team": job.team.slug, "label": "Nightly"},
    "job-badge": lambda job, run: {"label": "Nightly"},
    "overview-demo": lambda job, run: {"team": job.team.slug},
    "view-new": lambda job, run: {"name": "new", "page": "jobs", "state": "paused"},
    "view": lambda job, run: {"name": "renamed", "state": "paused"},
    "jobs-many": lambda job, run: {"do": "pause", "jobs": str(job.id), **NOTE},
    "job-new": lambda job, run: typed(name="new"),
    "job-edit": lambda job, run: {**typed(name="edited"), "version": str(job.version)},
    "job-test": lambda job, run: {"confirmed": job.name},
    "job-test-typed": lambda job, run: {**typed(), "send": "1"},
    "trial": lambda job, run: {"confirmed": job.name},
    "job-skip": lambda job, run: {"count": "1", **NOTE},
    "job-delete": lambda job, run: {"name": job.name},
    "calendar-new": lambda job, run: {"name": "other", "weekdays": ["mon"], "days_off": ""},
    "calendar-edit": lambda job, run: {"version": "1", "weekdays": ["tue"], "confirm": "1"},
    "job-run-now": lambda job, run: {"moment": "now"},
    "job-run-changed": lambda job, run: {"url": job.target["url"], "confirmed": job.name},
    "job-backfill": lambda job, run: {
        "since": canonical_instant(job.created_at + timedelta(minutes=5)),
        "until": canonical_instant(job.created_at + timedelta(minutes=10)),
        "max_active": "1",
    },
    "run-decide": lambda job, run: {"decision": "close", "token": "1", **NOTE},
    "run-replay": lambda job, run: {"token": str(run.attempt), **NOTE},
    "run-discard": lambda job, run: {"token": str(run.attempt), **NOTE},
    "review-many": lambda job, run: {"decision": "close", "runs": str(run.id), **NOTE},
    "approval": lambda job, run: {"answer": "approve"},
    "dead-group-replay": lambda job, run: {**seen(run), "per_minute": "60", **NOTE},
    "dead-group-discard": lambda job, run: {**seen(run), **NOTE},
    "channels": lambda job, run: {"team": job.team.slug, "per_minute": "10", **CHANNEL},
    "channel": lambda job, run: {"per_minute": "10", **CHANNEL},
    "markers": lambda job, run: {"team": job.team.slug, "text": "deploy of billing 4.2"},
    "holds": lambda job, run: {"scope": job.team.slug, **NOTE},
    "hold": lambda job, run: {"others": "policy"},
    "window-new": lambda job, run: {"scope": job.team.slug, "from": "2h", "until": "1h", **NOTE},
    "window": lambda job, run: {"from": "2h", "until": "1h", **NOTE},
}
SAFE = ("replay", "group", "discard")  # in the names of what is about dead letters
POSTS = sorted(name for name, rule in pages.PAGES.items() if rule.post and name not in PAGE_ASKS)


def staged(name: str) -> tuple[Job, Run]:
    """A job and a run about which the page of this name has something to do."""
    team = make.team()
    dead = any(part in name for part in SAFE)
    job = make.job(
        team,
        name="of-payments",
        idempotent=dead or name in ("job-run-now", "job-backfill"),
        paused=name == "job-resume",
        schedule={"cron": "* * * * *", "timezone": "UTC"},
    )
    job = aged(job, timedelta(hours=1))
    state = State.DEAD if dead else State.CLAIMED if name == "run-cancel" else State.REVIEW
    run = make.run(job, state) if state is not State.REVIEW or not job.idempotent else make.run(job)
    if name == "review-many":
        Run.objects.filter(id=run.id).update(review_class="not sent")
    if name.startswith("calendar"):
        author = calendar_editing.Editor(make.person("author", is_staff=True), frozenset())
        calendar_editing.create("bank", calendar_content.read({}), by=author)
    if name == "channel-secret":
        matrix.webhook(team)
    prepare(name, job, make.replay(job) if name.startswith("replay") else None)
    return job, run


@pytest.mark.parametrize("name", POSTS)
def test_a_change_by_a_page_is_on_record(name: str) -> None:
    who = make.admin(make.team())
    job, run = staged(name)
    where, client = pages.address(name, job, run), Client(headers={"X-Request-ID": ID})
    where += "?page=jobs&state=paused" if name == "view-new" else ""
    client.force_login(who)
    data, before = FORMS[name](job, run) if name in FORMS else NOTE, newest()
    answer = client.post(where, data)
    assert answer.status_code in (200, 201, 302), (answer.status_code, where)
    check(before, who, "page")


def test_what_asks_by_a_page_leaves_nothing_but_that_somebody_signed_in() -> None:
    job, run = staged("run-decide")
    make.dead(make.job(job.team, name="other"))
    client = Client()
    client.force_login(make.viewer(job.team))
    where = [
        pages.address(name, job, run)
        for name, rule in pages.PAGES.items()
        if rule.get == "viewer" and name not in pages.SHARED and "dead-group" not in name
        if not name.startswith("replay")
    ]
    before = newest()
    for one in where:
        assert client.get(one).status_code in (200, 302), one
    assert since(before) == []


# ── the admin, and signing in ────────────────────────────────────────────────────────────


@pytest.fixture
def staff() -> User:
    return make.person("staff", is_staff=True, is_superuser=True)


def admin_url(model: Any, name: str, *args: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{name}", args=args)


def test_whatever_the_admin_writes_is_on_record() -> None:
    assert all(isinstance(one, RecordedAdmin) for one in admin.site._registry.values())


def test_staff_make_somebody_an_admin_and_take_them_out(staff: User) -> None:
    member = Membership.objects.create(
        team=make.team(), user=make.person("leaver"), role=Role.VIEWER
    )
    client = Client(headers={"X-Request-ID": ID})
    client.force_login(staff)
    before = newest()
    form = {"team": str(member.team_id), "user": str(member.user_id), "role": "admin"}
    client.post(admin_url(Membership, "change", member.pk), form)
    client.post(admin_url(Membership, "delete", member.pk), {"post": "yes"})
    changed, deleted = since(before)
    check(before, staff, "admin")
    assert changed.lines == [{"part": "role", "from": "viewer", "to": "admin"}]
    assert (changed.kind, changed.team_id) == ("membership", member.team_id)
    assert "leaver" in deleted.name


def test_a_password_that_staff_set_is_nowhere_on_record(staff: User) -> None:
    person = make.person("leaver")
    client, before = Client(), newest()
    client.force_login(staff)
    typed = {"password1": "correct-horse-battery", "password2": "correct-horse-battery"}
    where = reverse("admin:auth_user_password_change", args=[person.pk])
    assert client.post(where, {**typed, "usable_password": "true"}).status_code == 302
    event = since(before)[-1]
    assert (event.verb, event.name) == ("admin.changed", "leaver")
    assert "horse" not in f"{event.lines} {event.reason}"


def test_rows_that_jobs_mirror_are_switched_off_on_record(staff: User) -> None:
    every = IntervalSchedule.objects.create(every=1, period="days")
    row = PeriodicTask.objects.create(name="nightly", task="demo.hello", interval=every)
    client = Client()
    client.force_login(staff)
    before = newest()
    chosen = {"action": "disable_tasks", "_selected_action": [str(row.pk)]}
    client.post(admin_url(PeriodicTask, "changelist"), chosen)
    row.refresh_from_db()
    (event,) = since(before)
    assert not row.enabled
    assert (event.verb, event.reason, event.who) == ("admin.changed", "disable tasks", "staff")


def test_who_signs_in_and_out_is_on_record() -> None:
    make.member(make.team(), Role.VIEWER, "leaver").set_password("x")
    person = User.objects.get(username="leaver")
    person.set_password("correct-horse-battery")
    person.save()
    client, before = Client(headers={"X-Request-ID": ID}), newest()
    client.post("/sign-in/", {"username": "leaver", "password": "correct-horse-battery"})
    client.post("/sign-out/")
    assert [event.verb for event in since(before)] == ["person.signed_in", "person.signed_out"]
    check(before, person, "page")


def test_who_is_refused_at_sign_in_is_on_record_for_staff(
    staff: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name as it was typed, whether anybody has it or not; never the password."""
    monkeypatch.setattr(sign_ins, "MOST_REFUSED", 2)
    viewer = make.viewer(make.team())
    client, before = Client(headers={"X-Request-ID": ID}), newest()
    for name in (viewer.username, "r\u200boot" * 30, "third", "fourth"):
        page = client.post("/sign-in/", {"username": name, "password": "horse"})
        assert "correct username and password" in page.content.decode()
    kept = since(before)
    assert [(event.verb, event.by_id, event.team_id) for event in kept] == [
        ("person.refused", None, None)
    ] * 2, "and no more of them a minute"
    assert kept[0].name == viewer.username
    assert (kept[0].door, kept[0].address, kept[0].request_id) == ("page", "127.0.0.1", ID)
    assert not [event for event in kept if "horse" in str(vars(event))]
    readers = {
        who: AuditEvent.objects.where(who).filter(verb="person.refused") for who in (staff, viewer)
    }
    assert [rows.count() for rows in readers.values()] == [2, 0]
    client.force_login(staff)
    assert "refused to sign in" in client.get("/audit/?verb=person.refused").content.decode()


# ── what a row is worth ──────────────────────────────────────────────────────────────────


def test_a_row_says_from_what_to_what_and_hides_secrets(team: Team) -> None:
    job = make.job(team)
    secret = {
        "type": "http",
        "url": "https://ledger.example/",
        "headers": {"Authorization": "hush"},
    }
    editing.edit(job.id, make.definition(timeout=60, target=secret), by=None)
    event = AuditEvent.objects.get(verb="job.edited")
    lines = {line["part"]: (line["from"], line["to"]) for line in event.lines}
    assert lines["timeout"] == ("300", "60")
    assert "Authorization" in str(event.lines)
    assert "hush" not in str(event.lines)


def test_what_is_taken_back_leaves_no_row(team: Team) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        make.job(team)
        raise ZeroDivisionError
    assert not AuditEvent.objects.exists()


@pytest.mark.parametrize("change", ["update", "delete"])
def test_nothing_on_record_is_changed_or_deleted(team: Team, change: str) -> None:
    make.job(team)
    rows = AuditEvent.objects.all()
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        rows.update(who="nobody") if change == "update" else rows.delete()
    assert AuditEvent.objects.get().who == ""


def test_a_row_outlives_whom_and_what_it_is_about(team: Team, staff: User) -> None:
    leaver = make.operator(team, "leaver")
    run = make.run(make.job(team), State.DEAD)
    decisions.record(run, "cancel", State.DEAD, note="", by=leaver)
    run.delete()
    leaver.delete()
    page = Browser(staff)
    Membership.objects.create(team=team, user=staff, role=Role.VIEWER)
    words = page.get("/audit/?who=LEAVER").words
    assert "took back rotate-certificates" in words


def test_a_second_pair_of_eyes_is_who_did_it(team: Team) -> None:
    first, second = make.operator(team, "first"), make.operator(team, "second")
    run = make.run(make.job(team, idempotent=False), State.REVIEW)
    decisions.record(run, "run_again", State.CLAIMED, note="", by=first, second=second)
    assert AuditEvent.objects.get(run_id=run.id).who == "second"


# ── the page, the API, the file ──────────────────────────────────────────────────────────


def test_the_page_tells_who_did_what_and_leads_there(team: Team) -> None:
    leaver = make.operator(team, "leaver")
    job = make.job(team, name="settle")
    editing.pause(job.id, editing.Pause("A move."), by=leaver)
    browser = Browser(leaver)
    page = browser.get("/audit/")
    assert "paused settle" in page.words
    assert "A move." in page.words
    assert '<ins><span class="aside">to </span>true</ins>' in page.html
    assert page.all("a", href=f"/jobs/{job.id}/")
    for path in (f"/jobs/{job.id}/?tab=audit", f"/audit/?job={job.id}"):
        assert "paused settle" in browser.get(path).words
    assert "matches this filter" in browser.get("/audit/?who=bob").words


def test_other_teams_see_nothing_of_it(team: Team) -> None:
    job = make.job(team, name="settle")
    other = make.outsider()
    assert not AuditEvent.objects.where(other).filter(job_id=job.id).exists()
    assert "settle" not in Browser(other).get(f"/audit/?job={job.id}").html.partition("<main")[2]
    api = Api.of(make.team("elsewhere"), other)
    assert api.get(f"events/?job={job.id}").body["results"] == []
    person = make.viewer(team, "both")
    Membership.objects.create(team=make.team("elsewhere"), user=person, role=Role.VIEWER)
    of_the_other = Api.of(make.team("elsewhere"), person)
    assert of_the_other.get(f"events/?job={job.id}").body["results"] == []


def test_the_api_filters_pages_and_says_all(team: Team) -> None:
    leaver = make.editor(team, "leaver")
    api = Api.of(team, leaver)
    for name in ("one", "two", "three"):
        answer = api.call("POST", "jobs/", make.shape(name=name), headers={"X-Request-ID": ID})
        assert answer.status == 201
    first = api.get("events/?verb=job.registered&who=leaver&page_size=2").body
    second = api.get(first["next"]).body
    assert [one["name"] for one in first["results"] + second["results"]] == ["three", "two", "one"]
    assert second["next"] is None
    told = first["results"][0]
    assert (told["door"], told["request_id"], told["team"]) == ("api", ID, "payments")
    assert api.get("events/?since=1h&kind=job").body["results"]
    assert api.get("events/?until=1h").body["results"] == []
    assert api.get(f"events/?request={ID}").body["results"]
    for wrong in ("verb=job.eaten", "kind=thing", "since=yesterday", "job=7", "run=x", "nme=x"):
        assert api.get(f"events/?{wrong}").status == 400, wrong


def test_a_file_holds_what_the_filter_finds(team: Team) -> None:
    leaver = make.operator(team, "leaver")
    job = make.job(team, name="=cmd|settle")
    editing.pause(job.id, editing.Pause("=1+1"), by=leaver)
    client = Client()
    client.force_login(leaver)
    answer = client.get("/audit/export.csv?verb=job.paused")
    lines = b"".join(answer).decode().splitlines()
    assert lines[0].startswith("id,at,team,who,verb")
    assert "'=cmd|settle" in lines[1]
    assert "'=1+1" in lines[1]
    assert lines[2] == "# 1 rows: all that the filter finds"


def test_a_page_of_them_asks_as_many_questions_however_many_there_are(
    team: Team, django_assert_max_num_queries: Any
) -> None:
    subjects = [events.of_job(make.job(team, name=f"job {n}")) for n in range(3)]
    events.record_each("job.paused", subjects * 20, by=None)
    browser = Browser(make.viewer(team))
    browser.get("/audit/")
    with django_assert_max_num_queries(16):
        browser.get("/audit/")
