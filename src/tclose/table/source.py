"""Tables from outside: any dataframe or file becomes a polars frame, and goes back as it came."""

from __future__ import annotations

import contextlib
import hashlib
import io
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.schema.guarding import guarded
from tclose.table.column_names import check_names
from tclose.table.csv_files import read_csv
from tclose.table.formats.file_formats import FileFormat, delimiter_of
from tclose.table.large_text import is_large, read_large_csv
from tclose.table.parquet_files import read_parquet
from tclose.table.table_location import TableLocation

Result = TypeVar("Result")

LOOSE = ("jsonl", "json", "excel")  # a value that a column has once may be the reason for its type


class Categories(NamedTuple):
    """A column of categories.

    Attributes
    ----------
    column
        Its name.
    order
        All of them in their order; None if they have none.
    """

    column: str
    order: tuple[str, ...] | None

    @classmethod
    def in_polars(cls, frame: pl.DataFrame) -> tuple[Categories, ...]:
        """An Enum has an order, other categories have none."""
        return tuple(
            cls(name, tuple(kind.categories.to_list()) if isinstance(kind, pl.Enum) else None)
            for name, kind in frame.schema.items()
            if isinstance(kind, pl.Categorical | pl.Enum)
        )

    @classmethod
    def in_pandas(cls, table: Any) -> tuple[Categories, ...]:
        """As pandas has them, whose order polars does not take over."""
        return tuple(
            cls(name, tuple(map(str, kind.categories)) if getattr(kind, "ordered", False) else None)
            for name, kind in table.dtypes.items()
            if hasattr(kind, "categories") or str(kind).startswith("dictionary<")
        )


@dataclass(frozen=True)
class Source:
    """A table as it was given.

    Attributes
    ----------
    names, n_rows
        Its columns and how many rows it has.
    column
        Gives the column of a name, those of a CSV as text, empty where empty. A Parquet file is
        read here, a column at a time, so that a large table is never in memory as a whole.
    restore
        Turns a polars frame into the library the table came in.
    digest
        Gives a SHA-256 of the input; a file's bytes, or a frame's Arrow stream.
    numbering
        What its rows are called in messages, and the number of the first.
    is_text
        Whether it comes from a text file, where every column is text.
    categorical
        What is known of the columns whose type is that of categories.
    is_loose
        Whether the types of its columns follow from all their values, as those of JSON, Excel and SQLite do.
    """

    names: tuple[str, ...]
    n_rows: int
    column: Callable[[str], pl.Series] = field(repr=False)
    restore: Callable[[pl.DataFrame], Any] = field(repr=False)
    digest: Callable[[], str] = field(repr=False)
    numbering: tuple[str, int] = ("row", 0)
    is_text: bool = False
    categorical: tuple[Categories, ...] = ()
    is_loose: bool = False

    @classmethod
    def of(cls, frame: pl.DataFrame, restore: Callable[[pl.DataFrame], Any] | None = None) -> Source:
        """A table in memory."""
        digest, known = partial(_stream_digest, frame), Categories.in_polars(frame)
        frame = frame.with_columns(_plain(frame[each.column]) for each in known)
        return cls(tuple(frame.columns), len(frame), frame.get_column, restore or _as_it_is, digest, categorical=known)

    @property
    def frame(self) -> pl.DataFrame:
        """All columns at once."""
        return pl.DataFrame([self.column(name) for name in self.names])

    def each(self, names: Iterable[str], action: Callable[[pl.Series], Result]) -> dict[str, Result]:
        """What `action` makes of each column: of two at a time, one to a processor, and no more in memory."""
        names = list(names)
        with ThreadPoolExecutor(2) as threads:
            return dict(zip(names, threads.map(lambda name: action(self.column(name)), names), strict=True))

    def name_rows(self, rows: NDArray[np.int64], most: int = 5) -> str:
        """The first of these rows for a message: `lines 3, 17, ...`."""
        word, first = self.numbering
        shown = ", ".join(str(int(row) + first) for row in rows[:most])
        return f"{word}{'s' if len(rows) > 1 else ''} {shown}{', ...' if len(rows) > most else ''}"


