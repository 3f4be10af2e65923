"""Columns as codes: the distinct values once, and a small number a row.

All that reads a column works on its distinct values, and only then goes over the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Array = NDArray[Any]
FEW = 4096  # texts that Python looks up sooner than polars plans a join
PIECE = 1 << 18  # what is wider than a code exists for so many rows at a time, within the processor's cache


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column, coded.

    Attributes
    ----------
    values
        The distinct values, sorted, null last.
    codes
        For each row, the place of its value: unsigned integers of the least width.
    times
        How many rows of a larger table each row stands for; None where it stands for itself.

    Examples
    --------
    >>> column = CodedColumn.of(pl.Series("x", ["b", None, "a", "b"]))
    >>> column.values.to_list(), column.codes.tolist()
    (['a', 'b', None], [1, 2, 0, 1])
    """

    values: pl.Series
    codes: Array
    times: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, column: pl.Series) -> CodedColumn:
        """Code a column that is not nested; categories become plain text."""
        if column.dtype == pl.Categorical:
            column = column.cast(pl.Enum(column.unique().drop_nulls().cast(pl.String)))
        if isinstance(column.dtype, pl.Enum):
            places = cls.of(column.to_physical())
            return places.with_values(column.dtype.categories.gather(places.values).alias(column.name))
        if column.null_count():
            filled = cls.of(column.drop_nulls())
            size = len(filled.values)
            codes = np.full(len(column), size, _width(size + 1))
            codes[column.is_not_null().to_numpy()] = filled.codes
            return cls(filled.values.extend_constant(None, 1), codes)
        numbers = column.cast(pl.UInt8) if column.dtype == pl.Boolean else column.to_physical()
        if numbers.dtype.is_float() or (numbers.dtype.is_integer() and numbers.dtype not in (pl.Int128, pl.UInt128)):
            distinct, codes = _code_numbers(numbers)
            return cls(pl.Series(column.name, distinct).cast(numbers.dtype).cast(column.dtype), codes)
        values = column.unique().sort()
        if column.dtype == pl.String:  # an Enum codes texts several times faster than a join with them
            codes = column.cast(pl.Enum(values)).to_physical().to_numpy()
        else:
            codes = codes_of(column, values)
        return cls(values, codes.astype(_width(len(values)), copy=False))

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.values.name

    @property
    def n_rows(self) -> int:
        """The rows of the table that the column stands for."""
        return len(self.codes) if self.times is None else int(self.times.sum())

    @property
    def counts(self) -> NDArray[np.int64]:
        """The rows of each value."""
        counts = np.zeros(len(self.values), np.int64)
        if self.times is not None:
            np.add.at(counts, self.codes, self.times)
            return counts
        for rows in pieces(len(self)):
            counts += np.bincount(self.codes[rows], minlength=len(counts))
        return counts

    def spread(self, by_value: Array) -> Array:
        """What belongs to each value, for each row: `by_value[codes]` without widening all codes at once."""
        result = np.empty(len(self), by_value.dtype)
        for rows in pieces(len(self)):
            np.take(by_value, self.codes[rows], out=result[rows], mode="clip")
        return result

    def with_values(self, values: pl.Series) -> CodedColumn:
        """The same rows with other values in the places of these; those that are alike become one."""
        if values.equals(self.values, check_dtypes=True):
            return CodedColumn(values, self.codes, self.times)
        joined = CodedColumn.of(values)
        as_before = np.array_equal(joined.codes, np.arange(len(values)))
        return CodedColumn(joined.values, self.codes if as_before else self.spread(joined.codes), self.times)

    def followed_by(self, other: CodedColumn) -> CodedColumn:
        """The rows of this and then those of another, of the same type.

        Examples
        --------
        >>> column = CodedColumn.of(pl.Series(["b", "b"])).followed_by(CodedColumn.of(pl.Series(["a", "b"])))
        >>> column.values.to_list(), column.codes.tolist()
        (['a', 'b'], [1, 1, 0, 1])
        """
        joined = CodedColumn.of(pl.concat([self.values, other.values]))
        places = joined.codes[: len(self.values)], joined.codes[len(self.values) :]
        return CodedColumn(joined.values, np.concatenate([places[0][self.codes], places[1][other.codes]]))

    def take(self, rows: NDArray[np.int64] | slice) -> CodedColumn:
        """Some of the rows, and no value that only others have."""
        codes = self.codes[rows]
        seen = np.zeros(len(self.values), bool)
        for piece in pieces(len(codes)):
            seen[codes[piece]] = True
        if seen.all():
            return CodedColumn(self.values, codes)
        left = CodedColumn(self.values.filter(pl.Series(seen)), codes)
        return CodedColumn(left.values, left.spread((np.cumsum(seen) - 1).astype(_width(len(left.values)))))

    def codes_for(self, column: pl.Series) -> Array | None:
        """The codes of other rows, if each of them has one of these values, which may be null.

        Examples
        --------
        >>> column = CodedColumn.of(pl.Series(["a", "b"]))
        >>> column.codes_for(pl.Series(["b", "b"])).tolist(), column.codes_for(pl.Series(["b", "c"]))
        ([1, 1], None)
        """
        known = self.values.drop_nulls() if self.values.null_count() else self.values
        n_missing = column.null_count()
        if column.dtype != known.dtype or not len(known) or (n_missing and len(known) == len(self.values)):
            return None
        if column.dtype == pl.String:
            found = column.cast(pl.Enum(known), strict=False)
            if found.null_count() > n_missing:
                return None
            places = found.to_physical()
            places = places.fill_null(len(known)) if n_missing else places
            return places.to_numpy().astype(self.codes.dtype, copy=False)
        if not (column.dtype.is_integer() or column.dtype.is_float()):
            return None
        distinct = known.to_numpy()
        numbers = (column.fill_null(known[0]) if n_missing else column).to_numpy()
        codes = np.minimum(np.searchsorted(distinct, numbers), len(distinct) - 1)
        if not (distinct[codes] == numbers).all():
            return None
        if n_missing:
            codes[column.is_null().to_numpy()] = len(known)
        return codes.astype(self.codes.dtype)


