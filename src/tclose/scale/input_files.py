"""The Parquet files that a table lies in: all must have the same columns, of the same types."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from tclose.errors import TableError
from tclose.scale.coded_pieces import type_name
from tclose.schema.guarding import guarded
from tclose.schema.schema import SchemaLike


def columns_of_files(files: Sequence[Path]) -> tuple[str, ...]:
    """The columns of a table in files, which all have them.

    Raises
    ------
    TableError
        A file is no Parquet file, or has other columns, or other types, than the first.
    """
    first: dict[str, str] | None = None
    for file in files:
        if not file.is_file() or file.suffix.lower() != ".parquet":
            raise TableError(f"'{file.name}' is no Parquet file (.parquet), and an engine reads nothing else.")
        kinds = {name: _kind(dtype) for name, dtype in _types_of(file).items()}
        first = kinds if first is None else first
        if {*kinds} != {*first}:
            raise TableError(f"'{file.name}' has other columns than '{files[0].name}'. Write all files alike.")
        for name, kind in kinds.items():
            known = first[name]
            if kind != known and "Null" not in (kind, known):
                raise TableError(
                    f"Column '{name}' is of type {known} in '{files[0].name}' and {kind} in '{file.name}'. Write all "
                    "files alike."
                )
            first[name] = kind if known == "Null" else known
    assert first is not None
    return tuple(first)


def check_read_by_spark(files: Sequence[Path]) -> None:
    """Refuse columns that Spark does not read.

    Raises
    ------
    TableError
        Times in nanoseconds, times of day, or a column that has no type in some file and one in another.
    """
    types = [_types_of(file) for file in files]
    for file, found in zip(files, types, strict=True):
        for name, dtype in found.items():
            if dtype == pl.Null and any(other[name] != pl.Null for other in types):
                raise TableError(
                    f"Column '{name}' has no type in '{file.name}', and Spark does not read it with the other files. "
                    "Write all files alike, or use --engine local."
                )
            if dtype == pl.Time or (isinstance(dtype, pl.Datetime) and dtype.time_unit == "ns"):
                raise TableError(
                    f"Column '{name}' is of type {type_name(dtype)} in '{file.name}', which Spark does not read. "
                    "Write it in microseconds or as text, or use --engine local."
                )


def inputs_of(data: Path, schema: SchemaLike) -> list[Path]:
    """What is read and must not be written over: the table, and the schema where it is a file."""
    return [data, *([Path(schema)] if isinstance(schema, str | Path) else [])]


def _types_of(file: Path) -> pl.Schema:
    def read() -> pl.Schema:
        with file.open("rb") as opened:  # a name with brackets would be taken for a pattern
            return pl.Schema(pl.read_parquet_schema(opened))

    return guarded(f"'{file.name}' is not a readable Parquet file", read, silent=True)


def _kind(dtype: pl.DataType) -> str:
    """What must be the same in all files; categories may be written as text in one and as such in another."""
    is_text = isinstance(dtype, pl.Categorical | pl.Enum)
    return "String" if is_text else type_name(dtype)


def as_spark_path(path: Path, *, pattern: bool) -> str:
    """A path as Spark takes it: literally where it writes, and as a pattern, which is escaped, where it reads.

    Examples
    --------
    >>> as_spark_path(Path("/a b/c[1]"), pattern=True), as_spark_path(Path("/a b/c[1]"), pattern=False)
    ('file:///a b/c\\\\[1\\\\]', 'file:///a b/c[1]')
    """
    text = path.absolute().as_posix()
    return "file://" + ("".join("\\" * (each in "\\{}[]*?") + each for each in text) if pattern else text)
