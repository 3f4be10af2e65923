"""Columns gathered from rows of Python values, some rows at a time, each in the type that holds all its values exactly.

Values are kept as texts, as they were written, until all are there: a column of whole numbers may turn out to have a
fraction, or a word, in its last row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import polars as pl

from tclose.errors import TableError
from tclose.table.column_names import check_names

CELLS_A_BYTE, FREE_CELLS = 20, 1_000_000


class WholeText(str):
    """A whole number, as it was written."""

    __slots__ = ()


class FractionText(str):
    """A number with a fraction or an exponent, as it was written."""

    __slots__ = ()


WHOLE, FRACTION = frozenset({int, WholeText}), frozenset({float, FractionText})
NESTED = frozenset({list, dict})


class GatheredColumn:
    """A column whose values come some at a time."""

    def __init__(self, n_missing: int) -> None:
        self._pieces = [pl.repeat(None, n_missing, dtype=pl.String, eager=True)]
        self._kinds: set[type] = set()

    def add(self, values: Sequence[Any]) -> None:
        """Take in the values of the next rows."""
        kinds = set(map(type, values)) - {type(None)}
        self._kinds |= kinds
        texts = values if kinds <= {str, WholeText, FractionText} else [_as_text(value) for value in values]
        self._pieces.append(pl.Series(texts, dtype=pl.String))

    def series(self, name: str) -> pl.Series:
        """All values, in the type that holds them.

        Whole numbers are Int64, and other numbers Float64, if that holds each of them exactly; else numbers stay
        text, as do columns of several kinds. Lists, objects and bytes keep a type that no release has, so that the
        column can be left out and not be released.
        """
        texts = pl.concat(self._pieces).alias(name)
        if self._kinds & NESTED:
            return texts.to_frame().select(pl.concat_list(pl.all())).to_series()
        if bytes in self._kinds:
            return texts.cast(pl.Binary)
        if self._kinds == {bool}:
            return texts == "true"
        if self._kinds and self._kinds <= WHOLE:
            return _held_exactly(texts, pl.Int64())
        if self._kinds and self._kinds <= WHOLE | FRACTION:
            return _held_exactly(texts, pl.Float64())
        return texts


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | dict):
        return json.dumps(value)
    return repr(value)


def _held_exactly(texts: pl.Series, kind: pl.DataType) -> pl.Series:
    """Texts of numbers as numbers of a type, if each is the very number that its text says; else as they are."""
    distinct = texts.drop_nulls().unique()
    numbers = distinct.cast(kind, strict=False)
    if numbers.null_count():
        return texts
    written = numbers.cast(pl.String)
    if any(Decimal(one) != Decimal(other) for one, other in zip(distinct, written, strict=True)):
        return texts
    return texts.cast(kind)


class GatheredRows:
    """Rows of names and values, of which not every row has every name."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._columns: dict[str, GatheredColumn] = {}

    def add(self, rows: Sequence[Mapping[str, Any]], n_bytes: int) -> None:
        """Take in the next rows; `n_bytes` is how much was read until now.

        Raises
        ------
        TableError
            The rows have so few names in common that a table of them would be far larger than what was read.
        """
        new = [name for name in dict.fromkeys(name for row in rows for name in row) if name not in self._columns]
        n_columns = len(self._columns) + len(new)
        if (self.n_rows + len(rows)) * n_columns > CELLS_A_BYTE * n_bytes + FREE_CELLS:
            raise TableError(
                f"The rows have {n_columns:,} different names among them, and each has few of these: they are no "
                "table. Give all rows the same names."
            )
        self._columns |= {name: GatheredColumn(self.n_rows) for name in new}
        self.n_rows += len(rows)
        for name, column in self._columns.items():
            column.add([row.get(name) for row in rows])

    def frame(self) -> pl.DataFrame:
        """The table, its columns in the order in which their names came."""
        check_names(list(self._columns))
        return pl.DataFrame([column.series(name) for name, column in self._columns.items()])


def gather(names: Sequence[str], pieces: Iterable[Sequence[Sequence[Any]]]) -> pl.DataFrame:
    """A table of rows that all have the same columns.

    Examples
    --------
    >>> gather(["age", "ill"], [[(31, "flu"), (None, "cold")], [(4.5, "flu")]]).to_dict(as_series=False)
    {'age': [31.0, None, 4.5], 'ill': ['flu', 'cold', 'flu']}
    """
    columns = [GatheredColumn(0) for _ in names]
    for rows in pieces:
        for column, values in zip(columns, zip(*rows, strict=True), strict=True):
            column.add(values)
    return pl.DataFrame([column.series(name) for name, column in zip(names, columns, strict=True)])
