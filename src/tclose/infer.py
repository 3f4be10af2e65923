"""Guessing kinds from values: for the keyword shorthand and for `tclose init`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import polars as pl

from tclose.columns import clean
from tclose.errors import InferredSchemaWarning, SchemaError, TableError
from tclose.schema import Schema


def guess_kind(column: pl.Series, missing_values: tuple[str, ...] = ()) -> str:
    """numeric, date, text (codes such as zip codes) or categorical.

    Examples
    --------
    >>> guess_kind(pl.Series(["02139", "10001"])), guess_kind(pl.Series([1.5, 2]))
    ('text', 'numeric')
    """
    column = clean(column, missing_values, numeric=False).drop_nulls()
    if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        return "date"
    if column.dtype.is_numeric():
        return "numeric"
    if column.dtype != pl.String or not len(column):
        return "categorical"
    values = column.unique().str.strip_chars()
    if values.str.contains(r"^0\d+$").any() and values.str.contains(r"^\d+$").all():
        return "text"
    if values.cast(pl.Float64, strict=False).is_finite().fill_null(False).all():
        return "numeric"
    if values.str.to_date("%Y-%m-%d", strict=False).is_not_null().all():
        return "date"
    lengths = values.str.len_chars()
    if len(values) > 50 and lengths.min() == lengths.max() and values.str.contains(r"\d").all():
        return "text"
    return "categorical"


def guess_distance(column: pl.Series, missing_values: tuple[str, ...] = ()) -> str:
    """ordered for numbers and dates, else equal."""
    return "ordered" if guess_kind(column, missing_values) in ("numeric", "date") else "equal"


def infer_schema(frame: pl.DataFrame, keys: Mapping[str, Any]) -> Schema:
    """A schema from keywords: names where a schema has tables, t where it has a table.

    Warns with all that was guessed, so that nothing is decided in silence.
    """
    full: dict[str, Any] = dict(keys)
    missing_values = tuple(keys.get("missing_values", ()))
    said = []

    def column(name: str) -> pl.Series:
        if name not in frame.columns:
            raise TableError(f"The table has no column '{name}'.")
        return frame[name]

    if not isinstance(full["quasi"], Mapping):
        if isinstance(full["quasi"], str):
            raise SchemaError("quasi must be a list of column names, or a mapping from name to keys.")
        full["quasi"] = {name: {} for name in full["quasi"]}
    full["quasi"] = {
        name: {"kind": table} if isinstance(table, str) else dict(table) for name, table in full["quasi"].items()
    }
    for name, table in full["quasi"].items():
        if "kind" not in table:
            table["kind"] = guess_kind(column(name), missing_values)
            said.append(f"{name} {table['kind']}")
    sensitive = full.get("sensitive", {})
    if not isinstance(sensitive, Mapping):
        raise SchemaError("sensitive must map each column to its t, or to its keys: {'disease': 0.2}.")
    full["sensitive"] = {
        n: dict(table) if isinstance(table, Mapping) else {"t": table} for n, table in sensitive.items()
    }
    for name, table in full["sensitive"].items():
        if "distance" not in table:
            table["distance"] = guess_distance(column(name), missing_values)
            said.append(f"{name} {table['distance']}")
    schema = Schema.from_dict(full)
    if said:
        warnings.warn(
            f"Inferred: {', '.join(said)}. Give kinds and distances in a schema to be sure.",
            InferredSchemaWarning,
            stacklevel=4,
        )
    return schema
