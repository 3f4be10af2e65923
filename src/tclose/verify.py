"""The verifier: does a table keep the promise of its schema?

It shares no code with the methods and their kernels. It takes the released values, not labels:
rows are in one class if they agree on every released quasi-identifier.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.columns import Reader, clean
from tclose.encode import encode_sensitive
from tclose.errors import TableError, VerificationError
from tclose.frames import Source
from tclose.metrics.classes import Tally, group
from tclose.metrics.closeness import Distances, class_distances
from tclose.metrics.diversity import Reached, diversity, first_failure
from tclose.schema import Schema

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Measured:
    """What a table reaches as it stands.

    Attributes
    ----------
    rows, classes, k
        Rows, distinct combinations of quasi-identifiers, and rows of the smallest class.
    t, l
        By sensitive attribute: the largest distance of a class, and the least diversity.
    labels, sizes, distances, tallies
        The class of each row and what was measured of each class.
    """

    rows: int
    classes: int
    k: int
    t: dict[str, Fraction | float]
    l: dict[str, Reached]  # noqa: E741
    labels: Integers = field(repr=False)
    sizes: Integers = field(repr=False)
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


def fraction(value: Fraction | float) -> dict[str, Any]:
    """A distance for JSON; that of a matrix is a float, and has no exact form."""
    return {"exact": str(value) if isinstance(value, Fraction) else None, "value": float(value)}


def measure(frame: pl.DataFrame, columns: tuple[str, ...], schema: Schema, reader: Reader) -> Measured:
    """Group a table, cleaned of missing values, by these columns and measure its classes."""
    if not len(frame):
        raise TableError("The table has no rows.")
    labels, n_classes = group(frame, columns)
    domains, codes = encode_sensitive(reader, frame, schema)
    tallies, distances = {}, {}
    places = {s.column: s.l.recursive[1] if s.l and s.l.recursive else 2 for s in schema.sensitive}
    for domain, column in zip(domains, codes, strict=True):
        tally = Tally.of(labels, n_classes, column, domain.size)
        tallies[domain.column] = tally
        distances[domain.column] = class_distances(domain.form, tally)
    sizes = np.bincount(labels, minlength=n_classes)
    return Measured(
        rows=len(frame),
        classes=n_classes,
        k=int(sizes.min()),
        t={name: found.largest() for name, found in distances.items()},
        l={name: diversity(tally, places[name]) for name, tally in tallies.items()},
        labels=labels,
        sizes=sizes,
        distances=distances,
        tallies=tallies,
    )


def verify(source: Source, schema: Schema, show_values: bool = False) -> Measured:
    """Measure a release, and raise if it does not keep its promise.

    Raises
    ------
    VerificationError
        Some class breaks k, t or l, or a column is there that must never be released.
    TableError
        The table is not a release of this schema.
    """
    frame = _released_columns(source.frame, schema)
    reader = Reader(source, np.arange(len(frame)), schema.decimal, show_values)
    measured = measure(frame, schema.released_quasi, schema, reader)
    broken = []
    if measured.k < schema.k:
        few = int((measured.sizes < schema.k).sum())
        broken.append(f"k is {measured.k} and not {schema.k}: {few} classes are smaller")
    for sensitive in schema.sensitive:
        name = sensitive.column
        if sensitive.t is not None and measured.t[name] > sensitive.t:
            broken.append(f"t of '{name}' is {float(measured.t[name]):.6g} and not {float(sensitive.t):g}")
        failure = first_failure(measured.tallies[name], sensitive.l) if sensitive.l else None
        if failure:
            broken.append(f"l of '{name}': {failure}")
    if schema.keep and not schema.keep_unchecked:
        labels, n_groups = group(frame, (*schema.released_quasi, *schema.keep))
        least = int(np.bincount(labels, minlength=n_groups).min())
        if least < schema.k:
            broken.append(
                f"with the columns of `keep` the smallest group has {least} rows and not {schema.k}; "
                "make them quasi-identifiers, leave them out, or set keep_unchecked = true"
            )
    if broken:
        raise VerificationError("The table does not keep its promise: " + "; ".join(broken) + ".")
    return measured


def _released_columns(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """The table with missing values set to null, if its columns are those of a release."""
    expected = [*schema.released_quasi, *(s.column for s in schema.sensitive), *schema.keep]
    forbidden = [name for name in (*schema.identifiers, schema.unit) if name in frame.columns]
    if forbidden:
        raise VerificationError(
            f"Columns that must never be released are in the table: {', '.join(map(repr, forbidden))}."
        )
    present, wanted = set(frame.columns), set(expected)
    absent = [name for name in expected if name not in present]
    extra = [name for name in frame.columns if name not in wanted]
    if absent or extra:
        raise TableError(
            "The table's columns are not those of a release of this schema."
            + (f" Absent: {', '.join(map(repr, absent))}." if absent else "")
            + (f" Not in the schema: {', '.join(map(repr, extra[:20]))}." if extra else "")
        )
    numeric = {sensitive.column for sensitive in schema.sensitive if sensitive.is_measured}
    kept, quasi = set(schema.keep), set(schema.released_quasi)
    checked = [name for name in expected if name not in kept]
    # A released quasi-identifier is missing only where it is empty: `*` may well be a spelling of missing before.
    spelled = {name: () if name in quasi else schema.missing_values for name in checked}
    frame = frame.with_columns(clean(frame[name], spelled[name], name in numeric) for name in checked)
    missing = [name for name in checked if frame[name].null_count()]
    open_ends = {name for quasi in schema.quasi if quasi.publish == "bounds" for name in quasi.released}
    missing = [name for name in missing if name not in open_ends]
    if missing and schema.missing != "category":
        raise VerificationError(
            f"There are missing values in {', '.join(map(repr, missing))}, and the schema does not say "
            'missing = "category".'
        )
    return frame
