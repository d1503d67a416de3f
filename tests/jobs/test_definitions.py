"""A job as every door reads it: what is refused, in which words, and what the defaults are."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from jobs.definitions import definitions
from jobs.definitions.definitions import Definition, DefinitionError, Known
from jobs.schedules.plans import Plan
from jobs.schedules.schedules import At, Cron

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
KNOWN = Known(tasks={"billing.close"}, queues={"default", "slow"})
SETTLE: dict[str, Any] = {
    "name": "settle-eod",
    "schedule": {"cron": "0 18 * * 1-5", "timezone": "America/New_York"},
    "target": {"type": "http", "method": "POST", "url": "https://ledger.example/settle"},
    "idempotent": False,
}


def read(**changes: Any) -> Definition:
    return definitions.read({**SETTLE, **changes}, now=NOW, known=KNOWN)


def problems(data: object) -> dict[str, str]:
    with pytest.raises(DefinitionError) as refused:
        definitions.read(data, now=NOW, known=KNOWN)
    return {problem.field: str(problem) for problem in refused.value.problems}


def without(field: str) -> dict[str, Any]:
    return {name: value for name, value in SETTLE.items() if name != field}


def test_defaults_of_a_job_that_is_not_safe_to_repeat() -> None:
    job = read()
    assert (job.max_attempts, job.backoff, job.cap, job.timeout) == (5, 10, 3600, 300)
    assert (job.catch_up_policy, job.catch_up_window, job.catch_up_limit) == ("ask", 86_400, 100)
    assert (job.overlap, job.block_on_review, job.queue_limit) == ("queue", True, 100)
    assert (job.queue, job.paused, job.retry_unsent) == ("default", False, False)


def test_defaults_of_a_job_that_is() -> None:
    job = read(idempotent=True)
    assert (job.catch_up_policy, job.catch_up_window) == ("last", 3600)
    assert (job.overlap, job.block_on_review, job.queue_limit) == ("skip", False, 100)


def test_the_shape_reads_back_to_the_same() -> None:
    job = read(retries={"max_attempts": 2}, queue="slow", description="Ends the day.")
    assert definitions.read(definitions.shape(job), now=NOW, known=KNOWN) == job


@pytest.mark.parametrize("answer", [None, "yes", 1, 0, "true", []])
def test_idempotent_must_be_answered(answer: object) -> None:
    assert "true or false" in problems({**SETTLE, "idempotent": answer})["idempotent"]


def test_every_problem_is_told_at_once() -> None:
    found = problems({"name": " ", "schedule": {"cron": "61 * * * *"}, "nonsense": 1})
    assert set(found) == {"name", "schedule.cron", "target", "idempotent", "nonsense"}


@pytest.mark.parametrize("field", ["name", "schedule", "target", "idempotent"])
def test_what_is_required(field: str) -> None:
    assert field in problems(without(field))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"schedule": {"cron": "0 2 * * *", "timezone": "Mars/Olympus"}}, "schedule.timezone"),
        ({"schedule": {"cron": "0 0 30 2 *"}}, "schedule.cron"),
        ({"schedule": {"at": "2020-01-01T00:00:00Z"}}, "schedule.at"),
        ({"target": {"type": "task", "name": "os.system"}}, "target.name"),
        ({"target": {"type": "http", "method": "POST", "url": "ledger"}}, "target.url"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": True}, "timeout"),
        ({"timeout": 1.5}, "timeout"),
        ({"timeout": 10**30}, "timeout"),
        ({"retries": {"max_attempts": 0}}, "retries.max_attempts"),
        ({"retries": {"tries": 3}}, "retries.tries"),
        ({"retries": [1]}, "retries"),
        ({"catch_up": {"policy": "some"}}, "catch_up.policy"),
        ({"catch_up": {"window": -1}}, "catch_up.window"),
        ({"queue": "fast"}, "queue"),
        ({"paused": "no"}, "paused"),
        ({"description": 7}, "description"),
        ({"description": "a\0b"}, "description"),
        ({"runbook": "\ud83d"}, "runbook"),
        ({"overlap": "sometimes"}, "overlap"),
        ({"overlap": None}, "overlap"),
        ({"overlap": "cancel"}, "overlap"),
        ({"block_on_review": 1}, "block_on_review"),
        ({"queue_limit": 0}, "queue_limit"),
        ({"queue_limit": 1001}, "queue_limit"),
        ({"completion": "later"}, "completion"),
        ({"spread": 86_401}, "spread"),
        ({"probe": "https://ledger.example/did"}, "probe"),
        ({"probe": {}}, "probe"),
        ({"probe": {"url": "https://a.example", "task": "pay"}}, "probe"),
        ({"probe": {"url": "ledger"}}, "probe.url"),
        ({"probe": {"url": "http://127.0.0.1/did"}}, "probe.url"),
        ({"probe": {"url": 7}}, "probe.url"),
        ({"probe": {"task": "nobody"}}, "probe.task"),
        ({"probe": {"task": ["pay"]}}, "probe.task"),
        ({"decide_by": 0}, "decide_by"),
        ({"decide_by": "soon"}, "decide_by"),
        ({"pause_after_reviews": 1001}, "pause_after_reviews"),
        ({"critical": "very"}, "critical"),
    ],
)
def test_bad_input_names_its_field(changes: dict[str, Any], field: str) -> None:
    assert list(problems({**SETTLE, **changes})) == [field]


def test_only_a_job_that_is_safe_to_repeat_and_makes_up_no_more_than_one_stops_its_runs() -> None:
    assert read(idempotent=True, overlap="cancel").overlap == "cancel"
    unsafe = problems({**SETTLE, "overlap": "cancel"})["overlap"]
    assert "not safe to repeat" in unsafe
    made_up = {"overlap": "cancel", "idempotent": True, "catch_up": {"policy": "all"}}
    assert "catch-up of all" in problems({**SETTLE, **made_up})["overlap"]


@pytest.mark.parametrize("data", [None, [], "job", 5, True])
def test_only_an_object_is_a_job(data: object) -> None:
    assert list(problems(data)) == ["body"]


@pytest.mark.parametrize(
    "name", ["🚀 nightly", "e\u0301", "ＡＢＣ", "../x", "CON", "x" * 120, "👩\u200d🔧 shift"]
)
def test_names_that_are_kept(name: str) -> None:
    kept = read(name=f" {name} ").name
    assert kept == read(name=kept).name
    assert len(kept) <= 120


@pytest.mark.parametrize(
    "name", ["", "   ", "abc\u202egpj.exe", "a\u200bb", "a\0b", "a\nb", "x" * 121, "\ud800", 7]
)
def test_names_that_are_refused(name: object) -> None:
    assert "name" in problems({**SETTLE, "name": name})


def test_two_spellings_of_one_letter_are_one_name() -> None:
    assert read(name="cafe\u0301").name == read(name="café").name


def test_a_schedule_that_the_job_has_already_may_stay_though_it_is_past() -> None:
    kept = (At(datetime(2020, 1, 1, tzinfo=UTC)),)
    data = {**SETTLE, "schedule": [{"at": "2020-01-01T00:00:00Z"}]}
    found = definitions.read(data, now=NOW, known=KNOWN, kept=definitions.Kept(Plan(kept)))
    assert found.schedule == kept


def test_a_single_schedule_and_a_list_of_one_are_the_same() -> None:
    assert read(schedule=[SETTLE["schedule"]]).schedule == read().schedule
    assert read().schedule == (Cron("0 18 * * 1-5", "America/New_York"),)
