"""The best division: against all partitions of a few rows, and against a plain integer program of more."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from tclose.algorithms.control import Control
from tclose.algorithms.two_diversity.matching import SHORT, Gaps, match
from tclose.algorithms.two_diversity.parity import is_odd
from tclose.algorithms.two_diversity.small_groups import GroupCosts
from tclose.table.encode import EncodedTable
from tests.algorithms.two_diversity.random_tables import random_table
from tests.oracles.groups import cheapest_groups, is_two_diverse, least_cost
from tests.seeds import for_seeds

RECODINGS = pytest.mark.parametrize("recode", ["suppress", "generalize"])


def lost(table: EncodedTable, group: list[int]) -> float:
    """How many rows' worth a group loses, axis by axis."""
    each = 0.0
    for axis, places in zip(table.axes, table.places, strict=True):
        low, high = places[group].min(keepdims=True), places[group].max(keepdims=True)
        each += axis.weight * float(axis.cost(low, high)[0])
    return len(group) * each


def check(table: EncodedTable, codes: list[int], best: float, seed: int) -> None:
    costs = GroupCosts.of(table, np.unique(codes, return_inverse=True)[1].astype(np.int32), np.random.default_rng(seed))
    found = match(costs, Control())
    groups = [sorted(set(group)) for group in found.groups.tolist()]
    assert sorted(row for group in groups for row in group) == list(range(len(codes)))
    assert all(len({codes[row] for row in group}) == len(group) for group in groups)
    assert sum(lost(table, group) for group in groups) == pytest.approx(best, abs=1e-6)
    assert found.optimal
    assert not found.stopped
    assert found.bound / costs.units == pytest.approx(best, abs=1e-6)
    assert found.bound / costs.units <= best + 1e-9


def check_all(seed: int, recode: str, sensitive: bool) -> None:
    """Against all partitions into 2-diverse classes (of two rows or more), not only pairs and triples."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    table, _, values = random_table(rng, n, recode, sensitive)
    best = least_cost(n, lambda group: lost(table, group), lambda group: is_two_diverse([values[row] for row in group]))
    check(table, values, best, seed)


@RECODINGS
@pytest.mark.parametrize("sensitive", [True, False], ids=["2-diverse", "2-anonymous"])
@for_seeds(120, at_a_time=40)
@pytest.mark.everyday(2)
def test_no_partition_is_better(seed: int, recode: str, sensitive: bool) -> None:
    check_all(seed, recode, sensitive)


@RECODINGS
@for_seeds(60, at_a_time=30)
def test_an_integer_program_finds_the_same(seed: int, recode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without odd sets shares are halves, and whole groups are asked for."""
    monkeypatch.setitem(match.__globals__, "violated_sets", lambda groups, shares, n: [])
    check_all(seed, recode, sensitive=False)


@pytest.mark.slow
@RECODINGS
@pytest.mark.parametrize("sensitive", [True, False], ids=["2-diverse", "2-anonymous"])
@for_seeds(8, at_a_time=2)
def test_against_a_program_over_all_pairs_and_triples(seed: int, recode: str, sensitive: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 31))
    table, _, values = random_table(rng, n, recode, sensitive)
    groups = [group for size in (2, 3) for group in combinations(range(n), size)]
    groups = [group for group in groups if len({values[row] for row in group}) == len(group)]
    best = cheapest_groups(groups, [lost(table, list(group)) for group in groups], n)
    check(table, values, best, seed)


@for_seeds(40)
def test_gaps_are_what_their_definition_says(seed: int) -> None:
    """Costs less the worth of rows and of the odd sets to which a group is odd; and none below is left out."""
    rng = np.random.default_rng(seed)
    n = 8
    table, _, values = random_table(rng, n, "suppress", sensitive=False)
    costs = GroupCosts.of(table, np.array(values, np.int32), rng)
    sets = [members for members in rng.random((6, n)) < 0.5 if members.sum() % 2]
    worth = rng.random(len(sets)) * 3
    pairs = np.array([[i, j, j] for i, j in combinations(range(n), 2)])
    triples = np.array(list(combinations(range(n), 3)))

    def gaps_of(groups: Any, rows: Any) -> Any:
        gaps = costs.of_groups(groups) - [sum(rows[row] for row in set(group)) for group in groups.tolist()]
        for members, each in zip(sets, worth, strict=True):
            gaps = gaps - each * is_odd(groups, members)
        return gaps

    rows = rng.random(n)
    rows -= max(0.0, -gaps_of(pairs, rows).min() / 2)  # so that no pair falls short
    members = np.array(sets, float).reshape(-1, n)
    both = (members * worth[:, None]).T @ members
    gaps = Gaps(costs, members, worth, rows + np.diag(both), both)
    for limit in (-SHORT, 0.5, 2.0, 5.0):
        for known, (found, missed) in ((pairs, gaps.pairs_below(limit)), (triples, gaps.triples_below(limit))):
            expected = gaps_of(known, rows)
            clear = np.abs(expected - limit) > 1e-9
            assert {tuple(group) for group in found.tolist()} >= {
                tuple(group) for group in known[clear & (expected < limit)].tolist()
            }
            assert missed == pytest.approx(gaps_of(found, rows) if len(found) else missed)
            assert (missed < limit).all()


def test_stopped_at_once_it_still_divides() -> None:
    table, _, values = random_table(np.random.default_rng(3), 40, "generalize")
    costs = GroupCosts.of(table, np.array(values, np.int32), np.random.default_rng(0))
    control = Control()
    control.end()
    found = match(costs, control)
    best = match(costs, Control())
    assert found.stopped
    assert not found.optimal
    assert sorted(set(found.groups.ravel().tolist())) == list(range(40))
    assert found.bound <= best.bound
    assert costs.in_all(best.groups) < costs.in_all(found.groups)
