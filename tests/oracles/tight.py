"""What the kernels of `tight` compute, as one would explain it: lists of rows, and all ways tried."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

Class = frozenset[int]
Box = list[tuple[int, int]]


@dataclass(frozen=True)
class Rows:
    """Numbered rows, and what is asked of a class of them.

    Attributes
    ----------
    places
        The place of each row on every axis.
    weights
        Of each axis.
    span_cost
        span_cost(axis, low, high): the loss of a span.
    close
        Whether a class is close and diverse, exactly.
    ratio
        The largest distance of a class over its t, of all attributes.
    k
        The least number of rows of a class.
    """

    places: Sequence[tuple[int, ...]]
    weights: Sequence[float]
    span_cost: Callable[[int, int, int], float]
    close: Callable[[Class], bool]
    ratio: Callable[[Class], float]
    k: int

    def box(self, rows: Iterable[int]) -> Box:
        """The lowest and highest place on each axis."""
        return [(min(column), max(column)) for column in zip(*(self.places[row] for row in rows), strict=True)]

    def loss(self, rows: Iterable[int]) -> float:
        """What one row loses in this class."""
        spans = enumerate(self.box(rows))
        return sum(self.weights[axis] * self.span_cost(axis, low, high) for axis, (low, high) in spans)

    def cost(self, rows: Iterable[int]) -> float:
        """What all rows of a class lose together."""
        members = list(rows)
        return len(members) * self.loss(members) if members else 0.0

    def total(self, classes: Iterable[Iterable[int]]) -> float:
        """What all rows of all classes lose."""
        return sum(map(self.cost, classes))

    def allowed(self, rows: Iterable[int]) -> bool:
        """Whether these rows may be a class."""
        members = frozenset(rows)
        return len(members) >= self.k and self.close(members)


def cuts(rows: Rows, members: Sequence[int]) -> dict[tuple[int, int], float]:
    """All cuts with k rows on both sides, by axis and last place on the left; and what each saves."""
    found = {}
    for axis in range(len(rows.weights)):
        for place in {rows.places[row][axis] for row in members}:
            left, right = sides(rows, members, axis, place)
            if min(len(left), len(right)) >= rows.k:
                found[axis, place] = rows.cost(members) - rows.cost(left) - rows.cost(right)
    return found


def sides(rows: Rows, members: Sequence[int], axis: int, place: int) -> tuple[list[int], list[int]]:
    """The rows up to a place of an axis, and those behind it."""
    left = [row for row in members if rows.places[row][axis] <= place]
    return left, [row for row in members if row not in left]


def limit(size: int, k: int, n: int, slack: float) -> float:
    """1 - slack log(N / 2k) / log(n / 2k): 1 at 2k rows and below, 1 - slack at n and above; n is at least 3k."""
    log = math.log(size / 2 / k) / math.log(max(n, 3 * k) / 2 / k)
    return 1 - slack * min(max(log, 0), 1)


def least_cost(rows: Rows) -> float:
    """The least cost of all partitions whose classes are all allowed; infinite if there is none.

    The class of the lowest row left is one of all sets with that row; the others are then a
    smaller table.
    """
    price = {}
    n = len(rows.places)
    for mask in range(1, 2**n):
        members = [row for row in range(n) if mask >> row & 1]
        if rows.allowed(members):
            price[mask] = rows.cost(members)

    @cache
    def best(left: int) -> float:
        if not left:
            return 0.0
        lowest, least = left & -left, math.inf
        part = left
        while part:
            if part & lowest and part in price:
                least = min(least, price[part] + best(left ^ part))
            part = (part - 1) & left
        return least

    return best(2**n - 1)


def gain_of_move(rows: Rows, own: Class, other: Class, row: int) -> float:
    """What it saves to move a row from its class to another."""
    return rows.total([own, other]) - rows.total([own - {row}, other | {row}])


def best_swaps(rows: Rows, own: Class, other: Class, row: int) -> dict[int, float]:
    """What it saves to swap a row with each row of another class, if both are allowed after it."""
    found = {}
    for partner in other:
        left, right = own - {row} | {partner}, other - {partner} | {row}
        gain = rows.total([own, other]) - rows.total([left, right])
        if gain > 1e-7 and rows.allowed(left) and rows.allowed(right):
            found[partner] = gain
    return found
