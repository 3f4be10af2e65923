"""Complete linkage: which values lie together, and which groups of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def linkage(costs: Integers) -> Integers:
    """Join the two groups that are nearest, until all are one; groups are as far apart as their farthest values.

    A chain goes from a group to its nearest until two are each other's nearest. Joining them makes
    no other pair nearer, so the chain goes on from where it was: O(m^2) for m values.

    Returns
    -------
    :
        Pairs of values, nearest first: the groups that they are in become one.

    Examples
    --------
    >>> linkage(np.array([[0, 9, 2], [9, 0, 8], [2, 8, 0]])).tolist()
    [[0, 2], [0, 1]]
    """
    m = len(costs)
    apart = costs.astype(np.float64)
    np.fill_diagonal(apart, np.inf)
    found: list[tuple[float, int, int]] = []
    chain, is_there = [0], np.ones(m, bool)
    while len(found) < m - 1:
        chain = chain or [int(is_there.argmax())]
        nearest = int(apart[chain[-1]].argmin())
        if len(chain) > 1 and apart[chain[-1], chain[-2]] == apart[chain[-1], nearest]:
            kept, gone = chain.pop(-2), chain.pop()
            found.append((float(apart[kept, gone]), kept, gone))
            apart[kept] = apart[:, kept] = np.maximum(apart[kept], apart[gone])
            apart[gone] = apart[:, gone] = np.inf
            is_there[gone] = False
        else:
            chain.append(nearest)
    found.sort(key=lambda pair: pair[0])
    return np.array([pair[1:] for pair in found], np.int64).reshape(-1, 2)


def groups_of(pairs: Integers) -> list[tuple[int, int]]:
    """The same by groups: value i of m is group i, and what pair i makes is group m + i.

    Examples
    --------
    >>> groups_of(np.array([[0, 2], [0, 1]]))
    [(0, 2), (3, 1)]
    """
    m = len(pairs) + 1
    inside, joined = list(range(m)), []
    for number, (left, right) in enumerate(pairs.tolist()):
        joined.append((_outermost(inside, left), _outermost(inside, right)))
        inside.append(m + number)
        for group in joined[-1]:
            inside[group] = m + number
    return joined


def _outermost(inside: list[int], group: int) -> int:
    while inside[group] != group:
        group = inside[group]
    return group
