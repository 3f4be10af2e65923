"""What `assess` tells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.schema.columns import Quasi, Sensitive
from tclose.schema.schema import Schema
from tclose.table.column_names import listed
from tclose.table.source import Source
from tclose.verification.belief_rises import ReachedRise
from tclose.verification.cell_meanings import missing_among
from tclose.verification.class_diversity import LeastDiversity
from tclose.verification.covering import HIDDEN
from tclose.verification.disclosure import Disclosure, disclosure
from tclose.verification.distinct_values import factorize
from tclose.verification.divergence import Divergence, divergence
from tclose.verification.measure_release import Measured, exact_and_float, measure
from tclose.verification.person_rises import rises_as_dict, rises_in_persons
from tclose.verification.persons import RowPersons, read_units, repeated_identifiers


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """How private a table is as it stands: what `tclose.assess` returns.

    Attributes
    ----------
    measured
        What was measured of its rows.
    notes
        What whoever reads it should know, a sentence each.

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [21, 22, 23, 61, 62, 63], "illness": ["flu", "cold"] * 3})
    >>> illness = {"distance": "equal", "t": 0.2}
    >>> asked = {"k": 3, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"illness": illness}}
    >>> report = tclose.assess(table, asked)
    >>> report
    Report(k 1 in rows, 6 rows in 6 classes)
    >>> report.t["illness"], report.l["illness"].distinct
    (Fraction(1, 2), 1)
    """

    measured: Measured
    schema: Schema
    _rows: NDArray[np.int64]
    _source: Source
    _columns: tuple[str, ...]
    _show_values: bool = False
    _units: RowPersons | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        of = "" if self.persons is None else f" of {self.persons} persons"
        return f"Report(k {self.k} in {self.counted}, {self.rows} rows{of} in {self.classes} classes)"

    @property
    def rows(self) -> int:
        """The number of rows measured."""
        return self.measured.rows

    @property
    def classes(self) -> int:
        """The number of distinct combinations of quasi-identifiers."""
        return self.measured.classes

    @property
    def persons(self) -> int | None:
        """The number of persons, by the unit of the schema; None where the table does not say whose a row is."""
        return None if self._units is None else self._units.n

    @property
    def k(self) -> int:
        """The persons of the class that has fewest; its rows where the table does not say whose a row is."""
        return self.measured.k if self._units is None else self._units.fewest(self.measured.grouping)

    @property
    def counted(self) -> str:
        """What k counts: `persons`, or `rows`."""
        return "rows" if self._units is None else "persons"

    @property
    def t(self) -> dict[str, Fraction]:
        """By sensitive attribute and by joint, the largest distance of a class from the whole table."""
        return self.measured.t

    @property
    def l(self) -> dict[str, LeastDiversity]:  # noqa: E743
        """By sensitive attribute, the diversity of the least diverse classes."""
        return self.measured.l

    @property
    def measures(self) -> dict[str, Divergence]:
        """By sensitive attribute, the largest distance of a class by other measures; nothing is certified by them."""
        return {name: divergence(*self.measured.counts(name)) for name in self.measured.l}

    @cached_property
    def disclosure(self) -> dict[str, Disclosure]:
        """By sensitive attribute, what classes tell of single values: (alpha, k), beta, delta, the largest rise."""
        return {name: disclosure(*self.measured.counts(name)) for name in self.measured.l}

    @cached_property
    def person_rises(self) -> dict[str, ReachedRise]:
        """By sensitive attribute, how far shares of persons with a value rise; empty where persons are not known."""
        return {} if self._units is None else rises_in_persons(self.measured, self.schema, self._units)

    def worst(self, column: str, most: int = 5) -> list[dict[str, Any]]:
        """The classes farthest from the whole table in one sensitive attribute, or in a joint.

        Each with its rows, its persons if they are known, its distance and where its first row stands;
        with its quasi-identifiers if values were asked for.
        """
        distances, groups = self.measured.distances(column), self.measured.grouping
        persons = None if self._units is None else self._units.in_classes(groups)
        found = []
        for place in map(int, np.lexsort((groups.sizes, -distances.floats))[:most]):
            first = int(np.argmax(groups.labels == place))
            row = self._rows[first : first + 1]
            entry = {"size": int(groups.sizes[place]), "t": exact_and_float(distances.exact(place))}
            entry |= {} if persons is None else {"persons": int(persons[place])}
            entry["first"] = self._source.name_rows(row)
            if self._show_values:
                shown = {name: self._source.column(name)[int(row[0])] for name in self._columns}
                entry["values"] = {name: None if value is None else str(value) for name, value in shown.items()}
            found.append(entry)
        return found

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it; `k` counts what `counted` says, and `k_rows` rows."""
        return {
            **self.measured.as_dict(),
            "k": self.k,
            "counted": self.counted,
            "k_rows": self.measured.k,
            "persons": self.persons,
            **({"in_persons": rises_as_dict(self.person_rises)} if self.person_rises else {}),
            "notes": list(self.notes),
            "measures": {column: found.as_dict() for column, found in self.measures.items()},
            "disclosure": {column: found.as_dict() for column, found in self.disclosure.items()},
            "worst": {column: self.worst(column) for column in self.measured.t},
        }


