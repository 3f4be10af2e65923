"""Input rows as the checker reads them: cells as they stand, by none of the code that the engine reads them with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import polars as pl

from tclose.errors import TableError
from tclose.schema.schema import Schema

GivenTypes = Mapping[str, pl.DataType]


def read_rows(batch: pl.DataFrame | Sequence[Mapping[str, Any]], schema: Schema, types: GivenTypes) -> pl.DataFrame:
    """Rows as a frame of all columns but identifiers, in the types that the stream began with.

    A cell that the stream cannot have taken in is null: its row was rejected, or is released wrongly.

    Examples
    --------
    >>> schema = Schema.from_dict({"k": 1, "quasi": {"age": {"kind": "numeric"}}})
    >>> read_rows([{"age": 30}, {"age": 2.50}, {"age": [1]}], schema, {})["age"].to_list()
    ['30', '2.5', None]
    """
    columns = []
    for name in schema.columns:
        if name not in schema.identifiers:
            column = _column(batch, name)
            columns.append(column.cast(types[name], strict=False) if name in types else column)
    return pl.DataFrame(columns)


def _column(batch: pl.DataFrame | Sequence[Mapping[str, Any]], name: str) -> pl.Series:
    if not isinstance(batch, pl.DataFrame):
        cells = [row.get(name) for row in batch]
        plain = set(map(type, cells)) <= {str, type(None)}
        return pl.Series(name, cells if plain else list(map(_text, cells)), dtype=pl.String)
    if name not in batch.columns:
        raise TableError(f"The input has no column '{name}', which the schema names.")
    column = batch[name]
    return column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum, pl.Null) else column


def _text(cell: Any) -> str | None:
    """A cell as text, as JSON and ISO 8601 have it; numbers without exponent, floats without trailing zeros."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        written = format(Decimal(repr(cell)), "f") if cell - cell == 0 else str(cell)
        return written.rstrip("0").rstrip(".") if "." in written else written
    if isinstance(cell, date):
        return cell.isoformat()
    return str(cell) if isinstance(cell, str | int | Decimal) else None
