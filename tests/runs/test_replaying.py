"""Many dead runs sent again: which, how fast, in whose way, and how that is steered."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db.models import F

from jobs import clock, editing, holds
from jobs.models import Due, Job, User
from runs.letters import batch as replay_batch
from runs.letters import groups as dead_letters
from runs.letters import replay, replaying
from runs.letters.groups import Choice, Differs
from runs.models import Decision, Replay, ReplayItem, Run
from runs.states import ACTIVE, State
from tests import make
from tests.runs.histories import MINUTE, fired, noon

pytestmark = pytest.mark.django_db


@pytest.fixture
def job() -> Job:
    return make.job(make.team())


@pytest.fixture
def operator(job: Job) -> User:
    return make.operator(job.team)


def dead(job: Job, count: int = 3) -> list[Run]:
    """Dead runs of moments a minute apart, the oldest first."""
    at = noon()
    return [fired(job, at + n * MINUTE, State.DEAD, died_at=at) for n in range(count)]


def choice(runs: list[Run]) -> Choice:
    group = runs[0].error_group
    assert isinstance(group, UUID)
    return Choice(group, clock.now(), len(runs))


def begun(runs: list[Run], **how: Any) -> Replay:
    return replay_batch.begin(choice(runs), **{"by": None, **how})


def states(runs: list[Run]) -> list[str]:
    found = dict(Run.objects.values_list("id", "state"))
    return [found[run.id] for run in runs]


def results(of: Replay) -> list[str]:
    return list(of.items.order_by("place").values_list("result", flat=True))


def minute_later(of: Replay, minutes: float = 1) -> None:
    """As if so much time had passed since."""
    Replay.objects.filter(id=of.id).update(next_at=F("next_at") - timedelta(minutes=minutes))


def set_state(run: Run, state: State, **columns: Any) -> None:
    row = {"state": state, "send_at": None, **columns}
    Run.objects.filter(id=run.id).update(**row)


# ── begin ────────────────────────────────────────────────────────────────────────────────


def test_a_replay_has_its_runs_in_the_order_of_their_moments(job: Job, operator: User) -> None:
    runs = dead(job)
    of = begun(runs, by=operator, note=" mended ", per_minute=30)
    assert [item.run_id for item in of.items.order_by("place")] == [run.id for run in runs]
    assert (of.count, of.left, of.note, of.per_minute) == (3, 3, "mended", 30)
    assert (of.said, of.state) == ("The target answered 503 Service Unavailable.", "open")
    assert states(runs) == ["DEAD"] * 3, "nothing goes before a beat carries it on"


def test_another_number_than_was_seen_begins_nothing(job: Job) -> None:
    runs = dead(job)
    with pytest.raises(Differs) as found:
        replay_batch.begin(Choice(choice(runs).group, clock.now(), 2), by=None)
    assert (found.value.count, found.value.expected) == (3, 2)
    assert not Replay.objects.exists() and not ReplayItem.objects.exists()


def test_nothing_dead_begins_nothing(job: Job, operator: User) -> None:
    (run,) = dead(job, 1)
    replay.replay(run.id, token=None, note="", by=operator)
    with pytest.raises(Differs):
        begun([run])
    with pytest.raises(replay_batch.NothingDead):
        replay_batch.begin(Choice(choice([run]).group, clock.now(), 0), by=None)


def test_a_group_has_one_replay_at_a_time(job: Job, operator: User) -> None:
    runs = dead(job)
    first = begun(runs, by=operator)
    with pytest.raises(replay_batch.AlreadyOpen, match=r"begun by operator, is open, with 3"):
        begun(runs)
    replay_batch.pause(first.id, by=operator)
    with pytest.raises(replay_batch.AlreadyOpen):
        begun(runs)
    replay_batch.cancel(first.id, by=operator)
    assert begun(runs).id != first.id


def test_a_deleted_job_is_not_replayed(job: Job) -> None:
    runs = dead(job)
    of = begun(runs)
    editing.delete(job.id, by=None)
    assert replaying.advance(of.id) == 0
    of.refresh_from_db()
    assert (of.state, of.reason) == ("cancelled", "Its job was deleted.")
    with pytest.raises(editing.Gone):
        begun(runs)


# ── carried on ───────────────────────────────────────────────────────────────────────────


def test_what_goes_is_the_same_run_with_the_same_key_and_fresh_attempts(
    job: Job, operator: User
) -> None:
    """K124: the key holds the moment, so that a dead one blocks no other, and its replay is one
    more attempt of it."""
    (run,) = dead(job, 1)
    of = begun([run], by=operator, note="mended")
    fired(job, noon() + 30 * MINUTE, State.SUCCEEDED)
    assert replaying.advance_all() == 1
    again = Run.objects.get(id=run.id)
    assert (again.state, again.key, again.attempt) == ("CLAIMED", run.key, run.attempt)
    assert (again.failures, again.effect) == (0, run.effect)
    assert again.send_at is not None
    said = Decision.objects.get()
    assert (said.by, said.decision, said.note) == (operator, "replay", "mended")
    assert (said.from_state, said.to_state, said.attempt) == ("DEAD", "CLAIMED", run.attempt)
    of.refresh_from_db()
    assert (of.state, of.replayed, of.left) == ("done", 1, 0)
    assert of.finished_at is not None
    assert replay_batch.counts(of) == {"CLAIMED": 1}


def test_no_more_go_than_so_many_a_minute(job: Job) -> None:
    runs = dead(job, 6)
    of = begun(runs, per_minute=2)
    assert replaying.advance_all() == 1
    assert replaying.advance_all() == 0
    minute_later(of, 0.5)
    assert replaying.advance_all() == 1
    minute_later(of, 60)
    assert replaying.advance_all() == 1, "what no beat did in time is not made up for"
    assert states(runs) == ["CLAIMED"] * 3 + ["DEAD"] * 3


def test_a_quick_pace_goes_in_one_turn_of_few_statements(
    job: Job, django_assert_max_num_queries: Any
) -> None:
    runs = dead(job, 50)
    of = begun(runs, per_minute=6000)
    minute_later(of)
    with django_assert_max_num_queries(20):
        assert replaying.advance_all() == 50
    assert Counter(states(runs)) == {"CLAIMED": 50}
    assert Decision.objects.count() == 50


def test_what_somebody_decided_meanwhile_is_passed_over_with_who(job: Job, operator: User) -> None:
    runs = dead(job, 4)
    of = begun(runs, per_minute=6000)
    replay.discard(runs[0].id, token=None, note="of no use", by=operator)
    replay.replay(runs[1].id, token=None, note="", by=operator)
    replay.replay(runs[2].id, token=None, note="", by=operator)
    set_state(runs[2], State.DEAD, died_at=clock.now())
    assert replaying.advance_all() == 1, "whoever is passed over takes no place in the pace"
    assert results(of) == ["passed over"] * 3 + ["replayed"]
    assert [item.reason for item in of.items.order_by("place")] == [
        "It is CLOSED by now: operator decided “discard”.",
        "It is CLAIMED by now: operator decided “replay”.",
        "It has died again since: operator decided “replay”.",
        "",
    ]
    of.refresh_from_db()
    assert (of.state, of.replayed, of.passed) == ("done", 1, 3)
    assert Decision.objects.filter(decision="replay").count() == 3


def test_a_serial_job_takes_one_at_a_time_and_gives_way(operator: User) -> None:
    job = make.job(make.team(), name="serial", overlap="skip")
    runs = dead(job)
    of = begun(runs, per_minute=6000)
    busy = make.run(job, State.RUNNING)
    assert replaying.advance_all() == 0
    of.refresh_from_db()
    assert str(busy.id) in of.reason
    set_state(busy, State.SUCCEEDED, finished_at=clock.now(), lease_until=None)
    Due.objects.filter(job=job).update(at=clock.now())
    assert replaying.advance_all() == 0, "what is due goes first"
    Due.objects.filter(job=job).update(at=clock.now() + timedelta(hours=1))
    minute_later(of)
    assert replaying.advance_all() == 1
    assert states(runs) == ["CLAIMED", "DEAD", "DEAD"]
    assert Run.objects.filter(job=job, serial=True, state__in=ACTIVE).count() == 1
    minute_later(of)
    assert replaying.advance_all() == 0


def test_nothing_goes_under_a_hold(job: Job) -> None:
    runs = dead(job)
    of = begun(runs)
    hold = holds.begin(job.team, "The ledger moves.", by=None)
    assert replaying.advance_all() == 0
    of.refresh_from_db()
    assert "The ledger moves." in of.reason
    holds.end(hold.id, by=None)
    assert replaying.advance_all() == 1
    of.refresh_from_db()
    assert of.reason == ""


# ── one is tried first ───────────────────────────────────────────────────────────────────


def tried(runs: list[Run]) -> Replay:
    """A replay whose first run has gone, and whose pace would let all others go."""
    of = begun(runs, per_minute=6000, try_first=True)
    assert replaying.advance_all() == 1
    minute_later(of)
    return of


def test_the_others_go_once_the_first_has_succeeded(job: Job) -> None:
    runs = dead(job)
    of = tried(runs)
    assert replaying.advance_all() == 0
    of.refresh_from_db()
    assert of.reason == f"Waits for the first one to succeed: run {runs[0].id}."
    set_state(runs[0], State.SUCCEEDED, finished_at=clock.now())
    assert [replaying.advance_all(), replaying.advance_all()] == [0, 2]
    of.refresh_from_db()
    assert (of.state, of.reason, of.trying) == ("done", "", False)


def test_a_first_one_that_dies_again_pauses_the_replay(job: Job, operator: User) -> None:
    runs = dead(job)
    of = tried(runs)
    set_state(runs[0], State.DEAD, died_at=clock.now())
    assert replaying.advance_all() == 0
    of.refresh_from_db()
    assert of.state == "paused"
    assert f"run {runs[0].id} has died again. The target answered 503" in of.reason
    assert replaying.advance_all() == 0
    replay_batch.resume(of.id, by=operator)
    minute_later(of)
    assert replaying.advance_all() == 2


# ── steered ──────────────────────────────────────────────────────────────────────────────


def test_a_paused_replay_goes_on_when_it_is_resumed(job: Job, operator: User) -> None:
    runs = dead(job)
    of = begun(runs, per_minute=6000)
    paused = replay_batch.pause(of.id, by=operator)
    assert (paused.state, paused.reason) == ("paused", "Paused by operator.")
    assert replaying.advance_all() == 0
    assert replaying.advance(of.id) == 0
    other = make.operator(job.team, "other")
    assert replay_batch.pause(of.id, by=other).reason == "Paused by operator."
    assert replay_batch.resume(of.id, by=operator).reason == ""
    assert replaying.advance_all() >= 1


def test_a_cancelled_replay_leaves_the_rest_dead(job: Job, operator: User) -> None:
    runs = dead(job)
    of = begun(runs, per_minute=1)
    replaying.advance_all()
    over = replay_batch.cancel(of.id, by=operator)
    assert (over.state, over.reason, over.left) == ("cancelled", "Cancelled by operator.", 2)
    minute_later(of, 9)
    assert replaying.advance_all() == 0
    assert states(runs) == ["CLAIMED", "DEAD", "DEAD"]
    for steer in (replay_batch.pause, replay_batch.resume, replay_batch.cancel):
        with pytest.raises(replay_batch.Over, match="This replay is cancelled already"):
            steer(of.id, by=operator)


def test_a_run_that_is_pruned_before_its_turn_ends_nothing(job: Job) -> None:
    runs = dead(job)
    of = begun(runs, per_minute=6000)
    Run.objects.filter(id=runs[1].id).delete()
    minute_later(of)
    assert replaying.advance_all() == 2
    of.refresh_from_db()
    assert of.state == "done"


def test_dead_runs_chosen_from_a_group_leave_the_others(job: Job) -> None:
    runs = dead(job)
    group = choice(runs).group
    replay_batch.begin(dead_letters.choose(group, [runs[1].id]), by=None)
    assert replaying.advance_all() == 1
    assert states(runs) == ["DEAD", "CLAIMED", "DEAD"]


# ── two pairs of eyes ────────────────────────────────────────────────────────────────────


@pytest.fixture
def wary(job: Job) -> Job:
    """The job, of a team that asks for two pairs of eyes."""
    job.team.two_pairs_of_eyes = True
    job.team.save()
    return job


def test_many_wait_for_a_second_person_where_the_team_asks_for_one(
    wary: Job, operator: User
) -> None:
    runs = dead(wary)
    of = begun(runs, by=operator, per_minute=6000)
    assert of.state == "asked"
    assert [replaying.advance_all(), replaying.advance(of.id)] == [0, 0]
    for steer in (replay_batch.pause, replay_batch.resume):
        with pytest.raises(replay_batch.NotApproved):
            steer(of.id, by=operator)
    with pytest.raises(replay_batch.NotYours):
        replay_batch.approve(of.id, by=operator)
    second = make.operator(wary.team, "second")
    assert replay_batch.approve(of.id, by=second).state == "open"
    minute_later(of)
    assert replaying.advance_all() == 3
    assert set(Decision.objects.values_list("by", "second")) == {(operator.pk, second.pk)}


def test_a_critical_job_asks_for_a_second_person_too(job: Job) -> None:
    Job.objects.filter(id=job.id).update(critical=True)
    assert begun(dead(job)).state == "asked"


def test_one_alone_waits_for_nobody(wary: Job) -> None:
    assert begun(dead(wary, 1)).state == "open"


def test_who_is_asked_may_say_no(wary: Job, operator: User) -> None:
    of = begun(dead(wary), by=operator)
    second = make.operator(wary.team, "second")
    assert replay_batch.cancel(of.id, by=second).state == "cancelled"
    with pytest.raises(replay_batch.Over):
        replay_batch.approve(of.id, by=second)


def test_a_request_that_nobody_answers_is_in_nobodys_way(wary: Job, operator: User) -> None:
    runs = dead(wary)
    of = begun(runs, by=operator)
    with pytest.raises(replay_batch.AlreadyOpen, match="is asked"):
        begun(runs)
    Replay.objects.update(created_at=clock.now() - timedelta(hours=25))
    with pytest.raises(replay_batch.Over, match="Nobody approved it in time"):
        replay_batch.approve(of.id, by=make.operator(wary.team, "second"))
    assert begun(runs).state == "asked"
    of.refresh_from_db()
    assert of.state == "cancelled"
