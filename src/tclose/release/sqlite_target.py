"""SQLite as a place for releases."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from tclose.errors import TableError
from tclose.schema.guarding import guarded
from tclose.table.formats.database_urls import quoted, sqlite_file
from tclose.table.formats.sqlite_tables import connect, select
from tclose.table.reading import texts

PIECE = 1 << 14  # rows


@dataclass(frozen=True)
class SqliteTransaction:
    """A transaction that holds the lock of the database from its beginning.

    Attributes
    ----------
    connection
        To the database.
    problem
        What to say where something fails.
    """

    connection: sqlite3.Connection
    problem: str

    def exists(self, table: str) -> bool:
        """Whether a table, a view or an index has this name; SQLite takes upper and lower case for the same."""
        query = "SELECT count(*) FROM sqlite_schema WHERE lower(name) = lower(?)"
        return bool(guarded(self.problem, lambda: self.connection.execute(query, [table]).fetchone()[0]))

    def drop(self, table: str) -> None:
        """Remove a table; a view is none."""
        guarded(self.problem, lambda: self.connection.execute(f"DROP TABLE {quoted(table)}"))

    def create(self, table: str, frame: pl.DataFrame) -> None:
        """Make a table: whole numbers, other numbers, and all else as text."""
        told = frame.with_columns(
            texts(column) for column in frame if not (column.dtype.is_integer() or column.dtype.is_float())
        )
        columns = ", ".join(f"{quoted(name)} {_type(kind)}" for name, kind in told.schema.items())
        marks = ", ".join("?" for _ in told.columns)
        insert, rows = f"INSERT INTO {quoted(table)} VALUES ({marks})", told.iter_rows(buffer_size=PIECE)
        guarded(self.problem, lambda: self.connection.execute(f"CREATE TABLE {quoted(table)} ({columns})"))
        guarded(self.problem, lambda: self.connection.executemany(insert, rows))

    def read(self, table: str) -> pl.DataFrame:
        """All rows; without an index they come in the order in which they were written."""
        query = f"SELECT * FROM {quoted(table)}"
        return guarded(self.problem, lambda: select(self.connection, query))

    def commit(self) -> None:
        """Let others see it."""
        guarded(self.problem, lambda: self.connection.execute("COMMIT"))


def _type(kind: pl.DataType) -> str:
    if kind.is_integer():
        return "INTEGER"
    return "REAL" if kind.is_float() else "TEXT"


@contextlib.contextmanager
def sqlite_transaction(url: str) -> Iterator[SqliteTransaction]:
    """A transaction in the database of a URL, whose file is made if it is not there; undone unless it is committed."""
    path = sqlite_file(url)
    if not path.absolute().parent.is_dir():
        raise TableError(f"'{path.parent}' is not a folder. Make it first.")
    is_new = not path.exists()
    problem = f"The release cannot be written into the SQLite database '{path.name}'"
    connection = guarded(problem, lambda: connect(path, "rwc"))
    committed = False
    try:
        guarded(problem, lambda: connection.execute("BEGIN IMMEDIATE"))
        yield SqliteTransaction(connection, problem)
        committed = not connection.in_transaction
    finally:
        with contextlib.suppress(sqlite3.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        connection.close()
        if is_new and not committed:
            path.unlink(missing_ok=True)
