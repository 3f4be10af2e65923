"""CSV files, read as text: every record has as many fields as the header, or the file is refused."""

from __future__ import annotations

import codecs
import csv
import io
import mmap
import re
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from tclose.errors import TableError
from tclose.schema.guarding import guarded
from tclose.table.column_names import check_names
from tclose.table.file_pieces import open_pieces, too_large
from tclose.table.memory_limit import most_memory
from tclose.table.text_layout import encoding_by_mark, other_delimiter

CHUNK = 1 << 24
SEP_LINE = re.compile(rb"(?i)sep=([ -~\t])\r?\n")
ONE_BYTE = ("cp1252", "iso8859-1", "iso8859-15", "cp1250", "iso8859-2", "cp850", "mac-roman")


class CsvShape(NamedTuple):
    """What is known of a CSV file before its fields are read: its records and lines, and where its header ends."""

    records: int
    lines: int
    header: int


def read_csv(
    path: Path, delimiter: str, encoding: str, zipped: bool, as_shown: bool = False, has_names: bool = True
) -> tuple[pl.DataFrame, tuple[str, int]]:
    """All columns as text, empty where empty; and what rows are called in messages, with the first one's number.

    `as_shown` tells an empty field without quotes, which becomes null, from one with them, as the file does.
    Without names in its first record, columns are called column_1 and so on.
    """
    data, skipped = _plain_lines(_bytes(path, zipped), delimiter, encoding, path.name)
    if not data.strip():
        raise TableError(f"'{path.name}' is empty.")
    shape = check_shape(data, delimiter.encode(), path.name)
    header = read_header(data[: shape.header], delimiter, path.name)
    unnamed = [place for place, name in enumerate(header) if not name]
    if not has_names or unnamed:  # columns get names here, and are read by these
        names = [f"column_{place}" for place in range(1, len(header) + 1)]
        data = delimiter.join(names).encode() + b"\n" + (data[shape.header + 1 :] if has_names else data)
        header = names if not has_names else [name or f"\0{place}" for place, name in enumerate(header)]
        read_as = names
    else:
        read_as = header
    check_names(header)
    frame = guarded(
        f"'{path.name}' is not a readable CSV file: quotes or fields do not fit, or it is not UTF-8 and the schema "
        "does not say its `encoding` (--encoding)",
        lambda: pl.read_csv(data, infer_schema=False, separator=delimiter, empty_string_is_null=as_shown),
    )
    n_rows = shape.records + (not has_names)
    if [name.replace('""', '"') for name in frame.columns] != read_as or len(frame) != n_rows:
        raise TableError(f"'{path.name}' is not a readable CSV file: its lines do not fit its header.")
    frame.columns = header  # doubled quotes are undone here, and not by the reader
    first = 1 + has_names + skipped
    numbering = ("line", first) if shape.records + 1 == shape.lines else ("record", 1)
    return _without_empty(frame, unnamed if has_names else []), numbering


def _bytes(path: Path, zipped: bool) -> bytes:
    """What a file holds; one that expands to more than the memory there is ends in an error, and not in the process."""
    most = most_memory()
    try:
        if path.stat().st_size > most:
            raise too_large(path, most)
        return path.read_bytes() if not zipped else b"".join(open_pieces(path, zipped, most))
    except (OSError, MemoryError) as error:
        raise TableError(f"'{path.name}' cannot be read: {type(error).__name__}.") from None


def _without_empty(frame: pl.DataFrame, unnamed: list[int]) -> pl.DataFrame:
    """The table without columns that have neither a name nor a value, as delimiters at the end of every line make."""
    names = frame.columns
    for place in unnamed:
        column = frame[names[place]]
        if (column.fill_null("") != "").any():
            raise TableError(f"Column {place + 1} has no name. Name it, or take it out.")
    frame = frame.drop([names[place] for place in unnamed])
    check_names(frame.columns)
    return frame


