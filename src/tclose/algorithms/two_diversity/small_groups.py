"""Groups of two or three rows, what they cost, and a first division into such groups.

A group is a line (i, j, k) of three rows i < j <= k; of a pair the last stands there twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.shared.cost_step import cost_step
from tclose.table.encode import EncodedTable

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
GroupRows = NDArray[np.int64]

FINEST = 10_000  # the most units to a lost row in which costs are counted whole
UNITS = 10_000.0  # to a lost row where they are not whole
LINES = 4  # of random places, to tell groups apart that cost the same
BLUR = 0.5  # what these cost at most, all rows together


@dataclass(frozen=True, eq=False)
class GroupCosts:
    """What groups cost: the sum of the losses of their rows, in units.

    Attributes
    ----------
    table
        The rows.
    codes
        The sensitive value of each; a group has no value twice.
    units
        How many are a lost row.
    lines
        Where costs are whole, each row has a random place on a few short lines, and a group also
        costs its span there: less than `BLUR` in all, so that the best division stays the best,
        but few are equally good. Without that a program goes round among them for hours.
    """

    table: EncodedTable
    codes: NDArray[np.int32]
    units: float
    lines: Floats

    @classmethod
    def of(cls, table: EncodedTable, codes: NDArray[np.int32], rng: np.random.Generator) -> GroupCosts:
        """Take whole units if the losses of all spans are multiples of one."""
        step, n = cost_step(table, FINEST), len(table)
        lines = rng.random((LINES if step else 0, n)) * (BLUR / LINES / max(n, 1))
        return cls(table, codes, float(step.denominator if step else UNITS), lines)

    @property
    def is_whole(self) -> bool:
        """Whether the groups of a division cost whole units, and less than `BLUR` beyond."""
        return len(self.lines) > 0

    def of_groups(self, groups: GroupRows) -> Floats:
        """The cost of each group."""
        cost = self._of_rows(groups)
        for line in self.lines:
            cost += np.ptp(line[groups], axis=1)
        cost *= sizes(groups)
        return cost

    def _of_rows(self, groups: GroupRows) -> Floats:
        """The cost of a row of each group, without the lines."""
        cost = np.zeros(len(groups))
        for axis, places in zip(self.table.axes, self.table.places, strict=True):
            own = places[groups]
            cost += axis.weight * axis.cost(own.min(axis=1), own.max(axis=1))
        cost *= self.units
        return np.rint(cost) if self.is_whole else cost

    @cached_property
    def pairs(self) -> Floats:
        """The cost of each two rows as a pair, infinite for those of one sensitive value."""
        n = len(self.table)
        first, second = np.triu_indices(n, 1)
        costs = np.full((n, n), np.inf)
        costs[first, second] = self.of_groups(np.stack([first, second, second], axis=1))
        costs[self.codes[:, None] == self.codes] = np.inf
        symmetric: Floats = np.minimum(costs, costs.T)
        return symmetric

    def in_all(self, groups: GroupRows) -> float:
        """What a division into these groups costs."""
        return math.fsum(self.of_groups(groups))

    def whole_cost(self, groups: GroupRows) -> float:
        """What a division costs without the lines."""
        return math.fsum(self._of_rows(groups) * sizes(groups))

    def whole_part(self, cost: float) -> float:
        """The least that a division costs without the lines if with them it costs at least this much."""
        return max(math.ceil(cost - BLUR - 1e-6), 0) if self.is_whole else max(cost, 0.0)


def sizes(groups: GroupRows) -> Integers:
    """How many rows each group has."""
    return np.where(groups[:, 1] == groups[:, 2], 2, 3)


def labels_of(groups: GroupRows, n: int) -> Integers:
    """The group of each row."""
    labels = np.empty(n, np.int64)
    labels[groups.ravel()] = np.repeat(np.arange(len(groups)), 3)
    return labels


def divide(pairs: Floats, codes: NDArray[np.int32], rows: Integers) -> GroupRows:
    """Divide 2-diverse rows into pairs, and a triple if they are odd: the cheapest first, rarely the best.

    A value that has (s - 1) / 2 of the s rows left, or more, is pressing: a pair without it would
    leave rows that are not 2-diverse. Of four rows or more at most two values are (three would be
    more rows than there are), so a pair can have them all, and then no value has more than half of
    the rest. A value that presses goes on pressing. That is lemma 2 of 002 for any choice.

    Examples
    --------
    >>> pairs = np.abs(np.subtract.outer([1.0, 2, 3, 9], [1, 2, 3, 9]))
    >>> divide(pairs, np.array([0, 1, 2, 0], np.int32), np.arange(4)).tolist()
    [[0, 1, 1], [2, 3, 3]]
    """
    counts, left = np.bincount(codes[rows]), len(rows)
    first, second = (rows[side] for side in np.triu_indices(left, 1))
    order = np.argsort(pairs[first, second], kind="stable")
    first, second = first[order], second[order]
    apart = codes[first] != codes[second]
    first, second = first[apart], second[apart]
    alive = np.zeros(len(codes), bool)
    alive[rows] = True
    groups, n_pressing, at = [], 0, 0
    while left > 3:
        pressing = np.flatnonzero(2 * counts >= left - 1)
        if len(pressing) > n_pressing:
            first, second, n_pressing = first[at:], second[at:], len(pressing)
            fits = alive[first] & alive[second]
            for value in pressing:
                fits &= (codes[first] == value) | (codes[second] == value)
            first, second, at = first[fits], second[fits], 0
        while not (alive[first[at]] and alive[second[at]]):
            at += 1
        i, j = int(first[at]), int(second[at])
        groups.append((i, j, j))
        alive[[i, j]] = False
        counts[codes[[i, j]]] -= 1
        left -= 2
    last = np.flatnonzero(alive)
    if left:
        groups.append((int(last[0]), int(last[1]), int(last[-1])))
    return np.array(groups, np.int64).reshape(-1, 3)


def are_diverse(codes: NDArray[np.int32]) -> bool:
    """Whether no value has more than half of the rows."""
    return not len(codes) or 2 * int(np.bincount(codes).max()) <= len(codes)
