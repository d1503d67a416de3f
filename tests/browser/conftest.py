"""A real browser: Debian's chromium. Whatever its console reports fails the test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from jobs.models import User
from tests import make, servers

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`refused by policy: ${event.violatedDirective} ${event.blockedURI}`));
"""
Visit = Callable[..., Page]
PATIENCE = 20_000  # ms: a machine at work on much else is slow, and right all the same


def sign_in(page: Page, path: str) -> None:
    """An editor of payments, who has opened this address, signs in with a password."""
    user = make.editor(make.team())
    user.set_password("open-sesame")
    user.save()
    page.goto(path)
    username = page.get_by_label("Username")
    # A browser that finds the focus taken before it could give it says so on its console.
    expect(username).to_be_focused()
    username.fill("editor")
    page.get_by_label("Password").fill("open-sesame")
    page.get_by_role("button", name="Sign in").click()


expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")  # its event loop must not be there in other modules' tests
def chromium() -> Iterator[Browser]:
    servers.require("chromium")
    with sync_playwright() as playwright:
        # Playwright's event loop lives in this thread, and Django would refuse it the database.
        before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield browser
        browser.close()
        if before is None:
            del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def visit(chromium: Browser, live_server: object) -> Iterator[Visit]:
    """Pages of people who have signed in: `visit(user, width=390, theme="dark")`; of nobody yet:
    `visit(None)`. `may_report`: what the console of this one may say; `script`: whether it runs
    scripts; `zone`: where it stands."""
    opened: list[BrowserContext] = []
    reported: list[str] = []

    def visit(
        user: User | None,
        width: int = 1280,
        theme: str = "light",
        may_report: tuple[str, ...] = (),
        script: bool = True,
        zone: str = "Asia/Tokyo",
    ) -> Page:
        context = chromium.new_context(
            base_url=str(live_server),
            viewport={"width": width, "height": 900},
            timezone_id=zone,
            color_scheme=theme,  # type: ignore[arg-type]
            java_script_enabled=script,
        )
        context.set_default_timeout(PATIENCE)
        opened.append(context)
        if user:
            client = Client()
            client.force_login(user)
            session = client.cookies["sessionid"].value
            # The browser's zone is known from a visit before.
            for name, value in (("sessionid", session), ("browser_zone", zone)):
                context.add_cookies([{"name": name, "value": value, "url": str(live_server)}])
        context.add_init_script(VIOLATIONS)
        page = context.new_page()

        def report(text: str) -> None:
            if not any(part in text for part in may_report):
                reported.append(text)

        page.on("console", lambda message: report(message.text))
        page.on("pageerror", lambda error: report(str(error)))
        return page

    yield visit
    for context in opened:
        context.close()
    assert reported == []
