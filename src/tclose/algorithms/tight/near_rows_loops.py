"""The rows nearest each row: beside it along curves, then the nearest of these."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.tight.boxes_loops import BoxSpace
from tclose.algorithms.tight.moving_loops import Paths
from tclose.kernels.compile import inner, kernel
from tclose.kernels.costs import span_cost

Places = NDArray[np.int32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class SpanTable(NamedTuple):
    """What spans lose, their axis weighed: looked up on axes of few places, which takes far less time."""

    axes: Integers  # of each axis where it begins in `losses`, -1 where it has too many places, and how many it has
    losses: Floats


class NearRows(NamedTuple):
    """The rows found nearest each, the nearest first."""

    rows: Places
    away: NDArray[np.float32]  # how far each is


@inner
def span_loss(space: BoxSpace, spans: SpanTable, axis: int, low: int, high: int) -> float:
    """What a span adds to the loss of a row."""
    begin = spans.axes[axis, 0]
    if begin >= 0:
        return float(spans.losses[begin + low * spans.axes[axis, 1] + high])
    return float(space.weights[axis] * span_cost(space.costs, axis, low, high))


@kernel
def fill_spans(space: BoxSpace, spans: SpanTable) -> None:
    """Find what all spans of axes with few places lose."""
    for axis in range(len(spans.axes)):
        begin, size = spans.axes[axis, 0], spans.axes[axis, 1]
        if begin >= 0:
            for low in range(size):
                for high in range(low, size):
                    lost = space.weights[axis] * span_cost(space.costs, axis, low, high)
                    spans.losses[begin + low * size + high] = lost


@inner
def apart(space: BoxSpace, spans: SpanTable, row: int, other: int) -> float:
    """What a class of these two rows would lose a row."""
    total = 0.0
    for axis in range(len(spans.axes)):
        one, two = space.rows[row, axis], space.rows[other, axis]
        total += span_loss(space, spans, axis, min(one, two), max(one, two))
    return total


@inner
def note(near: Places, by: NDArray[np.float32], known: int, row: int, away: float) -> int:
    """Put a row among the nearest, in their order; returns how many are known then."""
    place = known if known < len(near) else known - 1
    while place > 0 and by[place - 1] > away:
        by[place], near[place] = by[place - 1], near[place - 1]
        place -= 1
    by[place], near[place] = away, row
    return min(known + 1, len(near))


@kernel
def near_along(
    space: BoxSpace, spans: SpanTable, paths: Paths, reach: int, first: int, last: int, found: NearRows,
    halt: NDArray[np.bool_],
) -> None:  # fmt: skip
    """The rows nearest each of some rows, of those beside it along the paths, and how far they are.

    A row that finds too few is its own neighbour in the places left.
    """
    near, by, orders = found.rows, found.away, paths.orders
    n, wanted = near.shape
    marks = np.full(n, -1, np.int64)
    for row in range(first, last):
        marks[row], known = row, 0
        for path in range(len(orders)):
            place = paths.places[path, row]
            for beside in range(max(place - reach, 0), min(place + reach + 1, n)):
                other = orders[path, beside]
                if marks[other] != row:
                    marks[other] = row
                    away = apart(space, spans, row, other)
                    if known < wanted or away < by[row, wanted - 1]:
                        known = note(near[row], by[row], known, other, away)
        for place in range(known, wanted):
            near[row, place], by[row, place] = row, np.inf
        if halt[0]:
            return


@kernel
def near_beyond(
    space: BoxSpace, spans: SpanTable, before: Places, first: int, last: int, found: NearRows, halt: NDArray[np.bool_]
) -> None:
    """Look for rows that are nearer still among the nearest of those found before."""
    near, by = found.rows, found.away
    n, wanted = near.shape
    marks = np.full(n, -1, np.int64)
    for row in range(first, last):
        marks[row] = row
        for place in range(wanted):
            marks[before[row, place]] = row
        for place in range(wanted // 2):
            for beyond in range(wanted // 2):
                other = before[before[row, place], beyond]
                if marks[other] != row:
                    marks[other] = row
                    away = apart(space, spans, row, other)
                    if away < by[row, wanted - 1]:
                        note(near[row], by[row], wanted, other, away)
        if halt[0]:
            return
