"""A table and its schema, in any of the forms that public functions take them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tclose.errors import InferredSchemaWarning, SchemaError, TableError
from tclose.schema.keys import check_names
from tclose.schema.schema import Schema, SchemaLike
from tclose.table.inference import check_keywords, infer_schema
from tclose.table.proposing.found_reading import read_and_find
from tclose.table.source import Source, read
from tclose.table.table_location import text_file_of
from tclose.table.text_layout import reading_of_release

Given = TypeVar("Given")


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
        encoding, header = schema.encoding, schema.header
        if released and (encoding != "utf-8" or not header):
            encoding, header = reading_of_release(text_file_of(df), encoding, header, schema.released_quasi)
        source = read(df, schema.delimiter, encoding, header=header)
        source = source if undo is None else undo(source)
        return schema.resolve(source.names, released=released), source
    if "quasi" not in keys or "k" not in keys:
        raise SchemaError("Give a schema, or at least quasi=[...], sensitive={column: t} and k=...")
    check_keywords(keys)
    source, keys = _read_and_infer(df, keys)
    source = source if undo is None else undo(source)
    return infer_schema(source, keys).resolve(source.names, released=released), source


def _read_and_infer(df: Any, keys: Mapping[str, Any]) -> tuple[Source, Mapping[str, Any]]:
    """A table, and the keywords with how its file is read where they do not say it; what is inferred is said."""
    if not isinstance(df, str | Path):
        return read(df), keys
    found = read_and_find(df, keys)
    if not {*found.reading} <= {*keys}:
        warnings.warn(found.told, InferredSchemaWarning, stacklevel=4)
    return found.source, {**found.reading, **keys}


def listed(given: Any) -> list[Any]:
    """What was given, one or several, as a list; a text is one.

    Examples
    --------
    >>> listed("tight"), listed(0.2), listed([1, 2])
    (['tight'], [0.2], [1, 2])
    """
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]


def distinct(given: Iterable[Given]) -> list[Given]:
    """What was given, each once, in its order; nothing needs to be hashable.

    Examples
    --------
    >>> distinct([2, 1, 2])
    [2, 1]
    """
    found: list[Given] = []
    for each in given:
        if each not in found:
            found.append(each)
    return found


def check_run(seed: object, time: object = None, **counts: object) -> None:
    """Refuse what cannot be the seed, the seconds or a count of a run.

    Raises
    ------
    SchemaError
        The message names the argument.

    Examples
    --------
    >>> check_run(7, 2.5, queries=100)
    >>> check_run(None, queries=-1)
    Traceback (most recent call last):
    tclose.errors.SchemaError: queries must be a whole number from 0 up.
    """
    if seed is not None and not _is_count(seed):
        raise SchemaError("seed must be a whole number from 0 up.")
    if time is not None:
        check_seconds("time", time)
    for name, given in counts.items():
        if not _is_count(given):
            raise SchemaError(f"{name} must be a whole number from 0 up.")


def check_seconds(name: str, given: object) -> None:
    """Refuse what is no number of seconds."""
    if not (isinstance(given, int | float | np.number) and given >= 0):
        raise SchemaError(f"{name} must be a number of seconds from 0 up.")


def _is_count(given: object) -> bool:
    return isinstance(given, int | np.integer) and not isinstance(given, bool) and int(given) >= 0


def check_flags(**flags: object) -> None:
    """Refuse what is neither true nor false: any text, also "no", would count as true.

    Examples
    --------
    >>> check_flags(show_values="no")
    Traceback (most recent call last):
    tclose.errors.SchemaError: show_values must be true or false.
    """
    for name, given in flags.items():
        if not isinstance(given, bool | np.bool_):
            raise SchemaError(f"{name} must be true or false.")


def check_path(name: str, given: object) -> None:
    """Refuse what cannot be the path of a file or folder."""
    if not isinstance(given, str | PathLike):
        raise TableError(f"{name} must be a path, and this is a {type(given).__name__}.")


def check_order(df: Any, second: Any, function: str, name: str = "schema") -> None:
    """Refuse arguments in another order than the table first: (df, schema) or (df, release).

    A release is known by its type: frames of some libraries take any name for that of a column.
    """
    if isinstance(df, Schema) or hasattr(type(df), "aligned"):
        raise SchemaError(f"{function} takes the table first: {function}(df, {name}, ...).")
    if second is not None and hasattr(second, "columns") and not isinstance(second, Schema | Mapping):
        raise TableError(f"{function} takes the table first and then its {name}: {function}(df, {name}, ...).")
