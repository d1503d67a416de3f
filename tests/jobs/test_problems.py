"""What the API refuses, how it says so, and that nothing changed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from jobs import access
from jobs.json_values import MAX_BYTES
from jobs.models import Job
from jobs.task_registry import job_task
from tests import make
from tests.api import JSON, PROBLEM, Api

pytestmark = pytest.mark.django_db


@pytest.fixture
def api() -> Api:
    team = make.team()
    return Api.of(team, make.editor(team))


def with_body(text: str) -> bytes:
    """A job whose target's body is this JSON text."""
    head = '{"name": "a", "idempotent": true, "schedule": {"every": 60}, "target": '
    return (head + '{"type": "http", "url": "https://a.example/", "body": ' + text + "}}").encode(
        "utf-8", "surrogatepass"
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"x": NaN}', "$.target.body.x"),
        ('{"x": -Infinity}', "$.target.body.x"),
        ('{"x": [0, 1e999]}', "$.target.body.x[1]"),
        ('{"x": "a\\u0000b"}', "$.target.body.x"),
        ('{"a\\u0000": 1}', "$.target.body['a\\x00']"),
        ('{"x": "\\ud800"}', "$.target.body.x"),
        ('{"x": {"y": 1, "y": 1}}', "$.target.body.x.y"),
        ('{"x": ' + "7" * 5_000 + "}", "$.target.body.x"),
        ("[" * 18 + "[0]" + "]" * 18, "$.target.body" + "[0]" * 18),
        ("[" * 50_000 + "]" * 50_000, "$"),
        ('{"x": 01}', "$"),
        ("'x'", "$"),
    ],
)
def test_what_postgresql_or_a_reader_would_take_otherwise_is_refused_at_its_place(
    api: Api, text: str, place: str
) -> None:
    """K152, K154, K155, K156."""
    answer = api.post("jobs/", with_body(text))
    assert (answer.status, answer.fields) == (400, [place])
    assert answer.headers["Content-Type"] == PROBLEM
    assert answer.body["errors"][0]["hint"]
    assert not Job.objects.exists()


@pytest.mark.parametrize("body", [b'{"name": "\xff"}', with_body('"\ud800"')])
def test_what_is_not_utf_8_is_refused(api: Api, body: bytes) -> None:
    answer = api.post("jobs/", body)
    assert (answer.status, answer.fields) == (400, ["$"])
    assert "UTF-8" in answer.body["errors"][0]["message"]


def test_a_body_beyond_256_kib_is_refused_and_one_of_just_that_is_read(api: Api) -> None:
    job = json.dumps(make.shape()).encode()
    assert api.post("jobs/", job.ljust(MAX_BYTES + 1)).fields == ["$"]
    assert api.post("jobs/", job.ljust(MAX_BYTES)).status == 201


def test_big_integers_and_eighteen_levels_arrive_as_they_were_written(api: Api) -> None:
    digits = "9" * 4_000
    body = "[" * 17 + digits + "]" * 17
    answer = api.post("jobs/", with_body(body))
    assert answer.status == 201
    assert json.dumps(answer.body["target"]["body"]) == body
    assert json.dumps(Job.objects.get().target["body"]) == body


@pytest.mark.parametrize("body", [b"[]", b'"job"', b"null", b"7"])
def test_a_body_that_is_no_object_is_refused(api: Api, body: bytes) -> None:
    for method, path in (("POST", "jobs/"), ("PUT", job_path()), ("PATCH", job_path())):
        assert api.call(method, path, body).status == 400
    assert api.post(job_path() + "pause/", body).fields == ["$"]


def job_path() -> str:
    job = Job.objects.first() or make.job(make.team())
    return f"jobs/{job.id}/"


@pytest.mark.parametrize("path", ["nothing/", "jobs/7/", "jobs", "jobs/%00/"])
def test_an_address_that_is_none_is_a_problem_too(api: Api, path: str) -> None:
    answer = api.get(path)
    assert (answer.status, answer.headers["Content-Type"]) == (404, PROBLEM)
    assert answer.body["title"] == "Not Found"


def test_the_root_names_the_lists_to_whoever_has_a_token(api: Api) -> None:
    answer = api.get("")
    assert answer.status == 200
    assert {"jobs", "runs", "review", "dead-letters", "calendars", "holds"} <= set(answer.body)
    assert {api.get(address).status for address in answer.body.values()} == {200}
    assert Api().get("").status == 401


def test_a_field_misspelt_is_told_every_field_that_the_door_takes(api: Api) -> None:
    known = api.post("jobs/", make.shape(tema="payments")).body["errors"][0]["hint"]
    assert known.startswith("Known: team, name, ")
    assert "team" not in api.put(job_path(), make.shape(tema="payments")).body["errors"][0]["hint"]


