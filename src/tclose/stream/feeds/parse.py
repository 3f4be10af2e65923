"""Lines to rows: JSON objects and lines of CSV. A line that is none is told by its reason, never by its text."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar

from tclose.errors import SchemaError, TableError
from tclose.schema.schema import Schema

Row = Mapping[str, Any]
Given = TypeVar("Given")
LONGEST = 1 << 20  # bytes of a line
TOO_LONG = "The line is longer than 1 MiB."
EMPTY = "The line is empty."
NOT_TEXT = "The line is not text in the encoding of the stream."
NOT_JSON = "The line is not a JSON object."
TWICE = "The object has a name twice."
QUOTES = "A quote is not closed on its line, or stands within a field; in a stream every row stands on one line."
LONG_FIELD = "A field is too long, or the line has a carriage return within."
FIELDS = "The line has not as many fields as the header."


class BrokenError(ValueError):
    """A line is no row; the message is the reason."""


def json_row(line: bytes) -> Row:
    """The JSON object on a line; numbers keep the digits they are written with.

    Examples
    --------
    >>> json_row(b'{"age": 34, "pay": 1.10}')
    {'age': 34, 'pay': Decimal('1.10')}
    """
    check_line(line)
    try:
        text = line.decode()
    except UnicodeDecodeError:
        raise BrokenError(NOT_TEXT) from None
    try:
        row = DECODER.decode(text)
        if "\\u" in text:  # half of a pair of \ud83d\ude00 is no character
            json.dumps(row, ensure_ascii=False, default=str).encode()
    except BrokenError:
        raise
    except UnicodeEncodeError:
        raise BrokenError(NOT_TEXT) from None
    except (ValueError, ArithmeticError, RecursionError):
        raise BrokenError(NOT_JSON) from None
    if not isinstance(row, dict):
        raise BrokenError(NOT_JSON)
    return row


def json_rows(lines: Sequence[bytes]) -> tuple[list[Row], dict[int, str]]:
    """The rows on lines, as `rows_of` gives them with `json_row`.

    Lines are decoded together where each has one brace that opens, its first character, and one that
    closes, its last. Between them stands a line break, which no string may hold: if all of it can be
    decoded, each line by itself is one object. If not, or if anything else is odd, they are decoded one by one.
    """
    n, joined = len(lines), b",\n".join(lines)
    alike = joined.count(b"{") == joined.count(b"}") == n and all(line[:1] + line[-1:] == b"{}" for line in lines)
    if alike and b"\\u" not in joined and max(map(len, lines), default=0) <= LONGEST:
        try:
            return DECODER.decode(f"[{joined.decode()}]"), {}
        except (ValueError, ArithmeticError, RecursionError):  # the reason is that of a line
            pass
    return rows_of(lines, json_row)


def check_line(line: bytes) -> None:
    """Refuse a line that is empty, or far too long."""
    if len(line) > LONGEST:
        raise BrokenError(TOO_LONG)
    if not line.strip():
        raise BrokenError(EMPTY)


def _refuse(constant: str) -> Any:
    raise BrokenError(NOT_JSON)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise BrokenError(TWICE)
    return row


DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse, object_pairs_hook=_once)


def csv_row(line: bytes, header: list[str], schema: Schema) -> Row:
    """A line of CSV under its header."""
    fields = csv_fields(line, schema)
    if len(fields) != len(header):
        raise BrokenError(FIELDS)
    return dict(zip(header, fields, strict=True))


def csv_rows(lines: Sequence[bytes], header: list[str], schema: Schema) -> tuple[list[Row], dict[int, str]]:
    """The rows on lines, as `rows_of` gives them with `csv_row`: read together, and one by one if anything is odd."""
    if all(0 < len(line) <= LONGEST for line in lines):
        quoting = _quoting(schema.delimiter)
        fields: list[list[str]] = []
        try:
            texts = [line.removesuffix(b"\r").decode(schema.encoding) for line in lines]
            if all(text.strip() and ('"' not in text or quoting.fullmatch(text)) for text in texts):
                fields = list(csv.reader(texts, delimiter=schema.delimiter, strict=True))
        except (csv.Error, ValueError):  # the reason is that of a line
            fields = []
        if len(fields) == len(lines) and all(len(row) == len(header) for row in fields):
            return [dict(zip(header, row, strict=True)) for row in fields], {}
    return rows_of(lines, lambda line: csv_row(line, header, schema))


def csv_fields(line: bytes, schema: Schema) -> list[str]:
    """The fields on a line."""
    line = line.removesuffix(b"\r")
    check_line(line)
    try:
        text = line.decode(schema.encoding)
    except UnicodeDecodeError:
        raise BrokenError(NOT_TEXT) from None
    if '"' in text and not _quoting(schema.delimiter).fullmatch(text):
        raise BrokenError(QUOTES)
    try:
        (fields,) = csv.reader([text], delimiter=schema.delimiter, strict=True)
    except (csv.Error, ValueError):
        raise BrokenError(LONG_FIELD) from None
    return fields


@cache
def _quoting(delimiter: str) -> re.Pattern[str]:
    """Fields that have no quote, or stand between two and have them doubled."""
    apart = re.escape(delimiter)
    field = f'(?:[^"{apart}]*|"(?:[^"]|"")*")'
    return re.compile(f"{field}(?:{apart}{field})*")


def csv_header(line: bytes, schema: Schema) -> list[str]:
    """The names of columns on the first line.

    Raises
    ------
    TableError
        It is no header, or names a column twice.
    """
    try:
        header = csv_fields(line.removeprefix(b"\xef\xbb\xbf"), schema)
    except BrokenError as error:
        raise TableError(f"The header of the CSV cannot be read. {error}") from None
    if len(set(header)) < len(header):
        raise TableError("The header of the CSV names a column twice.")
    return header


def check_encoding(schema: Schema) -> None:
    """Refuse an encoding in which lines cannot be found by their last byte."""
    marks = '\n\r"' + schema.delimiter
    if marks.encode(schema.encoding) != marks.encode("ascii"):
        raise SchemaError(f"encoding = '{schema.encoding}' cannot be read line by line. Use utf-8, latin-1 or cp1252.")
    if not schema.header:
        raise SchemaError("header = false is for tables. A stream of CSV names its columns in the first line.")


def rows_of(given: Sequence[Given], parse: Callable[[Given], Row]) -> tuple[list[Row], dict[int, str]]:
    """The rows, empty where one cannot be read, and why by place."""
    rows: list[Row] = []
    broken: dict[int, str] = {}
    for place, each in enumerate(given):
        try:
            rows.append(parse(each))
        except BrokenError as error:
            broken[place] = str(error)
            rows.append({})
    return rows, broken
