"""The same schema with another k or t, and which of its keys are set at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from tclose.errors import SchemaError
from tclose.schema.columns import Quasi, Sensitive
from tclose.schema.schema import Schema
from tclose.schema.toml import exact


def keys_beyond(given: Schema | Quasi | Sensitive, known: Sequence[str]) -> list[str]:
    """Keys that are set and are not among those known: whoever cannot keep all keys refuses the others by this.

    A key that is added to schemas later is one of them, until it is known.

    Examples
    --------
    >>> schema = Schema.from_dict({"k": 5, "suppress_rows": 0.1, "quasi": {"age": {"kind": "numeric"}}})
    >>> keys_beyond(schema, ("k", "quasi"))
    ['suppress_rows']
    """
    return [
        field.name for field in fields(given) if field.name not in known and getattr(given, field.name) != field.default
    ]


def with_k(schema: Schema, k: int) -> Schema:
    """The schema with this k.

    Examples
    --------
    >>> schema = Schema.from_dict({"k": 5, "quasi": {"age": {"kind": "numeric"}}})
    >>> with_k(schema, 10).k
    10
    """
    return replace(schema, k=k)


def with_t(schema: Schema, t: object, column: str | None = None) -> Schema:
    """The schema with this t for every sensitive attribute and joint that has one, or for one of them alone.

    Examples
    --------
    >>> schema = Schema.from_dict(
    ...     {"k": 5, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 0.2}}}
    ... )
    >>> with_t(schema, "0.35").sensitive[0].t
    Fraction(7, 20)
    """
    value = exact(t, "t" if column is None else f"t of '{column}'", "t")
    schema = _with_own_table(schema, column)
    known = [*(each.column for each in schema.sensitive), *(each.name for each in schema.joint)]
    if column is not None and column not in known:
        listed = ", ".join(f"'{name}'" for name in sorted(known)) or "none"
        raise SchemaError(f"'{column}' is no sensitive attribute and no joint of the schema. It has: {listed}.")
    having = {each.column for each in schema.sensitive if each.t is not None} | {each.name for each in schema.joint}
    chosen = having if column is None else {column}
    if not chosen:
        raise SchemaError("No sensitive attribute of the schema has a t, so there is none to change. Give one a t.")
    return replace(
        schema,
        sensitive=tuple(replace(each, t=value) if each.column in chosen else each for each in schema.sensitive),
        joint=tuple(replace(each, t=value) if each.name in chosen else each for each in schema.joint),
    )


def _with_own_table(schema: Schema, column: str | None) -> Schema:
    """The schema with a table for one sensitive attribute that a pattern stands for, with the keys of the pattern."""
    named = {each.column for each in schema.sensitive}
    if column is None or column in named or not schema.has_patterns or schema.rules.role_of(column) != "sensitive":
        return schema
    found = {each.column: each for each in schema.rules.expand([column], schema.sensitive, "sensitive")}
    return replace(schema, sensitive=(*schema.sensitive, found[column]))
