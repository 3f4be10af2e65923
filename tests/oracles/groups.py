"""The best partition of a handful of rows, by trying all of them.

A group of rows is a set of bits: row r is in it where bit r is set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache
from math import inf

import numpy as np
from numpy.typing import NDArray

Row = Sequence[Hashable]


def set_partitions(rows: Sequence[int]) -> Iterator[list[list[int]]]:
    """All ways to part the rows into groups: the last joins a group of the others, or stands alone."""
    if not rows:
        yield []
        return
    *others, last = rows
    for groups in set_partitions(others):
        yield [*groups, [last]]
        for place, group in enumerate(groups):
            yield [*groups[:place], [*group, last], *groups[place + 1 :]]


@cache
def as_bits(n: int) -> NDArray[np.int64]:
    """One line a partition of n rows: the bits of its groups, then zeros."""
    lines = [[sum(1 << row for row in group) for group in groups] for groups in set_partitions(range(n))]
    return np.array([line + [0] * (n - len(line)) for line in lines])


def least_cost(n: int, cost: Callable[[list[int]], float], allowed: Callable[[list[int]], bool]) -> float:
    """The least cost of all partitions of n rows whose groups are all allowed; infinite if there is none."""
    costs = np.zeros(1 << n)
    for bits in range(1, 1 << n):
        group = [row for row in range(n) if bits >> row & 1]
        costs[bits] = cost(group) if allowed(group) else inf
    return float(costs[as_bits(n)].sum(axis=1).min())


def stars(rows: Sequence[Row], group: Sequence[int]) -> int:
    """How many cells of the group are suppressed (002 section 2): every column on which it does not agree."""
    columns = zip(*(rows[row] for row in group), strict=True)
    return len(group) * sum(len(set(column)) > 1 for column in columns)


def is_two_diverse(values: Sequence[Hashable]) -> bool:
    """Whether no value has more than half of the rows."""
    return 2 * max(Counter(values).values()) <= len(values)


def splits(counts: tuple[int, ...]) -> bool:
    """Whether rows, so many of each value, can be parted into pairs and triples of distinct values."""
    left = [value for value, count in enumerate(counts) if count]
    if not left:
        return True
    groups: list[tuple[int, ...]] = [(left[0], second) for second in left[1:]]
    groups += [(left[0], second, third) for second in left[1:] for third in left[1:] if second < third]
    return any(splits(tuple(count - (value in group) for value, count in enumerate(counts))) for group in groups)


def cheapest_groups(groups: Sequence[Sequence[int]], costs: Sequence[float], n: int) -> float:
    """The least cost of groups that cover each of n rows once, by an integer program over all of them."""
    from scipy.optimize import LinearConstraint, milp
    from scipy.sparse import csr_matrix

    sizes = [len(group) for group in groups]
    rows = [row for group in groups for row in group]
    covers = csr_matrix((np.ones(len(rows)), (rows, np.repeat(range(len(groups)), sizes))), shape=(n, len(groups)))
    found = milp(costs, constraints=LinearConstraint(covers, 1, 1), integrality=np.ones(len(groups)))
    assert found.status == 0, found.message
    return float(found.fun)