def read(
    table: Any,
    delimiter: str = ",",
    encoding: str = "utf-8",
    *,
    header: bool = True,
    made_here: bool = False,
    as_shown: bool = False,
) -> Source:
    """Take in a path or another location, a dataframe that narwhals knows, or anything with an Arrow stream.

    `header` says of a text file that its first record names the columns.
    `made_here` says of a path that this process wrote the file just now, so that it need not be tried in another.
    `as_shown` tells empty fields of a CSV without quotes, which become null, from those with them.
    """
    if isinstance(table, Source):
        return table
    if isinstance(table, str | Path | TableLocation):
        text = TextReading(delimiter, encoding, header, as_shown)
        return _read_location(TableLocation.of(table), text, made_here)
    if isinstance(table, pl.LazyFrame):
        lazy = table
        table = guarded("The lazy frame cannot be collected", lambda: pl.DataFrame(lazy.collect()), silent=True)
    if isinstance(table, pl.DataFrame):
        return _checked(Source.of(table))
    return _checked(_from_other_library(table))


def _from_other_library(table: Any) -> Source:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = guarded("The dataframe cannot be taken in", lambda: _converted(table), silent=True)
    if source is None:
        raise TableError(
            f"A {type(table).__name__} is not a table. Give a path, or a dataframe of pandas, polars, pyarrow "
            "or any library with an Arrow stream."
        )
    return source


def _converted(table: Any) -> Source | None:
    import narwhals as nw

    if hasattr(getattr(table, "columns", None), "tolist"):  # pandas and its kin allow a name twice
        check_names(table.columns.tolist())
    wrapped = nw.from_native(table, pass_through=True)
    if isinstance(wrapped, nw.LazyFrame):
        wrapped = wrapped.collect("polars")
    if isinstance(wrapped, nw.DataFrame):
        library = wrapped.implementation
        check_names(wrapped.columns)
        frame = _all_columns(wrapped)
        if library.is_pyarrow():
            return Source.of(frame, _ToArrow.like(table, frame))
        if not library.is_pandas():
            return Source.of(frame, _ToLibrary(str(library.value)))
        source = Source.of(frame, _ToLibrary("pandas", _own_types(table, frame)))
        return replace(source, categorical=Categories.in_pandas(table))
    if hasattr(table, "__arrow_c_stream__"):
        arrow = type(table).__module__.startswith("pyarrow")
        frame = pl.DataFrame(table)
        return Source.of(frame, _ToArrow.like(table, frame) if arrow else None)
    return None


def _all_columns(wrapped: Any) -> pl.DataFrame:
    """Convert all columns at once or, if that fails, each by itself, so that an error can name the one."""
    with contextlib.suppress(Exception):
        return guarded("All at once", lambda: pl.DataFrame(wrapped.to_polars()), silent=True)  # a panic is no Exception
    columns = {}
    for name in wrapped.columns:
        problem = (
            f"Column '{name}' cannot be taken in: it may mix types, or have integers of more than 64 bits or decimals "
            "of more than 38 digits. Convert it to text or to numbers first"
        )
        columns[name] = guarded(problem, partial(_one_column, wrapped, name), silent=True)
    return pl.DataFrame(columns)


def _one_column(wrapped: Any, name: str) -> pl.Series:
    return pl.Series(wrapped.select(name).to_polars()[name])


def _checked(source: Source) -> Source:
    check_names(list(source.names))
    return source


@dataclass(frozen=True)
class _ToLibrary:
    """Turns a polars frame into a dataframe of the library of this name; it can be pickled.

    Attributes
    ----------
    library
        Its name.
    types
        Of pandas: the columns whose type numpy does not have, with the type polars read them as.
    """

    library: str
    types: tuple[tuple[str, Any, pl.DataType], ...] = ()

    def __call__(self, frame: pl.DataFrame) -> Any:
        import narwhals as nw

        native = nw.from_arrow(frame, backend=cast(Any, self.library)).to_native()
        if self.library != "pandas":
            return native
        native = _with_nullable_types(native, frame)
        for name, kind, read_as in self.types:
            if frame.schema.get(name) == read_as:  # as it was: nothing is generalized
                with contextlib.suppress(TypeError, ValueError, NotImplementedError):
                    native[name] = native[name].astype(kind)
        return native


