"""What a span of places costs, in constant time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.compile import kernel

# Columns of the table of costs: whether it is a tree, the place for missing values, where in `data` its
# lows and highs begin (a line) or its sparse table does (a tree), and the entries of that a level.
IS_TREE, LAST, LOWS, HIGHS, LEVELS, WIDTH = range(6)


class Costs(NamedTuple):
    """What a span of places costs on each axis: `table` says where in `data` an axis begins."""

    table: NDArray[np.int64]  # one row an axis, its columns named above
    data: NDArray[np.float64]  # ends of intervals, or sparse tables: at level j and i the largest of 2^j gaps from i on


@kernel
def span_cost(costs: Costs, axis: int, low: int, high: int) -> float:
    """The loss of a span: highs[high] - lows[low] on a line, the largest gap within it on a tree."""
    last = costs.table[axis, LAST]
    if not costs.table[axis, IS_TREE]:
        if high == last:
            return 0.0 if low == last else 1.0
        return float(costs.data[costs.table[axis, HIGHS] + high] - costs.data[costs.table[axis, LOWS] + low])
    if low == high:
        return 0.0
    level, length = 0, high - low
    while 2 << level <= length:
        level += 1
    row = costs.table[axis, LEVELS] + level * costs.table[axis, WIDTH]
    return float(max(costs.data[row + low], costs.data[row + high - (1 << level)]))
