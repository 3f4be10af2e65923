"""The general loss metric: how wide the released values are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tclose.errors import MeasureError
from tclose.evaluation.utility.reading_back import ReadBack


def general_loss(released: ReadBack, weights: Mapping[str, float] | None = None) -> float:
    """The general loss metric of 004 section 3.2, from 0 (all as it was) to 1 (nothing told).

    Sum over rows and quasi-identifiers of w IL, over the rows. IL of a number is the share of the
    range it covers, that of a category Leaves(a) / Leaves(tree), 0 for a single leaf. A row that is
    left out loses 1.

    Parameters
    ----------
    released
        A release beside its original.
    weights
        By column, in any unit; without them those of the schema.

    Examples
    --------
    >>> import polars as pl
    >>> from tclose.evaluation.utility.reading_back import read_release
    >>> from tclose.schema.schema import Schema
    >>> schema = Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}, "sex": {"kind": "categorical"}}})
    >>> table = pl.DataFrame({"age": [20, 30, 60], "sex": ["f", "f", "m"]})
    >>> shown = pl.DataFrame({"age": ["[20, 30]", "[20, 30]", "60"], "sex": ["*", "*", "m"]})
    >>> general_loss(read_release(table, shown, schema))  # (1/4 + 1) / 2 in two of three rows
    0.4166666666666667
    >>> general_loss(read_release(table, shown, schema), {"age": 1, "sex": 0})
    0.16666666666666666
    """
    shares = _shares(released, weights)
    cost = np.zeros(len(released.sizes))
    for share, axis, span in zip(shares, released.table.axes, released.spans, strict=True):
        cost += share * axis.cost(*span)
    return float((np.sum(cost * released.sizes) + released.n_dropped) / len(released.table))


def loss_by_column(released: ReadBack) -> dict[str, float]:
    """The loss of each quasi-identifier by itself."""
    columns = [quasi.column for quasi in released.schema.quasi]
    return {column: general_loss(released, {column: 1.0}) for column in columns}


def _shares(released: ReadBack, weights: Mapping[str, float] | None) -> list[float]:
    """The weight of each axis; those of one column share its weight as they do in the table."""
    axes = released.table.axes
    if weights is None:
        return [axis.weight for axis in axes]
    columns = [quasi.column for quasi in released.schema.quasi]
    unknown = [name for name in weights if name not in columns]
    if unknown:
        raise MeasureError(f"Not quasi-identifiers: {', '.join(unknown)}. Weigh some of: {', '.join(columns)}.")
    total = float(sum(weights.values()))
    if any(weight < 0 for weight in weights.values()) or not total > 0:
        raise MeasureError("Weights must be 0 or more, and some above 0.")
    of_column = {column: sum(axis.weight for axis in axes if axis.column == column) for column in columns}
    return [weights.get(axis.column, 0) / total * axis.weight / of_column[axis.column] for axis in axes]
