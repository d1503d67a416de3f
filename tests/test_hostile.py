"""What people, programs and strangers send that nobody meant: names, addresses and values of every
kind end in a clear answer, never in an error of ours."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from jobs.models import Job, Team, User
from runs.models import Run
from runs.states import State
from runs.targets import http
from runs.targets.prepared import NotSent
from tests import make
from tests import test_access_matrix as matrix
from tests import test_events as events
from tests import test_pages_access as pages
from tests.api import Api
from tests.pages import Browser, typed

pytestmark = pytest.mark.django_db
WHOLE = os.environ.get("ONEBEAT_PROOF") == "whole"


@pytest.fixture
def api(team: Team, editor: User) -> Api:
    return Api.of(team, editor)


# ── names ────────────────────────────────────────────────────────────────────────────────

MARKUP = (
    "x' onmouseover='window.x=1",
    'x" onmouseover="window.x=1',
    "');window.x=1;('",
    "`${window.x=1}`",
    "javascript:window.x=1",
    "</title><script>window.x=1</script>",
    "<img src=x onerror=window.x=1>",
    "{{ 7|add:7 }}{% now 'Y' %}",
)


@pytest.mark.parametrize("name", MARKUP if WHOLE else MARKUP[1::2])
def test_a_name_is_text_wherever_it_stands(team: Team, editor: User, name: str) -> None:
    """K147: in text, titles, attributes and links; the browser's tests see that no script runs."""
    job = make.job(team, name=name, description=name, owner=name[:100], tags=["prod"])
    run = make.run(job, State.DEAD, reason=name)
    browser = Browser(editor)
    paths = ("/jobs/", f"/jobs/{job.id}/", f"/jobs/{job.id}/?tab=audit", f"/jobs/{job.id}/delete/")
    for path in (*paths, f"/runs/{run.id}/", "/runs/", "/audit/", "/", f"/jobs/?q={name}"):
        page = browser.get(path)
        assert page.status == 200, path
        assert name in page.words or "&" in page.html, path
        assert not any("window.x" in one.text for one in page.all("script")), path
        for element in page.elements:
            assert "onmouseover" not in element.attrs, path
            assert "onerror" not in element.attrs, path
            link = element.attrs.get("href", "") + element.attrs.get("action", "")
            assert re.match(r"(https?:|mailto:|[/?#]|$)", link), (path, link)


@pytest.mark.parametrize("name", ["🚀 nightly", "CON", "../x", "ＡＢＣ", "👩‍🚀 launch", "=1+1"])
def test_an_unusual_name_is_a_name(api: Api, editor: User, name: str) -> None:
    """K159."""
    made = api.post("jobs/", make.shape(name=name))
    assert (made.status, made.body["name"]) == (201, name)
    page = Browser(editor).get(f"/jobs/{made.body['id']}/")
    assert name in page.words


def test_names_that_look_alike_are_one(api: Api) -> None:
    """K159: é in one sign and é in two are the same name."""
    assert api.post("jobs/", make.shape(name="caf\u00e9")).status == 201
    again = api.post("jobs/", make.shape(name="cafe\u0301"))
    assert (again.status, again.fields) in ((400, ["name"]), (409, ["name"]))


UNFIT = [
    *("abc\u202egpj.exe", "a\u200bb", "a\u2066b", "a\u200fb", "\ufeffa", "a\nb", "a\tb", "a\x1bb"),
    *("\u200d", "a\u200db", "pay\u200d", "🚀\u200d\u200d🚀", "\u3164", "a\u2800b", "\u115f"),
    *("a\x00b", "a\x7fb", "a\u2028b", "   ", "", "x" * 121),
]


@pytest.mark.parametrize("name", UNFIT)
def test_a_name_that_hides_something_is_refused_at_its_field(
    api: Api, editor: User, name: str
) -> None:
    """K152, K159: by the API and by the form."""
    answer = api.post("jobs/", make.shape(name=name))
    assert answer.status == 400
    assert answer.fields in (["name"], ["$.name"])
    if WHOLE or name in UNFIT[::4]:
        assert Browser(editor).post("/jobs/new/", **typed(name=name)).error("name")
    saved = api.post("views/", {"page": "jobs", "name": name, "query": {}})
    assert saved.status == (201 if name in ("a\nb", "a\tb", "a\u2028b") else 400), "one blank"
    assert not Job.objects.exists()


