"""Releases in databases: written, read back and verified within one transaction, and only then committed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

import polars as pl

from tclose.errors import TableError, VerificationError
from tclose.release.database_certificates import COLUMNS
from tclose.schema.schema import Schema
from tclose.table.coded import as_text
from tclose.table.formats.database_urls import SQLITE, database_of, masked
from tclose.table.reading import texts
from tclose.table.source import Source
from tclose.verification.judge_release import check_release
from tclose.verification.measure_release import Measured
from tclose.verification.truth import changed_values


class DatabaseTransaction(Protocol):
    """What a release does to a database before it is committed."""

    def exists(self, table: str) -> bool:
        """Whether something of this name is there."""

    def drop(self, table: str) -> None:
        """Remove a table."""

    def create(self, table: str, frame: pl.DataFrame) -> None:
        """Make a table of these rows."""

    def read(self, table: str) -> pl.DataFrame:
        """All rows of a table, in the order in which they were written."""

    def commit(self) -> None:
        """Let others see it."""


def write_to_database(
    frame: pl.DataFrame,
    url: str,
    table: str,
    fields: dict[str, Any],
    certificate_table: str,
    schema: Schema,
    measured: Measured,
    *,
    replace: bool,
    before_commit: Callable[[dict[str, float]], None],
) -> None:
    """Write a release and its certificate into tables; both are there afterwards, or neither is.

    Parameters
    ----------
    frame
        The released rows, in the order in which they are written.
    url, table, certificate_table
        Where they go.
    fields
        Of the certificate.
    schema, measured
        What is promised, and what was measured of the rows before.
    replace
        Replace tables of these names, which are refused if not.
    before_commit
        Called with the seconds that writing and verifying took, when all is verified: if it raises, nothing is
        written.
    """
    with _opened(url) as transaction:
        for name in (table, certificate_table):
            if transaction.exists(name):
                if not replace:
                    raise TableError(
                        f"{masked(url)} has a table '{name}' already. Name another, or ask for it to be replaced: "
                        "--replace-table."
                    )
                transaction.drop(name)
        clock = [time.perf_counter()]
        stored = _storable(frame)
        transaction.create(table, stored)
        clock.append(time.perf_counter())
        _check_stored(frame, stored, transaction.read(table), schema, measured)
        told = pl.DataFrame([[table], [json.dumps(fields, ensure_ascii=False)]], schema=list(COLUMNS))
        transaction.create(certificate_table, told)
        if not transaction.read(certificate_table).equals(told):
            raise VerificationError("The written certificate is not the one of the release; nothing is left of it.")
        clock.append(time.perf_counter())
        before_commit({"write": clock[1] - clock[0], "verify": clock[2] - clock[1]})
        transaction.commit()


def _opened(url: str) -> AbstractContextManager[DatabaseTransaction]:
    if database_of(url) == SQLITE:
        from tclose.release.sqlite_target import sqlite_transaction

        return sqlite_transaction(url)
    from tclose.release.postgresql_target import postgresql_transaction

    return postgresql_transaction(url)


def _storable(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows in types that databases have: other integers than signed ones of 64 bits as such, or else as text."""
    told = as_text(frame)
    return told.with_columns(_stored_column(column) for column in told)


def _stored_column(column: pl.Series) -> pl.Series:
    if column.dtype.is_integer():
        small = column.cast(pl.Int64, strict=False)
        return small if small.null_count() == column.null_count() else column.cast(pl.String)
    if column.dtype.is_float() and column.dtype != pl.Float64:
        return column.cast(pl.String).cast(pl.Float64)  # the shortest decimal, and not the nearest binary fraction
    if isinstance(column.dtype, pl.Duration) or (
        isinstance(column.dtype, pl.Datetime) and column.dtype.time_unit == "ns"
    ):
        return texts(column)
    return column


def _check_stored(
    frame: pl.DataFrame, stored: pl.DataFrame, found: pl.DataFrame, schema: Schema, measured: Measured
) -> None:
    """The table holds exactly what was to be released, and keeps its promise by itself."""
    problem = "The written table does not hold what was to be released; nothing is left of it."
    try:
        same = found.columns == stored.columns and _same_values(stored, found)
        reached = check_release(Source.of(found), schema).as_dict() if same else None
        same = same and not changed_values(Source.of(frame), Source.of(found), schema)
    except (TableError, pl.exceptions.PolarsError):
        raise VerificationError(problem) from None
    if not same or reached != measured.as_dict():
        raise VerificationError(problem)


def _same_values(stored: pl.DataFrame, found: pl.DataFrame) -> bool:
    """Whether two tables have the same texts in every cell; a type may be another that says the same."""
    pairs = ((stored[name], found[name]) for name in stored.columns)
    return all(_told(one).equals(_told(other), null_equal=True) for one, other in pairs)


def _told(column: pl.Series) -> pl.Series:
    return texts(column.cast(pl.String) if column.dtype == pl.Null else column).alias("")
