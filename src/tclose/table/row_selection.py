"""Which rows and columns are taken: roles, the policy for missing values, and units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.schema.schema import Schema
from tclose.table.coded import CodedColumn
from tclose.table.column_names import listed, numbered
from tclose.table.reading import check_type, code
from tclose.table.source import Source
from tclose.table.unit_rows import pick_rows, read_persons


def check_columns(names: Sequence[str], schema: Schema) -> None:
    """Every column of the table has a role, and every role a column."""
    roles = schema.columns
    present = set(names)
    if not set(roles) & present:  # what stands for names may be the first row
        raise TableError(
            "The table has none of the columns the schema names. Is its first line a header, and is `delimiter` right?"
        )
    absent = [name for name in roles if name not in present]
    unnamed = [place for place, name in enumerate(names) if name not in roles]
    if unnamed:
        # Where most of what the schema names is absent, what stands for names may be a row: it is told by its place.
        told = listed([names[place] for place in unnamed])
        if 2 * len(absent) > len(roles):
            told = f"{numbered(unnamed)} of the table; or its first line is no header"
        raise TableError(
            f"{len(unnamed)} of the table's columns have no role in the schema: {told}. Name each as "
            "[quasi.NAME] or [sensitive.NAME], or in `identifiers` (never released) or `keep` (released as it is)."
        )
    if absent:
        raise TableError(f"The schema names columns that the table does not have: {listed(absent)}.")


def select_rows(
    source: Source,
    schema: Schema,
    picked: NDArray[np.int64] | None = None,
    seed: int | None = None,
) -> tuple[dict[str, CodedColumn], NDArray[np.int64]]:
    """Apply the policy for missing values and check units; quasi and sensitive columns come back coded.

    `picked` are the rows that `unit_rows = "one"` kept, where that is settled already; else they are drawn by `seed`.
    """
    check_columns(source.names, schema)
    if not source.n_rows:
        raise TableError("The table has no rows.")
    picked = pick_rows(source, schema, seed) if picked is None else picked
    rows = np.arange(source.n_rows, dtype=np.int64) if picked is None else picked
    measured = {quasi.column: quasi.is_measured for quasi in schema.quasi}
    measured |= {sensitive.column: sensitive.is_measured for sensitive in schema.sensitive}
    columns = source.each(
        measured, lambda column: code(column, schema.missing_values, measured[column.name], schema.decimal)
    )
    source.each(schema.keep, check_type)
    if len(rows) < source.n_rows:
        columns = {name: column.take(rows) for name, column in columns.items()}
    missing = {
        name: column.codes == len(column.values) - 1 for name, column in columns.items() if column.values.null_count()
    }
    if missing and schema.missing in (None, "error"):
        told = listed([f"{name} ({int(mask.sum())} rows)" for name, mask in missing.items()])
        if schema.missing == "error":
            raise TableError(f'There are missing values, and the schema says missing = "error": {told}.')
        raise TableError(
            f"There are missing values and the schema does not say what they mean: {told}. Set missing = "
            '"category" (a value of its own), "drop" (leave those rows out) or "error".'
        )
    if missing and schema.missing == "drop":
        complete = np.flatnonzero(~np.logical_or.reduce(list(missing.values())))
        columns, rows = {name: column.take(complete) for name, column in columns.items()}, rows[complete]
        if not len(rows):
            raise TableError("No row is left after dropping those with missing values.")
    _check_unit(source, rows, schema)
    return columns, rows


def _check_unit(source: Source, rows: NDArray[np.int64], schema: Schema) -> None:
    if schema.unit is None or schema.unit_rows == "one":  # whose rows were picked is known
        return
    distinct = int(read_persons(source, schema, rows).max(initial=-1)) + 1
    if distinct < len(rows) and schema.unit_rows is None:
        raise TableError(
            f"Column '{schema.unit}' is the unit, and its {distinct} units have {len(rows)} rows: a class of k rows "
            'may then be fewer than k units. Set unit_rows = "one" (a row of each is kept) or "all" (every class has '
            "the rows of k units), or join the rows of each into one."
        )