@dataclass(frozen=True)
class _ToArrow:
    """Turns a polars frame into a table of pyarrow, with text in types that pyarrow sorts, compares and writes.

    The views that polars itself makes of text are known to few functions of pyarrow.

    Attributes
    ----------
    types
        Columns of text and of categories without an order: the type they had, and whether polars has them as text.
    """

    types: tuple[tuple[str, Any, bool], ...] = ()

    @classmethod
    def like(cls, table: Any, frame: pl.DataFrame) -> _ToArrow:
        """For what polars read as this frame."""
        from pyarrow import types

        kinds = [(each.name, each.type) for each in getattr(table, "schema", ())]
        known = [
            (name, kind)
            for name, kind in kinds
            if types.is_string(kind) or (types.is_dictionary(kind) and not kind.ordered)
        ]
        return cls(tuple((name, kind, frame.schema[name] == pl.String) for name, kind in known))

    def __call__(self, frame: pl.DataFrame) -> Any:
        arrow = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        for name, kind, is_text in self.types:
            place = arrow.schema.get_field_index(name)
            if place >= 0 and (frame.schema[name] == pl.String) == is_text:  # it still is what it was
                with contextlib.suppress(TypeError, ValueError, NotImplementedError):
                    arrow = arrow.set_column(place, name, arrow.column(place).cast(kind))
        return arrow


def _own_types(table: Any, frame: pl.DataFrame) -> tuple[tuple[str, Any, pl.DataType], ...]:
    """The columns of a pandas frame with nullable or Arrow types, which a round trip would change; no categories."""
    from pandas.api.types import is_extension_array_dtype

    return tuple(
        (str(name), kind, frame.schema[str(name)])
        for name, kind in table.dtypes.items()
        if is_extension_array_dtype(kind) and str(name) in frame.schema and not hasattr(kind, "categories")
    )


def _with_nullable_types(native: Any, frame: pl.DataFrame) -> Any:
    """A pandas frame whose whole numbers and booleans stay such beside missing ones, not doubles or objects."""
    lacking = [name for name in frame.columns if frame[name].null_count()]
    lacking = [name for name in lacking if frame[name].dtype.is_integer() or frame[name].dtype == pl.Boolean]
    if not lacking:
        return native
    from pandas.arrays import BooleanArray, IntegerArray

    for name in lacking:
        column, missing = frame[name], frame[name].is_null().to_numpy().copy()
        if column.dtype == pl.Boolean:
            native[name] = BooleanArray(column.fill_null(False).to_numpy().copy(), missing)
        else:
            native[name] = IntegerArray(column.fill_null(0).to_numpy().copy(), missing)
    return native


def _plain(column: pl.Series) -> pl.Series:
    """Categories that have a name of their own as text: polars does not take their type for that of categories."""
    own = isinstance(column.dtype, pl.Categorical) and column.dtype != pl.Categorical
    return column.cast(pl.String) if own else column


def _as_it_is(frame: pl.DataFrame) -> pl.DataFrame:
    return frame


def _stream_digest(frame: pl.DataFrame) -> str:
    sink: Any = HashSink()
    frame.write_ipc_stream(sink)
    return str(sink.hash.hexdigest())


