"""Who was added, changed, deleted and returned, from the state of a history and the new whole table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.history.common_types import CommonTypes
from tclose.history.history_state import AWAY, RELEASED, WITHDRAWN, HistoryState
from tclose.release.column_types import by_values
from tclose.release.known_persons import hash_units
from tclose.schema.schema import Schema
from tclose.table.coded import CodedColumn
from tclose.table.reading import one_spelling
from tclose.table.source import Source

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PersonRows:
    """The rows of a table by person.

    Attributes
    ----------
    hashes
        The keyed hash of the person of each row.
    quasi, sensitive
        Their values.
    rows
        The row of the input that each came from.
    """

    hashes: pl.Series
    quasi: pl.DataFrame
    sensitive: pl.DataFrame
    rows: Integers

    @classmethod
    def of(
        cls, source: Source, selected: Mapping[str, CodedColumn], rows: Integers, schema: Schema, key: bytes
    ) -> PersonRows:
        """What `select_rows` chose.

        Raises
        ------
        TableError
            A person has several rows.
        """
        assert schema.unit is not None
        hashes = hash_units(source.column(schema.unit).gather(rows), schema.missing_values, key)
        if hashes.n_unique() < len(hashes):
            raise TableError(
                f"Column '{schema.unit}' is the unit, and its {hashes.n_unique()} units have {len(hashes)} rows. A "
                "history takes one row a person: join the rows of each, or set unit_rows."
            )
        quasi, sensitive = (
            pl.DataFrame([_column(selected[each.column]) for each in columns])
            for columns in (schema.quasi, schema.sensitive)
        )
        return cls(hashes, quasi, sensitive, rows)


def _column(coded: CodedColumn) -> pl.Series:
    """All rows of a column, in a type that rows which are not released have no say in."""
    return by_values(one_spelling(coded.values.gather(coded.codes)))


@dataclass(frozen=True, eq=False)
class PersonChanges:
    """What became of each person that a history knows, and who is new.

    Attributes
    ----------
    state, table
        The history and the new table, their columns in common types.
    row_of
        The row of the table of each person of the history; -1 if there is none.
    changed
        Released persons with another sensitive value than they were released with.
    moved
        Released persons with other quasi-identifiers, but the same sensitive values.
    deleted
        Released persons who are not in the table.
    returned
        Persons who had left the publication and are in the table.
    barred
        Withdrawn persons who are in the table.
    new_rows
        The rows of the table whose persons were never released.
    """

    state: HistoryState
    table: PersonRows
    row_of: Integers
    changed: Flags
    moved: Flags
    deleted: Flags
    returned: Flags
    barred: Flags
    new_rows: Integers


def find_changes(state: HistoryState, table: PersonRows, schema: Schema) -> PersonChanges:
    """Compare the state of a history with a new table."""
    state, table = _in_common_types(state, table, schema)
    known = pl.DataFrame({"hash": state.hashes, "person": np.arange(len(state), dtype=np.int64)})
    found = table.hashes.alias("hash").to_frame().join(known, on="hash", how="left", maintain_order="left")
    person_of = found["person"].fill_null(-1).to_numpy()
    row_of = np.full(len(state), -1, np.int64)
    rows = np.flatnonzero(person_of >= 0)
    row_of[person_of[rows]] = rows
    here, released = row_of >= 0, state.places == RELEASED
    both = np.flatnonzero(here & released)
    changed, moved = np.zeros(len(state), bool), np.zeros(len(state), bool)
    if len(both):
        versions, alike = state.current_version[both], CommonTypes.by(schema)
        changed[both] = alike.differ(state.sensitive[versions], table.sensitive[row_of[both]])
        moved[both] = ~changed[both] & alike.differ(state.quasi[both], table.quasi[row_of[both]])
    return PersonChanges(
        state, table, row_of, changed, moved, released & ~here, here & (state.places == AWAY),
        here & (state.places == WITHDRAWN), np.flatnonzero(person_of < 0),
    )  # fmt: skip


def _in_common_types(state: HistoryState, table: PersonRows, schema: Schema) -> tuple[HistoryState, PersonRows]:
    """Both with the same type in every column: that of the table, or text where it cannot be that."""
    if not state.number:
        return state, table
    alike = CommonTypes.by(schema)
    quasi = [alike.of(state.quasi[name], table.quasi[name]) for name in table.quasi.columns]
    sensitive = [alike.of(state.sensitive[name], table.sensitive[name]) for name in table.sensitive.columns]
    return (
        replace(state, quasi=pl.DataFrame([a for a, _ in quasi]), sensitive=pl.DataFrame([a for a, _ in sensitive])),
        replace(table, quasi=pl.DataFrame([b for _, b in quasi]), sensitive=pl.DataFrame([b for _, b in sensitive])),
    )
