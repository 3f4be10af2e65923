"""How far each class is from the whole table, exactly; numpy and integers, kernels only propose."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.distances import Form, Line, Transport, Tree
from tclose.table.classes import Tally
from tclose.table.least_work import least_works

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Distances:
    """The distance of every class, as integers: (n a - s b) / (n s denominator).

    Attributes
    ----------
    a, b
        One entry a class, of int64 or of Python's integers.
    sizes
        s of each class.
    n, denominator
        The same for all classes.
    floats
        The distances as floats, within 1e-12.
    """

    a: NDArray[Any]
    b: NDArray[Any]
    sizes: Integers
    n: int
    denominator: int
    floats: NDArray[np.float64]

    def exact(self, place: int) -> Fraction:
        """The distance of one class."""
        s = int(self.sizes[place])
        return Fraction(self.n * int(self.a[place]) - s * int(self.b[place]), self.n * s * self.denominator)

    def largest(self) -> Fraction:
        """The largest distance: floats find the candidates, integers decide among them."""
        near = np.flatnonzero(self.floats >= self.floats.max() - 1e-9)
        if self.a.dtype == object:
            return max(map(self.exact, near.tolist()))
        different = np.unique(np.stack([self.a[near], self.b[near], self.sizes[near]]), axis=1, return_index=True)[1]
        return max(self.exact(int(place)) for place in near[different])


def class_distances(form: Form, tally: Tally) -> Distances:
    """The distances of all classes of a tally."""
    n = int(tally.reference.sum())
    if isinstance(form, Transport):
        return transport_distances(form.costs, form.denominator, tally)
    if isinstance(form, Line):
        a, b = tally.by_class(lambda piece: np.stack(_line_terms(form, piece, n)))
        denominator = form.span
    else:
        a, b = tally.by_class(lambda piece: np.stack(_tree_terms(form, piece, n)))
        denominator = form.denominator
    s = tally.sizes.astype(np.float64)
    return Distances(a, b, tally.sizes, n, denominator, (a / s - b / n) / denominator)


def transport_distances(costs: Integers, denominator: int, tally: Tally) -> Distances:
    """The same where no tree has the distance: ground distances are costs / denominator."""
    n = int(tally.reference.sum())
    works = tally.by_class(lambda piece: least_works(costs, piece, n))
    scale = n * denominator
    floats = np.array([int(work) / (int(size) * scale) for work, size in zip(works, tally.sizes, strict=True)])
    return Distances(works, np.zeros_like(works), tally.sizes, 1, scale, floats)


def _line_terms(form: Line, tally: Tally, n: int) -> tuple[Integers, Integers]:
    """Sums over the stretches between the values of a class, on which its cumulative count is constant.

    On a stretch with count c the edges where n c >= s N come first (N grows): there the term is
    width (n c - s N), after them its negative.
    """
    last = form.size - 1
    below = np.cumsum(tally.reference)
    area = np.concatenate([[0], np.cumsum(np.diff(form.positions) * below[:-1])])
    running = np.cumsum(tally.count)
    before = running[tally.start] - tally.count[tally.start]
    owner = tally.owner
    count = running - before[owner]
    low = tally.code
    high = np.append(low[1:], last)
    high[np.append(tally.start[1:], len(low)) - 1] = last
    turn = np.searchsorted(below, n * count // tally.sizes[owner], side="right")
    turn = np.clip(turn, low, high)
    a = count * (2 * form.positions[turn] - form.positions[low] - form.positions[high])
    b = 2 * area[turn] - area[low] - area[high]
    # Before the first value of a class the count is 0, and every edge adds s N width.
    return np.add.reduceat(a, tally.start), np.add.reduceat(b, tally.start) - area[low[tally.start]]


def _tree_terms(form: Tree, tally: Tally, n: int) -> tuple[Integers, Integers]:
    """Sums over the nodes above the values of a class; all other nodes add s N weight."""
    n_nodes, n_classes = len(form.parents), len(tally.sizes)
    a, b = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    mass = np.zeros(n_nodes, np.int64)
    for level in range(form.paths.shape[1]):
        node = form.paths[:, level]
        np.add.at(mass, node[node >= 0], tally.reference[node >= 0])
    # A node can stand at different levels of different paths: all pairs of class and node are joined first.
    keys, counts, above = [], [], tally.owner
    for level in range(form.paths.shape[1]):
        node = form.paths[tally.code, level].astype(np.int64)
        known = node >= 0
        keys.append(above[known] * n_nodes + node[known])
        counts.append(tally.count[known])
    pairs, back = np.unique(np.concatenate(keys), return_inverse=True)
    count = np.zeros(len(pairs), np.int64)
    np.add.at(count, back, np.concatenate(counts))
    owner, node = pairs // n_nodes, pairs % n_nodes
    sign = np.where(n * count >= tally.sizes[owner] * mass[node], 1, -1) * form.weights[node]
    np.add.at(a, owner, sign * count)
    np.add.at(b, owner, sign * mass[node] + form.weights[node] * mass[node])
    return a, b - int((form.weights * mass).sum())
