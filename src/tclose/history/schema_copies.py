"""Schemas as a history keeps them: as text that needs no other file."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeVar

from tclose.schema.columns import Quasi, Sensitive
from tclose.schema.cost_matrix import CostMatrix
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema

Column = TypeVar("Column", Quasi, Sensitive)


def schema_text(schema: Schema) -> str:
    """The schema as TOML that needs no other file.

    Examples
    --------
    >>> keys = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 0.2}}}
    >>> schema = Schema.from_dict(keys)
    >>> schema_of_text(schema_text(schema)) == schema
    True
    """
    return replace(
        schema,
        quasi=tuple(_without_files(each) for each in schema.quasi),
        sensitive=tuple(_without_files(each) for each in schema.sensitive),
    ).to_toml()


def schema_of_text(text: str) -> Schema:
    """The inverse of `schema_text`, but for names of roots."""
    return Schema.from_dict(tomllib.loads(text, parse_float=Decimal))


def _without_files(column: Column) -> Column:
    changed: dict[str, Any] = {}
    for key in ("hierarchy", "matrix"):
        given = getattr(column, key, None)
        if isinstance(given, Hierarchy | CostMatrix):
            changed[key] = replace(given, source=None)
    return replace(column, **changed)
