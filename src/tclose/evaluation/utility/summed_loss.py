"""The loss of 003: leaves beyond the first, and columns added up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.evaluation.utility.reading_back import ReadBack
from tclose.table.axes import Axis, TreeAxis


def summed_loss(released: ReadBack) -> float:
    """The loss of 003 equation (1), from 0 to the number of quasi-identifiers.

    Sum over rows and quasi-identifiers of IL, over the rows. IL of a number is the share of the
    range it covers, that of a category (LN_n - 1) / (LN - 1) for LN_n of LN leaves. A row that is
    left out loses all.

    Examples
    --------
    >>> import polars as pl
    >>> from tclose.evaluation.utility.reading_back import read_release
    >>> from tclose.schema.schema import Schema
    >>> schema = Schema.from_dict({
    ...     "k": 2, "quasi": {"job": {"kind": "categorical", "hierarchy": {"x": ["a", "b"], "y": ["c"]}}},
    ... })
    >>> shown = pl.DataFrame({"job": ["x", "x", "c"]})
    >>> summed_loss(read_release(pl.DataFrame({"job": ["a", "b", "c"]}), shown, schema))  # 1/2 in two of three rows
    0.3333333333333333
    """
    table = released.table
    cost = np.zeros(len(released.sizes))
    for axis, (low, high) in zip(table.axes, released.spans, strict=True):
        n_axes = sum(other.column == axis.column for other in table.axes)  # several for kind digits
        cost += _cost(axis, low, high) / n_axes
    total = np.sum(cost * released.sizes) + released.n_dropped * len(released.schema.quasi)
    return float(total / len(table))


def _cost(axis: Axis, low: NDArray[np.int32], high: NDArray[np.int32]) -> NDArray[np.float64]:
    if not isinstance(axis, TreeAxis):
        return axis.cost(low, high)
    cost = np.where(low == high, 0.0, 1.0)  # mixed with missing all is lost
    inner = high < len(axis.leaves)
    counts = axis.hierarchy.leaf_counts
    cost[inner] = (counts[axis.cover(low[inner], high[inner])] - 1) / max(int(counts[0]) - 1, 1)
    return cost
