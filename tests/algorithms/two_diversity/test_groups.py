"""Pairs and triples: lemma 2, the simplex condition, and what groups cost."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from tclose.algorithms.shared.cost_step import cost_step
from tclose.algorithms.two_diversity.small_groups import BLUR, GroupCosts, divide, labels_of
from tclose.datasets import census
from tclose.table.encode import encode
from tclose.table.source import read
from tests.algorithms.flat_tables import flat_table
from tests.algorithms.two_diversity.random_tables import random_table
from tests.oracles.groups import is_two_diverse, splits, stars
from tests.seeds import for_seeds


@pytest.mark.parametrize("n", range(1, 11))
def test_lemma_2(n: int) -> None:
    """Rows can be parted into pairs and triples of distinct values if and only if they are 2-diverse."""
    for values in combinations_with_replacement(range(5), n):
        counts = tuple(values.count(value) for value in range(5))
        assert splits(counts) == is_two_diverse(values), values


@for_seeds(300, at_a_time=50)
def test_the_first_division_has_distinct_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    values = np.zeros(n, np.int32)
    while not is_two_diverse(values.tolist()):
        values = rng.integers(0, rng.integers(2, n + 2), n).astype(np.int32)
    pairs = np.abs(np.subtract.outer(*[rng.random(n)] * 2))
    labels = labels_of(divide(pairs, values, np.arange(n)), n)
    sizes = np.bincount(labels)
    assert set(sizes.tolist()) <= {2, 3}
    assert (sizes == 3).sum() == n % 2
    assert len(set(zip(labels.tolist(), values.tolist(), strict=True))) == n


@pytest.mark.parametrize("recode", ["suppress", "generalize"])
@for_seeds(40)
def test_the_simplex_condition(seed: int, recode: str) -> None:
    """A triple costs no less than half of what its pairs cost together, and a row never less than in a pair."""
    rng = np.random.default_rng(seed)
    table, _, values = random_table(rng, 7, recode, sensitive=False)
    costs = GroupCosts.of(table, np.array(values, np.int32), rng)
    for i, j, k in np.stack(np.nonzero(np.ones((7, 7, 7))), axis=1):
        if i < j < k:
            triple = costs.of_groups(np.array([[i, j, k]]))[0]
            pairs = [costs.pairs[i, j], costs.pairs[i, k], costs.pairs[j, k]]
            assert triple / 3 >= max(pairs) / 2 - 1e-9
            assert 2 * triple >= sum(pairs) - 1e-9


def test_costs_are_stars_and_a_blur() -> None:
    rows = [(0, 1, 2), (0, 1, 3), (4, 1, 2), (0, 1, 2)]
    costs = GroupCosts.of(flat_table(rows), np.arange(4, dtype=np.int32), np.random.default_rng(0))
    assert costs.is_whole
    assert costs.units == 3
    groups = np.array([[0, 1, 1], [0, 3, 3], [0, 1, 2]])
    expected = [stars(rows, [0, 1]), stars(rows, [0, 3]), stars(rows, [0, 1, 2])]
    found = costs.of_groups(groups)
    assert np.floor(found).tolist() == expected
    assert (found - expected < BLUR * 3 / 4).all()
    assert (found != expected).all()
    assert costs.whole_part(5.2) == 5
    assert costs.whole_part(5.8) == 6


def test_units_of_tables() -> None:
    assert cost_step(flat_table([(0, 1), (1, 0)]), 10_000) == Fraction(1, 2)
    assert cost_step(flat_table([(0, 1), (-1, 0)]), 10_000) == Fraction(1, 2)
    frame, schema = census(200, seed=1)
    table = encode(read(frame), schema)
    step = cost_step(table, 10_000)
    shares = [axis.weight * axis.cost(low, high) for axis, (low, high) in zip(table.axes, table.spans(
        np.arange(200) // 2, 100), strict=True)]  # fmt: skip
    assert step is None or all(
        np.allclose(share / float(step), np.rint(share / float(step)), atol=1e-6) for share in shares
    )
