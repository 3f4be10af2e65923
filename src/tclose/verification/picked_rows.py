"""Which row of each person is kept where `unit_rows = "one"` keeps the first or the last."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.calendar_times import clocks_of, times_of
from tclose.verification.cell_meanings import missing_among
from tclose.verification.distinct_values import factorize
from tclose.verification.exact_numbers import numbers_of
from tclose.verification.persons import read_units


def picked_rows(original: Source, schema: Schema) -> NDArray[np.bool_] | None:
    """The rows that are first or last of their person; None where any row of a person may be kept.

    Of rows that are equal in the column of `unit_order`, the one that stands first is the first, and the last the last.
    Where no person has two rows, that column is not read.

    Raises
    ------
    TableError
        The column is not there, or does not order all rows.

    Examples
    --------
    >>> keys = {"k": 1, "unit": "who", "unit_rows": "one", "unit_pick": "last", "unit_order": "visit"}
    >>> schema = Schema.from_dict(keys | {"quasi": {"age": {"kind": "numeric"}}})
    >>> table = pl.DataFrame({"who": ["a", "a", "b", "b"], "visit": ["10", "9", "1", "1"], "age": [1, 2, 3, 4]})
    >>> picked_rows(Source.of(table), schema).tolist()
    [True, False, False, True]
    """
    if schema.unit_rows != "one" or schema.unit_order is None:
        return None
    units = read_units(original, schema)
    if units is None:
        return None
    if units.n == original.n_rows:
        return np.ones(original.n_rows, bool)
    found = np.zeros(original.n_rows, bool)
    ranks, number = _ranks(original, schema, schema.unit_order), np.arange(original.n_rows)
    by_person = np.lexsort((number, ranks, units.codes))
    ends = np.flatnonzero(np.diff(units.codes[by_person], append=-1))
    starts = np.append(0, ends[:-1] + 1) if len(ends) else ends
    found[by_person[starts if schema.unit_pick == "first" else ends]] = True
    return found


def _ranks(original: Source, schema: Schema, name: str) -> NDArray[np.int64]:
    """The place of each row's number, date or time among all of them."""
    if name not in original.names:
        raise TableError(f"The original has no column '{name}', so it is not known which row of a person is first.")
    column = factorize(original.column(name))
    gone = missing_among(column.values, schema.missing_values, measured=True, mark=schema.decimal)
    if np.append(gone, True)[column.codes].any():
        raise TableError(f"Column '{name}' is unit_order, and not every row of the original has a value of it.")
    kept = column.values.filter(pl.Series(~gone))
    form = next((each.format for each in schema.quasi if each.column == name), None)
    points = times_of(kept, form) or clocks_of(kept)
    if points is None:
        points, known = numbers_of(kept, schema.decimal, schema.thousands)
        if not known.all():
            raise TableError(f"Column '{name}' is unit_order, and holds neither numbers nor dates nor times.")
    places = np.zeros(len(gone), np.int64)
    places[~gone] = np.unique(points.integers, return_inverse=True)[1]
    return places[column.codes]
