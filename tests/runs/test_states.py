from __future__ import annotations

from runs.states import ACTIVE, BORN, EDGES, FINAL, RESTING, STARTABLE, State, sources


def test_every_state_is_final_or_resting_or_active_or_waits() -> None:
    assert set(State) == FINAL | RESTING | ACTIVE | {State.WAITING}
    assert not (FINAL & RESTING or FINAL & ACTIVE or RESTING & ACTIVE)
    assert State.WAITING not in FINAL | RESTING | ACTIVE


def test_the_final_states_are_the_four_of_the_picture() -> None:
    assert {"SUCCEEDED", "CLOSED", "SKIPPED", "CANCELLED"} == FINAL


def test_every_state_is_reached_from_a_birth() -> None:
    reached: set[State] = set()
    frontier = set(BORN)
    while frontier:
        reached |= frontier
        frontier = {to for state in frontier for to in EDGES[state]} - reached
    assert reached == set(State)


def test_a_run_starts_only_from_the_startable_states() -> None:
    assert set(sources(State.RUNNING)) == STARTABLE
    assert "RUNNING" not in sources(State.RUNNING)


def test_only_a_person_leads_out_of_rest() -> None:
    # Who moves out of DEAD and REVIEW is runs/review/deciding.py and runs/letters/replay.py alone.
    again = {State.CLAIMED, State.WAITING}
    assert EDGES[State.DEAD] == again | {State.CLOSED}
    assert EDGES[State.REVIEW] == again | {State.SUCCEEDED, State.CLOSED}


def test_who_waits_is_released_before_it_is_sent() -> None:
    assert State.WAITING not in STARTABLE
    assert {State.ENQUEUED, State.RUNNING}.isdisjoint(EDGES[State.WAITING])
