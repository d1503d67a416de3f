"""What the supervisor says of its children, and what it gives them to see."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from config import installation, supervise
from config.children import Child, Program
from config.programs import Options, programs
from config.stop import Stop
from tests.servers import wait_until

DEAF = (
    "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print('deaf', flush=True)\nwhile True: time.sleep(0.1)"
)


@pytest.fixture
def supervisor(tmp_path: Path) -> supervise.Supervisor:
    return supervise.Supervisor(Options("127.0.0.1", 8000, tmp_path), Stop())


def test_a_child_that_had_to_be_cut_is_told(
    supervisor: supervise.Supervisor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(supervise, "FINISH", 0.3)
    log = tmp_path / "worker.log"
    child = Child(
        Program("worker", "worker", (sys.executable, "-c", DEAF)), os.environ, tmp_path, log
    )
    child.start(now=0)
    supervisor.children.append(child)
    wait_until(lambda: "deaf" in log.read_text(), seconds=30, what="a child that is deaf")
    supervisor._end()
    assert "up      | worker had not ended after 0.3 s and was cut\n" in capsys.readouterr().out
    assert child.has_ended()


def test_what_is_set_holds_and_what_is_set_empty_does_not(
    supervisor: supervise.Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor.secrets = installation.load_secrets(tmp_path)
    supervisor.target_port, supervisor.database_url = 9000, "postgresql:///x"
    monkeypatch.setenv("SECRET_KEY", "of the caller")
    monkeypatch.setenv("ONEBEAT_SEALING_KEYS", "")
    assert supervisor.environment["SECRET_KEY"] == "of the caller"
    assert supervisor.environment["ONEBEAT_SEALING_KEYS"] == supervisor.secrets.sealing_keys


def test_the_worker_tells_nobody_of_its_heartbeats(tmp_path: Path) -> None:
    options = Options("127.0.0.1", 8000, tmp_path)
    (worker,) = [p for p in programs(options, 1, tmp_path / "l") if p.kind == "worker"]
    assert "--without-heartbeat" in worker.words


def test_no_banner_hides_the_address_and_the_sign_in(tmp_path: Path) -> None:
    found = programs(Options("127.0.0.1", 8000, tmp_path), 1, tmp_path / "l")
    celery = [one.words for one in found if one.kind in ("beat", "worker")]
    assert len(celery) == 3
    assert all(words.index("--quiet") < words.index("-A") for words in celery)
