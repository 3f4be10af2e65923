"""Losses as whole numbers of any length: what decides between partitions that floats cannot tell apart."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from tclose.table.axes import Axis, SpanAxis, TreeAxis
from tclose.table.encode import EncodedTable

Places = NDArray[np.int32]

LONGEST = 2**51  # a float times a larger scale may be the next whole number


@dataclass(frozen=True, eq=False)
class WholeCosts:
    """What classes lose, counted in the `unit`-th part of a lost row.

    Attributes
    ----------
    unit
        How many parts a lost row has.
    factors
        What the loss of each axis is multiplied by.
    """

    table: EncodedTable
    unit: int
    factors: tuple[int, ...]

    @classmethod
    def of(cls, table: EncodedTable) -> WholeCosts | None:
        """None where an axis has ends of too many digits."""
        parts = [weight_of(axis) / parts_of(axis) if weight_of(axis) else Fraction(0) for axis in table.axes]
        if not all(parts):
            return None
        unit = lcm(*(part.denominator for part in parts))
        return cls(table, unit, tuple(int(part * unit) for part in parts))

    def of_groups(self, groups: list[list[int]]) -> list[int]:
        """What the rows of each group lose together as a class."""
        return [lost * len(group) for lost, group in zip(self.of_rows(groups), groups, strict=True)]

    def of_rows(self, groups: list[list[int]]) -> list[int]:
        """What one row of each group loses."""
        totals = [0] * len(groups)
        if not groups:
            return totals
        for axis, places, factor in zip(self.table.axes, self.table.places, self.factors, strict=True):
            low = np.array([places[group].min() for group in groups], np.int32)
            high = np.array([places[group].max() for group in groups], np.int32)
            for place, lost in enumerate(whole_losses(axis, low, high)):
                totals[place] += factor * lost
        return totals

    def loss_of(self, labels: NDArray[np.int64]) -> float:
        """The loss of a partition, rounded once: sums of floats may be above it by more."""
        return float(Fraction(self.of_labels(labels), self.unit * len(labels)))

    def of_labels(self, labels: NDArray[np.int64]) -> int:
        """What a partition loses."""
        order = np.argsort(labels, kind="stable")
        cuts = np.flatnonzero(np.diff(labels[order])) + 1
        return sum(self.of_groups([rows.tolist() for rows in np.split(order, cuts)]))


def parts_of(axis: Axis) -> int:
    """The number of parts in which the losses of an axis are whole."""
    return axis.scale if isinstance(axis, SpanAxis) else max(int(axis.hierarchy.leaf_counts[0]), 1)


def weight_of(axis: Axis) -> Fraction:
    """The share of an axis in the loss, exactly; 0 if its ends have too many digits."""
    return axis.share if parts_of(axis) < LONGEST else Fraction(0)


def whole_losses(axis: Axis, low: Places, high: Places) -> list[int]:
    """The loss of each span, in parts.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> from tclose.table.encode import encode
    >>> from tclose.table.source import read
    >>> schema = tclose.Schema.from_dict({"k": 1, "quasi": {"age": {"kind": "numeric"}}})
    >>> axis = encode(read(pl.DataFrame({"age": [20, 30, 50]})), schema).axes[0]
    >>> parts_of(axis), whole_losses(axis, np.array([0, 1], np.int32), np.array([1, 2], np.int32))
    (30, [10, 20])
    """
    parts = parts_of(axis)
    if isinstance(axis, TreeAxis):
        found: list[int] = np.rint(axis.cost(low, high) * parts).astype(np.int64).tolist()
        return found
    lows, highs = (np.rint(ends * parts).astype(np.int64) for ends in (axis.lows, axis.highs))
    last = len(lows)
    return [
        (0 if left == right else parts) if right == last else int(highs[right] - lows[left])
        for left, right in zip(low.tolist(), high.tolist(), strict=True)
    ]


def cheapest_way(
    whole: int, options: Callable[[int], Iterable[tuple[int, int]]], most_steps: int, go: Callable[[], bool]
) -> tuple[int, list[int]] | None:
    """The least cost of going from a number down to 0, and the steps taken.

    `options` gives, for what is left, what may be taken off, and its cost. None if there is no way, if
    finding it takes too long, or if it is stopped.

    Examples
    --------
    >>> cheapest_way(5, lambda left: [(size, size * size) for size in (1, 2) if size <= left], 100, lambda: True)
    (5, [1, 1, 1, 1, 1])
    """
    best: dict[int, tuple[int, int]] = {whole: (0, 0)}
    ahead, steps = [-whole], 0
    while ahead and ahead[0]:
        left = -heapq.heappop(ahead)
        cost = best[left][0]
        for taken, price in options(left):
            steps += 1
            rest = left - taken
            known = best.get(rest)
            if known is None:
                heapq.heappush(ahead, -rest)
            if known is None or cost + price < known[0]:
                best[rest] = cost + price, taken
        if steps > most_steps or not go():
            return None
    if 0 not in best:
        return None
    way, left = list[int](), 0
    while left < whole:
        way.append(best[left][1])
        left += way[-1]
    return best[0][0], way
