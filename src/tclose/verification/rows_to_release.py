"""Which rows of an original are to be released, and of which persons one is, unless they are left out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.persons import read_units
from tclose.verification.picked_rows import picked_rows
from tclose.verification.truth import rows_lacking_values


class PersonsToRelease(NamedTuple):
    """The persons of an original of whom one row is kept (`unit_rows = "one"`).

    Attributes
    ----------
    of_rows
        The person of each row of the original.
    must, may
        For each person, whether a row must be released, and whether one may be. The row that was picked may be one that
        `missing = "drop"` leaves out; where it is drawn at random, it is not known which that is.
    """

    of_rows: NDArray[np.int32]
    must: NDArray[np.bool_]
    may: NDArray[np.bool_]


def rows_to_release(original: Source, schema: Schema) -> NDArray[np.int64]:
    """The rows of a table that are released unless they are left out.

    All, or those that are the first or last of their person, where one of each is kept; of these, those without missing
    values under `drop`.
    """
    picked = picked_rows(original, schema)
    rows = np.arange(original.n_rows) if picked is None else np.flatnonzero(picked)
    return rows[~rows_lacking_values(original, schema, rows)] if schema.missing == "drop" else rows


def persons_to_release(original: Source, schema: Schema) -> PersonsToRelease | None:
    """The persons of whom a row is released; None where no column says whose a row is.

    Examples
    --------
    >>> import polars as pl
    >>> keys = {"k": 1, "missing": "drop", "unit": "who", "unit_rows": "one", "quasi": {"age": {"kind": "numeric"}}}
    >>> table = pl.DataFrame({"who": ["a", "a", "b", "b", "c"], "age": [1, 2, 3, None, None]})
    >>> found = persons_to_release(Source.of(table), Schema.from_dict(keys))
    >>> found.must.tolist(), found.may.tolist()
    ([True, False, False], [True, True, False])
    """
    units = read_units(original, schema)
    if units is None:
        return None
    picked = picked_rows(original, schema)
    rows = np.bincount(units.codes if picked is None else units.codes[picked], minlength=units.n)
    complete = np.bincount(units.codes[rows_to_release(original, schema)], minlength=units.n)
    return PersonsToRelease(units.codes, complete == rows, complete > 0)
