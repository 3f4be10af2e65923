"""Tables from outside: any dataframe or file becomes a polars frame, and goes back as it came."""

from __future__ import annotations

import contextlib
import csv
import gzip
import hashlib
import io
import warnings
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import MissingExtraError, TableError, TcloseError

Result = TypeVar("Result")
SUFFIXES = (".csv", ".csv.gz", ".parquet")
CHUNK = 1 << 24


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
    """

    names: tuple[str, ...]
    n_rows: int
    column: Callable[[str], pl.Series] = field(repr=False)
    restore: Callable[[pl.DataFrame], Any] = field(repr=False)
    digest: Callable[[], str] = field(repr=False)
    numbering: tuple[str, int] = ("row", 0)

    @classmethod
    def of(cls, frame: pl.DataFrame, restore: Callable[[pl.DataFrame], Any] | None = None) -> Source:
        """A table in memory."""
        digest = partial(_stream_digest, frame)
        return cls(tuple(frame.columns), len(frame), frame.get_column, restore or _as_it_is, digest)

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


def guarded(problem: str, action: Callable[[], Result], kind: type[TcloseError] = TableError) -> Result:
    """Do it, and turn any error of another library into ours: its message, and those behind it, may quote a cell."""
    try:
        return action()
    except (TcloseError, OSError) as error:
        caught: Exception = kind(str(error)) if isinstance(error, TableError) else error
    except ModuleNotFoundError as error:
        caught = MissingExtraError(error.name or "pyarrow", "pandas", "Reading this dataframe")
    except Exception as error:
        caught = kind(f"{problem} ({type(error).__name__}).")
    raise caught  # out here, so that it carries no trace of the other


def suffix_of(path: Path) -> str:
    """The suffix that decides the format of a file."""
    for suffix in SUFFIXES:
        if path.name.lower().endswith(suffix):
            return suffix
    raise TableError(f"'{path.name}': the format is told by the suffix, which must be one of {', '.join(SUFFIXES)}.")


def read(table: Any, delimiter: str = ",", encoding: str = "utf-8") -> Source:
    """Take in a path, a dataframe that narwhals knows, or anything with an Arrow stream."""
    if isinstance(table, Source):
        return table
    if isinstance(table, str | Path):
        return _read_file(Path(table), delimiter, encoding)
    if isinstance(table, pl.LazyFrame):
        table = table.collect()
    if isinstance(table, pl.DataFrame):
        return _checked(Source.of(table))
    return _checked(_from_other_library(table))


def _from_other_library(table: Any) -> Source:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = guarded("The dataframe cannot be taken in", lambda: _converted(table))
    if source is None:
        raise TableError(
            f"A {type(table).__name__} is not a table. Give a path, or a dataframe of pandas, polars, pyarrow "
            "or any library with an Arrow stream."
        )
    return source


def _converted(table: Any) -> Source | None:
    import narwhals as nw

    if hasattr(getattr(table, "columns", None), "tolist"):  # pandas and its kin allow a name twice
        _check_names(table.columns.tolist())
    wrapped = nw.from_native(table, pass_through=True)
    if isinstance(wrapped, nw.LazyFrame):
        wrapped = wrapped.collect("polars")
    if isinstance(wrapped, nw.DataFrame):
        library = wrapped.implementation
        _check_names(wrapped.columns)
        return Source.of(_all_columns(wrapped), lambda release: nw.from_arrow(release, backend=library).to_native())
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
    _check_names(list(source.names))
    return source


def _check_names(names: list[Any]) -> None:
    if not names:
        raise TableError("The table has no columns.")
    if not all(isinstance(name, str) for name in names):
        raise TableError("Some column names are not text. Rename the columns to text first.")
    if "" in names:
        raise TableError(f"Column {names.index('') + 1} has no name. Name it, or take it out.")
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise TableError(f"Column {', '.join(map(repr, repeated))} stands in the table more than once. Rename one.")


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


def _read_file(path: Path, delimiter: str, encoding: str) -> Source:
    suffix = suffix_of(path)
    try:
        found = path.is_file()
    except (OSError, ValueError):  # a name that the system does not take
        found = False
    if not found:
        raise TableError(f"'{path}' is not a file.")
    if suffix == ".parquet":
        return _checked(_read_parquet(path))
    frame, numbering = _read_csv(path, delimiter, encoding, zipped=suffix == ".csv.gz")
    return replace(Source.of(frame), digest=partial(file_digest, path), numbering=numbering)


def _read_parquet(path: Path) -> Source:
    problem = f"'{path.name}' is not a readable Parquet file"
    before = _state(path)
    table = guarded(problem, lambda: pl.scan_parquet(path, hive_partitioning=False, glob=False))
    names = guarded(problem, lambda: tuple(table.collect_schema().names()))
    n_rows = guarded(problem, lambda: int(table.select(pl.len()).collect().item()))

    def column(name: str) -> pl.Series:
        try:  # by its place: polars takes some names for patterns
            return guarded(problem, lambda: table.select(pl.nth(names.index(name))).collect().to_series())
        finally:
            if _state(path) != before:
                raise TableError(f"'{path.name}' was changed while it was read. Leave it alone, and start again.")

    return Source(names, n_rows, column, _as_it_is, partial(file_digest, path))


def _state(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _read_csv(path: Path, delimiter: str, encoding: str, zipped: bool) -> tuple[pl.DataFrame, tuple[str, int]]:
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if zipped else data
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"'{path.name}' cannot be read ({type(error).__name__}).") from None
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
        try:
            data = data.decode(encoding).encode()
        except (UnicodeError, LookupError):
            raise TableError(f"'{path.name}' is not encoded as {encoding}. Set `encoding` in the schema.") from None
    data = data.removeprefix(b"\xef\xbb\xbf")
    if delimiter.encode() in data.partition(b"\n")[0]:  # in a single column an empty line is a missing value
        data = data.rstrip(b"\r\n")
    data = data if data.endswith(b"\n") else data + b"\n"
    if not data.strip():
        raise TableError(f"'{path.name}' is empty.")
    records, lines = _check_shape(data, delimiter.encode(), path.name)
    header = guarded(
        f"'{path.name}' is not UTF-8; set `encoding` in the schema",
        lambda: next(csv.reader(io.StringIO(_first_record(data)), delimiter=delimiter, strict=True)),
    )
    _check_names(header)
    frame = guarded(
        f"'{path.name}' is not a readable CSV file: quotes or fields do not fit, or it is not UTF-8 and the schema "
        "does not say its `encoding`",
        lambda: pl.read_csv(data, infer_schema=False, separator=delimiter, empty_string_is_null=False),
    )
    if [name.replace('""', '"') for name in frame.columns] != header or len(frame) != records:
        raise TableError(f"'{path.name}' is not a readable CSV file: its lines do not fit its header.")
    frame.columns = header  # doubled quotes are undone here, and not by the reader
    return frame, ("line", 2) if records + 1 == lines else ("record", 1)


def _first_record(data: bytes) -> str:
    """The header, which may hold line ends inside quotes."""
    end = data.index(b"\n")
    while data.count(b'"', 0, end) % 2 and (after := data.find(b"\n", end + 1)) > 0:
        end = after
    return data[:end].decode("utf-8")


def _check_shape(data: bytes, delimiter: bytes, name: str) -> tuple[int, int]:
    """Count records and lines; refuse a record that has not as many fields as the header.

    Readers fill short lines up in silence, which would turn a damaged line into missing values.
    Bytes between an odd and the next even quote are inside a field.
    """
    parity, carry, expected, records, lines = 0, 0, None, 0, 0
    for start in range(0, len(data), CHUNK):
        piece = np.frombuffer(data, np.uint8, count=min(CHUNK, len(data) - start), offset=start)
        newline = piece == 10
        lines += int(newline.sum())
        quotes = piece == 34
        if parity or quotes.any():
            inside = (np.cumsum(quotes, dtype=np.uint8) + parity) & 1
            parity = int(inside[-1])
            newline &= inside == 0
            marks = np.flatnonzero((piece == delimiter[0]) & (inside == 0))
        else:
            marks = np.flatnonzero(piece == delimiter[0])
        ends = np.flatnonzero(newline)
        seen = np.searchsorted(marks, ends)
        fields = np.diff(seen, prepend=-carry) + 1
        if len(ends):
            expected = int(fields[0]) if expected is None else expected
            wrong = np.flatnonzero(fields != expected)
            if len(wrong):
                raise TableError(
                    f"'{name}', record {records + int(wrong[0])}: it has {int(fields[wrong[0]])} fields and the "
                    f"header has {expected}. Mend the line, or set `delimiter` in the schema."
                )
            records += len(ends)
            carry = len(marks) - int(seen[-1])
        else:
            carry += len(marks)
    if parity:
        raise TableError(f"'{name}': a quote is opened and never closed.")
    return records - 1, lines
