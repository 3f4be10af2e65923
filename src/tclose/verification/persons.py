"""Persons: how many different units the rows of a class are about, and identifiers that name one more than once."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.cell_meanings import missing_among
from tclose.verification.distinct_values import factorize
from tclose.verification.released_classes import Grouping

NUMBER = r"^\s*[+-]?[0-9]+([.,][0-9]+)*\s*$"
DATED = r"^\s*([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,4}[./][0-9]{1,2}[./][0-9]{1,4}|[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?\s*$)"
MOST_READ = 1_000_000  # rows of an identifier: enough to see that it repeats
MOST_LOOKED_AT = 50  # identifiers: a table may have very many, and each takes its time
MOST_NAMED = 10
MOST_EACH = 20  # rows of one value, on average: of a column with fewer values nobody says that it names persons


@dataclass(frozen=True)
class RowPersons:
    """The person each row is about.

    Attributes
    ----------
    codes
        One a row, from 0 to below `n`.
    n
        How many persons there are.
    """

    codes: NDArray[np.int32] = field(repr=False)
    n: int

    def in_classes(self, groups: Grouping) -> NDArray[np.int64]:
        """How many persons each class has.

        Examples
        --------
        >>> units = RowPersons(np.array([0, 0, 0, 1, 1, 0], np.int32), 2)
        >>> units.in_classes(Grouping(np.array([0, 0, 0, 1, 1, 1]), np.array([3, 3]))).tolist()
        [1, 2]
        """
        if self.n == len(self.codes):  # every row is a person of its own
            return groups.sizes
        pairs = np.unique(groups.labels * self.n + self.codes)
        return np.bincount(pairs // self.n, minlength=len(groups.sizes)).astype(np.int64)

    def fewest(self, groups: Grouping) -> int:
        """The persons of the class that has fewest; 0 if there is no class."""
        return int(self.in_classes(groups).min(initial=self.n))


def read_units(source: Source, schema: Schema, rows: NDArray[np.int64] | None = None) -> RowPersons | None:
    """The person of each row, or of some rows in their order; None where no column says it.

    Raises
    ------
    TableError
        Some rows do not say whom they are about.
    """
    if schema.unit is None or schema.unit not in source.names:
        return None
    column = source.column(schema.unit)
    column = column if rows is None else column.gather(rows)
    found = factorize(_firsts(column) if column.dtype.is_nested() else column)
    gone = np.append(missing_among(found.values, schema.missing_values, measured=False, mark=schema.decimal), True)
    n_missing = int(gone[found.codes].sum())
    if n_missing:
        raise TableError(
            f"Column '{schema.unit}' is the unit, and {n_missing} of {len(found.codes)} rows have none. Fill it in, or "
            "leave those rows out."
        )
    return RowPersons(found.codes, len(found.values))


def _firsts(column: pl.Series) -> pl.Series:
    """For each row of lists or records, the number of the first row that has the same; none where it has none."""
    numbered = column.alias("unit").to_frame().with_row_index("row")
    first = numbered.select(pl.col("row").first().over("unit")).to_series()
    return first.set(column.is_null(), None)


def repeated_identifiers(source: Source, schema: Schema) -> str | None:
    """A sentence on identifiers whose values repeat, where no unit is named; None if there are none.

    A column whose values stand in more than 20 rows each, on average, names groups and no persons; neither do dates,
    times and numbers with decimals. Only the first 50 identifiers of the schema that the table has are looked at.

    Examples
    --------
    >>> schema = Schema.from_dict({"k": 2, "identifiers": ["card"], "quasi": {"age": {"kind": "numeric"}}})
    >>> told = repeated_identifiers(Source.of(pl.DataFrame({"card": [7, 7, 8], "age": [1, 2, 3]})), schema)
    >>> told.partition(". ")[0]
    "An identifier repeats: 'card' (2 distinct values in 3 rows)"
    """
    if schema.unit is not None:
        return None
    there = set(source.names)
    present = islice((name for name in schema.identifiers if name in there), MOST_LOOKED_AT)
    counts = {name: _distinct_of(source, schema, name) for name in present}
    repeating = [
        f"'{name}' ({distinct:,} distinct values in {rows})" for name, (distinct, rows) in counts.items() if rows
    ]
    if not repeating:
        return None
    listed = ", ".join(repeating[:MOST_NAMED])
    listed += f" and {len(repeating) - MOST_NAMED} more" if len(repeating) > MOST_NAMED else ""
    which, subject = ("An identifier repeats", "it") if len(repeating) == 1 else ("Identifiers repeat", "one of them")
    return (
        f"{which}: {listed}. k counts rows, so a class of k rows may be fewer than k persons. If {subject} says whose "
        "row it is, name it as `unit` instead."
    )


def _distinct_of(source: Source, schema: Schema, name: str) -> tuple[int, str]:
    """The distinct values of a column, and in how many rows they stand; no rows if none repeats."""
    try:
        found = factorize(source.column(name).head(MOST_READ))
    except TableError:  # lists or records: an identifier may be anything, as it is not released
        return 0, ""
    kept = ~missing_among(found.values, schema.missing_values, measured=False, mark=schema.decimal)
    distinct, rows = int(kept.sum()), int(found.counts[kept].sum())
    if distinct == rows or distinct * MOST_EACH < rows or _are_measured(found.values.filter(pl.Series(kept))):
        return distinct, ""
    return distinct, f"the first {rows:,} rows" if source.n_rows > MOST_READ else f"{rows:,} rows"


def _are_measured(values: pl.Series) -> bool:
    """Whether values are dates, times or numbers with decimals, which are no names of persons."""
    if values.dtype != pl.String:
        return values.dtype.is_temporal() or values.dtype.is_float() or values.dtype.is_decimal()
    if values.str.contains(DATED).all():
        return True
    return bool(values.str.contains(NUMBER).all() and values.str.contains("[.,]").any())
