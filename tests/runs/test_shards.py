"""Shares of the shards: who joins takes from all, who leaves gives only its own."""

from __future__ import annotations

from itertools import pairwise
from uuid import uuid4

import pytest

from jobs.shards import COUNT, shard_of
from runs.shards import owned

THREE = ["beat-a", "beat-b", "beat-c"]


def owners(beats: list[str]) -> dict[int, str]:
    return {shard: beat for beat in beats for shard in owned(beat, beats)}


@pytest.mark.parametrize("count", [1, 2, 3, 7, 40])
def test_every_shard_has_exactly_one_owner(count: int) -> None:
    beats = [f"beat-{number}" for number in range(count)]
    shares = [owned(beat, beats) for beat in beats]
    assert sorted(shard for share in shares for shard in share) == list(range(COUNT))


def test_one_that_joins_three_takes_about_a_quarter_and_moves_nothing_else() -> None:
    before, after = owners(THREE), owners([*THREE, "beat-d"])
    moved = {shard for shard in before if before[shard] != after[shard]}
    assert {after[shard] for shard in moved} == {"beat-d"}
    assert moved == set(owned("beat-d", [*THREE, "beat-d"]))
    assert COUNT * 0.15 < len(moved) < COUNT * 0.35


def test_the_share_of_one_that_joins_is_a_quarter_on_average() -> None:
    joins = [f"beat-{number}" for number in range(60)]
    shares = [len(owned(name, [*THREE, name])) for name in joins]
    assert sum(shares) / len(shares) == pytest.approx(COUNT / 4, rel=0.1)


def test_one_that_leaves_gives_up_its_own_and_nothing_else_moves() -> None:
    before, after = owners([*THREE, "beat-d"]), owners(THREE)
    moved = {shard for shard in before if before[shard] != after[shard]}
    assert moved == {shard for shard, beat in before.items() if beat == "beat-d"}


def test_the_order_and_repeats_of_the_live_ones_say_nothing() -> None:
    shares = [owned("beat-b", among) for among in (THREE, THREE[::-1], [*THREE, "beat-a"])]
    assert all(one == other for one, other in pairwise(shares))


def test_one_that_is_not_in_the_list_yet_counts_itself_in() -> None:
    assert owned("beat-d", THREE) == owned("beat-d", [*THREE, "beat-d"])
    assert owned("alone", []) == list(range(COUNT))


def test_ids_of_jobs_fall_on_all_shards() -> None:
    assert {shard_of(uuid4()) for _ in range(8000)} == set(range(COUNT))
