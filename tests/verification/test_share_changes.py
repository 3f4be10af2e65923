"""Rises and falls of shares, from their definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tclose.verification.released_classes import Grouping, count_values
from tclose.verification.share_changes import share_changes
from tests.seeds import for_seeds


@for_seeds(60)
def test_random_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, size = int(rng.integers(1, 40)), int(rng.integers(1, 7))
    labels = np.unique(rng.integers(0, 5, n), return_inverse=True)[1]
    codes = rng.integers(0, size, n).astype(np.int32)
    changes = []
    for label in set(labels.tolist()):
        members = codes[labels == label].tolist()
        for value in set(codes.tolist()):
            whole = Fraction(codes.tolist().count(value), n)
            changes.append((Fraction(members.count(value), len(members)) - whole, whole))
    blocks = count_values(Grouping(labels, np.bincount(labels)), codes, size)
    rise, fall = share_changes(np.bincount(codes, minlength=size), blocks)
    assert (rise.in_class - rise.table, rise.table) == max([*changes, (Fraction(0), Fraction(0))])
    assert fall.in_class - fall.table == min(change for change, _ in changes)


def test_a_class_that_lacks_a_value_falls_by_all_of_its_share() -> None:
    labels, codes = np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1], np.int32)
    rise, fall = share_changes(np.array([3, 1]), count_values(Grouping(labels, np.array([2, 2])), codes, 2))
    assert (rise.points, fall.points) == (25.0, -25.0)
    assert (rise.table, rise.in_class) == (Fraction(3, 4), Fraction(1))
