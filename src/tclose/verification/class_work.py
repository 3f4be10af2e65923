"""The Earth Mover's Distance of every class from the whole table, by closed forms of the grounds that have one.

Let a class of s rows hold value v in c(v) of them and the table of n rows in N(v). All work is measured
in units of 1/(n s), so that the mass of v to be moved is the integer n c(v) - s N(v).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.verification.exact_numbers import ExactIntegers
from tclose.verification.ground_definitions import LineGround, StarGround, TreeGround
from tclose.verification.released_classes import ClassCounts

EPSILON = 2.0**-53  # half the gap of doubles at 1: what one rounding may change, relatively


class ClassWork(Protocol):
    """What measures classes under one ground.

    Attributes
    ----------
    unit
        The distance of a class is its work over its rows and this.
    """

    @property
    def unit(self) -> int:
        """What work is counted in, beside the rows of a class."""

    def work(self, block: ClassCounts) -> ExactIntegers | None:
        """The work of each class as integers; None if that would need more than 64 bits, or a solver."""

    def bounds(self, block: ClassCounts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Floats that the distance of each class is proven to lie between."""

    def exact(self, size: int, codes: NDArray[np.int64], counts: NDArray[np.int64]) -> Fraction:
        """The distance of one class."""


def around(shares: NDArray[np.float64], error: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bounds of distances that are known up to an error."""
    return shares - error, shares + error


@dataclass(frozen=True)
class StarWork:
    """Equal distances: all that is too much in some value has to move, once each way.

    EMD = sum over v of max(c(v)/s - N(v)/n, 0), which only values in the class add to.
    """

    reference: NDArray[np.int64]
    n_rows: int

    @property
    def unit(self) -> int:
        """Work is counted in 1 / (n s)."""
        return self.n_rows

    def work(self, block: ClassCounts) -> ExactIntegers:
        """Sum of max(n c - s N, 0): both products and the sum are at most n^2."""
        kind: Any = np.int64 if self.n_rows < 2**31 else object
        sizes = np.repeat(block.sizes, block.kinds).astype(kind)
        moved = self.n_rows * block.counts.astype(kind) - sizes * self.reference[block.codes].astype(kind)
        return np.asarray(np.add.reduceat(np.maximum(moved, 0), block.starts))

    def bounds(self, block: ClassCounts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Integers until the last division."""
        return around(shares_of(self.work(block), block.sizes, self.unit), 8 * EPSILON)

    def exact(self, size: int, codes: NDArray[np.int64], counts: NDArray[np.int64]) -> Fraction:
        """The same sum as a fraction."""
        return Fraction(int(self.work(one_class(size, codes, counts))[0]), size * self.unit)


@dataclass(frozen=True)
class LineWork:
    """Values on a line: what is to the left of a gap and too much has to cross it.

    EMD = sum over neighbouring values of (gap / length) |C/s - Q/n|, where C and Q are the rows of class
    and table up to the gap. Between two values of the class C stays and Q rises, so s Q - n C changes its
    sign once at most, at a place found by bisection; on either side of it the sum is a difference of
    prefix sums S of Q times gap.
    """

    ground: LineGround
    reference: NDArray[np.int64]
    n_rows: int

    @cached_property
    def below(self) -> NDArray[np.int64]:
        """Q: the rows of the table up to each value."""
        return np.cumsum(self.reference)

    @property
    def unit(self) -> int:
        """Work is counted in 1 / (n s length)."""
        return self.n_rows * (self.ground.length or 1)

    @cached_property
    def points(self) -> ExactIntegers:
        """Where the values are, from the first on."""
        points = self.ground.points
        return np.asarray(points - points[0]) if len(points) else points

    @cached_property
    def areas(self) -> NDArray[np.int64]:
        """S in 64 bits: at each value, the sum of Q times gap over all gaps before it, at most n times length."""
        return np.concatenate([[0], np.cumsum(self.below[:-1] * np.diff(self.points))]).astype(np.int64)

    @cached_property
    def wide_areas(self) -> ExactIntegers:
        """S in Python integers."""
        gaps, areas = np.diff(self.points), np.empty(len(self.points), object)
        areas[:] = [0, *accumulate(int(q) * int(gap) for q, gap in zip(self.below[:-1], gaps, strict=True))]
        return areas

    @cached_property
    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Points over length, S over n times length, and how far off the latter are.

        All terms of S are positive, so the relative error of each stays that of the sum; adding them
        adds one rounding each, in the longest floats there are.
        """
        length, long = self.ground.length or 1, np.longdouble
        if self.points.dtype == object:
            points = np.array([int(point) / length for point in self.points])
            gaps = np.array([int(gap) / length for gap in np.diff(self.points)])
        else:
            points, gaps = self.points / float(length), np.diff(self.points) / float(length)
        terms = self.below[:-1].astype(long) * gaps / self.n_rows
        areas = np.concatenate([np.zeros(1, long), np.cumsum(terms, dtype=long)])
        error = 5 * EPSILON + (len(areas) + 4) * float(np.finfo(long).eps)
        return points, areas.astype(np.float64), error

    def work(self, block: ClassCounts) -> ExactIntegers | None:
        """Sum of |n C - s Q| gap, if 4 n s length stays below 2^63: no part of the sum is larger."""
        if not self._fits(int(block.sizes.max(initial=0))):
            return None
        return self._work(block, self.points, self.areas)

    def bounds(self, block: ClassCounts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same sum in floats: each term is off by that of four areas and some roundings of numbers up to 2."""
        points, areas, error = self.shares
        x, a, b, cumulated = self._segments(block)
        held = cumulated / np.repeat(block.sizes, block.kinds)
        terms = held * (2 * points[x] - points[a] - points[b]) + (areas[a] + areas[b] - 2 * areas[x])
        shares = np.add.reduceat(terms, block.starts) + areas[block.codes[block.starts]]
        return around(shares, (int(block.kinds.max(initial=0)) + 1) * (4 * error + 32 * EPSILON))

    def _fits(self, largest: int) -> bool:
        return 4 * self.n_rows * largest * max(self.ground.length, 1) < 2**63 and self.points.dtype != object

    def exact(self, size: int, codes: NDArray[np.int64], counts: NDArray[np.int64]) -> Fraction:
        """The same sum as a fraction, in Python integers where 64 bits do not suffice."""
        block = one_class(size, codes, counts)
        if self._fits(size):
            work = self._work(block, self.points, self.areas)
        else:
            work = self._work(block, self.points.astype(object), self.wide_areas)
        return Fraction(int(work[0]), size * self.unit)

    def _segments(self, block: ClassCounts) -> tuple[NDArray[np.int64], ...]:
        """Of each value of a class: where s Q reaches n C, the value, the next one (the last of all), and C."""
        codes, starts, kinds = block.codes, block.starts, block.kinds
        cumulated = np.cumsum(block.counts)
        cumulated -= np.repeat(cumulated[starts] - block.counts[starts], kinds)
        after = np.append(codes[1:], self.ground.size - 1)
        after[starts[1:] - 1] = self.ground.size - 1
        held = -(-self.n_rows * cumulated // np.repeat(block.sizes, kinds))  # n C / s, rounded up
        turn = np.clip(np.searchsorted(self.below, held), codes, after)
        return turn, codes, after, cumulated

    def _work(self, block: ClassCounts, points: ExactIntegers, areas: ExactIntegers) -> ExactIntegers:
        """Sum of |n C - s Q| gap over each class.

        From value a to turn x, n C is above s Q; from there to the next value b it is below:
        n C (x - a) - s (S(x) - S(a)) + s (S(b) - S(x)) - n C (b - x).
        """
        x, a, b, cumulated = self._segments(block)
        spread = np.repeat(block.sizes, block.kinds)
        if points.dtype == object:
            spread, cumulated = spread.astype(object), cumulated.astype(object)
        terms = self.n_rows * cumulated * (2 * points[x] - points[a] - points[b])
        terms += spread * (areas[a] + areas[b] - 2 * areas[x])
        first = block.sizes * areas[block.codes[block.starts]]  # before the first value of a class C is 0
        return np.asarray(np.add.reduceat(terms, block.starts) + first)


@dataclass(frozen=True)
class TreeWork:
    """Leaves of a tree: what is below a node and too much has to leave it.

    Give the edge above a node the length (height of its parent - its own height) / 2. All leaves have
    height 0, at whatever depth, so the way from a leaf up to a node is half the node's height, and the way
    between two leaves is the height of their lowest common ancestor: distances are those of a tree with
    lengths. There EMD = sum over edges of length |C/s - Q/n|, with C and Q the rows below the edge.
    """

    ground: TreeGround
    reference: NDArray[np.int64]
    n_rows: int

    @cached_property
    def edges(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        """For each depth: the node of each value there (-1: none), twice the length above each node, and its Q."""
        ground, levels = self.ground, []
        for depth in range(1, max(map(len, ground.ways), default=1)):
            nodes = np.array([way[depth] if depth < len(way) else -1 for way in ground.ways], np.int64)
            lengths = np.zeros(len(ground.parents) + 1, np.int64)  # the last is for none
            for node in set(nodes.tolist()) - {-1}:
                lengths[node] = ground.heights[ground.parents[node]] - ground.heights[node]
            below = np.zeros(len(ground.parents) + 1, np.int64)
            np.add.at(below, nodes, self.reference)
            levels.append((nodes, lengths, below))
        return levels

    @property
    def unit(self) -> int:
        """Work is counted in 1 / (2 n s height)."""
        return 2 * max(self.ground.heights[0], 1) * self.n_rows

    def work(self, block: ClassCounts) -> ExactIntegers:
        """Twice the sum of length |n C - s Q|: s Q where nothing of the class is, corrected where something is.

        The ways of all mass are at most 2 height n s together, and no part of the sum is four times that.
        """
        kind: Any = np.int64 if 4 * self.unit * self.n_rows < 2**63 else object
        sizes = block.sizes.astype(kind)
        work = sizes * sum(int((lengths * below).sum()) for _, lengths, below in self.edges)
        classes = np.repeat(np.arange(len(block.starts)), block.kinds)
        borders = np.diff(classes, prepend=-1) != 0
        for nodes, lengths, below in self.edges:
            at = nodes[block.codes]
            runs = np.flatnonzero((np.diff(at, prepend=-2) != 0) | borders)
            held = np.add.reduceat(block.counts, runs).astype(kind)
            node, owner = at[runs], classes[runs]
            expected = sizes[owner] * below[node].astype(kind)
            extra = lengths[node].astype(kind) * (abs(self.n_rows * held - expected) - expected)
            work += np.add.reduceat(extra, np.flatnonzero(np.diff(owner, prepend=-1)))
        return work

    def bounds(self, block: ClassCounts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Integers until the last division."""
        return around(shares_of(self.work(block), block.sizes, self.unit), 8 * EPSILON)

    def exact(self, size: int, codes: NDArray[np.int64], counts: NDArray[np.int64]) -> Fraction:
        """The same sum as a fraction."""
        return Fraction(int(self.work(one_class(size, codes, counts))[0]), size * self.unit)


def one_class(size: int, codes: NDArray[np.int64], counts: NDArray[np.int64]) -> ClassCounts:
    """The counts of a single class."""
    return ClassCounts(0, np.array([size], np.int64), np.zeros(1, np.int64), codes, counts)


def shares_of(work: ExactIntegers, sizes: NDArray[np.int64], unit: int) -> NDArray[np.float64]:
    """Work over rows and unit as floats, each off by a few roundings."""
    if work.dtype == object:
        return np.array([int(each) / (int(size) * unit) for each, size in zip(work, sizes, strict=True)])
    return np.asarray(work / (sizes * float(unit)), np.float64)


def closed_form(ground: StarGround | LineGround | TreeGround, reference: NDArray[np.int64], n_rows: int) -> ClassWork:
    """What measures classes under a ground that has a closed form."""
    if isinstance(ground, StarGround):
        return StarWork(reference, n_rows)
    if isinstance(ground, LineGround):
        return LineWork(ground, reference, n_rows)
    return TreeWork(ground, reference, n_rows)
