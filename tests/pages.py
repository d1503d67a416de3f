"""A browser without JavaScript: signs in, opens pages, sends forms as they stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from django.test import Client

from jobs.models import User

VOID = {"input", "br", "meta", "link", "hr", "img"}


@dataclass
class Element:
    """One element of a page: its name, attributes and the text inside it."""

    tag: str
    attrs: dict[str, str]
    text: str = ""


@dataclass
class Page:
    """An answer, read: status, text and elements."""

    status: int
    html: str
    url: str
    elements: list[Element] = field(default_factory=list)

    @property
    def words(self) -> str:
        """The page's text in one line."""
        return " ".join("".join(part.text for part in self.elements if part.tag == "#").split())

    def all(self, tag: str, **attrs: str) -> list[Element]:
        """The elements of this name with these attributes."""
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attrs.items()}
        return [
            one
            for one in self.elements
            if one.tag == tag
            and all(one.attrs.get(name) == value for name, value in wanted.items())
        ]

    def error(self, name: str) -> str:
        """What the page says is wrong with a field; empty for nothing."""
        found = self.all("div", id=f"id_{name}_error")
        return " ".join(found[0].text.split()) if found else ""

    def value(self, name: str) -> str:
        """What stands in a text field."""
        found = self.all("input", name=name) + self.all("textarea", name=name)
        return found[0].attrs.get("value", found[0].text.removeprefix("\n"))


class _Reader(HTMLParser):
    """Every element in order; text goes to each element that is open, and to one named `#`."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Element] = []
        self.open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.found.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        while any(element.tag == tag for element in self.open):
            if self.open.pop().tag == tag:
                break

    def handle_data(self, data: str) -> None:
        self.found.append(Element("#", {}, data))
        for element in self.open:
            element.text += data


class Browser:
    """One person at the pages; follows redirects, checks that no page is a failure of ours."""

    def __init__(self, user: User | None = None) -> None:
        self.client = Client(enforce_csrf_checks=True)
        if user is not None:
            self.client.force_login(user)

    def get(self, path: str, **headers: str) -> Page:
        """Open an address."""
        return self._page(self.client.get(path, follow=True, headers=headers))

    def post(self, path: str, **fields: object) -> Page:
        """Send a form, with the token that any page of this person holds."""
        return self.send(path, {name: str(value) for name, value in fields.items()})

    def send(self, path: str, fields: dict[str, str]) -> Page:
        """The same for fields whose names are no words."""
        form = self.get("/jobs/").all("input", name="csrfmiddlewaretoken")
        token = form[0].attrs["value"] if form else ""
        data = {"csrfmiddlewaretoken": token, **fields}
        return self._page(self.client.post(path, data, follow=True))

    def _page(self, answer: Any) -> Page:
        reader = _Reader()
        html = answer.content.decode()
        reader.feed(html)
        last = (
            answer.redirect_chain[-1][0] if answer.redirect_chain else answer.request["PATH_INFO"]
        )
        return Page(answer.status_code, html, last, reader.found)


def typed(**changes: str) -> dict[str, str]:
    """The fields of the register form, filled in for a job that is safe to repeat."""
    return {
        "team": "payments",
        "name": "settle",
        "schedule_kind": "cron",
        "cron": "0 18 * * 1-5",
        "timezone": "America/New_York",
        "dst": "once",
        "unit": "minutes",
        "target_kind": "http",
        "method": "POST",
        "url": "https://ledger.example/settle",
        "headers": "Authorization: Bearer very-secret\nAccept: application/json",
        "body": '{"book": "EQ"}',
        "idempotent": "yes",
        **changes,
    }
