"""From sign-in, in the browser alone: somebody who has read nothing registers a job, sees it run,
finds out why another failed, decides about a third and replays what died.

Each step is found by the words and roles that a person sees, none by how the page is built.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from jobs import clock
from jobs.models import Job
from jobs.shards import COUNT
from runs import claim, execute
from runs.letters import replaying
from runs.models import Run
from runs.states import STARTABLE, State
from tests import make
from tests.browser.conftest import Visit, sign_in
from tests.runs.loopback import Loopback, read_request
from tests.servers import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BROKEN = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 20\r\n\r\nThe ledger is closed"
FINE = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nbooked"


class Target:
    """A service of the team: at times closed; what settles acts, and says nothing."""

    def __init__(self) -> None:
        self.answer = BROKEN

    def play(self, connection: Any) -> None:
        """One request."""
        if b" /settle " not in read_request(connection):
            connection.sendall(self.answer)


def platform_turns() -> None:
    """A beat's turn and a worker's: what is due is claimed, what waits is carried out."""
    now = clock.now()
    claim.due_jobs(now, shards=range(COUNT), above=now - timedelta(hours=1))
    replaying.advance_all()
    waits = Run.objects.filter(state__in=STARTABLE, send_at__lte=clock.now())
    for run_id in waits.order_by("id").values_list("id", flat=True):
        execute.run(run_id, worker="worker-1")


def until(state: State, job: Job, count: int = 1) -> None:
    """The platform goes on until so many runs of the job are in this state."""

    def there() -> bool:
        platform_turns()
        return Run.objects.filter(job=job, state=state).count() >= count

    wait_until(there, seconds=30, what=f"{count} of {job} in {state}")


@pytest.fixture
def target(settings: Any) -> Iterator[tuple[Target, str]]:
    settings.EGRESS_ALLOW = "127.0.0.0/8"
    target = Target()
    with Loopback(target.play) as listening:
        yield target, listening.url("")


@pytest.fixture
def page(visit: Visit) -> Page:
    """A browser that nobody has signed in with."""
    return visit(None, zone="Europe/Berlin")


@pytest.fixture
def troubled(target: tuple[Target, str]) -> dict[str, Job]:
    """Two jobs of the team that are in trouble: one whose runs have died, one undecided."""
    _, url = target
    team = make.team()
    once = {"max_attempts": 1}
    shapes: dict[str, dict[str, Any]] = {
        "close-books": {"target": {"type": "http", "url": f"{url}/close"}, "retries": once},
        "settle-accounts": {
            "target": {"type": "http", "url": f"{url}/settle"},
            "idempotent": False,
            "runbook": "Look for the key in the ledger.",
        },
    }
    jobs = {name: make.job(team, name=name, **shape) for name, shape in shapes.items()}
    for _ in range(2):
        make.run(jobs["close-books"], send_at=clock.now())
    make.run(jobs["settle-accounts"], send_at=clock.now())
    until(State.DEAD, jobs["close-books"], 2)
    until(State.REVIEW, jobs["settle-accounts"])
    return jobs


def test_the_whole_walk(page: Page, troubled: dict[str, Job], target: tuple[Target, str]) -> None:
    service, url = target
    _signs_in(page)
    _finds_out_why_one_failed(page)
    service.answer = FINE  # somebody opens the ledger again
    _registers(page, f"{url}/statements")
    _sees_it_run(page)
    _decides(page, troubled["settle-accounts"])
    _replays(page, troubled["close-books"])


def _signs_in(page: Page) -> None:
    sign_in(page, "/")
    expect(page.get_by_role("heading", level=1)).to_contain_text("1 run waits for a decision")


def _finds_out_why_one_failed(page: Page) -> None:
    """From the Overview to the run, where the target's own words stand."""
    row = page.get_by_role("row").filter(has_text="Dead letter").filter(has_text="close-books")
    row.get_by_role("link", name="Open group").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("2 dead letters of close-books")
    page.get_by_role("link", name="Look at that run").click()
    main = page.get_by_role("main")
    expect(main).to_contain_text("503 Service Unavailable")
    expect(main).to_contain_text("The ledger is closed")


def _registers(page: Page, url: str) -> None:
    """What must be said is asked for, and when it will fire stands there before it is saved."""
    page.get_by_role("link", name="Jobs", exact=True).click()
    page.get_by_role("link", name="Register a job").click()
    page.get_by_label("Name", exact=True).fill("send-statements")
    page.get_by_label("URL", exact=True).fill(url)
    page.get_by_label("Every so often").check()
    page.get_by_label("Every", exact=True).fill("5")
    page.get_by_label("Unit").select_option("seconds")
    expect(page.get_by_text("Every 5 seconds").first).to_be_visible()
    expect(page.get_by_role("heading", name="Next ten moments")).to_be_visible()
    page.get_by_label("Yes, it may be repeated.").check()
    page.get_by_role("button", name="Register", exact=True).click()
    expect(page.get_by_text("send-statements is registered.")).to_be_visible()


def _sees_it_run(page: Page) -> None:
    """On the job's page, which nobody reloads."""
    expect(page.get_by_text("It has not run yet.")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("Next:")
    until(State.SUCCEEDED, Job.objects.get(name="send-statements"))
    runs = page.get_by_role("table").filter(has_text="What was said")
    expect(runs.get_by_role("row").filter(has_text="Succeeded").first).to_be_visible()


def _decides(page: Page, job: Job) -> None:
    """About a run of which nobody can tell from here whether it acted."""
    page.get_by_role("link", name="Review 1", exact=False).click()
    expect(page.get_by_role("heading", level=1, name="Review")).to_be_visible()
    page.get_by_role("link", name=job.name).first.click()
    main = page.get_by_role("main")
    expect(main).to_contain_text("What we know")
    expect(main).to_contain_text("Look for the key in the ledger.")
    for choice in page.get_by_role("radio").all():
        expect(choice).not_to_be_checked()
    page.get_by_role("radio", name="It happened").check()
    page.get_by_role("textbox", name="Note").fill("Its key stands in the ledger.")
    page.get_by_role("button", name="Decide").click()
    expect(page.get_by_text("Decided, and recorded with your name.")).to_be_visible()
    rail = page.get_by_role("navigation", name="Main")
    expect(rail.get_by_role("link", name="Review", exact=True)).to_be_visible()
    rail.get_by_role("link", name="Runs").click()
    row = page.get_by_role("row").filter(has_text=job.name)
    expect(row).to_contain_text("Succeeded")
    row.get_by_role("link").last.click()
    expect(page.get_by_role("main")).to_contain_text("editor decided: it happened")
    expect(page.get_by_role("main")).to_contain_text("Its key stands in the ledger.")


def _replays(page: Page, job: Job) -> None:
    """One first, and the other once that has succeeded."""
    page.get_by_role("link", name="Dead letters").click()
    page.get_by_role("link", name=job.name).first.click()
    page.get_by_role("link", name="Replay 2…").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(
        f"Replay 2 dead letters of {job.name}"
    )
    expect(page.get_by_label("Try one first")).to_be_checked()
    page.get_by_role("button", name="Replay 2", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(
        f"Replay of 2 dead letters of {job.name}"
    )
    until(State.SUCCEEDED, job, 2)
    results = page.get_by_role("table", name="The runs of this replay")
    expect(results.get_by_role("row").filter(has_text="Succeeded")).to_have_count(2)
    rail = page.get_by_role("navigation", name="Main")
    expect(rail.get_by_role("link", name="Dead letters", exact=True)).to_be_visible()
