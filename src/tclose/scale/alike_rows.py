"""Rows that are alike: counted as one, and told apart by the number of each copy among its equals.

What is drawn for a row is drawn from its content, so that nothing depends on how the table was cut into pieces. Copies
of one row would then all go one way: a shard could not be cut below a row that occurs often, a sample would have all
copies or none, and halves at random would have half as many different rows. So copies are numbered. Which of them gets
which number does not matter, since they are the same; how many there are is a fact of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.scale.coded_pieces import ROW
from tclose.scale.row_keys import RowKeys, mixed

TIMES = "times"  # the name of the column that says how many rows are alike
COPY_SALT = 4


def alike(rows: pl.DataFrame) -> pl.DataFrame:
    """Coded rows, those that are alike as one, with how many they are; in the order of their hashes.

    Examples
    --------
    >>> alike(pl.DataFrame({"0": [1, 2, 1], ROW: [9, 5, 9]})).rows()
    [(2, 5, 1), (1, 9, 2)]
    """
    return _ordered(rows.group_by(rows.columns).agg(pl.len().cast(pl.Int64).alias(TIMES)))


def joined(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Rows of several parts that are alike as one.

    Examples
    --------
    >>> one = alike(pl.DataFrame({"0": [1, 1], ROW: [9, 9]}))
    >>> joined([one, one]).rows()
    [(1, 9, 4)]
    """
    rows = pl.concat(parts)
    return _ordered(rows.group_by([name for name in rows.columns if name != TIMES]).agg(pl.col(TIMES).sum()))


def copies(rows: pl.DataFrame, first: int, last: int) -> pl.DataFrame:
    """The rows from one place to another among all copies, each with a hash of its own.

    Examples
    --------
    >>> made = copies(alike(pl.DataFrame({"0": [1, 2, 1, 1], ROW: pl.Series([9, 5, 9, 9], dtype=pl.UInt64)})), 0, 3)
    >>> made["0"].to_list(), made[ROW].to_list()[:2], made[ROW].n_unique()
    ([2, 1, 1], [5, 9], 3)
    """
    times = rows[TIMES].to_numpy()
    ends = np.cumsum(times)
    places = np.arange(first, last)
    at = np.searchsorted(ends, places, "right")
    numbers = places - (ends - times)[at]
    made = rows.drop(TIMES)[at]
    return made.with_columns(pl.Series(ROW, _copy_keys(made[ROW].to_numpy(), numbers)))


def chunks(n_rows: int, size: int) -> Iterator[tuple[int, int]]:
    """Where to cut so many rows into pieces of about a size, all alike.

    Examples
    --------
    >>> [*chunks(10, 4)], [*chunks(0, 4)]
    ([(0, 5), (5, 10)], [])
    """
    n_chunks = max(round(n_rows / size), 1) if n_rows else 0
    for number in range(n_chunks):
        yield number * n_rows // n_chunks, (number + 1) * n_rows // n_chunks


def _copy_keys(keys: RowKeys, numbers: NDArray[np.int64]) -> RowKeys:
    """The first of several alike keeps its hash; the others get one from it and their number."""
    others = mixed(keys ^ mixed(numbers.astype(np.uint64), COPY_SALT), COPY_SALT)
    return np.where(numbers == 0, keys, others)


def _ordered(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.sort([name for name in rows.columns if name != TIMES][::-1])
