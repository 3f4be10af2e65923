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
    table, data = costs.table[axis], costs.data
    last = table[LAST]
    if not table[IS_TREE]:
        if high == last:
            return 0.0 if low == last else 1.0
        return float(data[table[HIGHS] + high] - data[table[LOWS] + low])
    if low == high:
        return 0.0
    level, length = 0, high - low
    while 2 << level <= length:
        level += 1
    row = table[LEVELS] + level * table[WIDTH]
    return float(max(data[row + low], data[row + high - (1 << level)]))
