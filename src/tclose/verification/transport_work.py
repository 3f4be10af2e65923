"""Classes under a distance without a closed form: bounds for all, the transport problem for those that matter."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.verification.class_work import EPSILON
from tclose.verification.exact_numbers import ExactIntegers
from tclose.verification.exact_transport import least_work
from tclose.verification.ground_definitions import Ground, integer_costs, is_metric
from tclose.verification.released_classes import ClassCounts

LANDMARKS = 64
SMALLEST = float(np.finfo(np.float64).tiny)
CELLS = 1 << 20  # of a table of classes by values, at a time


@dataclass(frozen=True)
class TransportWork:
    """A ground given by all its distances.

    Attributes
    ----------
    ground
        The domain.
    reference
        How often each of its values occurs in the table; work concerns only those that do.
    """

    ground: Ground
    reference: NDArray[np.int64]
    n_rows: int

    @cached_property
    def used(self) -> NDArray[np.int64]:
        """The values that occur."""
        return np.flatnonzero(self.reference)

    @cached_property
    def costs(self) -> tuple[ExactIntegers, int]:
        """Distances between the values that occur as integers, and what these are over."""
        return integer_costs(self.ground, self.used.tolist())

    @cached_property
    def stays(self) -> bool:
        """Whether mass that both have at a value may stay there: in a metric some best plan leaves it."""
        return is_metric(self.costs[0])

    @property
    def unit(self) -> int:
        """Work is counted in 1 / (n s unit of costs)."""
        return self.n_rows * self.costs[1]

    def work(self, block: ClassCounts) -> None:
        """There is no closed form."""

    def exact(self, size: int, codes: NDArray[np.int64], counts: NDArray[np.int64]) -> Fraction:
        """Solve the transport problem between a class and the table, in units of 1/(n s)."""
        supplies = np.zeros(len(self.used), object)
        supplies[np.searchsorted(self.used, codes)] = [self.n_rows * int(count) for count in counts]
        demands = size * self.reference[self.used].astype(object)
        if self.stays:
            common = np.minimum(supplies, demands)
            supplies, demands = supplies - common, demands - common
        rows, columns = np.flatnonzero(supplies), np.flatnonzero(demands)
        found = least_work(supplies[rows], demands[columns], self.costs[0][np.ix_(rows, columns)])
        return Fraction(found.work, size * self.unit)

    def bounds(self, block: ClassCounts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A distance is at least what any price without steps steeper than it sees, and at most the work of any plan.

        The distance from a landmark is such a price, and that from the nearest value of the class. Plans: spread
        all that is too much evenly over what is too little; and along a tree of some of the ways, in which a way
        between two values is never shorter than their distance.
        """
        if not self.stays:
            return np.zeros(len(block.sizes)), np.ones(len(block.sizes)) * float("inf")
        step = max(1, CELLS // len(self.used))
        pairs = [self._some_bounds(block, first, step) for first in range(0, len(block.sizes), step)]
        return np.concatenate([low for low, _ in pairs]), np.concatenate([high for _, high in pairs])

    def _some_bounds(
        self, block: ClassCounts, first: int, step: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Those of some classes of a block; sums of u numbers up to 1 are off by u roundings, u^2 along a tree."""
        sizes, kinds = block.sizes[first : first + step], block.kinds[first : first + step]
        begin = int(block.starts[first])
        inside = slice(begin, begin + int(kinds.sum()))
        excess = np.zeros((len(sizes), len(self.used)))
        owners = np.repeat(np.arange(len(sizes)), kinds)
        places = np.searchsorted(self.used, block.codes[inside])
        excess[owners, places] = block.counts[inside] / sizes[owners]
        excess -= self.reference[self.used] / self.n_rows
        error = 8 * (len(self.used) + 8) * EPSILON
        prices = self.shares[:, :: max(1, len(self.used) // LANDMARKS)]
        nearest = np.minimum.reduceat(self.shares[places], block.starts[first : first + step] - begin)
        low = np.maximum(np.abs(excess @ prices).max(axis=1), nearest @ (self.reference[self.used] / self.n_rows))
        much, little = np.maximum(excess, 0), np.maximum(-excess, 0)
        spread = ((much @ self.shares) * little).sum(axis=1) / np.maximum(little.sum(axis=1), SMALLEST)
        high = np.minimum.reduce([spread, *(self._along(excess, tree) for tree in self.trees)])
        return low - error, high + error * len(self.used)

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """The distances as floats."""
        costs, unit = self.costs
        if costs.dtype == object:
            return np.array([[int(cost) / unit for cost in row] for row in costs])
        return np.asarray(costs / float(unit))

    @cached_property
    def trees(self) -> list[list[tuple[int, int, float]]]:
        """Trees over the values as edges (below, above, length), leaves first: the shortest one, and the best star."""
        return [self._shortest_tree(), self._star()]

    def _star(self) -> list[tuple[int, int, float]]:
        shares = self.reference[self.used] / self.n_rows
        hub = int(np.argmin(self.shares @ shares))
        return [(value, hub, float(self.shares[value, hub])) for value in range(len(self.used)) if value != hub]

    def _shortest_tree(self) -> list[tuple[int, int, float]]:
        """Prim's algorithm, then from the last to the first."""
        near, above = self.shares[0].copy(), np.zeros(len(self.used), np.int64)
        left = np.ones(len(self.used), bool)
        left[0] = False
        edges = []
        while left.any():
            value = int(np.flatnonzero(left)[np.argmin(near[left])])
            edges.append((value, int(above[value]), float(near[value])))
            left[value] = False
            closer = self.shares[value] < near
            near[closer], above[closer] = self.shares[value][closer], value
        return edges[::-1]

    @staticmethod
    def _along(excess: NDArray[np.float64], tree: list[tuple[int, int, float]]) -> NDArray[np.float64]:
        """The work of each class along a tree: what is too much below an edge crosses it."""
        below = excess.T.copy()
        work = np.zeros(len(excess))
        for value, parent, length in tree:
            work += np.abs(below[value]) * length
            below[parent] += below[value]
        return work
