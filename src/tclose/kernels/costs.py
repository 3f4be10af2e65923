"""What a span of places costs, in constant time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.compile import kernel

# Columns of the table of costs: whether it is a tree, the place for missing values, where in `data` its
# lows and highs begin (a line) or its sparse table does (a tree), and the entries of that a level. Then, -1 where there
# is none: where what single places cost begins (a tree), and how far a span may reach from each place (a line), behind
# which stands what it costs beyond.
IS_TREE, LAST, LOWS, HIGHS, LEVELS, WIDTH, OWN, REACH = range(8)
N_COLUMNS = 8


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
        cost = data[table[HIGHS] + high] - data[table[LOWS] + low]
        if table[REACH] >= 0 and high > data[table[REACH] + low]:
            cost += data[table[REACH] + last]
        return float(cost)
    if low == high:
        return float(data[table[OWN] + low]) if table[OWN] >= 0 else 0.0
    level, length = 0, high - low
    while 2 << level <= length:
        level += 1
    row = table[LEVELS] + level * table[WIDTH]
    return float(max(data[row + low], data[row + high - (1 << level)]))
