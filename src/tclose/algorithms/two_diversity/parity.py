"""Odd sets of rows: they cannot be matched by pairs among themselves alone.

Whatever the division, to an odd set S there is a group with an odd number of its rows: a pair or a
triple with one row in S, or a triple with all three. For if all had an even number, so had S. The
shares of all such groups add up to 1 at least, and without triples these are the inequalities of
Edmonds that make a linear program find a perfect matching.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.two_diversity.small_groups import Floats, GroupRows, sizes

Members = NDArray[np.bool_]

TINY = 1e-6


def is_odd(groups: GroupRows, members: Members) -> NDArray[np.bool_]:
    """Which groups have an odd number of rows in a set.

    Examples
    --------
    >>> is_odd(np.array([[0, 1, 1], [0, 2, 2], [0, 1, 2]]), np.array([True, True, False])).tolist()
    [False, True, False]
    """
    inside = members[groups]
    odd: NDArray[np.bool_] = inside[:, 0] ^ inside[:, 1] ^ (inside[:, 2] & (sizes(groups) == 3))
    return odd


def violated_sets(groups: GroupRows, shares: Floats, n: int) -> list[Members]:
    """Odd sets whose groups' shares add up to less than 1, the least sum first.

    Rows of groups that are taken whole do not matter. Of the others, the two sets that share most
    are joined, again and again, and every odd set on the way is looked at. There may be others.
    """
    parted = (shares > TINY) & (shares < 1 - TINY)
    groups, shares = groups[parted], shares[parted]
    rows = np.unique(groups)
    shared = _shared(np.searchsorted(rows, groups), shares, len(rows))
    joined = np.eye(len(rows), dtype=bool)
    found: list[tuple[float, Members]] = []
    while len(rows) and (most := int(shared.argmax()), float(shared.max()))[1] > TINY:
        one, other = divmod(most, len(rows))
        shared[one] += shared[other]
        shared[:, one] = shared[one]
        shared[one, one] = 0.0
        shared[other] = 0.0
        shared[:, other] = 0.0
        joined[one] |= joined[other]
        if joined[one].sum() % 2:
            members = np.zeros(n, bool)
            members[rows[joined[one]]] = True
            total = float(shares[is_odd(groups, members)].sum())
            if total < 1 - TINY:
                found.append((total, members))
    return [members for _, members in sorted(found, key=lambda each: each[0])]


def _shared(groups: GroupRows, shares: Floats, n: int) -> Floats:
    """What each two rows have in common: the share of their pair, and half of that of a triple."""
    shared = np.zeros((n, n))
    triple = sizes(groups) == 3
    for one, other in ((0, 1), (0, 2), (1, 2)):
        weight = np.where(triple, shares / 2, shares if (one, other) == (0, 1) else 0.0)
        np.add.at(shared, (groups[:, one], groups[:, other]), weight)
    shared += shared.T
    np.fill_diagonal(shared, 0.0)
    return shared
