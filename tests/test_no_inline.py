"""Pages keep to the content security policy, and what people and targets say stays text."""

from __future__ import annotations

import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from jobs import clock, editing, holds
from jobs.models import Hold, Job, Team
from runs.letters import batch as replay_batch
from runs.letters import groups as dead_letters
from runs.models import Attempt, Replay, Run
from runs.review import deciding
from runs.states import State
from tests import make
from tests.undone import undone

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "static"
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title><svg onload=alert(1)>",
    "</textarea><script>alert(1)</script>",
    "{{ 7|add:7 }}{% now 'Y' %}",
    "javascript:alert(1)",
    "<hx-partial hx-target='body'>x</hx-partial>",
    "&lt;b&gt; & <b>",
)
# Elements and attributes that only our own templates may write, counted on a harmless page.
_RISKY = {"script", "style", "img", "svg", "iframe", "object", "b", "hx-partial", "title"}


class Read(HTMLParser):
    """The parts of a page that could do something."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.inline: list[str] = []
        self.counts: dict[str, int] = {}
        self.addresses: list[str] = []
        self._in: str = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in = tag
        if tag in _RISKY:
            self.counts[tag] = self.counts.get(tag, 0) + 1
        for name, value in attrs:
            if name == "style" or name.startswith(("on", "hx-on", "data-hx-on")):
                self.inline.append(f"{tag} {name}={value}")
            if name.startswith("hx-") and (
                "js:" in (value or "") or "javascript:" in (value or "")
            ):
                self.inline.append(f"{tag} {name}={value}")
            if name in ("href", "src", "action", "formaction", "hx-get"):
                self.addresses.append(value or "")

    def handle_data(self, data: str) -> None:
        if self._in in ("script", "style") and data.strip():
            self.inline.append(f"{self._in}: {data[:60]}")

    def handle_endtag(self, tag: str) -> None:
        self._in = ""


@pytest.fixture
def client(team: Team) -> Client:
    client = Client()
    client.force_login(make.editor(team))
    return client


def test_the_vendored_file_is_the_one_that_was_written_down() -> None:
    table = (STATIC / "VENDORED.md").read_text()
    files = re.findall(r"^\| (\S+\.js) .* \| ([0-9a-f]{64}) \|", table, re.M)
    assert files
    for name, wanted in files:
        assert hashlib.sha256((STATIC / name).read_bytes()).hexdigest() == wanted


def test_no_template_holds_a_script_a_style_or_a_handler() -> None:
    templates = list((ROOT / "templates").rglob("*.html"))
    assert len(templates) > 15
    for template in templates:
        text = template.read_text()
        assert not Read(text).inline, template
        assert "|safe" not in text and "autoescape off" not in text, template


@pytest.mark.django_db
def test_what_people_and_targets_say_stays_text(client: Client, team: Team) -> None:
    harmless = pages(client, everywhere(team, "harmless"))
    for text in HOSTILE:
        with undone():
            hostile = pages(client, everywhere(team, text))
        assert harmless.keys() == hostile.keys()
        for name, html in hostile.items():
            found, wanted = Read(html), Read(harmless[name])
            assert found.inline == [], (name, text)
            assert found.counts == wanted.counts, (name, text)
            assert not [place for place in found.addresses if place.startswith("javascript")]


@pytest.mark.django_db
def test_an_error_page_keeps_to_the_policy(client: Client) -> None:
    for path in ("/nothing/", "/jobs/?q=%00", "/runs/?state=<script>"):
        answer = client.get(path)
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert Read(answer.content.decode()).inline == []


@pytest.mark.django_db
@pytest.mark.parametrize("text", HOSTILE)
def test_what_was_typed_comes_back_as_text(client: Client, team: Team, text: str) -> None:
    html = client.post("/jobs/new/", {"team": text, "name": text, "cron": text}).content.decode()
    assert Read(html).inline == []
    assert "<script>alert" not in html and "<img src=x" not in html


def everywhere(team: Team, text: str) -> tuple[Job, Run]:
    """A job and a run of it that say this in every place where text may stand."""
    plain = text.replace("{{", "{{{{")  # no value of the moment
    target = {
        "type": "http",
        "url": "https://a.example/",
        "headers": {"X-Note": plain.replace("\n", " ")},
        "body": {text: [plain]},
    }
    said: dict[str, Any] = {"name": text, "description": text, "runbook": text}
    Job.objects.filter(team=team, name=text).delete()
    job = make.job(team, **said, target=target, idempotent=False)
    editing.pause(job.id, editing.Pause(text), by=None)
    user = make.operator(team, f"operator-{Run.objects.count()}")
    run = make.run(job, State.REVIEW, reason=text)
    Attempt.objects.create(
        run=run,
        number=1,
        lease_id=run.id,
        worker=text,
        started_at=clock.now(),
        ended_at=clock.now(),
        outcome="unknown",
        reason=text,
        sent={"body": text},
        answer={"headers": {text: text}, "body": text},
        late={"reason": text},
    )
    deciding.decide(run.id, "close", token=1, note=text, by=user)
    make.run(job, State.REVIEW, reason=text)
    Run.objects.filter(hold__isnull=False).delete()
    for open_hold in Hold.objects.filter(ended_at=None):
        holds.end(open_hold.id, by=user)
    dead = make.run(job, State.DEAD, idempotent=True, reason=text)
    assert dead.error_group is not None
    replay_batch.begin(dead_letters.choose(dead.error_group, [dead.id]), by=user, note=text)
    hold = holds.begin(team, text, by=user)
    make.run(job, State.WAITING, origin="schedule", due_at=clock.now(), hold=hold, reason=text)
    return job, run


def pages(client: Client, found: tuple[Job, Run]) -> dict[str, str]:
    """Every page that shows the job or the run."""
    job, run = found
    waiting = Run.objects.get(job=job, state=State.REVIEW)
    replay = Replay.objects.get(job=job)
    letters = f"/dead-letters/{replay.error_group}/"
    addresses = {
        "dead-group": letters,
        "dead-replay": f"{letters}replay/",
        "dead-discard": f"{letters}discard/",
        "replay": f"/replays/{replay.id}/",
        "job": f"/jobs/{job.id}/",
        "job-schedule": f"/jobs/{job.id}/?tab=schedule",
        "job-settings": f"/jobs/{job.id}/?tab=settings",
        "job-versions": f"/jobs/{job.id}/?tab=versions",
        "job-notes": f"/jobs/{job.id}/?tab=notes",
        "upcoming": "/upcoming/",
        "week": "/upcoming/?tab=week",
        "days-off": "/upcoming/?tab=off",
        "edit": f"/jobs/{job.id}/edit/",
        "delete": f"/jobs/{job.id}/delete/",
        "run-now": f"/jobs/{job.id}/run-now/",
        "job-runs": f"/jobs/{job.id}/runs/",
        "run": f"/runs/{run.id}/",
        "decide": f"/runs/{waiting.id}/",
        "runs": f"/runs/?job={job.id}",
        "holds": "/holds/",
        "hold": f"/holds/{Hold.objects.get(ended_at=None).id}/",
    }
    shown = {name: client.get(address) for name, address in addresses.items()}
    assert all(answer.status_code == 200 for answer in shown.values())
    return {name: answer.content.decode() for name, answer in shown.items()}
