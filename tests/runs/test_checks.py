"""What must hold before a process serves, one refusal at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import zoneinfo
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from runs import checks

ROOT = Path(__file__).resolve().parents[2]
PINNED = {"task_acks_late": True}
IN_FORCE = {"task_acks_late": True, "other": 1}


@pytest.fixture(autouse=True)
def _production(settings: Any) -> None:
    settings.DEBUG, settings.SECURE, settings.EGRESS_ALLOW = False, True, ""


@pytest.mark.django_db
def test_an_installation_in_order_starts() -> None:
    checks.at_start(PINNED, IN_FORCE)
    assert checks.production(None) == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("SECRET_KEY", "insecure-and-only-for-commands-that-serve-nobody", "SECRET_KEY"),
        ("SEALING_KEYS", [], "ONEBEAT_SEALING_KEYS"),
        ("EGRESS_ALLOW", "0.0.0.0/0", "ONEBEAT_EGRESS_ALLOW"),
        ("EGRESS_ALLOW", "10.0.0.0/8,::/0", "ONEBEAT_EGRESS_ALLOW"),
        ("EGRESS_ALLOW", "nonsense", "ONEBEAT_EGRESS_ALLOW"),
        ("DEBUG", True, "ONEBEAT_DEBUG"),
        ("FAULTS", ["claim.selected:kill"], "ONEBEAT_FAULTS"),
    ],
)
def test_each_setting_that_opens_a_door_is_refused_in_one_line(
    settings: Any, setting: str, value: object, said: str
) -> None:
    setattr(settings, setting, value)
    with pytest.raises(ImproperlyConfigured, match=said) as refused:
        checks.at_start(PINNED, IN_FORCE)
    assert "\n" not in str(refused.value)
    assert [error for error in checks.production(None) if said in error.msg]


@pytest.mark.django_db
def test_a_developers_own_installation_needs_no_secrets(settings: Any) -> None:
    settings.DEBUG, settings.SECURE, settings.SEALING_KEYS = True, False, []
    settings.FAULTS = ["claim.selected:kill"]
    checks.at_start(PINNED, IN_FORCE)


@pytest.mark.django_db
def test_a_pinned_celery_setting_that_is_not_in_force_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="task_acks_late is False, not True"):
        checks.at_start(PINNED, {"task_acks_late": False})


@pytest.mark.django_db
def test_zone_data_of_the_host_are_refused() -> None:
    zoneinfo.reset_tzpath(to=["/usr/share/zoneinfo"])
    try:
        with pytest.raises(ImproperlyConfigured, match="tzdata"):
            checks.at_start(PINNED, IN_FORCE)
    finally:
        zoneinfo.reset_tzpath(to=())


@pytest.mark.parametrize(
    ("version", "changed", "said"),
    [
        (140012, {}, "PostgreSQL 14 is too old"),
        (150000, {"fsync": "off"}, "fsync is off"),
        (180000, {"full_page_writes": "off"}, "full_page_writes is off"),
        (180000, {"synchronous_commit": "local"}, "synchronous_commit is local"),
        (180000, {"lock_timeout": "0"}, "lock_timeout is not in force"),
        (180000, {"statement_timeout": "0"}, "statement_timeout is not in force"),
    ],
)
def test_a_server_that_could_lose_commits_is_refused(
    version: int, changed: dict[str, str], said: str
) -> None:
    sound = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}
    sound |= dict.fromkeys(checks._BOUNDS, "4000")
    assert not list(checks._promises(150000, sound))
    (error,) = checks._promises(version, {**sound, **changed})
    assert said in error.msg and error.hint


@pytest.mark.django_db(transaction=True)
def test_a_pooler_that_keeps_the_session_settings_back_is_refused() -> None:
    """K142: in a pool by transactions nothing of ours is lost between statements (advisory locks
    and settings are a transaction's own), but for what the connection says as it begins."""
    kept, options = connection.settings_dict["OPTIONS"]["options"], "-c timezone=UTC"
    connection.close()
    connection.settings_dict["OPTIONS"]["options"] = options
    try:
        with pytest.raises(
            ImproperlyConfigured, match=r"lock_timeout, .* is not in force: a pooler"
        ):
            checks.at_start(PINNED, IN_FORCE)
    finally:
        connection.close()
        connection.settings_dict["OPTIONS"]["options"] = kept


@pytest.mark.parametrize("process", [["beat"], ["worker", "--concurrency", "1"]])
@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"ONEBEAT_SEALING_KEYS": ""}, "ONEBEAT_SEALING_KEYS is not set."),
        ({"ONEBEAT_FAULTS": "claim.selected:kill"}, "ONEBEAT_FAULTS arms claim.selected:kill"),
    ],
)
def test_a_process_that_may_not_serve_ends_with_2_and_one_line(
    database_server: None, process: list[str], environment: dict[str, str], said: str
) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "celery", "-A", "config", *process],
        cwd=ROOT,
        env={**os.environ, "ONEBEAT_DEBUG": "0", **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert found.returncode == 2
    assert said in found.stderr
    assert "Traceback" not in found.stderr
