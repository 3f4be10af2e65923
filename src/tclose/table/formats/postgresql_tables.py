"""Tables and queries of PostgreSQL, by its ADBC driver, in the types that they have there.

`numeric` comes as text and stays exact; arrays, records and JSON keep a type that no release has.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any, TypeVar

import polars as pl

from tclose.errors import TableError
from tclose.schema.guarding import guarded
from tclose.table.column_names import check_names, listed
from tclose.table.formats.database_urls import masked, quoted_name
from tclose.table.formats.tried_files import need

Result = TypeVar("Result")
EPOCH = date(1970, 1, 1).toordinal()
FIRST, LAST = date.min.toordinal() - EPOCH, date.max.toordinal() - EPOCH
DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
DIGITS = 38  # that a decimal of polars holds
STATES = {  # SQLSTATE: what to do about it
    "08001": "the server cannot be reached: check host, port, and that it is running",
    "08006": "the server cannot be reached: check host, port, and that it is running",
    "28P01": "the password is wrong",
    "28000": "the server does not let this user in",
    "3D000": "there is no such database",
    "42P01": "there is no such table",
    "42501": "this user may not do that",
    "42601": "the query is not SQL that PostgreSQL understands",
    "42703": "the query names a column that is not there",
    "25006": "a query must only read",
    "57014": "the server stopped the query",
    "42P07": "there is a table of this name already",
    "2BP01": "something else in the database depends on it",
    "42809": "it is no table",
    "3F000": "there is no such schema",
}
UNREACHED = {  # words of the client, which gives no code: what to do about it
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "does not exist": "3D000",
    "no pg_hba.conf entry": "28000",
}
_UUID = r"^(.{8})(.{4})(.{4})(.{4})(.{12})$"
_TABLES = (
    "SELECT CASE WHEN schemaname = current_schema() THEN tablename ELSE schemaname || '.' || tablename END AS name "
    "FROM pg_catalog.pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1"
)


def read_postgresql(url: str, table: str | None, query: str | None) -> pl.DataFrame:
    """The rows of a table or a query, as they are at one moment; of the only table, if neither is named.

    Raises
    ------
    TableError
        The server cannot be reached, there is no such table, the query is wrong, or would write. The message names
        neither the password nor a cell.
    MissingExtraError
        The driver is not installed.
    """
    with connected(url) as connection, contextlib.closing(connection.cursor()) as cursor:
        problem = f"{masked(url)} cannot be read"
        run(cursor, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY", problem)
        if query is None and table is None:
            table = _only_table(fetch(cursor, _TABLES, problem)["name"].to_list(), url)
        asked = query.strip().rstrip(";") if query is not None else f"SELECT * FROM {quoted_name(table or '')}"
        return fetch(cursor, asked, f"{masked(url)}: the query cannot be run" if query is not None else problem)


def _only_table(names: list[str], url: str) -> str:
    if len(names) == 1:
        return names[0]
    has = f"{len(names)} tables: {listed(names)}" if names else "no tables"
    raise TableError(f"{masked(url)} has {has}. Name one with --table, or give a --query.")


@contextlib.contextmanager
def connected(url: str) -> Iterator[Any]:
    """A connection in a transaction, which is undone unless it is committed."""
    for package in ("adbc_driver_postgresql", "pyarrow"):
        need(package, "databases", "A PostgreSQL database")
    from adbc_driver_postgresql import dbapi

    connection = tried(f"{masked(url)} cannot be opened", lambda: dbapi.connect(url))
    try:
        yield connection
    finally:
        with contextlib.suppress(Exception):
            connection.rollback()
        with contextlib.suppress(Exception):
            connection.close()


def run(cursor: Any, statement: str, problem: str) -> None:
    """Run a statement that gives no rows."""
    tried(problem, lambda: cursor.execute(statement))


def fetch(cursor: Any, query: str, problem: str) -> pl.DataFrame:
    """What a query gives."""
    found = tried(problem, lambda: (cursor.execute(query), cursor.fetch_arrow_table())[1])
    check_names(found.schema.names)
    return pl.DataFrame([_column(found.schema.field(place), found.column(place)) for place in range(found.num_columns)])


def tried(problem: str, action: Callable[[], Result]) -> Result:
    """Do it, and say what PostgreSQL's code for what went wrong means; its words may quote a cell or a password."""
    try:
        return action()
    except Exception as error:
        state, kind = getattr(error, "sqlstate", None), type(error).__name__
        words = str(error)
    if state is None and "Failed to connect" in words:
        state = next((code for part, code in UNREACHED.items() if part in words), "08001")
    reason = STATES.get(state or "", f"{kind}{f', SQLSTATE {state}' if state else ''}")
    raise TableError(f"{problem}: {reason}.")


def _column(field: Any, values: Any) -> pl.Series:
    """A column in the type that holds it."""
    import pyarrow as pa

    kind = (field.metadata or {}).get(b"POSTGRESQL:type", b"").decode()
    if kind in ("interval", "money"):
        raise TableError(
            f"Column '{field.name}' is of type {kind}, which is not read. Cast it to numeric in a --query."
        )
    if isinstance(values.type, pa.BaseExtensionType):
        values = pa.chunked_array([chunk.storage for chunk in values.chunks], values.type.storage_type)
    column = guarded(f"Column '{field.name}' is of a type that cannot be read", lambda: pl.Series(field.name, values))
    if kind == "numeric":
        return exact_numbers(column)
    if kind == "uuid":
        return column.cast(pl.Binary).bin.encode("hex").str.replace(_UUID, "$1-$2-$3-$4-$5")
    if kind == "bpchar":  # blanks that fill it up say nothing
        return column.str.strip_chars_end(" ")
    if kind in ("json", "jsonb"):
        return column.cast(pl.String).to_frame().select(pl.concat_list(pl.all())).to_series()
    if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        _check_calendar(column)
    return column


def _check_calendar(column: pl.Series) -> None:
    """Refuse what the driver turns into other days: infinite ones, and those that no calendar has."""
    days = column.to_physical() // (DAY[column.dtype.time_unit] if isinstance(column.dtype, pl.Datetime) else 1)
    if not days.is_between(FIRST, LAST).all():
        raise TableError(
            f"Column '{column.name}' holds days that are infinite or not in the years 1 to 9999. Set them to NULL in a "
            "--query."
        )


def exact_numbers(texts: pl.Series) -> pl.Series:
    """Decimals as numbers that hold them exactly: whole ones of 64 bits, decimals of 38 digits, or else as text.

    Examples
    --------
    >>> exact_numbers(pl.Series(["1.10", None, "-20"])).to_list()
    [Decimal('1.10'), None, Decimal('-20.00')]
    >>> exact_numbers(pl.Series(["7", "nan"])).to_list()
    [7, None]
    """
    texts = texts.cast(pl.String)
    texts = texts.set(texts.str.to_lowercase() == "nan", None)
    whole = texts.cast(pl.Int64, strict=False)
    if whole.null_count() == texts.null_count():
        return whole
    if not texts.drop_nulls().str.contains(r"^-?\d+(\.\d+)?$").all():
        return texts
    places = texts.str.split_exact(".", 1).struct.unnest()
    digits = int(places["field_0"].str.len_chars().max() or 0)  # type: ignore[arg-type]
    scale = int(places["field_1"].str.len_chars().max() or 0)  # type: ignore[arg-type]
    return texts.cast(pl.Decimal(DIGITS, scale)) if digits + scale <= DIGITS else texts
