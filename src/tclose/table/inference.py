"""Guessing kinds from values: for the keyword shorthand and for `tclose init`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import polars as pl

from tclose.errors import InferredSchemaWarning, SchemaError, TableError
from tclose.schema.schema import Schema
from tclose.table.reading import clean
from tclose.table.source import Source


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


def check_keywords(keys: Mapping[str, Any]) -> None:
    """Find what is wrong with keywords before any row is read, as far as that needs no kinds."""
    full = _tables(keys)
    full["quasi"] = {name: t if "kind" in t else {"kind": "categorical"} for name, t in full["quasi"].items()}
    full["sensitive"] = {
        name: t if "distance" in t else {"distance": "equal", **{key: t[key] for key in ("t", "l") if key in t}}
        for name, t in full["sensitive"].items()
    }
    Schema.from_dict(full)


def infer_schema(source: Source, keys: Mapping[str, Any]) -> Schema:
    """A schema from keywords: names where a schema has tables, t where it has a table.

    Warns with all that was guessed, so that nothing is decided in silence.
    """
    full = _tables(keys)
    missing_values = tuple(keys.get("missing_values", ()))
    said = []
    for role, key, guess in (("quasi", "kind", guess_kind), ("sensitive", "distance", guess_distance)):
        for name, table in full[role].items():
            if key not in table:
                if name not in source.names:
                    raise TableError(f"The table has no column '{name}'.")
                table[key] = guess(source.column(name), missing_values)
                said.append(f"{name} {table[key]}")
    schema = Schema.from_dict(full)
    if said:
        warnings.warn(
            f"Inferred: {', '.join(said)}. Give kinds and distances in a schema to be sure.",
            InferredSchemaWarning,
            stacklevel=4,
        )
    return schema


def _tables(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords with a table for each column: a name alone, a kind or a t made one."""
    quasi, sensitive = keys["quasi"], keys.get("sensitive", {})
    if isinstance(quasi, str):
        raise SchemaError("quasi must be a list of column names, or a mapping from name to keys.")
    if not isinstance(sensitive, Mapping):
        raise SchemaError("sensitive must map each column to its t, or to its keys: {'disease': 0.2}.")
    named = quasi if isinstance(quasi, Mapping) else {name: {} for name in quasi}
    return {
        **keys,
        "quasi": {name: {"kind": table} if isinstance(table, str) else dict(table) for name, table in named.items()},
        "sensitive": {
            name: dict(table) if isinstance(table, Mapping) else {"t": table} for name, table in sensitive.items()
        },
    }
