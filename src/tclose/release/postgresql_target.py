"""PostgreSQL as a place for releases."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from tclose.table.formats.database_urls import masked, name_parts, quoted_name
from tclose.table.formats.postgresql_tables import connected, fetch, run, tried


@dataclass(frozen=True)
class PostgresqlTransaction:
    """A transaction of a connection.

    Attributes
    ----------
    connection, cursor
        To the database.
    problem
        What to say where something fails.
    """

    connection: Any
    cursor: Any
    problem: str

    def exists(self, table: str) -> bool:
        """Whether a table, a view or another relation has this name."""
        name = quoted_name(table).replace("'", "''")
        return bool(fetch(self.cursor, f"SELECT to_regclass('{name}') IS NOT NULL AS there", self.problem)["there"][0])

    def drop(self, table: str) -> None:
        """Remove a table; a view is none, and what others depend on stays."""
        run(self.cursor, f"DROP TABLE {quoted_name(table)}", self.problem)

    def create(self, table: str, frame: pl.DataFrame) -> None:
        """Make a table of these rows."""
        *schema, name = name_parts(table)
        options = {"db_schema_name": schema[-1]} if schema else {}
        arrow = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        tried(self.problem, lambda: self.cursor.adbc_ingest(name, arrow, mode="create", **options))

    def read(self, table: str) -> pl.DataFrame:
        """All rows, in the order in which they were written."""
        return fetch(self.cursor, f"SELECT * FROM {quoted_name(table)}", self.problem)

    def commit(self) -> None:
        """Let others see it."""
        tried(self.problem, self.connection.commit)


@contextlib.contextmanager
def postgresql_transaction(url: str) -> Iterator[PostgresqlTransaction]:
    """A transaction in the database of a URL; undone unless it is committed."""
    problem = f"The release cannot be written into {masked(url)}"
    with connected(url) as connection, contextlib.closing(connection.cursor()) as cursor:
        run(cursor, "SET LOCAL synchronize_seqscans = off", problem)  # rows come in the order they lie in
        yield PostgresqlTransaction(connection, cursor, problem)