def assess_source(source: Source, schema: Schema, show_values: bool = False) -> Report:
    """Measure a table as it stands: rows are in one class if they agree on the quasi-identifiers as they are.

    A released table has the columns of `publish = "bounds"` in the place of the original one; an
    empty bound is an open end. In a quasi-identifier `*` is what hides a value, and never missing.

    Raises
    ------
    TableError
        A column is not there, values are missing and the schema does not say what that means, or a row
        does not say whose it is where the table has the unit.
    """
    present = set(source.names)
    columns = tuple(
        name for quasi in schema.quasi for name in ((quasi.column,) if quasi.column in present else quasi.released)
    )
    needed = (*columns, *(each.column for each in schema.sensitive))
    if absent := [name for name in needed if name not in present]:
        raise TableError(f"The table has no column {listed(absent)}, which the schema names.")
    known = {*needed, *schema.columns}
    if unnamed := [name for name in source.names if name not in known]:
        raise TableError(
            f"{len(unnamed)} of the table's columns have no role in the schema: {listed(unnamed)}. "
            "Name each as [quasi.NAME] or [sensitive.NAME], or in `identifiers` or `keep`."
        )
    if not source.n_rows:
        raise TableError("The table has no rows.")
    bounds = {name for quasi in schema.quasi if quasi.column not in present for name in quasi.released}
    gone = {name: _gone(source, schema, name) for name in needed if name not in bounds}
    missing = {name: mask for name, mask in gone.items() if mask.any()}
    rows = np.arange(source.n_rows)
    if missing and schema.missing in (None, "error"):
        told = listed([f"{name} ({int(mask.sum())} rows)" for name, mask in missing.items()])
        raise TableError(f'There are missing values in {told}. Say what they mean: missing = "category" or "drop".')
    if missing and schema.missing == "drop":
        rows = np.flatnonzero(~np.logical_or.reduce(list(missing.values())))
        if not len(rows):
            raise TableError("No row is left after dropping those with missing values.")
    taken = _taken(source, rows, {name: gone[name] for name in columns if name in missing})
    note = repeated_identifiers(source, schema)
    return Report(
        measure(taken, schema, columns), schema, rows, source, columns, show_values, read_units(taken, schema),
        () if note is None else (note,),
    )  # fmt: skip


def _gone(source: Source, schema: Schema, name: str) -> NDArray[np.bool_]:
    """Which rows have no value in a column."""
    columns: list[Quasi | Sensitive] = [*schema.quasi, *schema.sensitive]
    column = next(each for each in columns if each.column == name)
    given = source.column(name)
    if given.dtype == pl.Binary:  # which no release holds
        raise TableError(f"Column '{name}' is of type Binary, which is not measured. Cast it to a number or to text.")
    found = factorize(given)
    spellings = schema.missing_values
    if isinstance(column, Quasi):
        spellings = tuple(each for each in spellings if each != HIDDEN)
    measured = column.is_measured
    return np.append(missing_among(found.values, spellings, measured, schema.decimal), True)[found.codes]


def _taken(source: Source, rows: NDArray[np.int64], gone: dict[str, NDArray[np.bool_]]) -> Source:
    """Some rows of a table, with every spelling of missing as none."""

    def column(name: str) -> pl.Series:
        given = source.column(name)
        if name in gone:
            given = given.set(pl.Series(gone[name]), None)
        return given if len(rows) == source.n_rows else given.gather(rows)

    return replace(source, column=column, n_rows=len(rows))
