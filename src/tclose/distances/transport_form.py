"""A distance that no tree has, as a transport problem in integers: a matrix, or the mean of several distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.distances.line import Line
from tclose.distances.linkage import linkage
from tclose.distances.tree import Tree

Integers = NDArray[np.int64]
LARGEST = 2**50  # of a common denominator: lengths of ways, which are sums of costs, then fit 64 bits
SHORT = 2**62


@dataclass(frozen=True, eq=False)
class Transport:
    """Any metric within [0, 1]: the ground distances of all pairs of values.

    No tree has it, so the Earth Mover's Distance is a transport problem. Costs and masses are
    integers, and so is the solution.

    The values of a joint are combinations, and the distance of two is the mean over the columns of
    their ground distances, which is a metric too. The distance of each column is at most that many
    times the joint one as there are columns: of any plan between two joint distributions, forget all
    columns but the i-th. What is left is a plan between the distributions of that column, so EMD_i is
    at most its work w_i. The work of the plan is the mean of all w_i. With the best plan,
    EMD_1 + ... + EMD_c <= c EMD.

    Attributes
    ----------
    costs
        The ground distance of each value from each other, times the denominator.
    denominator
        The same for all.

    Examples
    --------
    >>> line = Line(np.arange(3), 2)
    >>> joint = Transport.of([line, line], np.array([[0, 0], [0, 2], [2, 2]]))
    >>> joint.costs.tolist(), joint.denominator
    ([[0, 1, 2], [1, 0, 1], [2, 1, 0]], 2)
    >>> joint.distance(np.array([0, 0, 2]), np.array([2, 1, 1]))
    Fraction(5, 8)
    """

    costs: Integers
    denominator: int

    @classmethod
    def of(cls, forms: Sequence[Line | Tree | Transport], cells: NDArray[Any]) -> Transport:
        """The mean of several distances over some combinations: one row each, its codes side by side.

        Raises
        ------
        OverflowError
            The columns have no common denominator that 64-bit integers can take.
        """
        parts = [ground_distances(form, cells[:, place]) for place, form in enumerate(forms)]
        common = lcm(*(under for _, under in parts))
        if len(parts) * common >= LARGEST:
            raise OverflowError
        costs = np.sum([over * (common // under) for over, under in parts], axis=0)
        divisor = int(np.gcd.reduce(costs, axis=None, initial=len(parts) * common))
        return cls(costs // divisor, len(parts) * common // divisor)

    def coarser(self, largest: int) -> Transport:
        """No ground distance smaller, and the denominator at most so large.

        Rounded up, it still is a metric: ceil(a + b) <= ceil(a) + ceil(b).
        """
        if self.denominator <= largest:
            return self
        costs = [[-(-cost * largest // self.denominator) for cost in row] for row in self.costs.tolist()]
        return Transport(np.array(costs, np.int64).reshape(self.costs.shape), largest)

    @cached_property
    def pairs(self) -> Integers:
        """Which values lie together: pairs whose groups are joined, nearest first."""
        return linkage(self.costs)

    @property
    def size(self) -> int:
        """The number of values in the domain."""
        return len(self.costs)

    @property
    def distances(self) -> NDArray[np.float64]:
        """The ground distances in floats, for searching only."""
        return self.costs / self.denominator

    def emd(self, p: Sequence[Fraction], q: Sequence[Fraction]) -> Fraction:
        """The distance between two normalized distributions."""
        surplus, scale = _surplus(p, q)
        return Fraction(self._solve(surplus).work, scale * self.denominator)

    def moves(self, p: Sequence[Fraction], q: Sequence[Fraction]) -> list[tuple[int, int, Fraction]]:
        """A plan of least work; what both have at the same place stays there."""
        surplus, scale = _surplus(p, q)
        found = self._solve(surplus)
        pairs = zip(*np.nonzero(found.flows), strict=True)
        ends = [(int(found.few[i]), int(found.many[j]), Fraction(int(found.flows[i, j]), scale)) for i, j in pairs]
        return sorted(ends if surplus[found.few[:1]].sum() > 0 else [(j, i, mass) for i, j, mass in ends])

    def distance(self, counts: Integers, reference: Integers) -> Fraction:
        """The same for rows counted: of a class and of the reference."""
        n, s = int(reference.sum()), int(counts.sum())
        return Fraction(self._solve(n * counts - s * reference).work, n * s * self.denominator)

    def _solve(self, surplus: NDArray[Any]) -> Plan:
        """The least work that takes all surplus, which sums to 0, to where it is needed."""
        from tclose.kernels.transport import carry

        few, many = np.flatnonzero(surplus > 0), np.flatnonzero(surplus < 0)
        if len(many) < len(few):
            few, many = many, few
        supply: NDArray[Any] = abs(surplus[few])
        need: NDArray[Any] = abs(surplus[many])
        flows, rises, falls = (np.zeros(shape, surplus.dtype) for shape in ((len(few), len(many)), len(few), len(many)))
        costs = np.ascontiguousarray(self.costs[np.ix_(many, few)].astype(surplus.dtype))
        solve = carry if surplus.dtype == np.int64 else getattr(carry, "py_func", carry)
        if len(few):
            solve(costs, supply, need, self.denominator, -1, flows, rises, falls)
        return Plan(few, many, flows, _dot(supply, rises) + _dot(need, falls))


@dataclass(frozen=True, eq=False)
class Plan:
    """How mass goes between some places and others, the fewer first, and its work."""

    few: Integers
    many: Integers
    flows: NDArray[Any]
    work: int


def ground_distances(form: Line | Tree | Transport, codes: NDArray[Any]) -> tuple[Integers, int]:
    """Of each of some values from each other: integers, and what to divide them by."""
    if isinstance(form, Line):
        positions = form.positions[codes]
        return abs(positions[:, None] - positions[None, :]), form.span
    if isinstance(form, Transport):
        return form.costs[np.ix_(codes, codes)], form.denominator
    # From the root down, two paths are one until they part; the weights from there on down are on the way.
    paths = form.paths[codes]
    weights = np.where(paths >= 0, form.weights[paths], 0)
    way = weights.sum(axis=1)[:, None] + weights.sum(axis=1)[None, :]
    for place in range(paths.shape[1]):
        shared = (paths[:, place, None, None] == paths[None, :, :]).any(axis=2) & (paths[:, place, None] >= 0)
        way -= 2 * shared * weights[:, place, None]
    return way, form.denominator


def _surplus(p: Sequence[Fraction], q: Sequence[Fraction]) -> tuple[NDArray[Any], int]:
    """p - q as integers, and what they are to be divided by."""
    scale = lcm(*(mass.denominator for mass in (*p, *q)))
    exact = np.int64 if scale < SHORT else object
    return np.array([int((left - right) * scale) for left, right in zip(p, q, strict=True)], exact), scale


def _dot(masses: NDArray[Any], heights: NDArray[Any]) -> int:
    """The sum of products, of any length."""
    return sum(int(mass) * int(height) for mass, height in zip(masses, heights, strict=True))
