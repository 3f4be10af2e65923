"""A table and its schema, in any of the forms that public functions take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tclose.errors import SchemaError, TableError
from tclose.schema.keys import check_names
from tclose.schema.schema import Schema, SchemaLike
from tclose.table.inference import check_keywords, infer_schema
from tclose.table.source import Source, read


def take_in(
    df: Any,
    schema: SchemaLike | None,
    keys: Mapping[str, Any],
    function: Callable[..., Any],
    *,
    released: bool = False,
    undo: Callable[[Source], Source] | None = None,
) -> tuple[Schema, Source]:
    """A table with its schema: given as an object, a mapping or a path, or inferred from keywords.

    `function` is what was called, for messages; `released` says that the table may be a release, and `undo` takes back
    what was done to its texts when it was written. Patterns of the schema become the columns of the table.
    """
    check_order(df, schema, function.__name__)
    check_names(keys, function)
    if schema is not None:
        if keys:
            raise SchemaError(f"Give a schema or keywords, not both: {', '.join(keys)}.")
        schema = Schema.of(schema)
        source = read(df, schema.delimiter, schema.encoding, header=schema.header)
        source = source if undo is None else undo(source)
        return schema.resolve(source.names, released=released), source
    if "quasi" not in keys or "k" not in keys:
        raise SchemaError("Give a schema, or at least quasi=[...], sensitive={column: t} and k=...")
    check_keywords(keys)
    source = read(df, keys.get("delimiter", ","), keys.get("encoding", "utf-8"))
    source = source if undo is None else undo(source)
    return infer_schema(source, keys).resolve(source.names, released=released), source


def check_order(df: Any, second: Any, function: str, name: str = "schema") -> None:
    """Refuse arguments in another order than the table first: (df, schema) or (df, release)."""
    if isinstance(df, Schema) or hasattr(df, "certificate"):
        raise SchemaError(f"{function} takes the table first: {function}(df, {name}, ...).")
    if second is not None and hasattr(second, "columns") and not isinstance(second, Schema | Mapping):
        raise TableError(f"{function} takes the table first and then its {name}: {function}(df, {name}, ...).")
