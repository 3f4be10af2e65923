"""Discernibility: how many rows each row looks like."""

from __future__ import annotations

import numpy as np

from tclose.evaluation.utility.reading_back import ReadBack


def discernibility(released: ReadBack) -> int:
    """Sum over classes of size^2; a suppressed row counts all n rows (Bayardo and Agrawal, 2005).

    A row is suppressed if it is left out, or if every quasi-identifier of it is hidden.

    Examples
    --------
    >>> import polars as pl
    >>> from tclose.evaluation.utility.reading_back import read_release
    >>> from tclose.schema.schema import Schema
    >>> schema = Schema.from_dict({"k": 2, "quasi": {"sex": {"kind": "categorical"}}})
    >>> table = pl.DataFrame({"sex": ["f", "f", "f", "m"]})
    >>> discernibility(read_release(table, pl.DataFrame({"sex": ["f", "f", "*", "*"]}), schema))  # 2^2 + 2 * 4
    12
    """
    sizes = released.sizes[~released.hidden.all(axis=0)]
    return int(np.sum(sizes * sizes)) + released.n_suppressed * len(released.table)
