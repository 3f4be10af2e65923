"""The verifier: does a table keep the promise of its schema?

It shares no code with the methods and their kernels. It takes the released values, not labels:
rows are in one class if they agree on every released quasi-identifier.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np

from tclose.errors import TableError, VerificationError
from tclose.schema.schema import Schema
from tclose.table.class_distances import Distances
from tclose.table.classes import Classes, Tally
from tclose.table.coded import CodedColumn
from tclose.table.encode import encode_sensitive
from tclose.table.measuring import measure_classes
from tclose.table.reading import Reader, code
from tclose.table.source import Source
from tclose.verification.diversity import Reached, diversity, first_failure


@dataclass(frozen=True, eq=False)
class Measured:
    """What a table reaches as it stands.

    Attributes
    ----------
    rows, classes, k
        Rows, distinct combinations of quasi-identifiers, and rows of the smallest class.
    t, l
        By sensitive attribute: the largest distance of a class, also by joint, and the least diversity.
    grouped, distances, tallies
        The class of each row and what was measured of each class.
    """

    rows: int
    classes: int
    k: int
    t: dict[str, Fraction]
    l: dict[str, Reached]  # noqa: E741
    grouped: Classes = field(repr=False)
    distances: dict[str, Distances] = field(repr=False)
    tallies: dict[str, Tally] = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it: every t exactly and as a float."""
        return {
            "rows": self.rows,
            "classes": self.classes,
            "k": self.k,
            "t": {column: fraction(value) for column, value in self.t.items()},
            "l": {column: reached.as_dict() for column, reached in self.l.items()},
        }


def fraction(value: Fraction) -> dict[str, Any]:
    """A distance for JSON."""
    return {"exact": str(value), "value": float(value)}


def measure(columns: Mapping[str, CodedColumn], names: Sequence[str], schema: Schema, reader: Reader) -> Measured:
    """Group a table, cleaned of missing values, by the columns of these names and measure its classes."""
    n_rows = len(reader.rows)
    if not n_rows:
        raise TableError("The table has no rows.")
    grouped = Classes.of(n_rows, (columns[name] for name in names))
    places = {s.column: s.l.recursive[1] if s.l and s.l.recursive else 2 for s in schema.sensitive}
    found = measure_classes(encode_sensitive(reader, columns, schema), schema.joint, grouped.keys)
    return Measured(
        rows=n_rows,
        classes=len(grouped),
        k=int(grouped.sizes.min()),
        t={name: distances.largest() for name, distances in found.distances.items()},
        l={name: diversity(tally, places[name]) for name, tally in found.tallies.items()},
        grouped=grouped,
        distances=found.distances,
        tallies=found.tallies,
    )


def check_release(source: Source, schema: Schema, show_values: bool = False) -> Measured:
    """Measure a release, and raise if it does not keep its promise.

    Raises
    ------
    VerificationError
        Some class breaks k, t or l, or a column is there that must never be released.
    TableError
        The table is not a release of this schema.
    """
    measured, problems = judge(source, schema, show_values)
    if problems or measured is None:
        raise VerificationError("The table does not keep its promise: " + "; ".join(problems) + ".")
    return measured


def judge(source: Source, schema: Schema, show_values: bool = False) -> tuple[Measured | None, list[str]]:
    """What a release reaches, and in what it breaks its promise; nothing is measured of one with forbidden columns."""
    if forbidden := _forbidden(source, schema):
        return None, [forbidden]
    columns = _released_columns(source, schema)
    if missing := _missing(columns, schema):
        return None, [missing]
    reader = Reader(source, np.arange(source.n_rows), schema.decimal, show_values)
    measured = measure(columns, schema.released_quasi, schema, reader)
    broken = []
    if measured.k < schema.k:
        few = int((measured.grouped.sizes < schema.k).sum())
        broken.append(f"k is {measured.k} and not {schema.k}: {few} classes are smaller")
    asked = [(sensitive.column, sensitive.t) for sensitive in schema.sensitive]
    for name, t in (*asked, *((joint.name, joint.t) for joint in schema.joint)):
        if t is not None and measured.t[name] > t:
            broken.append(f"t of '{name}' is {float(measured.t[name]):.6g} and not {float(t):g}")
    for sensitive in schema.sensitive:
        name = sensitive.column
        failure = first_failure(measured.tallies[name], sensitive.l) if sensitive.l else None
        if failure:
            broken.append(f"l of '{name}': {failure}")
    quasi = (columns[name] for name in schema.released_quasi)
    kept = (CodedColumn.of(source.column(name)) for name in schema.keep)
    if failure := keep_failure(source.n_rows, chain(quasi, kept), schema):
        broken.append(failure)
    return measured, broken


def keep_failure(n_rows: int, columns: Iterable[CodedColumn], schema: Schema) -> str | None:
    """What is wrong with the columns of `keep`: together with what tells classes apart they must leave groups of k."""
    if not schema.keep or schema.keep_unchecked:
        return None
    least = int(Classes.of(n_rows, columns).sizes.min())
    if least >= schema.k:
        return None
    return (
        f"with the columns of `keep` the smallest group has {least} rows and not {schema.k}; "
        "make them quasi-identifiers, leave them out, or set keep_unchecked = true"
    )


def _forbidden(source: Source, schema: Schema) -> str | None:
    """Columns that must never be released."""
    forbidden = [name for name in (*schema.identifiers, schema.unit) if name in set(source.names)]
    return (
        f"columns that must never be released are in the table: {', '.join(map(repr, forbidden))}"
        if forbidden
        else None
    )


def _released_columns(source: Source, schema: Schema) -> dict[str, CodedColumn]:
    """The columns that are measured, missing values set to null, if all are those of a release."""
    expected = [*schema.released_quasi, *(s.column for s in schema.sensitive), *schema.keep]
    present, wanted = set(source.names), set(expected)
    absent = [name for name in expected if name not in present]
    extra = [name for name in source.names if name not in wanted]
    if absent or extra:
        raise TableError(
            "The table's columns are not those of a release of this schema."
            + (f" Absent: {', '.join(map(repr, absent))}." if absent else "")
            + (f" Not in the schema: {', '.join(map(repr, extra[:20]))}." if extra else "")
        )
    # A released quasi-identifier is missing only where it is empty: `*` may well be a spelling of missing before.
    columns = source.each(schema.released_quasi, lambda column: code(column, (), numeric=False))
    measured = {sensitive.column: sensitive.is_measured for sensitive in schema.sensitive}
    return columns | source.each(measured, lambda column: code(column, schema.missing_values, measured[column.name]))


def _missing(columns: Mapping[str, CodedColumn], schema: Schema) -> str | None:
    """Missing values that the schema does not allow; a bound may be empty because it is open."""
    open_ends = {name for quasi in schema.quasi if quasi.publish == "bounds" for name in quasi.released}
    missing = [name for name, column in columns.items() if column.values.null_count() and name not in open_ends]
    if not missing or schema.missing == "category":
        return None
    listed = ", ".join(map(repr, missing))
    return f'there are missing values in {listed}, and the schema does not say missing = "category"'
