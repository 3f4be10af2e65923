"""Odd sets: every division keeps what is asked of them, and shares of a half do not."""

from __future__ import annotations

from itertools import chain

import numpy as np

from tclose.algorithms.two_diversity.parity import is_odd, violated_sets
from tests.oracles.groups import set_partitions
from tests.seeds import for_seeds


def test_every_division_has_an_odd_group_to_every_odd_set() -> None:
    for groups in set_partitions(range(7)):
        if {len(group) for group in groups} <= {2, 3}:
            lines = np.array([[*group, group[-1]][:3] for group in groups])
            for bits in range(1 << 7):
                members = np.array([bool(bits >> row & 1) for row in range(7)])
                expected = [len([row for row in group if members[row]]) % 2 == 1 for group in groups]
                assert is_odd(lines, members).tolist() == expected
                assert members.sum() % 2 == 0 or any(expected)


def test_half_a_triangle_is_found() -> None:
    groups = np.array([[0, 1, 1], [1, 2, 2], [0, 2, 2], [3, 4, 4]])
    (members,) = violated_sets(groups, np.array([0.5, 0.5, 0.5, 1.0]), 5)
    assert np.flatnonzero(members).tolist() == [0, 1, 2]


def test_whole_shares_break_nothing() -> None:
    assert violated_sets(np.array([[0, 1, 1], [2, 3, 4]]), np.ones(2), 5) == []


@for_seeds(30)
def test_what_is_found_is_odd_and_violated(seed: int) -> None:
    """On shares of odd cycles and random triples, all scaled by a half."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(16)
    cycles = [rows[:5], rows[5:8], rows[8:16]]
    lines = [sorted((one, other)) for cycle in cycles for one, other in zip(cycle, np.roll(cycle, 1), strict=True)]
    groups = np.array([[one, other, other] for one, other in lines])
    found = violated_sets(groups, np.full(len(groups), 0.5), 16)
    for members in found:
        assert members.sum() % 2 == 1
        assert 0.5 * is_odd(groups, members).sum() < 1
    assert {frozenset(np.flatnonzero(members).tolist()) for members in found} >= {
        frozenset(cycle.tolist()) for cycle in cycles[:2]
    }
    assert set(chain.from_iterable(np.flatnonzero(members).tolist() for members in found)) <= set(rows[:8].tolist())
