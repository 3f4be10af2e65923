"""The classification metric: how well classes agree with a label."""

from __future__ import annotations

import numpy as np

from tclose.evaluation.utility.label import released_labels
from tclose.evaluation.utility.reading_back import ReadBack


def classification_metric(released: ReadBack, label: str) -> float:
    """The share of rows that do not have the most frequent label of their class (Iyengar, 2002).

    A suppressed row (left out, or with every quasi-identifier hidden) counts as one of them.

    Parameters
    ----------
    released
        A release beside its original.
    label
        A column that is released as it is: a sensitive attribute, or one of `keep`.

    Examples
    --------
    >>> import polars as pl
    >>> from tclose.evaluation.utility.reading_back import read_release
    >>> from tclose.schema.schema import Schema
    >>> schema = Schema.from_dict({"k": 2, "quasi": {"sex": {"kind": "categorical"}}, "keep": ["buys"]})
    >>> table = pl.DataFrame({"sex": ["f", "f", "f", "m"], "buys": ["yes", "yes", "no", "no"]})
    >>> classification_metric(read_release(table, table, schema), "buys")
    0.25
    """
    column = released_labels(released, label)
    size = len(column.values)
    pairs, counts = np.unique(released.labels * size + column.codes, return_counts=True)
    most = np.zeros(len(released.sizes), np.int64)
    np.maximum.at(most, pairs // size, counts)
    most[released.hidden.all(axis=0)] = 0
    return 1 - int(most.sum()) / len(released.table)
