"""A piece of a table, coded by itself: numbers a row, and the distinct values of each column with their counts.

Nothing of a piece is in memory as text for longer than it takes to code it, and what is known of the whole table is
the sum of what is known of its pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import SizeError, TableError
from tclose.scale.row_keys import hash_rows
from tclose.schema.schema import Schema
from tclose.table.coded import CodedColumn
from tclose.table.column_names import listed
from tclose.table.reading import check_type, code, one_spelling
from tclose.table.row_selection import check_columns

ROW = "row"  # the name of the column with the hashes of rows; others are called by their number
MOST_DISTINCT = 20_000_000  # values of a column: the whole table's are held in memory


@dataclass(frozen=True, eq=False)
class PieceSummary:
    """What a piece adds to what is known of the whole table.

    Attributes
    ----------
    n_rows, n_dropped
        Rows read, and rows left out under `missing = "drop"`.
    values, counts
        Of each column that is coded, its distinct values and how many rows hold each.
    n_missing
        Of each quasi-identifier and sensitive attribute, the rows without a value, before any is left out.
    """

    n_rows: int
    n_dropped: int
    values: dict[str, pl.Series]
    counts: dict[str, NDArray[np.int64]]
    n_missing: dict[str, int]


def coded_names(schema: Schema) -> tuple[str, ...]:
    """The columns that are coded, in the order of their numbers."""
    return (*(each.column for each in schema.quasi), *(each.column for each in schema.sensitive), *schema.keep)


def code_piece(frame: pl.DataFrame, schema: Schema, key: int) -> tuple[pl.DataFrame, PieceSummary]:
    """Code the rows of a piece: a small number for each cell, into the piece's own values, and a hash of the row.

    Parameters
    ----------
    frame
        The piece, with all columns of the table.
    key
        What rows are hashed with.

    Raises
    ------
    TableError
        The columns of the piece are not those of the schema, or hold what no release can.

    Examples
    --------
    >>> schema = Schema.from_dict({"k": 1, "missing": "drop", "quasi": {"age": {"kind": "numeric"}}})
    >>> rows, summary = code_piece(pl.DataFrame({"age": [30, None, 20, 30]}), schema, 7)
    >>> rows["0"].to_list(), summary.values["age"].to_list(), summary.counts["age"].tolist(), summary.n_dropped
    ([1, 0, 1], [20, 30], [1, 2], 1)
    """
    check_columns(frame.columns, schema)
    measured = {each.column: each.is_measured for each in schema.quasi}
    measured |= {each.column: each.is_measured for each in schema.sensitive}
    columns = {
        name: code(frame[name], schema.missing_values, of_numbers, schema.decimal)
        for name, of_numbers in measured.items()
    }
    missing = {name: _is_missing(column) for name, column in columns.items() if column.values.null_count()}
    for name in schema.keep:
        check_type(frame[name])
        columns[name] = CodedColumn.of(one_spelling(frame[name]))
    rows, n_rows = hash_rows(frame, key), len(frame)
    if missing and schema.missing == "drop":
        complete = np.flatnonzero(~np.logical_or.reduce(list(missing.values())))
        columns, rows = {name: column.take(complete) for name, column in columns.items()}, rows[complete]
    coded = {str(place): columns[name].codes for place, name in enumerate(coded_names(schema))}
    summary = PieceSummary(
        n_rows,
        n_rows - len(rows),
        {name: column.values for name, column in columns.items()},
        {name: column.counts for name, column in columns.items()},
        {name: int(mask.sum()) for name, mask in missing.items()},
    )
    return pl.DataFrame({**coded, ROW: rows}), summary


def _is_missing(column: CodedColumn) -> NDArray[np.bool_]:
    return np.asarray(column.codes == len(column.values) - 1, np.bool_)


@dataclass(eq=False)
class GatheredValues:
    """The distinct values of all columns over the pieces so far.

    Attributes
    ----------
    schema
        That of the table.
    columns
        Of each column, its values, and how many rows hold each.

    Examples
    --------
    >>> schema = Schema.from_dict({"k": 1, "quasi": {"age": {"kind": "numeric"}}})
    >>> gathered = GatheredValues(schema)
    >>> for ages in ([30, 20], [10, 30]):
    ...     gathered.add(code_piece(pl.DataFrame({"age": ages}), schema, 7)[1])
    >>> column = gathered.columns["age"]
    >>> column.values.to_list(), column.counts.tolist()
    ([10, 20, 30], [1, 1, 2])
    """

    schema: Schema
    columns: dict[str, CodedColumn] = field(default_factory=dict)
    n_read: int = 0
    n_dropped: int = 0
    n_missing: dict[str, int] = field(default_factory=dict)

    def add(self, piece: PieceSummary) -> None:
        """Take in what is known of a piece.

        Raises
        ------
        TableError
            A column is of another type than in the pieces before.
        """
        self.n_read += piece.n_rows
        self.n_dropped += piece.n_dropped
        for name, count in piece.n_missing.items():
            self.n_missing[name] = self.n_missing.get(name, 0) + count
        for name, values in piece.values.items():
            self.columns[name] = _joined(self.columns.get(name), values, piece.counts[name])

    @property
    def n_rows(self) -> int:
        """The rows that are taken."""
        return self.n_read - self.n_dropped

    def check(self) -> None:
        """Raise if the table cannot be released as it is: no rows, or missing values that nobody speaks for."""
        if not self.n_read:
            raise TableError("The table has no rows.")
        if self.n_missing and self.schema.missing in (None, "error"):
            told = listed([f"{name} ({count} rows)" for name, count in self.n_missing.items()])
            if self.schema.missing == "error":
                raise TableError(f'There are missing values, and the schema says missing = "error": {told}.')
            raise TableError(
                f"There are missing values and the schema does not say what they mean: {told}. Set missing = "
                '"category" (a value of its own), "drop" (leave those rows out) or "error".'
            )
        if not self.n_rows:
            raise TableError("No row is left after dropping those with missing values.")


def _joined(before: CodedColumn | None, values: pl.Series, counts: NDArray[np.int64]) -> CodedColumn:
    """The values of a column so far, with those of one more piece."""
    if before is None:
        return CodedColumn(values, np.arange(len(values)), counts)
    known = before.values
    if known.dtype != values.dtype:
        if pl.Null not in (known.dtype, values.dtype):
            raise TableError(
                f"Column '{values.name}' is of type {type_name(known.dtype)} in one part of the table and "
                f"{type_name(values.dtype)} in another. Write all parts alike."
            )
        kind = values.dtype if known.dtype == pl.Null else known.dtype
        known, values = known.cast(kind), values.cast(kind)
    joined = CodedColumn.of(pl.concat([known, values]))
    if len(joined.values) > MOST_DISTINCT:
        raise SizeError(
            f"Column '{values.name}' has more than {MOST_DISTINCT:,} distinct values, and those of the whole table are "
            "held in memory. Round it, or shorten it."
        )
    times = np.zeros(len(joined.values), np.int64)
    np.add.at(times, joined.codes, np.concatenate([before.counts, counts]))
    return CodedColumn(joined.values, np.arange(len(times)), times)


def type_name(kind: pl.DataType) -> str:
    """What a type is called, with its places or its unit, and without categories, which are cells.

    Examples
    --------
    >>> type_name(pl.Decimal(10, 2)), type_name(pl.Enum(["secret"]))
    ('Decimal(precision=10, scale=2)', 'Enum')
    """
    return str(kind) if isinstance(kind, pl.Decimal | pl.Datetime | pl.Duration) else kind.base_type().__name__


def codes_among(values: pl.Series, known: pl.Series) -> NDArray[np.int64]:
    """The place of each value of a piece among those of the whole table, all of which it has.

    Examples
    --------
    >>> codes_among(pl.Series(["b", None]), pl.Series(["a", "b", None])).tolist()
    [1, 2]
    """
    if values.dtype != known.dtype:
        values = values.cast(known.dtype)
    both = CodedColumn.of(pl.concat([known, values]))
    place = np.full(len(both.values), -1, np.int64)
    place[both.codes[: len(known)]] = np.arange(len(known))
    found = place[both.codes[len(known) :]]
    if (found < 0).any():
        raise TableError(
            f"Column '{values.name}' was changed while it was read. Leave the table alone, and start again."
        )
    return np.asarray(found, np.int64)


def gather(pieces: Iterable[PieceSummary], schema: Schema) -> GatheredValues:
    """What all pieces have together, checked."""
    gathered = GatheredValues(schema)
    for piece in pieces:
        gathered.add(piece)
    gathered.check()
    return gathered


def tables_among(values: Mapping[str, pl.Series], whole: Mapping[str, pl.Series]) -> dict[str, NDArray[np.int64]]:
    """For each column, the code in the whole table of each value of a piece."""
    return {name: codes_among(each, whole[name]) for name, each in values.items()}
