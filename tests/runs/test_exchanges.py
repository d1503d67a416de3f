"""What was sent and what came back reads as it went over the line."""

from __future__ import annotations

from runs.templatetags.exchanges import exchange


def test_an_answer_has_its_body_unescaped() -> None:
    kept = {"status": 502, "headers": {"Server": "edge"}, "body": '{"a": "b"}', "truncated": False}
    assert exchange(kept) == '502\nServer: edge\n\n{"a": "b"}'


def test_a_request_begins_with_what_it_asks() -> None:
    kept = {"method": "POST", "url": "https://x.example/", "headers": {}, "body": ""}
    assert exchange(kept) == "POST https://x.example/"


def test_a_traceback_has_lines() -> None:
    assert exchange({"traceback": "one\ntwo", "truncated": True}) == "one\ntwo\n\n(truncated: true)"


def test_what_a_task_returned_is_json() -> None:
    assert exchange({"value": {"sum": 0}}) == '{\n  "sum": 0\n}'


def test_whatever_else_is_kept_is_told_by_name() -> None:
    assert exchange({"status": 200, "followed_to": 2}) == "200\n\n(followed to: 2)"
    assert exchange({"phase": "sending"}) == '{\n  "phase": "sending"\n}'