def as_enum(column: pl.Series) -> pl.Series:
    """A text column as an Enum, a few bytes a row, in memory of its own: the distinct texts, sorted, nothing else.

    Rows taken from a text column would go on pointing into the text of all rows, in its old order.
    """
    if column.dtype != pl.String:
        return column
    return column.cast(pl.Enum(column.drop_nulls().unique().sort().to_list()))


def as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """A table with every Enum as text again; the rows share the texts, which a cast would copy for each."""
    texts = {name: dtype.categories for name, dtype in frame.schema.items() if isinstance(dtype, pl.Enum)}
    return frame.with_columns(known.gather(frame[name].to_physical()).alias(name) for name, known in texts.items())


def pieces(n_rows: int) -> Iterator[slice]:
    """All rows, some at a time."""
    return (slice(start, start + PIECE) for start in range(0, n_rows, PIECE))


def places_in(distinct: Array, numbers: Array) -> Array:
    """The place of each number in `distinct`, which is sorted and holds them all.

    Examples
    --------
    >>> places_in(np.array([3, 7, 9]), np.array([9, 3, 9])).tolist()
    [2, 0, 2]
    """
    result = np.empty(len(numbers), _width(len(distinct)))
    for rows in pieces(len(numbers)):  # each in ascending order, so that the search moves on through memory
        found, back = np.unique(numbers[rows], return_inverse=True)
        result[rows] = np.searchsorted(distinct, found)[back]
    return result


def codes_of(labels: pl.Series, distinct: pl.Series) -> NDArray[np.int32]:
    """The position of each row's value in `distinct`, -1 where missing or absent."""
    if not len(distinct):
        return np.full(len(labels), -1, np.int32)
    if labels.dtype == distinct.dtype == pl.String and len(labels) + len(distinct) <= FEW:
        known = {label: place for place, label in enumerate(distinct.to_list())}
        return np.array([-1 if label is None else known.get(label, -1) for label in labels.to_list()], np.int32)
    positions = pl.Series(np.arange(len(distinct), dtype=np.int32))
    codes = labels.replace_strict(distinct, positions, default=-1, return_dtype=pl.Int32)
    return codes.fill_null(-1).to_numpy().astype(np.int32)


def _code_numbers(column: pl.Series) -> tuple[Array, Array]:
    """The distinct numbers and the code of each row: by a table where they lie close together, else by sorting."""
    numbers = column.to_numpy()
    low, high = (int(column.min()), int(column.max())) if column.dtype.is_integer() and len(column) else (0, 2**64)  # type: ignore[arg-type]
    if high >= 2**63 or high - low > max(len(column), 1 << 16):
        distinct = column.unique().sort().to_numpy()
        return distinct, places_in(distinct, numbers)
    seen = np.zeros(high - low + 1, bool)
    for rows in pieces(len(numbers)):
        seen[numbers[rows].astype(np.int64) - low] = True
    distinct = np.flatnonzero(seen) + low
    table = (np.cumsum(seen) - 1).astype(_width(len(distinct)))
    codes = np.empty(len(numbers), table.dtype)
    for rows in pieces(len(numbers)):
        above = numbers[rows].astype(np.int64) - low
        codes[rows] = above if len(distinct) == len(seen) else table[above]
    return distinct, codes


def _width(size: int) -> np.dtype[Any]:
    return np.min_scalar_type(max(size - 1, 0))
