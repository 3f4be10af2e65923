"""Released classes as lines: JSON objects or CSV, with the number of their class."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from tclose.errors import SchemaError
from tclose.schema.schema import Schema
from tclose.stream.items import Released

NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")


def check_field(field: str, schema: Schema) -> None:
    """Refuse a name for the number of a class that a column has."""
    columns = {*schema.columns, *schema.released_quasi}
    if not field or field in columns:
        raise SchemaError(f"The class of a row cannot be called '{field}', as a column is. Give another --class-field.")


def as_jsonl(released: Released, field: str, schema: Schema) -> bytes:
    """One JSON object a row. Sensitive numbers and dates that are read as numbers stay numbers; all else is text."""
    measured = {each.column for each in schema.sensitive if each.is_measured}
    columns = [_encoded(column, column.name in measured) for column in released.frame]
    name = json.dumps(field)
    columns.append([f"{name}: {number}" for number in released.classes.tolist()])
    return "".join(f"{{{', '.join(cells)}}}\n" for cells in zip(*columns, strict=True)).encode()


def _encoded(column: pl.Series, is_number: bool) -> list[str]:
    """`"name": value` for each cell, every value looked at once."""
    name = json.dumps(column.name, ensure_ascii=False)
    known: dict[Any, str] = {}
    for value in column.unique().to_list():
        plain = is_number and isinstance(value, str) and NUMBER.fullmatch(value)
        known[value] = f"{name}: {value if plain else json.dumps(value, ensure_ascii=False, default=str)}"
    return [known[value] for value in column.to_list()]


def as_csv(released: Released, field: str, schema: Schema, header: bool) -> bytes:
    """One line a row, empty where missing."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=schema.delimiter, lineterminator="\n")
    if header:
        writer.writerow([*released.frame.columns, field])
    for row, number in zip(released.frame.iter_rows(), released.classes.tolist(), strict=True):
        writer.writerow(["" if cell is None else cell for cell in row] + [number])
    return text.getvalue().encode()


def as_line(told: dict[str, Any]) -> bytes:
    """One JSON object on a line."""
    return json.dumps(told, ensure_ascii=False).encode() + b"\n"


def ledger(released: Released) -> Iterator[dict[str, Any]]:
    """Which rows are in each class, and how far it is from which window; never to be published."""
    return map(released.entry, range(len(released)))