def _plain_lines(data: bytes, delimiter: str, encoding: str, name: str) -> tuple[bytes, int]:
    """The bytes as UTF-8 with lines that end in a line feed; and how many lines before the header are left out."""
    data = _as_utf_8(data, encoding, name).removeprefix(b"\xef\xbb\xbf")
    if b"\n" not in data and b"\r" in data:  # as old Macintosh programs write lines
        data = data.replace(b"\r", b"\n")
    named = SEP_LINE.match(data)
    data, skipped = (data[named.end() :], 1) if named else (data, 0)
    if check_first_line(data, delimiter, name, named):  # in a single column an empty line is a missing value
        data = data.rstrip(b"\r\n")
    return data if data.endswith(b"\n") else data + b"\n", skipped


def check_first_line(data: bytes, delimiter: str, name: str, named: re.Match[bytes] | None) -> bool:
    """Whether the delimiter is in the first line.

    Raises
    ------
    TableError
        It is not, and another one is; or a line before, `named`, says that it is another one.
    """
    if named is not None and named[1].decode() != delimiter:
        raise TableError(
            f"'{name}' says in its first line what divides its columns, and that is not {delimiter!r}. Set "
            f"`delimiter = {toml_text(named[1].decode())}` in the schema (--delimiter)."
        )
    first = data[: 1 << 20].partition(b"\n")[0]
    other = other_delimiter(first.decode(errors="replace"), delimiter)
    if other is not None:
        raise TableError(
            f"'{name}' has no {delimiter!r} in its first line, and seems to be divided by {other!r}. Set "
            f"`delimiter = {toml_text(other)}` in the schema (--delimiter {other!r})."
        )
    return delimiter.encode() in first


def _as_utf_8(data: bytes, encoding: str, name: str) -> bytes:
    """The bytes as UTF-8, if they do not contradict their encoding."""
    is_utf_8 = encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig")
    marked = check_mark(data, encoding, name)
    if is_utf_8:
        return data
    if not marked and _is_wider_utf_8(data, encoding):
        raise TableError(
            f"'{name}' is UTF-8, and its encoding is said to be {encoding}. Set `encoding = \"utf-8\"` in the schema "
            "(--encoding utf-8)."
        )
    problem = f"'{name}' is not encoded as {encoding}; set another `encoding` in the schema (--encoding)"
    return guarded(problem, lambda: data.decode(encoding).encode())


def check_mark(data: bytes, encoding: str, name: str) -> bool:
    """Whether a file begins with a mark of its encoding.

    Raises
    ------
    TableError
        It is that of another one.
    """
    marked = encoding_by_mark(data)
    if marked is not None and codecs.lookup(marked).name.split("-")[:2] != codecs.lookup(encoding).name.split("-")[:2]:
        raise TableError(
            f"'{name}' begins as {marked} does, and its encoding is said to be {encoding}. Set "
            f'`encoding = "{marked}"` in the schema (--encoding {marked}).'
        )
    return marked is not None


def _is_wider_utf_8(data: bytes, encoding: str) -> bool:
    """Whether bytes that are said to be of one byte a character are UTF-8 beyond ASCII, which by chance is rare."""
    if codecs.lookup(encoding).name not in ONE_BYTE or data.isascii():
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def toml_text(text: str) -> str:
    """A character as TOML has it."""
    return '"\\t"' if text == "\t" else f'"{text}"'


def read_header(record: bytes, delimiter: str, name: str) -> list[str]:
    """The fields of the first record, which may hold line ends inside quotes."""
    told = "set `encoding` in the schema (--encoding cp1252, if a Windows program of Western Europe wrote it)"
    text = guarded(f"'{name}' is not UTF-8; {told}", partial(record.decode, "utf-8"))
    return guarded(
        f"'{name}' has a header that cannot be read: its quotes or line ends do not fit, or a name is longer than "
        f"{csv.field_size_limit():,} characters",
        lambda: next(csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)),
    )


def check_shape(data: bytes | mmap.mmap, delimiter: bytes, name: str) -> CsvShape:
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
                    f"header has {expected}. Fix the line, or set `delimiter` in the schema (--delimiter)."
                )
            records += len(ends)
            carry = len(marks) - int(seen[-1])
        else:
            carry += len(marks)
    if parity:
        raise TableError(f"'{name}': a quote is opened and never closed.")
    return CsvShape(records - 1, lines, header)
