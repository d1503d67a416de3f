"""Lists as files: all pages of the filter, bounded, harmless to a spreadsheet, logged."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.test import Client
from structlog.testing import capture_logs

from jobs.api_shapes import instant
from jobs.models import Team, User
from runs.dashboard.lists import exports
from runs.states import State
from tests import make

pytestmark = pytest.mark.django_db


def fetched(user: User, path: str) -> str:
    client = Client()
    client.force_login(user)
    answer: Any = client.get(path)
    assert answer.status_code == 200, answer.headers.get("Location")
    assert "attachment" in answer.headers["Content-Disposition"]
    return b"".join(answer.streaming_content).decode()


def lines(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def test_a_file_holds_what_the_filter_finds_over_all_pages(
    team: Team, operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "_AT_ONCE", 2)
    make.run(make.job(make.team("elsewhere"), name="theirs"), State.DEAD)
    jobs = [make.job(team, name=name) for name in ("a", "b", "c,d", "é\n")]
    dead = [make.run(job, State.DEAD) for job in jobs]
    make.run(jobs[0], State.SUCCEEDED)
    of_jobs = lines(fetched(operator, "/jobs/export.csv?sort=name"))
    assert [row[2] for row in of_jobs[1:-1]] == ["a", "b", "c,d", "é"]
    assert of_jobs[-1] == ["# 4 rows: all that the filter finds"]
    of_runs = json.loads(fetched(operator, "/runs/export.json?state=DEAD"))
    assert [row["id"] for row in of_runs["rows"]] == [str(run.id) for run in reversed(dead)]
    assert (of_runs["count"], of_runs["complete"]) == (4, True)
    assert of_runs["rows"][-1]["died_at"] == instant(dead[0].died_at)
    assert json.loads(fetched(operator, "/runs/export.json?q=nothing"))["rows"] == []


@pytest.mark.parametrize("shape", ["csv", "json"])
def test_a_file_that_was_cut_says_so_in_its_last_line(
    team: Team, operator: User, monkeypatch: pytest.MonkeyPatch, shape: str
) -> None:
    monkeypatch.setattr(exports, "MOST", 3)
    job = make.job(team)
    for _ in range(4):
        make.run(job, State.SUCCEEDED)
    text = fetched(operator, f"/runs/export.{shape}")
    assert "cut after 3 rows" in text.splitlines()[-1]


def test_no_cell_is_taken_for_a_formula(team: Team, operator: User) -> None:
    texts = ['=HYPERLINK("http://x")', "+1", "-1", "@sum", "＝1+1", "－1", "plain", "a=b"]
    for text in texts:
        make.job(team, name=text)
    rows = lines(fetched(operator, "/jobs/export.csv"))
    assert sorted(row[2] for row in rows[1:-1]) == sorted(
        f"'{text}" if text[0] in "=+-@＝－" else text for text in texts
    )


def test_who_took_a_file_is_in_the_log(team: Team, operator: User) -> None:
    make.job(team)
    with capture_logs() as logged:
        fetched(operator, "/jobs/export.csv?q=rotate")
    [line] = [one for one in logged if one["event"] == "list.exported"]
    assert (line["by"], line["list"], line["filter"]) == ("operator", "jobs", {"q": ["rotate"]})


def test_a_filter_that_is_none_leads_back_to_the_list(operator: User) -> None:
    client = Client()
    client.force_login(operator)
    answer = client.get("/runs/export.csv?since=soon")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/runs/?since=soon")
