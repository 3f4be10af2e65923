"""Whether the rows of the last release are those of the table: all but the ones that a history holds."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.history.history_state import AWAY, RELEASED, HistoryState
from tclose.schema.columns import Quasi, Sensitive
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.cell_meanings import missing_among, names_of
from tclose.verification.distinct_values import factorize

Flags = NDArray[np.bool_]
HASH_BYTES = 16


@dataclass(frozen=True)
class OriginalTable:
    """The table of the last release, and the key by which its persons are known."""

    source: Source
    key: bytes = field(repr=False)


def untrue_rows(state: HistoryState, original: OriginalTable, schema: Schema) -> tuple[list[str], dict[str, int]]:
    """What the last release says that the table does not, where it should; and how many persons wait.

    A person who entered with the last release, or whose sensitive values are those of the table, has the row of the
    table, and one of them if there are several. Anybody else is held with values of an earlier release.
    """
    source = original.source
    columns: list[Quasi | Sensitive] = [*schema.quasi, *schema.sensitive]
    persons = _persons(source, schema, original.key)
    table = pl.DataFrame([persons, *(_named(source.column(each.column), schema, each.is_measured) for each in columns)])
    released = np.flatnonzero(state.places == RELEASED)
    versions = state.current_version[released]
    own = [_named(state.quasi[each.column].gather(released), schema, each.is_measured) for each in schema.quasi]
    own += [
        _named(state.sensitive[each.column].gather(versions), schema, each.is_measured) for each in schema.sensitive
    ]
    frame = pl.DataFrame([state.hashes.gather(released).alias("\0hash"), *own])
    values = ["\0hash", *(each.column for each in schema.sensitive)]
    same_values = _is_in(frame.select(values), table.select(values))
    same = _is_in(frame, table.select(frame.columns))
    entered = state.version_origin[versions] == state.number
    problems = []
    if (entered & ~same).any():
        problems.append(
            f"{int((entered & ~same).sum())} persons entered the last release with a row that is not theirs."
        )
    if (same_values & ~same).any():
        wrong = int((same_values & ~same).sum())
        problems.append(
            f"{wrong} persons are in the last release with quasi-identifiers that are not those of the table."
        )
    here = set(persons.to_list())
    known = dict(zip(state.hashes.to_list(), state.places.tolist(), strict=True))
    waiting = {
        "new_waiting": sum(each not in known for each in here),
        "returned_waiting": sum(known.get(each) == AWAY for each in here),
        "changes_held": int((~same_values & frame["\0hash"].is_in(list(here)).to_numpy()).sum()),
        "deletions_held": int((~frame["\0hash"].is_in(list(here))).sum()),
    }
    return problems, waiting


def _persons(source: Source, schema: Schema, key: bytes) -> pl.Series:
    """The keyed hash of the person of each row, from what the person is called."""
    assert schema.unit is not None
    found = factorize(source.column(schema.unit))
    hashes = [
        hashlib.blake2b(name.encode(), key=key, digest_size=HASH_BYTES).hexdigest() for name in names_of(found.values)
    ]
    if (found.codes < 0).any():
        raise TableError(f"Column '{schema.unit}' is the unit, and is missing in {int((found.codes < 0).sum())} rows.")
    return pl.Series("\0hash", hashes, dtype=pl.String).gather(found.codes)


def _named(column: pl.Series, schema: Schema, measured: bool) -> pl.Series:
    """Each value by its name; null where it is missing."""
    found = factorize(column)
    gone = missing_among(found.values, schema.missing_values, measured, schema.decimal)
    names = [None if is_gone else name for name, is_gone in zip(names_of(found.values), gone.tolist(), strict=True)]
    by_code = pl.Series(column.name, [*names, None], dtype=pl.String)
    return by_code.gather(np.where(found.codes < 0, len(names), found.codes))


def _is_in(rows: pl.DataFrame, among: pl.DataFrame) -> Flags:
    """Which rows are among others, missing values being equal."""
    numbered = rows.with_row_index("\0row")
    found = numbered.join(among.unique(), on=rows.columns, how="semi", nulls_equal=True)["\0row"].to_numpy()
    is_in = np.zeros(len(rows), bool)
    is_in[found] = True
    return is_in
