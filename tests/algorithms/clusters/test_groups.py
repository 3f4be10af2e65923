"""How groups are cut, and what classes take of them."""

from __future__ import annotations

import numpy as np
import pytest

from tclose.algorithms.clusters.groups import adjusted, in_order, spread
from tests.seeds import for_seeds


@for_seeds(60)
def test_every_class_has_its_share_and_no_row_is_left(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 40, int(rng.integers(1, 9)))
    n_classes = int(rng.integers(1, 12))
    sizes = spread(counts, n_classes)
    taken = sizes.kinds[sizes.sequence]
    assert taken.shape == (n_classes, len(counts))
    assert (taken.sum(axis=0) == counts).all()
    assert ((taken == counts // n_classes) | (taken == -(-counts // n_classes))).all()
    assert np.ptp(taken.sum(axis=1)) <= 1


@pytest.mark.parametrize("n", range(1, 60))
def test_fewer_rows_are_left_over_than_there_are_classes(n: int) -> None:
    """What 003 adjusts k for; with its number of groups no class takes more than one of them."""
    for k in range(1, n + 1):
        n_groups = adjusted(n, k)
        assert n_groups >= k
        n_classes = n // n_groups
        assert n % n_groups < max(n_classes, 1)
        owners = in_order(np.arange(n), n_groups)
        sizes = spread(np.bincount(owners), n_classes)
        assert sizes.kinds.min() == 1
        assert sizes.kinds.sum(axis=1).max() <= n_groups + 1


def test_what_is_left_over_is_in_the_middle() -> None:
    for n, k, expected in ((17, 5, [3, 3, 5, 3, 3]), (18, 4, [4, 5, 5, 4]), (19, 4, [4, 6, 5, 4]), (12, 3, [4, 4, 4])):
        assert np.bincount(in_order(np.arange(n), k)).tolist() == expected


def test_groups_follow_the_order() -> None:
    order = np.random.default_rng(1).permutation(50)
    assert (np.diff(in_order(order, 7)[order]) >= 0).all()
