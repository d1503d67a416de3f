"""A receipt tells everything on record of a run, and whoever has it can tell that it is genuine."""

from __future__ import annotations

import json
from base64 import b64decode
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.core.management import CommandError, call_command

from jobs import clock
from jobs.models import Job, Team, User
from runs import by_hand, claim, enqueue, replica, settle, start
from runs.bounds import EVER
from runs.models import ReceiptKey, Run
from runs.outcomes import Effect, Kind, Outcome
from runs.receipts import keys as receipt_keys
from runs.receipts import receipt
from runs.review import deciding
from tests import make
from tests.api import Api
from tests.pages import Browser
from tests.runs.test_claim import every
from tests.runs.test_rescue import Broker

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(team: Team, operator: User) -> Job:
    target = {
        **make.shape()["target"],
        "headers": {"Authorization": "Bearer of-no-concern", "Accept": "text/plain"},
    }
    return make.job(team, by=operator, target=target, idempotent=False)


@pytest.fixture
def run(job: Job, operator: User) -> Run:
    """Claimed, sent, started, its answer lost; then a person looked."""
    every(3600, job, 2)
    claim.due_jobs(clock.now(), shards=range(256), above=EVER)
    enqueue.waiting_runs(clock.now(), Broker(), above=EVER)  # type: ignore[arg-type]
    run = Run.objects.get()
    start.run(run.id, worker="worker@host")
    settle.attempt(run.id, 1, Outcome(Kind.UNKNOWN, Effect.MAYBE, "No answer came."))
    return deciding.decide(run.id, "happened", token=1, note="It is in the ledger.", by=operator)


def of(run: Run) -> dict[str, Any]:
    return receipt.of_run(Run.objects.select_related("job__team").get(id=run.id), now=clock.now())


def test_it_tells_who_did_what_and_why(run: Run, job: Job, operator: User) -> None:
    told = of(run)
    who, here = operator.get_username(), replica.name()
    assert (told["run"], told["team"], told["key"]) == (str(run.id), "payments", run.key)
    assert (told["job"]["version"], told["job"]["by"]) == (1, who)
    assert told["due"]["origin"] == "schedule"
    assert told["due"]["schedule"][0]["every"] == 3600
    assert told["claimed"]["by"] == here
    assert [sending["by"] for sending in told["sent"]["sendings"]] == [here]
    states = [passage["state"] for passage in told["passed"]]
    assert states == ["CLAIMED", "ENQUEUED", "RUNNING", "REVIEW", "SUCCEEDED"]
    (attempt,) = told["attempts"]
    assert attempt["lease"] == str(run.attempts.get().lease_id)
    assert (attempt["worker"], attempt["outcome"]) == ("worker@host", "unknown")
    (decision,) = told["decisions"]
    assert (decision["by"], decision["note"]) == (who, "It is in the ledger.")
    (key,) = told["keys"]
    assert (key["step"], key["state"]) == ("", "done")
    assert "of-no-concern" not in json.dumps(told)


def test_a_run_by_hand_names_who_asked(team: Team, operator: User) -> None:
    told = of(by_hand.run(make.job(team).id, None, by=operator))
    assert told["due"]["asked_by"] == operator.get_username()
    assert told["claimed"]["by"] is None


def test_one_from_before_states_were_kept_is_told_all_the_same(team: Team) -> None:
    run = make.run(make.job(team), sends=2, snapshot={"type": "of a newer version"})
    told = of(run)
    assert (told["claimed"]["by"], told["passed"], told["target"]) == (None, [], None)
    assert told["sent"] == {"queue": "default", "times": 2, "sendings": []}


def test_anyone_can_verify_it_with_the_published_key(api: Api, run: Run) -> None:
    document = api.get(f"runs/{run.id}/receipt/").body
    published = api.get("receipts/key/").body
    assert published["algorithm"] == "ed25519"
    (key,) = [one["key"] for one in published["keys"]]
    assert document["signature"]["key"] == key
    text = json.dumps(
        document["receipt"], sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    public = Ed25519PublicKey.from_public_bytes(b64decode(key))
    public.verify(b64decode(document["signature"]["value"]), text.encode())


@pytest.mark.parametrize(
    "forged",
    [
        lambda doc: doc["receipt"].update(effect="none"),
        lambda doc: doc["signature"].update(value="AAAA"),
        lambda doc: doc["signature"].update(value="not base64"),
        lambda doc: doc["signature"].update(key="AAAA"),
        lambda doc: doc.pop("signature"),
    ],
)
def test_what_was_changed_is_not_genuine(run: Run, forged: Any) -> None:
    document = receipt_keys.signed(of(run))
    assert receipt_keys.is_genuine(json.loads(json.dumps(document)))
    forged(document)
    assert not receipt_keys.is_genuine(document)
    assert not receipt_keys.is_genuine([document])


def test_a_key_that_cannot_be_opened_gives_way_and_still_verifies(run: Run, settings: Any) -> None:
    before = receipt_keys.signed(of(run))
    settings.SEALING_KEYS = [Fernet.generate_key().decode()]
    after = receipt_keys.signed(of(run))
    assert before["signature"]["key"] != after["signature"]["key"]
    assert receipt_keys.is_genuine(before)
    assert receipt_keys.is_genuine(after)
    assert ReceiptKey.objects.count() == 2
    first, _ = receipt_keys.public_keys()
    assert first.public == after["signature"]["key"]


def test_the_command_prints_and_verifies(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("receipt", str(run.id))
    file = tmp_path / "receipt.json"
    file.write_text(capsys.readouterr().out)
    call_command("receipt", str(run.id), "--verify", str(file))
    assert "Genuine" in capsys.readouterr().out
    with pytest.raises(CommandError, match="another run"):
        call_command("receipt", str(uuid4()), "--verify", str(file))
    file.write_text(file.read_text().replace("in the ledger", "in the book"))
    with pytest.raises(CommandError, match="no receipt"):
        call_command("receipt", "--verify", str(file))
    file.write_text("{")
    for wrong in (["--verify", str(file)], [], [str(uuid4())]):
        with pytest.raises(CommandError):
            call_command("receipt", *wrong)


def test_the_page_tells_the_story_and_gives_the_file(browser: Browser, run: Run) -> None:
    page = browser.get(f"/runs/{run.id}/receipt/")
    for told in (replica.name(), "worker@host", "It is in the ledger.", run.key, "version 1"):
        assert told in page.html
    assert "counted from" in page.words
    assert "&quot;every&quot;" not in page.html, "a person reads it"
    document = json.loads(browser.client.get(f"/runs/{run.id}/receipt.json").content)
    assert receipt_keys.is_genuine(document)
    assert f"/runs/{run.id}/receipt/" in browser.get(f"/runs/{run.id}/").html


def test_it_is_the_teams_alone(run: Run) -> None:
    stranger = Api.of(make.team("elsewhere"), make.outsider())
    assert stranger.get(f"runs/{run.id}/receipt/").status == 404


def test_instants_are_exact(run: Run) -> None:
    """A start reads the clock for each of its columns, a microsecond apart or two."""
    told = of(run)
    passed, started = (
        datetime.fromisoformat(at)
        for at in (told["passed"][2]["at"], told["attempts"][0]["started_at"])
    )
    assert abs(passed - started) < timedelta(milliseconds=50)
    assert told["passed"][-1]["at"] == told["finished_at"]
    assert clock.now() - run.created_at < timedelta(minutes=5)
