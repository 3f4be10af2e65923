"""Guessing kinds from values: for the keyword shorthand and for `tclose init`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from tclose.errors import InferredSchemaWarning, SchemaError, TableError
from tclose.schema.schema import Schema
from tclose.table.proposing.column_evidence import Evidence
from tclose.table.proposing.guesses import ColumnGuess, guess
from tclose.table.source import Source

PROMISES = ("t", "l", "rise", "beta", "enhanced")  # keys that any distance can have


def guess_kind(column: pl.Series, missing_values: tuple[str, ...] = ()) -> str:
    """numeric, date, text (codes such as zip codes) or categorical.

    Examples
    --------
    >>> guess_kind(pl.Series(["02139", "10001"])), guess_kind(pl.Series([1.5, 2]))
    ('text', 'numeric')
    """
    return _kind(_guessed(Source.of(column.to_frame()), column, missing_values))


def guess_distance(column: pl.Series, missing_values: tuple[str, ...] = ()) -> str:
    """ordered for dates, and for numbers that something says have an order; else equal.

    Examples
    --------
    >>> guess_distance(pl.Series("age", [31, 44, 52])), guess_distance(pl.Series("cp", [1, 4, 3]))
    ('ordered', 'equal')
    """
    return _distance(_guessed(Source.of(column.to_frame()), column, missing_values))


def check_keywords(keys: Mapping[str, Any]) -> Schema:
    """Find what is wrong with keywords before any row is read, as far as that needs no kinds.

    Returns
    -------
    :
        A schema whose roles are right and whose kinds and distances may be stand-ins.
    """
    full = _tables(keys)
    full["quasi"] = {name: t if "kind" in t else {"kind": "categorical"} for name, t in full["quasi"].items()}
    full["sensitive"] = {
        name: t if "distance" in t else {"distance": "equal", **{key: t[key] for key in PROMISES if key in t}}
        for name, t in full["sensitive"].items()
    }
    return Schema.from_dict(full)


def infer_schema(source: Source, keys: Mapping[str, Any]) -> Schema:
    """A schema from keywords: names where a schema has tables, t where it has a table.

    Warns with all that was guessed, so that nothing is decided in silence.
    """
    full = _by_column(source, keys)
    missing_values, decimal = tuple(keys.get("missing_values", ())), keys.get("decimal", ".")
    said = []
    for role, key, chosen in (("quasi", "kind", _kind), ("sensitive", "distance", _distance)):
        for name, table in full[role].items():
            if key not in table:
                if name not in source.names:
                    raise TableError(f"The table has no column '{name}'.")
                guessed = _guessed(source, source.column(name), missing_values, decimal, keys.get("thousands", ""))
                table[key] = chosen(guessed)
                table |= _date_keys(guessed, table[key])
                unordered = table[key] == "equal" and guessed.evidence.form == "whole"
                said.append(
                    f"{name} {table[key]}" + (" (nothing says that its numbers have an order)" if unordered else "")
                )
    schema = Schema.from_dict(full)
    if said:
        warnings.warn(
            f"Inferred: {', '.join(said)}. Give kinds and distances in a schema to be sure.",
            InferredSchemaWarning,
            stacklevel=4,
        )
    return schema


def _guessed(
    source: Source, column: pl.Series, missing_values: tuple[str, ...], decimal: str = ".", thousands: str = ""
) -> ColumnGuess:
    return guess(Evidence.of(source, column, missing_values, decimal, thousands))


def _date_keys(guessed: ColumnGuess, chosen: str) -> dict[str, Any]:
    """The format of dates that are not those of ISO 8601.

    Raises
    ------
    TableError
        There are several, and nothing says which.
    """
    formats = guessed.evidence.formats
    if len(formats) > 1:
        told = " or ".join(repr(form) for form in formats)
        raise TableError(
            f"The dates of column '{guessed.column}' can be read in several ways. Give its format: {told}."
        )
    return {"format": formats[0]} if formats and chosen in ("date", "ordered") else {}


def _kind(guessed: ColumnGuess) -> str:
    return str((guessed.quasi or {"kind": "categorical"})["kind"])


def _distance(guessed: ColumnGuess) -> str:
    return str((guessed.sensitive or {"distance": "equal"})["distance"])


def _by_column(source: Source, keys: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords with a table for each column, patterns replaced by the columns they stand for."""
    full, schema = _tables(keys), check_keywords(keys)
    if not schema.has_patterns:
        return full
    rules, resolved = schema.rules, schema.resolve(source.names, released=True)
    for role, columns in (("quasi", resolved.quasi), ("sensitive", resolved.sensitive)):
        names = [each.column for each in columns]
        full[role] = {name: dict(full[role][rules.table_of(name, role)]) for name in names}
    return {**full, "identifiers": resolved.identifiers, "keep": resolved.keep, "roles": {}}


def _tables(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords with a table for each column: a name alone, a kind or a t made one."""
    quasi, sensitive = keys["quasi"], keys.get("sensitive", {})
    named = quasi if isinstance(quasi, Mapping) else _without_keys(quasi)
    if not all(isinstance(table, str | Mapping) for table in named.values()):
        raise SchemaError("quasi must map each column to its kind, or to its keys: {'age': 'numeric'}.")
    if not isinstance(sensitive, Mapping):
        raise SchemaError("sensitive must map each column to its t, or to its keys: {'disease': 0.2}.")
    return {
        **keys,
        "quasi": {name: {"kind": table} if isinstance(table, str) else dict(table) for name, table in named.items()},
        "sensitive": {
            name: dict(table) if isinstance(table, Mapping) else {"t": table} for name, table in sensitive.items()
        },
    }


def _without_keys(names: object) -> dict[str, Any]:
    """Names of columns, none of which has keys."""
    if isinstance(names, str) or not isinstance(names, Iterable) or not all(isinstance(n, str) for n in names):
        raise SchemaError("quasi must be a list of column names, or a mapping from name to keys.")
    return {name: {} for name in names}
