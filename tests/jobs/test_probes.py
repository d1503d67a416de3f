"""What review goes by, at every door of a job: the probe, and how soon it is to decide."""

from __future__ import annotations

import pytest

from jobs.definitions import probes
from jobs.models import Job, JobVersion, Team
from jobs.targets.addresses import AllowList
from jobs.targets.errors import TargetError
from jobs.task_registry import Misfit
from tests import make
from tests.api import Api
from tests.pages import Browser, typed

SAID = {
    "probe": {"url": "https://ledger.example/did?book=EQ"},
    "decide_by": 900,
    "pause_after_reviews": 3,
    "critical": True,
}


def fits_not(name: str, args: list[object], kwargs: dict[str, object]) -> Misfit:
    return Misfit("kwargs", f"no {', '.join(kwargs)}", "day")


def test_a_task_that_takes_no_key_is_no_probe() -> None:
    with pytest.raises(TargetError) as refused:
        probes.parse({"task": "pay"}, known_tasks=["pay"], allow=AllowList(), misfit=fits_not)
    assert refused.value.field == "probe.task"
    assert "takes no key: no key" in refused.value.message


@pytest.mark.django_db
def test_the_api_takes_and_tells_them() -> None:
    team = make.team()
    api = Api.of(team, make.editor(team))
    made = api.post("jobs/", make.shape(**SAID)).body
    assert {name: made[name] for name in SAID} == SAID
    changed = api.patch(f"jobs/{made['id']}/", {"probe": None, "decide_by": None}).body
    assert (changed["probe"], changed["decide_by"], changed["critical"]) == (None, None, True)
    changes = JobVersion.objects.get(number=2).changes
    assert changes == {
        "probe": {"from": SAID["probe"], "to": None},
        "decide_by": {"from": 900, "to": None},
    }


FIELDS = {
    "probe_url": "https://ledger.example/did",
    "decide_by": "900",
    "pause_after_reviews": "3",
    "critical": "on",
}


@pytest.mark.django_db
def test_the_page_takes_shows_and_keeps_them(team: Team) -> None:
    browser = Browser(make.editor(team))
    browser.send("/jobs/new/", typed(save="1", **FIELDS))
    job = Job.objects.get()
    assert job.probe == {"url": FIELDS["probe_url"]}
    assert (job.decide_by, job.pause_after_reviews, job.critical) == (900, 3, True)
    page = browser.get(f"/jobs/{job.id}/edit/")
    assert {name: page.value(name) for name in FIELDS if name != "critical"} == {
        name: value for name, value in FIELDS.items() if name != "critical"
    }
    words = browser.get(f"/jobs/{job.id}/?tab=settings").words
    assert "to be decided within 15 m" in words
    assert "when 3 runs wait in Review" in words


@pytest.mark.django_db
def test_the_page_refuses_two_probes_at_once(team: Team) -> None:
    fields = typed(save="1", **FIELDS) | {"probe_task": "no-such-task"}
    page = Browser(make.editor(team)).send("/jobs/new/", fields)
    assert page.status == 422
    assert "cannot go together" in page.error("probe_task")
    assert not Job.objects.exists()
