"""Tables and queries of SQLite, read as they are stored: a column may hold values of any type.

The library that comes with Python reads and writes them; what a column holds is found from all of its values.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from tclose.errors import TableError
from tclose.schema.guarding import guarded
from tclose.table.column_names import check_names, listed
from tclose.table.formats.database_urls import quoted
from tclose.table.formats.gathered_columns import gather

PIECE = 1 << 14  # rows
_TABLES = (
    "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
    "ORDER BY name"
)


def read_sqlite(path: Path, table: str | None, query: str | None) -> pl.DataFrame:
    """The rows of a table or a query; of the only table, if neither is named.

    Raises
    ------
    TableError
        There is no such table, the query is wrong, or the file is no database.
    """
    if not path.is_file():
        raise TableError(f"'{path}' is not a file.")
    problem = f"'{path.name}' cannot be read as an SQLite database"
    with contextlib.closing(guarded(problem, lambda: connect(path, "ro"))) as connection:
        names = guarded(problem, lambda: [str(name) for (name,) in connection.execute(_TABLES)])
        asked = query if query is not None else f"SELECT * FROM {quoted(chosen_table(table, names, path.name))}"
        return guarded(
            f"'{path.name}': the query cannot be run" if query is not None else problem,
            lambda: select(connection, asked),
        )


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection in one of SQLite's modes (`ro`, `rw`, `rwc`), whose transactions are begun by hand."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=10)


def select(connection: sqlite3.Connection, query: str) -> pl.DataFrame:
    """What a query gives."""
    cursor = connection.execute(query)
    if cursor.description is None:
        raise TableError("The query gives no rows: it must be a SELECT.")
    names = [column[0] for column in cursor.description]
    check_names(names)
    return gather(names, _pieces(cursor))


def _pieces(cursor: sqlite3.Cursor) -> Iterator[list[tuple[object, ...]]]:
    while rows := cursor.fetchmany(PIECE):
        yield rows


def chosen_table(table: str | None, names: list[str], where: str) -> str:
    """The table that is named, or the only one there is.

    Examples
    --------
    >>> chosen_table(None, ["people", "visits"], "clinic.db")
    Traceback (most recent call last):
        ...
    tclose.errors.TableError: 'clinic.db' has 2 tables: 'people', 'visits'. Name one with --table, or give a --query.
    """
    if table is not None and table not in names:
        has = f"It has {listed(names)}." if names else "It has none."
        raise TableError(f"'{where}' has no table '{table}'. {has}")
    if table is not None:
        return table
    if len(names) != 1:
        has = f"{len(names)} tables: {listed(names)}" if names else "no tables"
        raise TableError(f"'{where}' has {has}. Name one with --table, or give a --query.")
    return names[0]