def test_a_name_is_found_and_confirmed_however_its_accents_are_typed(
    team: Team, editor: User
) -> None:
    """K159: composed as it is kept, or letter and accent apart; with one blank as it is shown."""
    job, browser = make.job(team, name="caf\u00e9  noir"), Browser(editor)
    make.run(job, State.DEAD)
    typed_apart = "cafe\u0301"
    for path in ("/jobs/", "/runs/", "/dead-letters/", "/audit/"):
        assert "noir" in browser.get(f"{path}?q={typed_apart}").words, path
    assert browser.post(f"/jobs/{job.id}/delete/", name="cafe noir").status == 422
    assert browser.post(f"/jobs/{job.id}/delete/", name=f"{typed_apart} noir").status == 200
    assert Job.objects.get(id=job.id).deleted_at


def test_a_name_is_counted_in_characters_by_the_database_too(api: Api) -> None:
    """K159."""
    assert api.post("jobs/", make.shape(name="😀" * 120)).status == 201
    assert api.post("jobs/", make.shape(name="é" * 121)).fields == ["name"]


# ── payloads ─────────────────────────────────────────────────────────────────────────────


def test_numbers_and_escapes_come_through_digit_for_digit(api: Api, editor: User) -> None:
    """K153, K155, K156: stored, shown, put into the form, and taken back from it."""
    body = '{"id":9007199254740993,"n":123456789012345678901234567890,"re":"\\\\u0000","s":"😀"}'
    target = f'{{"type":"http","url":"https://a.example/","body":{body}}}'
    sent = f'{{"name":"a","idempotent":true,"schedule":{{"every":60}},"target":{target}}}'
    made = api.call("POST", "jobs/", sent.encode())
    assert made.status == 201
    kept = {"id": 9007199254740993, "n": 123456789012345678901234567890, "re": "\\u0000", "s": "😀"}
    job = Job.objects.get()
    assert job.target["body"] == kept
    browser = Browser(editor)
    form = browser.get(f"/jobs/{job.id}/edit/")
    shown = form.value("body")
    assert "9007199254740993" in shown
    assert "123456789012345678901234567890" in shown
    fields = {"name": "a", "schedule_kind": "every", "every": "60", "unit": "seconds"}
    anchor = {"anchor": form.value("anchor"), "version": "1"}
    browser.post(f"/jobs/{job.id}/edit/", **{**typed(**fields), **anchor, "body": shown})
    job.refresh_from_db()
    assert job.target["body"] == kept
    pair = '{"type":"http","url":"https://a.example/","body":{"s":"\\ud83d\\ude00"}}'
    api.call("PATCH", f"jobs/{job.id}/", f'{{"target":{pair}}}'.encode())
    job.refresh_from_db()
    assert job.target["body"] == {"s": "😀"}


# ── strangers ────────────────────────────────────────────────────────────────────────────

OPEN = {"healthz", "readyz", "sign-in", "login"}  # to everybody
SAMPLES = {
    "uuid": "01a22c7e-0000-7000-8000-000000000000",
    "slug": "bank",
    "int": "1",
    "str": "x",
    "path": "x",
}


