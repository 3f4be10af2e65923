"""Whether the rows of releases are those of their tables: all but the ones that a history holds."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.history.history_state import AWAY, RELEASED, WITHDRAWN, HistoryState
from tclose.schema.columns import Quasi, Sensitive
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.cell_meanings import missing_among, names_of
from tclose.verification.distinct_values import factorize
from tclose.verification.exact_numbers import read_number

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
HASH_BYTES = 16
HASH = "\0hash"  # no column has such a name


@dataclass(frozen=True)
class OriginalTable:
    """The table of a release, and the key by which its persons are known."""

    source: Source
    key: bytes = field(repr=False)


def untrue_values(state: HistoryState, number: int, original: OriginalTable, schema: Schema) -> list[str]:
    """Whether all who entered a release did so with the sensitive values of the table of that release."""
    versions = state.version_of[:, number - 1]
    entered = np.flatnonzero((versions >= 0) & (state.version_origin[versions] == number) & (state.places != WITHDRAWN))
    own = _values(state, entered, versions[entered], schema)
    wrong = int((~_is_in(own, _table(original, schema).select(own.columns))).sum())
    return [f"{wrong} persons entered release {number} with values that are not theirs."] if wrong else []


def untrue_rows(state: HistoryState, original: OriginalTable, schema: Schema) -> tuple[list[str], dict[str, int]]:
    """What the last release says that the table does not, where it should; and how many persons wait.

    A person who entered with the last release, or whose sensitive values are those of the table, has the row of the
    table; where `coarsest` forbids that, the release counts who kept an old one. Anybody else is held with values of an
    earlier release: also a person with several rows in the table, if the released one is none of them.
    """
    table = _table(original, schema)
    released = np.flatnonzero(state.places == RELEASED)
    values = _values(state, released, state.current_version[released], schema)
    rows = _rows(state, released, schema)
    same_rows = _is_in(rows, table.select(rows.columns))
    several = table.select(values.columns).unique().group_by(HASH).len().filter(pl.col("len") > 1)[HASH]
    is_sure = ~values[HASH].is_in(several.to_list()).to_numpy()
    same_values = same_rows | (_is_in(values, table.select(values.columns)) & is_sure)
    other = int((same_values & ~same_rows).sum())
    wrong = other if other > state.releases[-1].counts.get("moves_held", 0) else 0
    told = f"{wrong} persons are in the last release with quasi-identifiers that are not those of the table."
    here = set(table[HASH].to_list())
    known = dict(zip(state.hashes.to_list(), state.places.tolist(), strict=True))
    is_here = values[HASH].is_in(list(here)).to_numpy()
    waiting = {
        "new_waiting": sum(each not in known for each in here),
        "returned_waiting": sum(known.get(each) == AWAY for each in here),
        "changes_held": int((~same_values & is_here).sum()),
        "moves_held": other - wrong,
        "deletions_held": int((~is_here).sum()),
    }
    return [told] if wrong else [], waiting


def untrue_held(before: HistoryState, after: HistoryState, original: OriginalTable, schema: Schema) -> list[str]:
    """Whether all who are not released with a row of the table are released with the one they had before."""
    released = np.flatnonzero(after.places == RELEASED)
    rows = _rows(after, released, schema)
    held = rows.filter(pl.Series(~_is_in(rows, _table(original, schema).select(rows.columns))))
    if not len(held):
        return []
    had = _rows(before, np.flatnonzero(before.places == RELEASED), schema) if before.number else held.clear()
    wrong = int((~_is_in(held, had.select(held.columns))).sum())
    return [f"{wrong} persons would be released with a row that they neither have nor had before."] if wrong else []


def _rows(state: HistoryState, persons: Integers, schema: Schema) -> pl.DataFrame:
    """Persons with what they are released with, by names of values."""
    values = _values(state, persons, state.current_version[persons], schema)
    quasi = [_named(state.quasi[each.column].gather(persons), schema, each.is_measured) for each in schema.quasi]
    return values.with_columns(quasi)


def _table(original: OriginalTable, schema: Schema) -> pl.DataFrame:
    """The person of each row, and its values by their names; rows that missing values leave out are not there."""
    source = original.source
    columns: list[Quasi | Sensitive] = [*schema.quasi, *schema.sensitive]
    named = [_named(source.column(each.column), schema, each.is_measured) for each in columns]
    table = pl.DataFrame([_persons(source, schema, original.key), *named])
    return table.drop_nulls() if schema.missing == "drop" else table


def _values(state: HistoryState, persons: Integers, versions: Integers, schema: Schema) -> pl.DataFrame:
    """Persons with the sensitive values of some versions, by their names."""
    named = [
        _named(state.sensitive[each.column].gather(versions), schema, each.is_measured) for each in schema.sensitive
    ]
    return pl.DataFrame([state.hashes.gather(persons).alias(HASH), *named])


def _persons(source: Source, schema: Schema, key: bytes) -> pl.Series:
    """The keyed hash of the person of each row, from what the person is called."""
    assert schema.unit is not None
    found = factorize(source.column(schema.unit))
    hashes = [
        hashlib.blake2b(name.encode(), key=key, digest_size=HASH_BYTES).hexdigest() for name in names_of(found.values)
    ]
    if (found.codes < 0).any():
        raise TableError(f"Column '{schema.unit}' is the unit, and is missing in {int((found.codes < 0).sum())} rows.")
    return pl.Series(HASH, hashes, dtype=pl.String).gather(found.codes)


def _named(column: pl.Series, schema: Schema, measured: bool) -> pl.Series:
    """Each value by its name, a number by what it is however it is written; null where it is missing."""
    found = factorize(column)
    gone = missing_among(found.values, schema.missing_values, measured, schema.decimal)
    signs = (schema.decimal, schema.thousands) if found.values.dtype == pl.String else (".", "")
    names = [
        None if is_gone else _meaning(name, signs) if measured else name
        for name, is_gone in zip(names_of(found.values), gone.tolist(), strict=True)
    ]
    by_code = pl.Series(column.name, [*names, None], dtype=pl.String)
    return by_code.gather(np.where(found.codes < 0, len(names), found.codes))


def _meaning(name: str, signs: tuple[str, str]) -> str:
    """A number that is written with these signs by its digits and exponent; what is none as it is."""
    number = read_number(name, *signs)
    return name if number is None else str(number)


def _is_in(rows: pl.DataFrame, among: pl.DataFrame) -> Flags:
    """Which rows are among others, missing values being equal."""
    numbered = rows.with_row_index("\0row")
    found = numbered.join(among.unique(), on=rows.columns, how="semi", nulls_equal=True)["\0row"].to_numpy()
    is_in = np.zeros(len(rows), bool)
    is_in[found] = True
    return is_in
