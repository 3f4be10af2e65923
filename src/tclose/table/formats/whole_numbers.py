"""Whole numbers that a format holds as floating-point ones, for want of another type."""

from __future__ import annotations

import polars as pl

LARGEST = 1 << 53  # from here on a double no longer tells whole numbers apart


def as_whole(column: pl.Series) -> pl.Series:
    """Doubles as whole numbers, if all of them are; else, and whatever is no double, as it is.

    Examples
    --------
    >>> as_whole(pl.Series([1.0, None])).to_list(), as_whole(pl.Series([1.0, 2.5])).to_list()
    ([1, None], [1.0, 2.5])
    """
    if column.dtype != pl.Float64:
        return column
    column = column.fill_nan(None)
    known = column.drop_nulls()
    if not len(known) or not known.is_finite().all() or not (known.abs() < LARGEST).all():
        return column
    return column.cast(pl.Int64) if (known == known.floor()).all() else column
