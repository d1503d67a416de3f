"""What a target may look like, and what each fault in one is called."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs import task_registry
from jobs.targets.addresses import AllowList
from jobs.targets.shapes import (
    HttpTarget,
    Target,
    TargetError,
    TaskTarget,
    check_json,
    dump,
    is_secret_header,
    load,
    masked,
    parse,
)

URL = "https://ledger.example/settle"


def http(**changes: object) -> dict[str, object]:
    return {"type": "http", "method": "POST", "url": URL, "headers": {}, "body": {}, **changes}


def read(data: object) -> Target:
    return parse(data, known_tasks=("reports.daily",))


def fault(data: object) -> TargetError:
    with pytest.raises(TargetError) as wrong:
        read(data)
    assert wrong.value.hint.endswith(".")
    return wrong.value


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_what_is_left_out_has_a_default() -> None:
    assert read({"type": "http", "url": URL}) == HttpTarget("POST", URL, {}, None)
    assert read({"type": "task", "name": "reports.daily"}) == TaskTarget("reports.daily", [], {})


@pytest.mark.parametrize(
    "data",
    [
        http(
            headers={"X-A": "1"}, body={"id": 9007199254740993, "re": "\\u0000", "😀": [1.5, None]}
        ),
        http(method="GET", url="HTTP://[2606:4700::1]:8443/a?b={{date}}", body=None),
        {"type": "task", "name": "reports.daily", "args": [1], "kwargs": {"a": {}}},
    ],
)
def test_a_target_comes_back_from_storage_as_it_went_in(data: dict[str, object]) -> None:
    """K153, K156: text that looks like an escape, and numbers that JavaScript would round."""
    target = read(data)
    assert dump(target) == data
    assert load(json.loads(json.dumps(dump(target)))) == target


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (None, "target"),
        ([], "target"),
        ({}, "target.type"),
        ({"type": ["http"]}, "target.type"),
        ({"type": "command", "argv": ["true"]}, "target.type"),
        (http(extra=1), "target.extra"),
        ({**http(), "a b": 1}, "target['a b']"),
        ({"type": "task", "name": "reports.daily", "url": URL}, "target.url"),
        (http(method="post"), "target.method"),
        (http(method="CONNECT"), "target.method"),
        (http(method=1), "target.method"),
        (http(headers=[]), "target.headers"),
        (http(headers={"X-A": 1}), "target.headers.X-A"),
        (http(headers={"a b": "1"}), "target.headers"),
        (http(headers={"": "1"}), "target.headers"),
        (http(headers={"X-A": "a\r\nX-B: 1"}), "target.headers.X-A"),
        (http(headers={"X-A": "a\0"}), "target.headers.X-A"),
        (http(headers={"X-A": "é"}), "target.headers.X-A"),
        (http(headers={"X-A": "a" * 9000}), "target.headers.X-A"),
        (http(headers={"X-A": "1", "x-a": "2"}), "target.headers.x-a"),
        (http(headers={f"X-{n}": "1" for n in range(51)}), "target.headers"),
        (http(headers={"Authorization": "sealed:abc:def"}), "target.headers.Authorization"),
        (http(body={"a": "x\0y"}), "target.body.a"),
        (http(body={"a": [{"k\0": 1}]}), "target.body.a[0]['k\\x00']"),
        (http(body=[1, float("nan")]), "target.body[1]"),
        (http(body={"x": float("inf")}), "target.body.x"),
        (http(body={"s": "\ud83d"}), "target.body.s"),
        (http(body=nested(21)), "target.body" + "[0]" * 20),
        (http(body=10**5000), "target.body"),
        (http(body="a" * 300_000), "target.body"),
        (http(body={1: 2}), "target.body"),
        (http(body={"a": {1, 2}}), "target.body.a"),
        ({"type": "task", "name": "os.system"}, "target.name"),
        ({"type": "task", "name": "celery.backend_cleanup"}, "target.name"),
        ({"type": "task", "name": None}, "target.name"),
        ({"type": "task", "name": ["reports.daily"]}, "target.name"),
        ({"type": "task", "name": "reports.daily", "args": {}}, "target.args"),
        ({"type": "task", "name": "reports.daily", "kwargs": []}, "target.kwargs"),
        ({"type": "task", "name": "reports.daily", "args": [{"a": "\0"}]}, "target.args[0].a"),
    ],
)  # fmt: skip
def test_a_fault_is_named_by_its_place(data: object, field: str) -> None:
    assert fault(data).field == field


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "idempotency-key",
        "Onebeat-Run",
        "onebeat-x",
        "Webhook-Id",
        "webhook-signature",
        "Expect",
        "TE",
        "Upgrade",
        "Accept-Encoding",
    ],
)
def test_headers_that_are_not_the_jobs_to_set_are_refused(name: str) -> None:
    assert fault(http(headers={name: "1"})).field == f"target.headers.{name}"


@pytest.mark.parametrize(
    "url",
    [
        None, 1, "", "ledger", "/settle", "//ledger.example/", "ftp://ledger.example/", "https://",
        "https:///a", "https://:443/", "https://a..b/", "https://-a.example/", "https://a.example:/",
        "https://a.example:0/", "https://a.example:22/", "https://a.example:99999/",
        "https://a.example:443x/", "https://user@a.example/", "https://user:pw@a.example/",
        "https://a.example/#part", "https://a.example/a b", "https://a.example/\n",
        "https://a.example\\@b.example/", "https://bücher.example/", "https://a.example/é",
        "https://{{key}}.example/", "https://127.1/", "https://2130706433/", "https://0x7f.1/",
        "https://[::1", "https://[fe80::1%25lo]/", "https://[1.2.3.4]/",
        "https://" + "a" * 64 + ".example/",
        "https://a.example/" + "a" * 2_048, "https://" + "a." * 130 + "example/",
    ],
)  # fmt: skip
def test_a_url_that_is_not_plainly_one_is_refused(url: object) -> None:
    assert fault(http(url=url)).field == "target.url"


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "app.localhost", "[::1]", "10.0.0.1", "169.254.169.254"]
)
def test_an_inside_address_is_refused_when_saved_unless_it_is_listed(host: str) -> None:
    data = http(url=f"http://{host}:9000/")
    with pytest.raises(TargetError, match="inside the installation"):
        parse(data, known_tasks=(), allow=AllowList())
    listed = AllowList.parse("127.0.0.0/8,::1,10.0.0.0/8:9000,169.254.0.0/16")
    assert parse(data, known_tasks=(), allow=listed)


def test_an_error_is_one_short_sentence_whatever_the_value() -> None:
    for value in ("a" * 10**6, 10**5000, nested(900), {"type": "x" * 10**5}, "\0\ud800"):
        wrong = fault(http(method=value))
        assert len(str(wrong)) < 400
        assert str(wrong).isprintable()


def test_an_error_shows_no_secret() -> None:
    wrong = fault(http(headers={"X-Api-Key": "hush\n"}))
    assert "hush" not in str(wrong) + repr(wrong.value)


def test_a_mistyped_task_gets_its_name_back() -> None:
    assert "reports.daily" in fault({"type": "task", "name": "report.daily"}).hint


@settings(max_examples=300, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_whatever_is_accepted_can_be_stored_and_sent(value: object) -> None:
    for data in (value, http(body=value), http(url=value), http(headers=value), http(method=value)):
        try:
            target = read(data)
        except TargetError:
            continue
        text = json.dumps(dump(target), ensure_ascii=False, allow_nan=False)
        assert "\0" not in text
        assert load(json.loads(text.encode())) == target


def test_depth_and_digits_up_to_the_limit_pass() -> None:
    check_json(nested(20), "target.body")
    check_json(123456789012345678901234567890, "target.body")


@pytest.mark.parametrize(
    "name",
    ["Authorization", "Cookie", "X-API-Key", "apikey", "X-Auth-Token", "My_Secret", "DB-Password"],
)
def test_a_secret_is_known_by_its_name_and_masked(name: str) -> None:
    assert is_secret_header(name)
    target = masked(HttpTarget("POST", URL, {name: "hush", "X-Author": "me"}))
    assert dump(target)["headers"] == {name: "********", "X-Author": "me"}


def test_a_handler_is_found_by_the_name_it_registered() -> None:
    registry = task_registry.TaskRegistry()

    @registry.job_task("b.two")
    def two() -> int:
        return 2

    registry.job_task("a.one")(len)
    assert registry.registered("b.two") is two
    assert registry.registered("os.system") is None
    assert registry.names() == ("a.one", "b.two")


def test_a_registration_that_cannot_hold_is_refused() -> None:
    registry = task_registry.TaskRegistry()
    registry.job_task("a")(len)
    registry.job_task("a")(len)
    with pytest.raises(TypeError, match="already"):
        registry.job_task("a")(max)
    with pytest.raises(TypeError, match="letters"):
        registry.job_task("a b")

    async def never_awaited() -> None: ...

    with pytest.raises(TypeError, match="never awaited"):
        registry.job_task("c")(never_awaited)
