"""Every page that somebody can open, in both themes, at a desk and on a phone.

With ONEBEAT_SCREENS=1 it leaves a picture of each in `.screens/`, for people to look at."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, expect

from runs.states import State
from tests.browser.cast import Cast, assembled
from tests.browser.conftest import Visit
from tests.test_pages_access import PAGES, address

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SCREENS = Path(__file__).resolve().parents[2] / ".screens"  # for people to look at
SHARES = 3  # a test of more than five minutes would be given up
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
LIGHT = {"type": "tag", "values": WCAG}
DARK = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
COMES = "[hx-trigger=load]"  # a part that is still to come by itself
TABS = ("activity", "schedule", "settings", "versions", "audit", "notes")
HEIGHT = "Math.max(900, document.documentElement.scrollHeight)"
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
CUT = """[...document.querySelectorAll(".scroll:has(> table.rows)")]
    .filter(box => box.scrollWidth > box.clientWidth).map(box => box.ariaLabel)"""
TOUCHED = """[...document.querySelectorAll(".empty")].filter(box => {
    const below = box.nextElementSibling?.getBoundingClientRect();
    return below?.height && below.top - box.getBoundingClientRect().bottom < 8;
}).map(box => box.innerText)"""
# Of whole pages alone: parts of them, files and redirects are looked at by other tests.
PARTS = ("preview", "progress", "live", "csv", "json", "file", "subdivisions", "overview-")
NO_PAGE = {"start", "counts", "job-runs", "job-filled", "review-news", "review-others"}


def named() -> Iterator[str]:
    """The names of the routes that open as a page: a new one is in it from the start."""
    for name, rule in PAGES.items():
        if rule.get is not None and name not in NO_PAGE and not any(p in name for p in PARTS):
            yield name


def addresses(cast: Cast) -> dict[str, str]:
    """By the name of its picture, where each page stands."""
    found = {name: address(name, cast.job, cast.runs[State.REVIEW]) for name in named()}
    for tab in TABS:
        found[f"job-{tab}"] = f"/jobs/{cast.job.id}/?tab={tab}"
    for tab in ("week", "off"):
        found[f"upcoming-{tab}"] = f"/upcoming/?tab={tab}"
    for state, run in cast.runs.items():
        found[f"run-{state.lower()}"] = f"/runs/{run.id}/"
    found["view-new"] += "?page=jobs&state=paused"
    return found | {
        "settle": f"/jobs/{cast.settle.id}/",
        "settle-schedule": f"/jobs/{cast.settle.id}/?tab=schedule",
        "settle-edit": f"/jobs/{cast.settle.id}/edit/",
        "settle-run": f"/runs/{cast.unclear.id}/",
        "settle-review": f"/review/{cast.unclear.id}/",
        "job-clone": f"/jobs/new/?like={cast.job.id}",
        "job-deleted": f"/jobs/{cast.gone.id}/",
        "jobs-none-found": "/jobs/?q=nothing-of-this-name",
        "runs-of-a-state": "/runs/?state=DEAD",
        "not-there": f"/runs/{cast.job.id}/",
    }


@pytest.fixture
def cast(transactional_db: None) -> Cast:
    return assembled()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("share", range(SHARES))
def test_every_page(visit: Visit, cast: Cast, share: int) -> None:
    page = visit(cast.person, may_report=("status of 404", "status of 410"))
    wrong = {}
    for name, path in list(addresses(cast).items())[share::SHARES]:
        page.goto(path)
        expect(page.locator(COMES)).to_have_count(0)
        if found := [*_frame(page), *_axe(page), *_looks(page, name)]:
            wrong[f"{name} {path}"] = found
    assert not wrong, json.dumps(wrong, indent=1)


def _frame(page: Page) -> Iterator[str]:
    """What is wrong with the page's frame."""
    if (count := page.locator("h1").count()) != 1:
        yield f"{count} h1"
    if page.title() in ("", "Onebeat", " · Onebeat"):
        yield f"title {page.title()!r}"


def _axe(page: Page) -> Iterator[str]:
    """What axe says against the page by WCAG 2.2 AA; in the dark of its colours, which alone
    differ."""
    page.evaluate(AXE_SCRIPT)
    for theme, only in (("light", LIGHT), ("dark", DARK)):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        options = {"runOnly": only, "resultTypes": ["violations"]}
        for one in page.evaluate("options => axe.run(options)", options)["violations"]:
            for node in one["nodes"][:3]:
                yield f"{theme}: {one['id']}: {node['html'][:160]}"


def _looks(page: Page, name: str) -> Iterator[str]:
    """Where it is wider than its window, and where a list is wider than its place: what is to be
    done stands in the last column. Its pictures, where a person wants them."""
    for width in (390, 1280):  # as the next page finds it
        page.set_viewport_size({"width": width, "height": 900})
        if (wider := page.evaluate(WIDER)) > 0:
            yield f"{wider} px wider than {width} px"
        if cut := page.evaluate(CUT):
            yield f"cut off at {width} px: {cut}"
        if touched := page.evaluate(TOUCHED):
            yield f"no room below what is empty at {width} px: {touched}"
        if os.environ.get("ONEBEAT_SCREENS") == "1":
            _pictures(page, width, name)


def _pictures(page: Page, width: int, name: str) -> None:
    """Of the whole page, in both themes."""
    page.set_viewport_size({"width": width, "height": page.evaluate(HEIGHT)})
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.screenshot(path=SCREENS / f"{theme}-{width}" / f"{name}.png")
    page.set_viewport_size({"width": width, "height": 900})