def addresses(found: list[Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Every route of the product with something in place of its arguments, and its name."""
    for pattern in found:
        here = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from addresses(list(pattern.url_patterns), here)
        elif isinstance(pattern, URLPattern):
            filled = re.sub(r"<(\w+):\w+>", lambda kind: SAMPLES[kind[1]], here)
            yield re.sub(r"\(\?P<\w+>[^)]*\)|[\^$?]", "x", filled), str(pattern.name)


def test_a_stranger_reads_nothing_and_is_told_nothing_back() -> None:
    """K148: every address without a session, with a name for a function to call."""
    client, seen = Client(), 0
    for path, name in addresses(get_resolver().url_patterns):
        answer = client.get(f"/{path}", {"callback": "<script>x</script>"})
        seen += 1
        if name in OPEN:
            assert answer.status_code in (200, 503), path
        else:
            assert answer.status_code in (301, 302, 401, 404, 405), (path, answer.status_code)
        assert "<script>x" not in answer.content.decode(), path
        assert answer.headers["X-Content-Type-Options"] == "nosniff", path
    assert seen > 150


# ── addresses ────────────────────────────────────────────────────────────────────────────

PARAMETERS = (
    *("page", "page_size", "cursor", "after", "before", "top", "sort", "state", "team", "q"),
    *(
        "kind",
        "idempotent",
        "due_within",
        "tag",
        "owner",
        "starred",
        "origin",
        "since",
        "until",
        "job",
    ),
    *("backfill", "group", "who", "verb", "run", "request", "tab", "month", "year", "window"),
    *(
        "class",
        "claimed",
        "review_class",
        "whose",
        "overdue",
        "ticked",
        "do",
        "next",
        "country",
        "zone",
        "timezone",
    ),
    *("cron", "schedule_kind", "every", "unit", "at", "count", "hour", "day", "scope", "name"),
)
VALUES = (
    *("\x00", "-1", "9" * 30, "9999-12-31T23:59:59.999999Z", "0000-00-00", "<b>", "%", "\ud7ff"),
    *("../../etc/passwd", "ffffffff-ffff-ffff-ffff-ffffffffffff", "x" * 5_000, "' or 1=1 --"),
)


def cases() -> list[tuple[str, str]]:
    """A page and a value; all pairs, or as many as take a few seconds."""
    names = sorted(name for name, rule in pages.PAGES.items() if rule.get == "viewer")
    pairs = [(name, value) for name in names for value in VALUES]
    return pairs if WHOLE else pairs[:: len(VALUES) - 2]


@pytest.mark.parametrize(("name", "value"), cases())
def test_no_value_in_an_address_breaks_a_page(name: str, value: str, team: Team) -> None:
    """K158: all parameters at once; of the whole proof each by itself too, so that one which is
    refused hides no other."""
    job = make.job(team, idempotent="group" in name or "replay" in name)
    run = make.run(job, State.DEAD if job.idempotent else State.REVIEW)
    if name in pages.SHARED:
        return
    client = Client(raise_request_exception=False)
    client.force_login(make.viewer(team))
    where = pages.address(name, job, run)
    for parameters in [{one: value} for one in PARAMETERS] if WHOLE else [PARAMETERS]:
        asked = urlencode(dict.fromkeys(parameters, value))
        answer = client.get(f"{where}?{asked}&{asked}")
        assert answer.status_code < 500, (where, parameters, value)


FORMS = [*(name for name in events.POSTS if name in events.FORMS), "job-star"]


@pytest.mark.parametrize("name", FORMS)
def test_no_value_of_a_form_breaks_a_page(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """K152: NUL or nothing in each of its fields, and a way back that is none; of a long form in
    some of them."""
    monkeypatch.setattr(http, "prepare", unreachable)
    job, run = events.staged(name)
    client = Client(raise_request_exception=False)
    client.force_login(make.admin(make.team()))
    where = pages.address(name, job, run) + ("?page=jobs" if name == "view-new" else "")
    given = events.FORMS.get(name, unasked)(job, run)
    fields = {"next": "/", "team": job.team.slug, "note": "Looked."} | given
    tried = list(fields) if WHOLE or len(fields) < 12 else ["name", *list(fields)[::5]]
    changes = [{one: "\0"} for one in tried] + [{one: None} for one in tried]
    for change in [*changes, {"next": "mon"}, {"next": "//evil.example/"}]:
        sent = {one: value for one, value in (fields | change).items() if value is not None}
        with transaction.atomic():
            answer = client.post(where, sent)
            transaction.set_rollback(True)
        assert answer.status_code < 500, change
        assert not answer.headers.get("Location", "").startswith(("mon", "//")), change


def unasked(job: Job, run: Run) -> dict[str, Any]:
    """A form of a button alone."""
    return {}


def unreachable(*_: Any, **__: Any) -> Any:
    """In place of a target."""
    raise NotSent("This is a test.")


API_LISTS = ("jobs", "runs", "events", "upcoming", "review", "approvals", "calendars", "holds")
API_MORE = (
    *("dead-letters", "replays", "channels", "views", "audit", "overview", "upcoming/density"),
    *("badges", "markers"),
)


@pytest.mark.parametrize("path", [*API_LISTS, *API_MORE, "audit/reports"])
def test_no_value_in_an_address_breaks_the_api(path: str, api: Api) -> None:
    """K158."""
    for number, parameter in enumerate(PARAMETERS if WHOLE else PARAMETERS[len(path) % 3 :: 3]):
        for value in VALUES if WHOLE else [VALUES[number % len(VALUES)]]:
            answer = api.get(f"{path}/?{urlencode({parameter: value})}")
            assert answer.status in (200, 400, 404), (path, parameter, value)


@pytest.mark.parametrize("page", ["page=0", "page=-1", "page=999999999", "cursor=%00"])
def test_a_page_that_is_none_is_the_first_or_said_to_be_none(
    page: str, api: Api, editor: User, team: Team
) -> None:
    """K158."""
    make.run(make.job(team, name="settle"), State.DEAD)
    assert api.get(f"runs/?{page}").status == 400
    assert "settle" in Browser(editor).get(f"/runs/?{page}").words


def test_a_cursor_of_another_list_is_refused(api: Api, editor: User, team: Team) -> None:
    """K158: also one that goes on by columns of the same names, which hold other things there."""
    make.run(make.job(team, name="settle"), State.DEAD)
    make.run(make.job(team, name="rotate"), State.DEAD)
    cursors = {}
    for path in ("events", "runs", "jobs", "dead-letters"):
        following = urlsplit(api.get(f"{path}/?page_size=1").body["next"]).query
        cursors[path] = parse_qs(following)["cursor"][0]
    for of, cursor in cursors.items():
        for path in {*API_LISTS, *API_MORE, "audit/reports"} - {of}:
            answer = api.get(f"{path}/?{urlencode({'cursor': cursor})}")
            assert (answer.status, answer.fields) == (400, ["cursor"]), (of, path)
        for page in ("runs", "audit", "markers", "jobs"):
            shown = Browser(editor).get(f"/{page}/?{urlencode({'cursor': cursor})}")
            assert shown.status == 200, (of, page)


IDS = ("1", "none", "%00", "00000000-0000-0000-0000-00000000000g", "a/b", "٣", "-", "x" * 300)


@pytest.mark.parametrize("one", IDS)
def test_what_is_no_id_is_nowhere(one: str, api: Api, editor: User) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(editor)
    for what in ("jobs", "runs", "review", "holds", "channels", "views", "replays", "backfills"):
        assert client.get(f"/{what}/{one}/").status_code == 404, what
        assert api.get(f"{what}/{one}/").status == 404, what
    assert client.get(f"/calendars/{one}/").status_code == 404
    assert api.get(f"keys/{one}/x/").status == 404


def test_a_filter_that_is_repeated_is_one_or_all_of_it(api: Api, team: Team) -> None:
    make.job(team, name="settle", tags=["prod"])
    for query in ("q=nothing&q=settle", "tag=prod&tag=prod", "state=active&state=active"):
        assert len(api.get(f"jobs/?{query}").body["results"]) == 1, query


def test_a_view_that_is_no_filter_any_more_opens_and_says_so(team: Team, editor: User) -> None:
    view = make.view(team, state=["gone"], tag=["<b>"], due_within=["9" * 30])
    browser = Browser(editor)
    page = browser.get("/jobs/")
    assert view.name in page.words
    opened = browser.get(next(a.attrs["href"] for a in page.all("a") if view.name in a.text))
    assert opened.status == 200
    assert "gone is not one of" in opened.error("state")


@pytest.mark.parametrize("clock", ["2026-03-29T02:30:00+01:00", "2026-10-25T02:30:00+02:00"])
def test_the_edges_of_a_range_are_instants_whatever_the_clock_does(
    clock: str, api: Api, team: Team
) -> None:
    """Around a change of the clock an offset says which of two, or none, is meant; without one
    the filter asks for it."""
    make.run(make.job(team), State.DEAD)
    assert api.get(f"runs/?{urlencode({'since': clock})}").status == 200
    without = api.get(f"runs/?{urlencode({'since': clock[:19]})}")
    assert (without.status, without.fields) == (400, ["since"])
    assert "offset" in without.body["errors"][0]["message"]


ENDS = ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z")


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_a_moment_at_an_end_of_the_calendar_breaks_no_page(team: Team, zone: str) -> None:
    """Where a reader's clock shows another year than there is; one such job may not hide all."""
    first, last = ENDS
    shapes: list[dict[str, Any]] = [
        {"schedule": {"at": last}},
        {"schedule": {"every": 86_400, "anchor": last}, "paused": True, "paused_until": last},
        {"schedule": {"every": 86_400, "anchor": first}, "starts_at": first, "ends_at": last},
    ]
    jobs = [make.job(team, name=str(count), **shape) for count, shape in enumerate(shapes)]
    client = Client()
    client.force_login(make.editor(team))
    client.cookies["browser_zone"] = zone
    paths = ["/", "/jobs/", "/overview/next/", f"/jobs/preview/?schedule_kind=at&at={last}"]
    for job in jobs:
        paths += [f"/jobs/{job.id}/{part}" for part in ("", "?tab=settings", "edit/")]
    for path in paths:
        assert client.get(path).status_code == 200, path


def test_times_are_shown_in_the_zone_that_is_known_or_in_utc(team: Team, editor: User) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(editor)
    for zone in ("Europe/Berlin", "Nowhere/None", "../../etc/passwd", "\x00", "x" * 3_000):
        client.cookies["browser_zone"] = zone.replace("\x00", "%00")
        page = client.get("/audit/").content.decode()
        known = zone if zone == "Europe/Berlin" else "UTC"
        assert f'data-zone="{known}"' in page, zone


def test_the_matrix_knows_every_list(api: Api) -> None:
    """So that a list that is added is tried here too."""
    lists = {name for name in matrix.LISTS if "GET" in matrix.ROUTES[name]}
    tried = {f"api-{path.rstrip('s')}" for path in (*API_LISTS, *API_MORE, "audit/reports")}
    known = {name.rstrip("s").replace("audit-report", "audit/report") for name in lists}
    assert known <= tried
