"""The way into a stream: batches of rows to coded columns, row by row accepted or rejected.

Whether a row is accepted depends on the row and on the accepted rows before it that are still at
hand, not on how rows are cut into batches. Most checks are made once for each value that is not at
hand yet; the values at hand were accepted with each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError, ValuesError
from tclose.schema.builders import plain
from tclose.schema.columns import Quasi, Sensitive
from tclose.schema.schema import Schema
from tclose.table.coded import CodedColumn
from tclose.table.quasi import build_axes
from tclose.table.reading import Reader, code, is_flat, texts, type_name
from tclose.table.row_selection import check_columns
from tclose.table.sensitive import build_domain
from tclose.table.source import Source

Flags = NDArray[np.bool_]
CodedColumns = dict[str, CodedColumn]
ReadTypes = dict[str, pl.DataType]
Role = Quasi | Sensitive
Rejection = tuple[str | None, str, Flags]
LACKS = "The row lacks the column."
UNKNOWN = "The row has columns that the schema does not name."
NESTED = "The value is a list, an object or of another type that is no plain value."
OTHER_TYPE = "The value is not of the type that the column's first rows had."
MISSING = 'The value is missing, and the schema does not say missing = "category".'
DROPPED = 'The value is missing, and the schema says missing = "drop".'
UNMEASURABLE = "The value is missing, and the column's distance says nothing about missing values."
ABSENT = object()
FITS = range(-(2**63), 2**63)
MISFIT = "The value does not go with those before it: another length, numbers and dates mixed, or too many digits."


@dataclass(frozen=True, eq=False)
class OpenedRows:
    """Rows as they were given, a column each, and what is wrong with some already.

    Attributes
    ----------
    frame
        Every column of the schema but identifiers, of the types of the stream.
    bad
        By column (None if it is about none) and reason: the rows that are rejected for it.
    """

    frame: pl.DataFrame
    bad: dict[tuple[str | None, str], Flags] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.frame)

    def slice(self, start: int, length: int) -> OpenedRows:
        """Some rows that follow each other."""
        bad = {why: mask[start : start + length] for why, mask in self.bad.items()}
        return OpenedRows(self.frame.slice(start, length), {why: mask for why, mask in bad.items() if mask.any()})


@dataclass(frozen=True, eq=False)
class IntakeVerdict:
    """What became of the rows of a batch.

    Attributes
    ----------
    accepted
        Which rows are.
    columns
        The accepted rows after those that were at hand before.
    rejected
        Column (None if it is about none), reason, and the rows rejected for it; no row twice.
    """

    accepted: Flags
    columns: CodedColumns
    rejected: list[Rejection]


def opened(batch: pl.DataFrame | Sequence[Mapping[str, Any]], schema: Schema, types: ReadTypes) -> OpenedRows:
    """A batch in the types of the stream; where there are none yet, it gives them.

    Raises
    ------
    TableError
        A frame's columns are not those of the schema, or of nested types.
    """
    given = _frame_of(batch, schema) if isinstance(batch, pl.DataFrame) else _from_rows(batch, schema)
    if dict(given.frame.schema) == types:
        return given
    columns, bad = [], given.bad
    for column in given.frame:
        wanted = types.get(column.name, column.dtype)
        cast = column if column.dtype == wanted else _cast(column, wanted)
        if cast is not column:
            lost = cast.is_null() & column.is_not_null()
            lost &= column != "" if column.dtype == pl.String else True
            bad = {**bad, (column.name, OTHER_TYPE): lost.to_numpy()} if lost.any() else bad
        columns.append(cast)
    frame = pl.DataFrame(columns)
    return OpenedRows(frame.select(list(types)) if types else frame, bad)


def _cast(column: pl.Series, wanted: pl.DataType) -> pl.Series:
    """A column in another type, null where a value has none of that type."""
    if isinstance(column.dtype, pl.Duration) and wanted == pl.String:
        return texts(column)
    try:
        return column.cast(wanted, strict=False)
    except pl.exceptions.InvalidOperationError:  # there is no way from the one type to the other
        return pl.Series(column.name, [None] * len(column), dtype=wanted)


def read(batch: OpenedRows, schema: Schema, before: CodedColumns) -> IntakeVerdict:
    """Accept the rows that fit the schema and those at hand, and reject the others with a reason."""
    if not batch.bad and before and (columns := _of_known_values(batch, before)) is not None:
        return IntakeVerdict(np.ones(len(batch), bool), columns, [])
    left = np.ones(len(batch), bool)
    rejected: list[Rejection] = []

    def reject(column: str | None, reason: str, rows: Flags) -> None:
        if (rows & left).any():
            rejected.append((column, reason, rows & left))
            left[rows] = False

    for (name, reason), mask in batch.bad.items():
        reject(name, reason, mask)
    coded = {name: CodedColumn.of(batch.frame[name]) for name in schema.keep}
    fresh: list[Role] = []
    for role in _roles(schema):
        name = role.column
        column = coded[name] = code(batch.frame[name], schema.missing_values, role.is_measured, schema.decimal)
        why = _why_missing(role, schema) if column.values.null_count() else None
        if why is not None:
            reject(name, why, column.codes == len(column.values) - 1)
        new = _new(column, before.get(name))
        if new.any():
            if _needs_others(role):
                fresh.append(role)
            for what, wrong in _wrong_by_themselves(role, column, new, schema):
                reject(name, f"The value is among those that {what}.", wrong[column.codes])
    for name, row in _misfits(np.flatnonzero(left), fresh, coded, before, schema) if fresh else ():
        reject(name, MISFIT, np.arange(len(batch)) == row)
    taken = coded if left.all() else {name: column.take(np.flatnonzero(left)) for name, column in coded.items()}
    return IntakeVerdict(left, _joined(before, taken), rejected)


def _roles(schema: Schema) -> Iterator[Role]:
    yield from schema.quasi
    yield from schema.sensitive


def _of_known_values(batch: OpenedRows, before: CodedColumns) -> CodedColumns | None:
    """The rows after those at hand, if all their values are at hand: the usual case, and a quick one."""
    joined = {}
    for name, column in before.items():
        codes = column.codes_for(batch.frame[name])
        if codes is None:
            return None
        joined[name] = CodedColumn(column.values, np.append(column.codes, codes))
    return joined


def _new(column: CodedColumn, before: CodedColumn | None) -> Flags:
    """Which of its values are not at hand; missing is none of them."""
    present: Flags = column.values.is_not_null().to_numpy()
    if before is None or not present.any():
        return present
    at_hand: Flags = column.values.is_in(before.values.drop_nulls().implode()).fill_null(True).to_numpy()
    return present & ~at_hand


def _joined(before: CodedColumns, after: CodedColumns) -> CodedColumns:
    return {name: before[name].followed_by(column) if name in before else column for name, column in after.items()}


def _why_missing(column: Role, schema: Schema) -> str | None:
    """Why a row with a missing value is rejected; None if it is not."""
    if schema.missing != "category":
        return DROPPED if schema.missing == "drop" else MISSING
    unmeasurable = isinstance(column, Sensitive) and column.distance in ("numeric", "matrix")
    return UNMEASURABLE if unmeasurable else None


def _build(reader: Reader, column: CodedColumn, role: Role, schema: Schema) -> None:
    """Encode a column, which raises if it cannot be done."""
    if isinstance(role, Quasi):
        build_axes(reader, column, role, schema)
    else:
        build_domain(reader, column, role)


def _reader(n_rows: int, schema: Schema) -> Reader:
    return Reader.of(Source.of(pl.DataFrame()), np.arange(n_rows), schema)


def _wrong_by_themselves(role: Role, column: CodedColumn, new: Flags, schema: Schema) -> Iterator[tuple[str, Flags]]:
    """What is wrong with some of the new values, whatever the others are, and with which values."""
    places = np.flatnonzero(new)
    while len(places) and not (isinstance(role, Quasi) and role.kind == "digits"):  # whose values need each other
        values = CodedColumn(column.values.gather(places), np.arange(len(places)))
        try:
            _build(_reader(len(places), schema), values, role, schema)
            return
        except ValuesError as error:
            wrong = np.zeros(len(new), bool)
            wrong[places[error.rows]] = True
            yield error.what, wrong
            places = np.delete(places, error.rows)
        except TableError:
            return


def _needs_others(role: Role) -> bool:
    """Whether values that are right by themselves may be wrong together: in length, in kind, or in digits."""
    return role.kind in ("numeric", "date", "digits") if isinstance(role, Quasi) else role.is_measured


def _misfits(
    rows: NDArray[np.int64], fresh: Sequence[Role], coded: CodedColumns, before: CodedColumns, schema: Schema
) -> Iterator[tuple[str, int]]:
    """The rows that do not go with those before them, one after the other.

    Rows are accepted as they come. Fewer rows never fit worse, so that halves are looked at as a
    whole first, and rows by themselves only where they fail.
    """
    accepted: list[NDArray[np.int64]] = []
    waiting = [rows]
    while waiting:
        some = waiting.pop()
        if not len(some):
            continue
        failed = _first_unfit(np.concatenate([*accepted, some]), fresh, coded, before, schema)
        if failed is None:
            accepted.append(some)
        elif len(some) == 1:
            yield failed, int(some[0])
        else:
            waiting += [some[len(some) // 2 :], some[: len(some) // 2]]


def _first_unfit(
    rows: NDArray[np.int64], fresh: Sequence[Role], coded: CodedColumns, before: CodedColumns, schema: Schema
) -> str | None:
    """The first column that cannot be encoded with these rows; None if all can."""
    for role in fresh:
        name = role.column
        column = _joined(before, {name: coded[name].take(rows)})[name]
        try:
            _build(_reader(len(column), schema), column, role, schema)
        except TableError:
            return name
    return None


def _frame_of(frame: pl.DataFrame, schema: Schema) -> OpenedRows:
    """A dataframe without identifiers, categories as text."""
    present = {*frame.columns, *schema.identifiers}  # what is never released may be gone already
    check_columns([*frame.columns, *(present - {*frame.columns})], schema)
    columns = []
    for column in frame.drop(schema.identifiers, strict=False):
        if not is_flat(column):
            raise TableError(f"Column '{column.name}' is of type {type_name(column)}. Flatten it first.")
        is_text = column.dtype in (pl.Categorical, pl.Enum, pl.Null)
        columns.append(column.cast(pl.String) if is_text else column)
    return OpenedRows(pl.DataFrame(columns))


def _from_rows(rows: Sequence[Mapping[str, Any]], schema: Schema) -> OpenedRows:
    """Rows as mappings: every value becomes text, as in CSV, and the schema decides what it means."""
    bad: dict[tuple[str | None, str], Flags] = {}
    columns = []
    known = schema.columns.keys()
    if any(not known >= set(names) for names in set(map(tuple, rows))):
        bad[None, UNKNOWN] = np.array([not row.keys() <= known for row in rows], bool)
    for name in (name for name in known if name not in schema.identifiers):
        cells = [row.get(name, ABSENT) for row in rows]
        texts = _texts_at_once(name, cells)
        if texts is None:
            wrong = np.array([cell is ABSENT for cell in cells], bool)
            if wrong.any():
                bad[name, LACKS] = wrong
            nested = np.array([not _is_plain(cell) for cell in cells], bool) & ~wrong
            if nested.any():
                bad[name, NESTED] = nested
            texts = pl.Series(name, [_text(cell) for cell in cells], dtype=pl.String)
        columns.append(texts)
    return OpenedRows(pl.DataFrame(columns), bad)


def _texts_at_once(name: str, cells: list[Any]) -> pl.Series | None:
    """Cells as text where all are texts, or all whole numbers; None where they must be looked at one by one."""
    kinds = set(map(type, cells)) - {type(None)}
    if kinds <= {str}:
        return pl.Series(name, cells, dtype=pl.String)
    if kinds == {int} and all(map(FITS.__contains__, filter(None, cells))):
        return pl.Series(name, cells, dtype=pl.Int64).cast(pl.String)
    return None


def _is_plain(cell: Any) -> bool:
    return cell is None or isinstance(cell, str | int | float | Decimal | date)


def _text(cell: Any) -> str | None:
    """A cell as text; None where it is missing, or no plain value."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return plain(Decimal(repr(cell))) if np.isfinite(cell) else str(cell)
    if isinstance(cell, date):
        return cell.isoformat()
    return str(cell) if isinstance(cell, str | int | Decimal) else None
