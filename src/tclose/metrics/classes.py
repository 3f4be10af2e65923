"""Classes of a table as it stands: rows that agree on some columns, and how often each value occurs in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.columns import codes_of

Integers = NDArray[np.int64]


def group(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[Integers, int]:
    """The class of each row, numbered from 0, and how many there are; nulls are alike.

    One column after the other is folded into a single key, so that no more than a few
    arrays are held at once.

    Examples
    --------
    >>> group(pl.DataFrame({"a": ["x", None, "x"], "b": [1, 1, 1]}), ["a", "b"])
    (array([1, 0, 1]), 2)
    """
    key = np.zeros(len(frame), np.int64)
    size = 1
    for name in columns:
        column = frame[name]
        distinct = column.drop_nulls().unique().sort()
        codes = codes_of(column, distinct).astype(np.int64) + 1
        if size * (len(distinct) + 1) >= 2**62:
            distinct_keys, key = np.unique(key, return_inverse=True)
            size = len(distinct_keys)
        key = key * (len(distinct) + 1) + codes
        size *= len(distinct) + 1
    distinct_keys, key = np.unique(key, return_inverse=True)
    return key, len(distinct_keys)


@dataclass(frozen=True, eq=False)
class Tally:
    """How often each value occurs in each class; only pairs that occur, by class and value.

    Attributes
    ----------
    owner, code, count
        One entry a pair of class and value.
    start
        The first entry of each class.
    sizes
        The rows of each class.
    reference
        The rows with each value in the whole table.
    """

    owner: Integers
    code: Integers
    count: Integers
    start: Integers
    sizes: Integers
    reference: Integers

    @classmethod
    def of(cls, classes: Integers, n_classes: int, codes: NDArray[np.int32], size: int) -> Tally:
        """Count the codes (0 to size - 1) of the rows."""
        pairs, count = np.unique(classes * size + codes, return_counts=True)
        owner = pairs // size
        return cls(
            owner,
            pairs % size,
            count.astype(np.int64),
            np.searchsorted(owner, np.arange(n_classes)),
            np.bincount(classes, minlength=n_classes).astype(np.int64),
            np.bincount(codes, minlength=size).astype(np.int64),
        )
