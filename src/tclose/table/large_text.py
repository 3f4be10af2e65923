"""Text files that are large beside the memory there is: copied in pieces to private Parquet, and read by columns."""

from __future__ import annotations

import codecs
import mmap
import shutil
import weakref
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

import polars as pl

from tclose.errors import TableError
from tclose.schema.guarding import guarded
from tclose.table.column_names import check_names
from tclose.table.csv_files import SEP_LINE, check_first_line, check_mark, check_shape, read_header
from tclose.table.file_pieces import open_pieces
from tclose.table.memory_limit import most_memory
from tclose.table.parquet_files import read_parquet

SHARE = 8  # a file is large from this part of the memory on
EXPANDED = 4  # how many times longer a gzipped file is taken to be


class PrivateFolder:
    """A folder for its owner alone, in the place for temporary files; it goes with this object, or with the process."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="tclose-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class LargeText(NamedTuple):
    """A text file whose columns are read when they are asked for.

    Attributes
    ----------
    names, n_rows
        Its columns and how many rows it has.
    column
        Reads the column of a name, as text.
    numbering
        What its rows are called in messages, and the number of the first.
    """

    names: tuple[str, ...]
    n_rows: int
    column: Callable[[str], pl.Series]
    numbering: tuple[str, int]


def is_large(path: Path, zipped: bool) -> bool:
    """Whether a file takes so much of the memory there is that it is read in pieces."""
    return path.stat().st_size * SHARE * (EXPANDED if zipped else 1) > most_memory()


def read_large_csv(
    path: Path, delimiter: str, encoding: str, zipped: bool, as_shown: bool = False, has_names: bool = True
) -> LargeText:
    """What `read_csv` reads, in pieces: the same columns, rows and errors.

    The copy lies in a folder for its owner alone, in the place for temporary files, and goes with the table.
    """
    folder = PrivateFolder()
    plain, copy = folder.path / "table.csv", folder.path / "table.parquet"
    problem = f"'{path.name}' cannot be copied to the folder for temporary files"
    skipped = guarded(problem, lambda: _copy_plain(path, delimiter, encoding, zipped, plain))
    if plain.stat().st_size <= 1:
        raise TableError(f"'{path.name}' is empty.")
    with plain.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # closed with the last array over it
    shape = check_shape(data, delimiter.encode(), path.name)
    header = read_header(data[: shape.header], delimiter, path.name)
    names = header if has_names else [f"column_{place}" for place in range(1, len(header) + 1)]
    check_names(names)
    guarded(
        f"'{path.name}' is not a readable CSV file: quotes or fields do not fit, or it is not UTF-8 and the schema "
        "does not say its `encoding` (--encoding)",
        lambda: pl.scan_csv(
            plain, infer_schema=False, separator=delimiter, empty_string_is_null=as_shown, has_header=has_names,
            with_column_names=lambda _found: names, glob=False,
        ).sink_parquet(copy, compression="zstd", compression_level=1),
    )  # fmt: skip
    plain.unlink()
    found = read_parquet(copy, made_here=True)
    if found.n_rows != shape.records + (not has_names) or list(found.names) != names:
        raise TableError(f"'{path.name}' is not a readable CSV file: its lines do not fit its header.")

    def column(name: str, _kept: PrivateFolder = folder) -> pl.Series:
        return found.column(name)

    is_by_line = shape.records + 1 == shape.lines
    numbering = ("line", 1 + has_names + skipped) if is_by_line else ("record", 1)
    return LargeText(found.names, found.n_rows, column, numbering)


def _copy_plain(path: Path, delimiter: str, encoding: str, zipped: bool, copy: Path) -> int:
    """Copy a file as UTF-8 without marks and empty lines at its end; how many lines before the header are left out."""
    most = max(shutil.disk_usage(copy.parent).free // 2, 1)
    decoder, skipped, is_first, is_old = codecs.getincrementaldecoder(encoding)(), 0, True, False
    is_utf_8 = codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
    with copy.open("wb") as file:
        for piece in open_pieces(path, zipped, most):
            if is_first:
                check_mark(piece, encoding, path.name)
            data = piece if is_utf_8 else decoder.decode(piece).encode()
            if is_first:
                data = data.removeprefix(codecs.BOM_UTF8)
                is_old = b"\n" not in data and b"\r" in data
                named = SEP_LINE.match(data)
                data, skipped = (data[named.end() :], 1) if named else (data, 0)
                check_first_line(data.replace(b"\r", b"\n") if is_old else data, delimiter, path.name, named)
                is_first = False
            file.write(data.replace(b"\r", b"\n") if is_old else data)
        file.write(b"" if is_utf_8 else decoder.decode(b"", True).encode())
    _trim(copy)
    return skipped


def _trim(copy: Path) -> None:
    """End a file with one line end."""
    with copy.open("r+b") as file:
        size = file.seek(0, 2)
        while size:
            start = max(size - 4096, 0)
            file.seek(start)
            tail = file.read(size - start).rstrip(b"\r\n")
            size = start + len(tail)
            if tail:
                break
        file.truncate(size)
        file.seek(size)
        file.write(b"\n")
