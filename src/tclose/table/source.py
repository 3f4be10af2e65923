"""Tables from outside: any dataframe or file becomes a polars frame, and goes back as it came."""

from __future__ import annotations

import contextlib
import hashlib
import io
import warnings
from collections.abc import Callable, Iterable
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
from tclose.table.large_text import is_large, read_large_csv
from tclose.table.parquet_files import read_parquet

Result = TypeVar("Result")
SUFFIXES = (".csv", ".csv.gz", ".parquet")


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
            if kind in (pl.Categorical, pl.Enum)
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
    """

    names: tuple[str, ...]
    n_rows: int
    column: Callable[[str], pl.Series] = field(repr=False)
    restore: Callable[[pl.DataFrame], Any] = field(repr=False)
    digest: Callable[[], str] = field(repr=False)
    numbering: tuple[str, int] = ("row", 0)
    is_text: bool = False
    categorical: tuple[Categories, ...] = ()

    @classmethod
    def of(cls, frame: pl.DataFrame, restore: Callable[[pl.DataFrame], Any] | None = None) -> Source:
        """A table in memory."""
        digest = partial(_stream_digest, frame)
        return cls(
            tuple(frame.columns), len(frame), frame.get_column, restore or _as_it_is, digest,
            categorical=Categories.in_polars(frame),
        )  # fmt: skip

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


def suffix_of(path: Path) -> str:
    """The suffix that decides the format of a file."""
    for suffix in SUFFIXES:
        if path.name.lower().endswith(suffix):
            return suffix
    raise TableError(f"'{path.name}': the format is told by the suffix, which must be one of {', '.join(SUFFIXES)}.")


def read(
    table: Any,
    delimiter: str = ",",
    encoding: str = "utf-8",
    *,
    header: bool = True,
    made_here: bool = False,
    as_shown: bool = False,
) -> Source:
    """Take in a path, a dataframe that narwhals knows, or anything with an Arrow stream.

    `header` says of a text file that its first record names the columns.
    `made_here` says of a path that this process wrote the file just now, so that it need not be tried in another.
    `as_shown` tells empty fields of a CSV without quotes, which become null, from those with them.
    """
    if isinstance(table, Source):
        return table
    if isinstance(table, str | Path):
        return _read_file(Path(table), delimiter, encoding, header, made_here, as_shown)
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
        if not library.is_pandas():
            return Source.of(frame, _ToLibrary(str(library.value)))
        source = Source.of(frame, _ToLibrary("pandas", _own_types(table, frame)))
        return replace(source, categorical=Categories.in_pandas(table))
    if hasattr(table, "__arrow_c_stream__"):
        arrow = type(table).__module__.startswith("pyarrow")
        return Source.of(pl.DataFrame(table), pl.DataFrame.to_arrow if arrow else None)
    return None


def _all_columns(wrapped: Any) -> pl.DataFrame:
    """Convert all columns at once or, if that fails, each by itself, so that an error can name the one."""
    with contextlib.suppress(Exception):
        return pl.DataFrame(wrapped.to_polars())
    columns = {}
    for name in wrapped.columns:
        problem = f"Column '{name}' cannot be taken in: it may mix types. Convert it to text or to numbers first"
        columns[name] = guarded(problem, partial(_one_column, wrapped, name))
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


def _read_file(path: Path, delimiter: str, encoding: str, header: bool, made_here: bool, as_shown: bool) -> Source:
    suffix = suffix_of(path)
    try:
        found = path.is_file()
    except (OSError, ValueError):  # a name that the system does not take
        found = False
    if not found:
        raise TableError(f"'{path}' is not a file.")
    digest = partial(file_digest, path)
    if suffix == ".parquet":
        names, n_rows, column = read_parquet(path, made_here=made_here)
        return _checked(Source(names, n_rows, column, _as_it_is, digest))
    if is_large(path, suffix == ".csv.gz"):
        large = read_large_csv(path, delimiter, encoding, suffix == ".csv.gz", as_shown, header)
        source = Source(large.names, large.n_rows, large.column, _as_it_is, digest)
        return replace(source, numbering=large.numbering, is_text=True)
    frame, numbering = read_csv(path, delimiter, encoding, suffix == ".csv.gz", as_shown, header)
    return replace(Source.of(frame), digest=digest, numbering=numbering, is_text=True)
