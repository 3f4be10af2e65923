"""CSV files, read as text: every record has as many fields as the header, or the file is refused."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from tclose.errors import TableError
from tclose.schema.guarding import guarded
from tclose.table.column_names import check_names
from tclose.table.memory_limit import most_memory

CHUNK = 1 << 24
PIECE = 1 << 20


class CsvShape(NamedTuple):
    """What is known of a CSV file before its fields are read: its records and lines, and where its header ends."""

    records: int
    lines: int
    header: int


def read_csv(
    path: Path, delimiter: str, encoding: str, zipped: bool, as_shown: bool = False
) -> tuple[pl.DataFrame, tuple[str, int]]:
    """All columns as text, empty where empty; and what rows are called in messages, with the first one's number.

    `as_shown` tells an empty field without quotes, which becomes null, from one with them, as the file does.
    """
    data = _bytes(path, zipped)
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
        problem = f"'{path.name}' is not encoded as {encoding}; set `encoding` in the schema"
        data = guarded(problem, partial(_as_utf_8, data, encoding))
    data = data.removeprefix(b"\xef\xbb\xbf")
    if delimiter.encode() in data.partition(b"\n")[0]:  # in a single column an empty line is a missing value
        data = data.rstrip(b"\r\n")
    data = data if data.endswith(b"\n") else data + b"\n"
    if not data.strip():
        raise TableError(f"'{path.name}' is empty.")
    shape = _check_shape(data, delimiter.encode(), path.name)
    header = _header(data[: shape.header], delimiter, path.name)
    check_names(header)
    frame = guarded(
        f"'{path.name}' is not a readable CSV file: quotes or fields do not fit, or it is not UTF-8 and the schema "
        "does not say its `encoding`",
        lambda: pl.read_csv(data, infer_schema=False, separator=delimiter, empty_string_is_null=as_shown),
    )
    if [name.replace('""', '"') for name in frame.columns] != header or len(frame) != shape.records:
        raise TableError(f"'{path.name}' is not a readable CSV file: its lines do not fit its header.")
    frame.columns = header  # doubled quotes are undone here, and not by the reader
    return frame, ("line", 2) if shape.records + 1 == shape.lines else ("record", 1)


def _bytes(path: Path, zipped: bool) -> bytes:
    """What a file holds; one that expands to more than the memory there is ends in an error, and not in the process."""
    most = most_memory()
    reason = f"it is larger than the memory that this process may take, {most >> 20:,} MiB. Give it as Parquet"
    try:
        if path.stat().st_size <= most:
            if not zipped:
                return path.read_bytes()
            found = io.BytesIO()
            with gzip.open(path) as file:
                while found.tell() <= most and (piece := file.read(PIECE)):
                    found.write(piece)
            if found.tell() <= most:
                return found.getvalue()
    except (OSError, EOFError, zlib.error, MemoryError) as error:
        reason = type(error).__name__
    raise TableError(f"'{path.name}' cannot be read: {reason}.")


def _as_utf_8(data: bytes, encoding: str) -> bytes:
    return data.decode(encoding).encode()


def _header(record: bytes, delimiter: str, name: str) -> list[str]:
    """The names in the first record, which may hold line ends inside quotes."""
    text = guarded(f"'{name}' is not UTF-8; set `encoding` in the schema", partial(record.decode, "utf-8"))
    return guarded(
        f"'{name}' has a header that cannot be read: its quotes or line ends do not fit, or a name is longer than "
        f"{csv.field_size_limit():,} characters",
        lambda: next(csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)),
    )


def _check_shape(data: bytes, delimiter: bytes, name: str) -> CsvShape:
    """Count records and lines, and find where the header ends; refuse a record that has not as many fields.

    Readers fill short lines up in silence, which would turn a damaged line into missing values.
    Bytes between an odd and the next even quote are inside a field.
    """
    parity, carry, expected, records, lines, header = 0, 0, None, 0, 0, 0
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
            if expected is None:
                expected, header = int(fields[0]), start + int(ends[0])
            wrong = np.flatnonzero(fields != expected)
            if len(wrong):
                raise TableError(
                    f"'{name}', record {records + int(wrong[0])}: it has {int(fields[wrong[0]])} fields and the "
                    f"header has {expected}. Fix the line, or set `delimiter` in the schema."
                )
            records += len(ends)
            carry = len(marks) - int(seen[-1])
        else:
            carry += len(marks)
    if parity:
        raise TableError(f"'{name}': a quote is opened and never closed.")
    return CsvShape(records - 1, lines, header)
