"""Suppressed cells: how many tell nothing."""

from __future__ import annotations

import numpy as np

from tclose.evaluation.utility.reading_back import ReadBack


def suppressed_cells(released: ReadBack) -> int:
    """The number of cells of quasi-identifiers that cover every value, those of rows left out among them.

    That is every `*`, and also an interval from the least to the largest value of a column without
    missing values. Each position of a column of kind digits is a cell.

    Examples
    --------
    >>> import polars as pl
    >>> from tclose.evaluation.utility.reading_back import read_release
    >>> from tclose.schema.schema import Schema
    >>> schema = Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}, "sex": {"kind": "categorical"}}})
    >>> table = pl.DataFrame({"age": [20, 30, 60], "sex": ["f", "f", "m"]})
    >>> shown = pl.DataFrame({"age": ["20", "[30, 60]", "*"], "sex": ["*", "*", "m"]})
    >>> suppressed_cells(read_release(table, shown, schema))
    3
    """
    return int(np.sum(released.hidden @ released.sizes)) + released.n_dropped * len(released.table.axes)
