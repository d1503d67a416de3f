"""Names and texts that try to be more than text, on every page that shows them."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from jobs import editing
from jobs.models import Job
from runs.models import Run
from runs.states import State
from tests import make
from tests.browser.conftest import Visit
from tests.test_hostile import MARKUP

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SCRIPT = "<script>window.x=1</script><img src=x onerror=window.x=1>"
COMES = "[hx-trigger=load]"  # a part that is still to come by itself


def hostile(name: str) -> tuple[Job, Run]:
    """A job that says it wherever a person may write, and a run of it in review."""
    texts: dict[str, Any] = {"description": name, "runbook": name, "owner": name}
    job = make.job(make.team(), name=name, idempotent=False, **texts)
    return job, make.run(job, State.REVIEW, reason=name)


def dead(name: str) -> Run:
    """A run of a job that says it in its target too, and is paused for that reason."""
    said = name.replace("{{", "{{{{")  # two braces that are meant as they are
    target = {"url": "https://a.example/", "headers": {"X-Name": said}, "body": {name: said}}
    job = make.job(make.team(), name=f"safe {name}", target={"type": "http", **target})
    editing.pause(job.id, editing.Pause(name), by=None)
    return make.run(job, State.DEAD, reason=name)


def test_no_name_is_ever_run(visit: Visit) -> None:
    """K147: what would set `window.x` is shown as it is written, and sets nothing."""
    for name in MARKUP:
        job, unclear = hostile(name)
    run = dead(SCRIPT)
    make.trial(job)
    paths = ["/", "/jobs/", "/runs/", "/review/", "/dead-letters/", "/upcoming/", "/audit/"]
    tabs = ("activity", "settings", "versions", "audit", "notes")
    paths += [f"/jobs/{run.job_id}/?tab={tab}" for tab in tabs]
    paths += [f"/jobs/{job.id}/{act}/" for act in ("edit", "delete", "run-now", "test")]
    paths += [f"/runs/{run.id}/", f"/runs/{unclear.id}/", f"/review/{unclear.id}/"]
    page = visit(make.admin(make.team()))
    for path in [*paths, f"/jobs/?q={SCRIPT}"]:
        page.goto(path)
        expect(page.locator(COMES)).to_have_count(0)
        assert page.evaluate("window.x === undefined"), path
        assert page.locator("main [onmouseover], main [onerror], main script").count() == 0, path
    page.goto("/jobs/")
    for name in MARKUP:
        expect(page.get_by_role("link", name=name, exact=True)).to_be_visible()
