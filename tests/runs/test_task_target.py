"""Calling a function that is registered for jobs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from celery import Celery

from jobs.targets.shapes import TaskTarget
from jobs.task_registry import NotYet, Refused, RunContext, TaskRegistry, current_run
from runs.outcomes import Effect, Kind, Outcome
from runs.targets import task
from runs.targets.prepared import NotSent, Prepared

RUN = RunContext("key-1", "run-1", "job-1", datetime(2026, 11, 29, 18, 0, tzinfo=UTC), 2)


def prepared(handler: Callable[..., object], *args: object, **kwargs: object) -> Prepared:
    registry = TaskRegistry()
    registry.job_task("it")(handler)
    target = TaskTarget("it", list(args), kwargs)
    return task.prepare(task.Call(target, RUN), lookup=registry.registered)


def outcome_of(handler: Callable[..., object], *args: object, **kwargs: object) -> Outcome:
    return prepared(handler, *args, **kwargs).perform()


def raising(error: BaseException) -> Callable[[], None]:
    def handler() -> None:
        raise error

    return handler


def test_a_handler_gets_its_arguments_and_its_answer_is_kept() -> None:
    outcome = outcome_of(lambda a, *, b: {"sum": a + b}, 1, b=2)
    assert (outcome.kind, outcome.effect) == (Kind.SUCCEEDED, Effect.DONE)
    assert outcome.answer == {"value": {"sum": 3}}


def test_a_handler_knows_its_run_and_nothing_outside_does() -> None:
    seen: list[RunContext] = []
    outcome_of(lambda: seen.append(current_run()))
    assert seen == [RUN]
    with pytest.raises(LookupError):
        current_run()
    outcome_of(raising(SystemExit(1)))
    with pytest.raises(LookupError):
        current_run()


@pytest.mark.parametrize(
    "name", ["os.system", "celery.backend_cleanup", "celery.chord", "", "it.not"]
)
def test_a_name_that_is_not_registered_was_not_sent(name: str) -> None:
    with pytest.raises(NotSent, match="may be called"):
        task.prepare(task.Call(TaskTarget(name), RUN))


def test_arguments_that_do_not_fit_are_known_before_the_call() -> None:
    called: list[object] = []
    with pytest.raises(NotSent, match="do not fit"):
        prepared(lambda a: called.append(a), 1, 2)
    with pytest.raises(NotSent, match="do not fit"):
        prepared(lambda a: called.append(a), b=1)
    assert called == []


def test_refused_is_for_good_and_not_yet_is_no_failure() -> None:
    refused = outcome_of(raising(Refused("no such account")))
    assert (refused.kind, refused.effect) == (Kind.REFUSED, Effect.NONE)
    assert "no such account" in refused.reason
    later = outcome_of(raising(NotYet("still locked", retry_after=30)))
    assert (later.kind, later.effect, later.retry_after) == (Kind.LATER, Effect.NONE, 30)


class Hostile(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"), SystemExit(1), SystemExit(), MemoryError(), KeyboardInterrupt(),
        GeneratorExit(), RecursionError(), Hostile(), BaseException("x"), TypeError("inside"),
        BaseExceptionGroup("many", [SystemExit(1), ValueError("a\0b")]),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_whatever_a_handler_raises_is_a_failure_that_may_have_acted(error: BaseException) -> None:
    outcome = outcome_of(raising(error))
    assert (outcome.kind, outcome.effect) == (Kind.FAILED, Effect.MAYBE)
    assert type(error).__name__ in outcome.reason
    assert "\0" not in json.dumps(outcome.answer)


def test_sys_exit_and_endless_recursion_do_not_end_the_worker() -> None:
    def endless() -> object:
        return endless()

    assert outcome_of(lambda: sys.exit(3)).kind is Kind.FAILED
    outcome = outcome_of(endless)
    assert "RecursionError" in outcome.reason


def test_a_traceback_is_capped_at_its_end_and_free_of_secrets() -> None:
    def handler(password: str) -> None:
        raise ValueError("x" * 50_000 + f" for {password} with token=abc123 the end")

    ready = prepared(handler, password="hunter2-hunter2")
    outcome = ready.perform()
    text = str(outcome.answer["traceback"])
    assert len(text) == 16 * 1024
    assert text.rstrip().endswith("the end")
    kept = json.dumps([ready.sent, outcome.answer, outcome.reason])
    assert "hunter2" not in kept
    assert "abc123" not in kept


def test_a_secret_that_is_handed_back_is_not_kept() -> None:
    outcome = outcome_of(lambda token: {"t": token, "all": [f"<{token}>"]}, token="hush-hush")
    assert "hush" not in json.dumps(outcome.answer)


@pytest.mark.parametrize("bound", [False, True])
def test_a_celery_task_can_be_called_where_it_is_looked_up(bound: bool) -> None:
    app = Celery("test", broker="memory://", set_as_current=False)

    def plain(a: int) -> list[object]:
        return ["plain", a]

    def knowing_itself(self: Any, a: int) -> list[object]:
        return [self.name, a]

    function: Any = knowing_itself if bound else plain
    named: Any = app.task
    celery_task = named(function, name="reports.daily", bind=bound)
    call = task.Call(TaskTarget("reports.daily", [1]), RUN)
    outcome = task.prepare(call, lookup={"reports.daily": celery_task}.get).perform()
    assert outcome.answer == {"value": ["reports.daily" if bound else "plain", 1]}
    with pytest.raises(NotSent, match="do not fit"):
        task.prepare(
            task.Call(TaskTarget("reports.daily", []), RUN),
            lookup={"reports.daily": celery_task}.get,
        )
