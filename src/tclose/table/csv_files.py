"""CSV files, read as text: every record has as many fields as the header, or the file is refused."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from pathlib import Path

import numpy as np
import polars as pl

from tclose.errors import TableError
from tclose.table.guarding import check_names, guarded

CHUNK = 1 << 24


def read_csv(path: Path, delimiter: str, encoding: str, zipped: bool) -> tuple[pl.DataFrame, tuple[str, int]]:
    """All columns as text, empty where empty; and what rows are called in messages, with the first one's number."""
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
    check_names(header)
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
