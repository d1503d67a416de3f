"""How the installation reaches people: what the environment may say, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import mail

SMTP = "django.core.mail.backends.smtp.EmailBackend"
CONSOLE = "django.core.mail.backends.console.EmailBackend"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", {"EMAIL_BACKEND": CONSOLE}),
        ("console:", {"EMAIL_BACKEND": CONSOLE}),
        ("smtp://mail.example", {"EMAIL_BACKEND": SMTP, "EMAIL_PORT": 25, "EMAIL_USE_TLS": False}),
        ("smtps://mail.example", {"EMAIL_PORT": 465, "EMAIL_USE_SSL": True}),
        (
            "smtp+tls://ann%40x:p%3Aw%2F@mail.example:2587",
            {
                "EMAIL_HOST": "mail.example",
                "EMAIL_PORT": 2587,
                "EMAIL_USE_TLS": True,
                "EMAIL_HOST_USER": "ann@x",
                "EMAIL_HOST_PASSWORD": "p:w/",
            },
        ),
    ],
)
def test_a_mail_url_is_read(url: str, expected: dict[str, Any]) -> None:
    assert mail.backend(url).items() >= expected.items()


@pytest.mark.parametrize(
    "url", ["nonsense", "smtp://", "imap://mail.example", "smtp://u:secret@mail.example:port"]
)
def test_a_wrong_one_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^EMAIL_URL: .*Write smtp\+tls://") as refused:
        mail.backend(url)
    assert "secret" not in str(refused.value)


def test_the_address_of_the_site_loses_its_slash() -> None:
    assert mail.address("https://onebeat.example/") == "https://onebeat.example"
    assert mail.address("https://onebeat.example/cron/") == "https://onebeat.example/cron"
    assert mail.address("") == ""


@pytest.mark.parametrize(
    "url", ["onebeat.example", "ftp://x", "https://", "https://[", "http://x?y"]
)
def test_what_is_no_address_of_a_site_is_refused(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^ONEBEAT_URL: .*Write it as https://"):
        mail.address(url)


def test_a_watchdog_that_could_not_be_called_is_refused_at_start() -> None:
    assert mail.watchdog("https://watch.example/x") == "https://watch.example/x"
    with pytest.raises(ImproperlyConfigured, match=r"^ONEBEAT_WATCHDOG_URL: "):
        mail.watchdog("watch.example")