def test_a_team_that_is_not_the_tokens_is_named_as_what_is_not_there(api: Api) -> None:
    answer = api.post("jobs/", make.shape(team="elsewhere"))
    assert (answer.status, answer.fields) == (404, ["team"])
    assert answer.body["errors"][0]["hint"] == "Leave it out, or give payments."
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"args": [1, 2, 3]}, "target.args", "too many positional arguments"),
        ({"args": [1, 2, 3], "kwargs": {"dry_run": True}}, "target.args", "too many positional"),
        ({}, "target.args", "missing a required argument: 'day'"),
        ({"kwargs": {"dry_run": True}}, "target.kwargs", "missing a required argument: 'day'"),
        ({"args": [1], "kwargs": {"day": 1}}, "target.kwargs", "multiple values"),
        ({"args": [1], "kwargs": {"dry": True}}, "target.kwargs", "'dry'"),
    ],
)
def test_arguments_that_do_not_fit_the_task_are_refused_before_they_ever_fail(
    api: Api, given: dict[str, object], field: str, said: str
) -> None:
    target = {"type": "task", "name": "tests.close_book", **given}
    answer = api.post("jobs/", make.shape(target=target))
    assert (answer.status, answer.fields) == (400, [field])
    error = answer.body["errors"][0]
    assert said in error["message"]
    assert error["hint"] == "It takes day, book=…, *, dry_run=…."
    assert "sesame" not in json.dumps(answer.body), "a default is nobody's business"
    assert not Job.objects.exists()


@pytest.mark.parametrize("given", [{"args": [1]}, {"kwargs": {"day": 1, "dry_run": True}}])
def test_arguments_that_fit_the_task_are_taken(api: Api, given: dict[str, object]) -> None:
    target = {"type": "task", "name": "tests.close_book", **given}
    assert api.post("jobs/", make.shape(target=target)).status == 201


@job_task("tests.close_book")
def _close_book(day: int, book: str = "open-sesame", *, dry_run: bool = False) -> None:
    """What the targets of these tests call."""


def test_a_method_that_is_none_is_a_problem_and_tells_those_that_are(api: Api) -> None:
    answer = api.call("PATCH", "jobs/", {})
    assert (answer.status, answer.headers["Content-Type"]) == (405, PROBLEM)
    assert answer.headers["Allow"] == "GET, POST, HEAD, OPTIONS"
    assert api.call("OPTIONS", "jobs/").status == 405


def test_another_kind_of_body_and_of_answer_are_problems(api: Api) -> None:
    client = api.client
    form = client.post("/api/v1/jobs/", {"name": "a"})
    assert (form.status_code, form.headers["Content-Type"]) == (415, PROBLEM)
    untold = client.generic("POST", "/api/v1/jobs/", b"{}", content_type="")
    assert (untold.status_code, untold.headers["Content-Type"]) == (415, PROBLEM)
    page = client.get("/api/v1/jobs/", headers={"Accept": "text/html"})
    assert (page.status_code, page.headers["Content-Type"]) == (406, PROBLEM)
    assert "Accept: application/json" in page.json()["detail"]


def test_a_body_without_a_length_is_not_taken_for_none(api: Api) -> None:
    path = f"/api/v1/{job_path()}pause/"
    answer = api.client.post(path, b"", content_type=JSON, headers={"Transfer-Encoding": "chunked"})
    assert answer.status_code == 411
    assert not Job.objects.get().paused


def test_nobody_is_told_how_to_sign_in() -> None:
    answer = Client().get("/api/v1/jobs/")
    assert (answer.status_code, answer.headers["Content-Type"]) == (401, PROBLEM)
    assert answer.headers["WWW-Authenticate"] == 'Token realm="onebeat"'


def test_a_fault_of_ours_shows_its_number_and_nothing_else(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(request: Any) -> None:
        raise ZeroDivisionError("secret-of-the-house")

    monkeypatch.setattr(access, "jobs", broken)
    answer = api.get("jobs/")
    assert (answer.status, answer.headers["Content-Type"]) == (500, PROBLEM)
    assert "secret-of-the-house" not in json.dumps(answer.body)
    assert answer.body["request"] in answer.body["detail"]
    assert answer.body["request"] in caplog.text


def test_a_database_that_does_not_answer_is_worth_another_try(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(request: Any) -> None:
        raise OperationalError("connection to server at 10.1.2.3 failed")

    monkeypatch.setattr(access, "jobs", down)
    answer = api.get("jobs/")
    assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
    assert "10.1.2.3" not in json.dumps(answer.body)
