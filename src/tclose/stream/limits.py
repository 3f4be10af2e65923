"""What a stream can promise: settled before any row is read."""

from __future__ import annotations

from dataclasses import fields
from math import prod

from tclose.algorithms import Algorithm
from tclose.errors import SchemaError
from tclose.schema.columns import Sensitive
from tclose.schema.schema import Schema
from tclose.table.joint_codes import MOST

REFUSED = {  # keys of a schema that only a whole table can keep
    "unit_rows": "a person may have further rows when others are out. Take it out, and feed one row of each person.",
    "suppress_rows": "a share of rows is one of a whole table, and the rows left out must together keep the promise of "
    "a class, while rows of a stream are released before the last came in. Take it out.",
    "objective": "classes of a stream are formed before the rows that queries are about are all there. Take it out.",
}


def check_sizes(schema: Schema, window: int, step: int) -> None:
    """Refuse a window that is no multiple of its step, or a step of fewer than k rows."""
    if step < 1 or window < 1 or window % step:
        raise SchemaError(
            f"The window has {window} rows and advances by {step}. It must be a multiple of its step, both above 0."
        )
    if step < schema.k:
        raise SchemaError(f"The window advances by {step} rows, and k = {schema.k} asks for more. Take a longer step.")


def check_method(algorithm: Algorithm) -> None:
    """Refuse a method that ends by the clock: run again, it would form other classes of the same rows."""
    if getattr(algorithm, "seconds", 0):
        raise SchemaError(
            f"'{algorithm.name}' ends after some seconds, so that a replay of a stream could give other classes, and "
            "two generalizations of a row tell more than one. Use another method."
        )


def check_schema(schema: Schema) -> None:
    """Refuse what could only be kept over a whole table."""
    if schema.has_patterns:
        raise SchemaError(
            "A stream does not know its columns before its rows. Name each, instead of `roles` and tables with a *."
        )
    for field in fields(schema):
        if field.name in REFUSED and getattr(schema, field.name) != field.default:
            raise SchemaError(f"`{field.name}` is not for streams: {REFUSED[field.name]}")
    for quasi in schema.quasi:
        for key in ("coarsest", "finest"):
            if getattr(quasi, key) is not None:
                raise SchemaError(
                    f"[quasi.{quasi.column}]: `{key}` is not for streams: rows wait for others to form a class with, "
                    "and none may come that it allows. Take it out."
                )
    if schema.unit is not None:
        raise SchemaError(
            "A stream does not know whether a unit will have further rows. Take `unit` out, and see to it that every "
            "unit has one row, or know that a class of k rows may be fewer than k units."
        )
    if schema.keep and not schema.keep_unchecked:
        raise SchemaError(
            "Classes of a stream are formed without regard to `keep`, so that with its columns groups may be smaller "
            "than k. Make them quasi-identifiers, or leave them out."
        )
    by_name = {sensitive.column: sensitive for sensitive in schema.sensitive}
    for joint in schema.joint:
        sizes = [_declared_size(by_name[column]) for column in joint.columns]
        open_ones = [column for column, size in zip(joint.columns, sizes, strict=True) if size is None]
        if open_ones:
            raise SchemaError(
                f"[joint.{joint.name}]: a window of a stream may bring any number of values in "
                f"{', '.join(map(repr, open_ones))}, and a joint takes {MOST} combinations at most. Give them an "
                "`order`, `bins`, `edges` or a hierarchy."
            )
        if (combinations := prod(size or 1 for size in sizes)) > MOST:
            raise SchemaError(
                f"[joint.{joint.name}]: its columns have up to {combinations:,} combinations, and a joint takes {MOST} "
                "at most. Take fewer values or columns."
            )


def _declared_size(sensitive: Sensitive) -> int | None:
    """How many values it can have, missing included; None if the schema does not say."""
    if sensitive.hierarchy is not None:
        return len(sensitive.hierarchy.leaves) + 1
    if sensitive.order is not None:
        return len(sensitive.order) + 1
    if sensitive.edges is not None:
        return len(sensitive.edges) + 2
    return None if sensitive.bins is None else sensitive.bins + 1
