"""The distinct values of a column, and which of them stands in each row: read once, interpreted once a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError

TEXTS = (pl.String, pl.Categorical, pl.Enum)
TIMES = (pl.Date, pl.Datetime, pl.Time, pl.Duration)
FEW = 1 << 20
MINUS_ZERO = r"^-0+([.,]0*)?([eE][+-]?[0-9]+)?$"  # a text that writes zero with a sign


@dataclass(frozen=True)
class FactoredColumn:
    """A column as places into its distinct values.

    Attributes
    ----------
    codes
        The place of each row's value, -1 where the cell is null or a NaN.
    values
        The distinct values; in ascending order unless they are text.

    Examples
    --------
    >>> column = factorize(pl.Series([2.5, None, -0.0, 0.0, float("nan")]))
    >>> column.codes.tolist(), (column.values == pl.Series([0.0, 2.5])).all()
    ([1, -1, 0, 0, -1], True)
    """

    codes: NDArray[np.int32]
    values: pl.Series

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many rows hold each value."""
        return self.counts_with_null[1:]

    @property
    def counts_with_null(self) -> NDArray[np.int64]:
        """The number of null cells, then how many rows hold each value."""
        return np.bincount(self.codes + np.int32(1), minlength=len(self.values) + 1)

    def counts_of(self, times: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """The same where each row stands for so many of a larger table, and for itself if None.

        Examples
        --------
        >>> factorize(pl.Series(["a", None, "a"])).counts_of(np.array([2, 5, 1])).tolist()
        [5, 3]
        """
        if times is None:
            return self.counts_with_null
        total = np.zeros(len(self.values) + 1, np.int64)
        np.add.at(total, self.codes + 1, times)
        return total


def factorize(column: pl.Series) -> FactoredColumn:
    """Find the distinct values of a column of any type; a categorical one is read as its texts.

    Raises
    ------
    TableError
        Its type holds something else than single values: lists or records.
    """
    if isinstance(column.dtype, TEXTS):
        return _of_texts(column)
    if column.dtype == pl.Null:
        return FactoredColumn(np.full(len(column), -1, np.int32), pl.Series(column.name, [], pl.String))
    if column.dtype.is_float():
        return _by_order(column.fill_nan(None))  # polars takes -0.0 and 0.0 for equal
    if column.dtype == pl.Boolean:
        return _of_integers(column.cast(pl.Int64), lambda found: found.cast(pl.Boolean))
    if isinstance(column.dtype, TIMES) or column.dtype.is_integer() or column.dtype.is_decimal():
        return _of_physical(column)
    if column.dtype == pl.Binary:
        return _of_texts(column.bin.encode("hex"))
    kind = column.dtype.base_type().__name__  # without its parameters, among which may be values
    raise TableError(f"Column '{column.name}' is of type {kind}, which is not read. Convert it to text first.")


def _of_texts(column: pl.Series) -> FactoredColumn:
    """Let polars number the texts in a set of categories that nobody else uses."""
    texts = column.cast(pl.String)
    if not len(texts) or texts.null_count() == len(texts):
        return FactoredColumn(np.full(len(texts), -1, np.int32), pl.Series(column.name, [], pl.String))
    numbered = texts.cast(pl.Categorical(pl.Categories.random("judge", pl.UInt32)))
    found = numbered.unique().drop_nulls()
    numbers = found.to_physical().to_numpy().astype(np.int64)
    order = np.argsort(numbers)  # by where they first stand: nothing then depends on how polars collects them
    found, numbers = found.gather(pl.Series(order)), numbers[order]
    place = np.full(int(numbers.max()) + 2, -1, np.int32)  # the last is for null
    place[numbers] = np.arange(len(numbers), dtype=np.int32)
    codes = place[numbered.to_physical().fill_null(len(place) - 1).to_numpy()]
    return _with_one_zero(FactoredColumn(codes, found.cast(pl.String).alias(column.name)))


def is_minus_zero(texts: pl.Series) -> pl.Series:
    """Which texts write a zero with a minus sign; typed, it is the same number as without.

    Examples
    --------
    >>> is_minus_zero(pl.Series(["-0.0", "0.0", "-0", "-0.5", None])).to_list()
    [True, False, True, False, False]
    """
    return texts.str.contains(MINUS_ZERO).fill_null(False)


def _with_one_zero(found: FactoredColumn) -> FactoredColumn:
    """The same, a zero with a minus sign read as the text without it."""
    signed = is_minus_zero(found.values).to_numpy()
    if not signed.any():
        return found
    texts = [text[1:] if sign else text for text, sign in zip(found.values.to_list(), signed, strict=True)]
    first: dict[str, int] = {}
    table = np.array([*(first.setdefault(text, len(first)) for text in texts), -1], np.int32)
    return FactoredColumn(table[found.codes], pl.Series(found.values.name, list(first), pl.String))


def _of_physical(column: pl.Series) -> FactoredColumn:
    """Whole numbers, decimals and times are integers underneath: of 64 bits where they fit."""
    physical = column.to_physical()
    small = physical.cast(pl.Int64, strict=False)
    if small.null_count() > column.null_count() or column.dtype.is_decimal():
        return _by_order(column)
    return _of_integers(small, lambda found: found.cast(physical.dtype).cast(column.dtype))


def _of_integers(integers: pl.Series, restore: Callable[[pl.Series], pl.Series]) -> FactoredColumn:
    """Number integers by a table of those that occur if their span is short, else by rank."""
    nulls = integers.is_null().to_numpy() if integers.null_count() else None
    low, high = integers.min(), integers.max()
    if low is None or high is None:
        return FactoredColumn(np.full(len(integers), -1, np.int32), pl.Series(integers.name, [], pl.Int64))
    assert isinstance(low, int)
    assert isinstance(high, int)
    if high - low > max(FEW, 2 * len(integers)):
        return _by_order(integers, restore)
    offsets = integers.fill_null(low).to_numpy() - low
    occurs = np.zeros(high - low + 1, bool)
    occurs[offsets if nulls is None else offsets[~nulls]] = True
    codes = (np.cumsum(occurs, dtype=np.int32) - np.int32(1))[offsets]
    if nulls is not None:
        codes[nulls] = -1
    return FactoredColumn(codes, restore(pl.Series(integers.name, np.flatnonzero(occurs) + low)))


def _by_order(column: pl.Series, restore: Callable[[pl.Series], pl.Series] | None = None) -> FactoredColumn:
    """Number values by their rank among the distinct ones."""
    values = column.unique().drop_nulls().sort()
    if len(values) < len(column) // 64 and column.dtype.is_float():
        codes = np.searchsorted(values.to_numpy(), column.fill_null(0).to_numpy()).astype(np.int32)
        codes[column.is_null().to_numpy()] = -1
    else:
        codes = column.rank("dense").fill_null(0).to_numpy().astype(np.int32) - np.int32(1)
    return FactoredColumn(codes, restore(values) if restore else values)
