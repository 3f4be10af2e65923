"""Persons with several rows: whose a row is, and which row of each is kept where one is."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.schema.schema import Schema
from tclose.table.coded import CodedColumn
from tclose.table.reading import Reader, clean, code
from tclose.table.source import Source
from tclose.table.times import rank_times

Integers = NDArray[np.int64]
DRAWS = 1  # rows are drawn from numbers of their own, so that a method draws the same with and without


def read_persons(source: Source, schema: Schema, rows: Integers) -> NDArray[np.int32]:
    """The person of each of some rows, numbered from 0 in the order in which they first come.

    Raises
    ------
    TableError
        Some rows do not say whom they are about.

    Examples
    --------
    >>> schema = Schema.from_dict({"k": 2, "unit": "who", "quasi": {"age": {"kind": "numeric"}}})
    >>> table = Source.of(pl.DataFrame({"who": ["b", "a", "b"], "age": [1, 2, 3]}))
    >>> read_persons(table, schema, np.arange(3)).tolist()
    [0, 1, 0]
    """
    assert schema.unit is not None
    units = clean(source.column(schema.unit).gather(rows), schema.missing_values, numeric=False)
    if units.null_count():
        raise TableError(f"Column '{schema.unit}' is the unit, and is missing in {units.null_count()} rows.")
    numbered = units.alias("unit").to_frame().with_row_index("row")
    firsts = numbered.select(pl.col("row").first().over("unit")).to_series().to_numpy()
    return np.unique(firsts, return_inverse=True)[1].astype(np.int32)


def pick_rows(source: Source, schema: Schema, seed: int | None = None) -> Integers | None:
    """The row of each person that `unit_rows = "one"` keeps, in the order of the table; None without that key.

    Parameters
    ----------
    seed
        Of the run, by which `unit_pick = "random"` draws; None where it is not known.

    Raises
    ------
    TableError
        Rows do not say whom they are about or when they were, or it is not known which of them were drawn.

    Examples
    --------
    >>> keys = {"k": 2, "unit": "who", "unit_rows": "one", "unit_pick": "last", "unit_order": "visit"}
    >>> schema = Schema.from_dict(keys | {"quasi": {"age": {"kind": "numeric"}}})
    >>> table = pl.DataFrame({"who": ["a", "a", "b"], "visit": ["10", "9", "1"], "age": [30, 29, 50]})
    >>> pick_rows(Source.of(table), schema).tolist()
    [0, 2]
    """
    if schema.unit_rows != "one":
        return None
    everyone = np.arange(source.n_rows, dtype=np.int64)
    persons = read_persons(source, schema, everyone)
    n_persons = int(persons.max(initial=-1)) + 1
    if n_persons == source.n_rows:
        return everyone
    if schema.unit_order is not None:
        order = np.lexsort((everyone, _ranks(source, schema), persons))
        ends = np.cumsum(np.bincount(persons))
        starts = np.append(0, ends[:-1])
        return np.sort(order[starts if schema.unit_pick == "first" else ends - 1])
    if seed is None:
        raise TableError(
            f"The {n_persons} units of '{schema.unit}' have {source.n_rows} rows, and unit_pick draws one of each at "
            'random: it is not known here which were drawn. Take unit_pick = "first" or "last", or give the rows drawn.'
        )
    shuffled = np.random.default_rng([seed, DRAWS]).permutation(source.n_rows)
    return np.sort(shuffled[np.unique(persons[shuffled], return_index=True)[1]])


def count_unpicked(source: Source, schema: Schema) -> int:
    """How many rows `unit_rows = "one"` leaves out; 0 without that key."""
    if schema.unit_rows != "one":
        return 0
    persons = read_persons(source, schema, np.arange(source.n_rows, dtype=np.int64))
    return source.n_rows - int(persons.max(initial=-1)) - 1


def _ranks(source: Source, schema: Schema) -> Integers:
    """The rank of each row by the column that orders the rows of a person: numbers, dates or times."""
    name = schema.unit_order
    assert name is not None
    if name not in source.names:
        raise TableError(f"The table has no column '{name}', which unit_order names.")
    column = code(source.column(name), schema.missing_values, numeric=True, decimal=schema.decimal)
    n_missing = int(column.values.is_null().to_numpy()[column.codes].sum())
    if n_missing:
        raise TableError(
            f"Column '{name}' is unit_order, and is missing in {n_missing} rows: it is not known which row of a person "
            "is first or last. Fill it in, or leave those rows out."
        )
    reader = Reader.of(source, np.arange(source.n_rows), schema)
    return _value_ranks(reader, column, schema)[column.codes]


def _value_ranks(reader: Reader, column: CodedColumn, schema: Schema) -> Integers:
    """The rank of each distinct value."""
    form = next((each.format for each in schema.quasi if each.column == column.name), None)
    ranks = rank_times(column.values) if form is None else reader.time_ranks(column, form)
    if ranks is not None and not ranks.null_count():
        return ranks.to_numpy().astype(np.int64)
    numbers = reader.numbers(column).known.integers
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)