class HashSink(io.RawIOBase):
    """A file that keeps only the hash of what is written to it."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()

    def writable(self) -> bool:
        """Yes."""
        return True

    def write(self, data: Any) -> int:
        """Take the bytes into the hash."""
        self.hash.update(data)
        return len(data)


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class TextReading(NamedTuple):
    """How a text file is read: what stands between its fields, its encoding, whether it has a header; see `read`."""

    delimiter: str
    encoding: str
    header: bool
    as_shown: bool


def _read_location(location: TableLocation, text: TextReading, made_here: bool) -> Source:
    if location.database is not None:
        source = _checked(Source.of(location.hold("frame", partial(_read_database, location))))
        return replace(source, is_loose=location.database == "sqlite")
    if location.is_folder:
        raise TableError(
            f"'{location.name}' is a folder, and is not a file. Folders of Parquet files are taken by `anonymize` with "
            "--engine local or spark, and by `verify`."
        )
    if not location.is_standard_input:
        return _read_file(location, _existing(Path(location.place)), text, made_here)
    path = location.spooled()
    with called(path.name, location.name):
        source = _read_file(location, path, text, made_here)
        return replace(source, column=source.frame.get_column)


@contextlib.contextmanager
def called(name: str, other: str) -> Iterator[None]:
    """Let errors about a file, which begin with its name, begin with another one."""
    try:
        yield
    except TableError as error:
        message = str(error)
    else:
        return
    before, shown = f"'{name}'", f"'{other}'"
    raise TableError(shown + message.removeprefix(before) if message.startswith(before) else message)


def _read_file(location: TableLocation, path: Path, text: TextReading, made_here: bool) -> Source:
    kind, digest = location.file_format, partial(file_digest, path)
    if kind.name == "parquet":
        names, n_rows, column = read_parquet(path, made_here=made_here)
        return _checked(Source(names, n_rows, lambda name: _plain(column(name)), _as_it_is, digest))
    if kind.has_delimiter:
        return _read_text(path, kind, text)
    frame, numbering = _read_typed(location, kind, path, made_here)
    source = _checked(replace(Source.of(frame), numbering=numbering, is_loose=kind.name in LOOSE))
    return source if kind.name == "excel" else replace(source, digest=digest)  # a workbook may hold several tables


def _read_text(path: Path, kind: FileFormat, text: TextReading) -> Source:
    digest, mark = partial(file_digest, path), delimiter_of(kind.suffix, text.delimiter)
    if is_large(path, kind.is_zipped):
        large = read_large_csv(path, mark, text.encoding, kind.is_zipped, text.as_shown, text.header)
        source = Source(large.names, large.n_rows, large.column, _as_it_is, digest)
        return replace(source, numbering=large.numbering, is_text=True)
    frame, numbering = read_csv(path, mark, text.encoding, kind.is_zipped, text.as_shown, text.header)
    return replace(Source.of(frame), digest=digest, numbering=numbering, is_text=True)


def _existing(path: Path) -> Path:
    try:
        found = path.is_file()
    except (OSError, ValueError):  # a name that the system does not take
        found = False
    if not found:
        raise TableError(f"'{path}' is not a file.")
    return path


def _read_typed(
    location: TableLocation, kind: FileFormat, path: Path, made_here: bool
) -> tuple[pl.DataFrame, tuple[str, int]]:
    """A file that says itself of what types its columns are; its reader is loaded when it is needed."""
    if kind.name == "jsonl":
        from tclose.table.formats.json_rows import read_json_lines

        return read_json_lines(path, kind.is_zipped)
    if kind.name == "json":
        from tclose.table.formats.json_rows import read_json_array

        return read_json_array(path, kind.is_zipped)
    if kind.name == "arrow":
        from tclose.table.formats.arrow_files import read_arrow

        return read_arrow(path, made_here=made_here), ("row", 0)
    if kind.name == "excel":
        from tclose.table.formats.excel_sheets import read_excel

        return read_excel(path, location.sheet)
    from tclose.table.formats.statistics_files import read_statistics

    return read_statistics(path, kind, location.codes), ("row", 1)


def _read_database(location: TableLocation) -> pl.DataFrame:
    if location.database == "sqlite":
        from tclose.table.formats.sqlite_tables import read_sqlite

        return read_sqlite(location.path or Path(), location.table, location.query)
    from tclose.table.formats.postgresql_tables import read_postgresql

    return read_postgresql(location.place, location.table, location.query)
