"""Files of SPSS, Stata and SAS, read by ReadStat, with the labels of their codes.

What these programs call missing (system-missing, user-defined codes, `.a` to `.z`, empty texts) is missing. Codes
become their labels unless codes are asked for, with an order only where the file says that there is one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from tclose.errors import TableError
from tclose.schema.builders import plain
from tclose.table.formats.file_formats import FileFormat
from tclose.table.formats.tried_files import need, read_tried
from tclose.table.formats.whole_numbers import as_whole
from tclose.table.memory_limit import most_memory

READERS = {
    ".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat", ".xpt": "read_xport",
}  # fmt: skip
PROGRAMS = {"spss": "SPSS", "stata": "Stata", "sas": "SAS"}
CELLS_A_BYTE, ZLIB, CELL = 8, 1100, 8  # what a byte holds at most, how much zlib packs into one, and bytes of a cell
BEGINNING = 100  # bytes
_VARIABLES = re.compile(
    rb"<stata_dta><header><release>119</release><byteorder>(LSF|MSF)</byteorder><K>(.{4})</K>", re.DOTALL
)
MONTHS = {"%tm": 1, "%tq": 3, "%th": 6}  # Stata's periods, counted from 1960
WEEKS = 52  # that every year of Stata's has


def read_statistics(path: Path, kind: FileFormat, codes: bool) -> pl.DataFrame:
    """All rows, codes as their labels unless `codes` says otherwise; tried in another process.

    Raises
    ------
    TableError
        It cannot be read.
    MissingExtraError
        The reader is not installed.
    """
    program = PROGRAMS[kind.name]
    need("pyreadstat", "stats", f"A file of {program}")
    problem = f"'{path.name}' is not a readable file of {program}"
    return read_tried(problem, path, load_statistics, READERS[kind.suffix], codes)


def load_statistics(path: str, reader: str, codes: bool) -> pl.DataFrame:
    """Read it in this process."""
    import pyreadstat

    _check_variables(path)
    _check_size(path, getattr(pyreadstat, reader)(path, metadataonly=True)[1])
    frame, about = getattr(pyreadstat, reader)(path, output_format="polars")
    labels: Mapping[str, Mapping[Any, str]] = {} if codes else about.variable_value_labels
    formats, measures = about.original_variable_types, about.variable_measure
    columns = []
    for column in pl.DataFrame(frame):
        known = _without_empty(_from_period(column, formats.get(column.name) or ""))
        of_codes = labels.get(column.name)
        columns.append(
            _labelled(known, of_codes, measures.get(column.name) == "ordinal") if of_codes else as_whole(known)
        )
    return pl.DataFrame(columns)


def _check_variables(path: str) -> None:
    """Refuse a file of Stata that says it has more variables than it can hold: only one release counts so far."""
    with open(path, "rb") as file:
        found = _VARIABLES.match(file.read(BEGINNING))
    if found is not None:
        number = int.from_bytes(found.group(2), "little" if found.group(1) == b"LSF" else "big")
        if number > os.path.getsize(path):
            raise TableError(f"'{Path(path).name}' says that it has more variables than it can hold.")


def _check_size(path: str, about: Any) -> None:
    """Refuse a file that says it has more rows than it can hold: the reader makes room for them before it looks."""
    n_cells = (about.number_rows or 0) * (about.number_columns or 0)
    packed = ZLIB if path.lower().endswith(".zsav") else 1
    if n_cells > CELLS_A_BYTE * packed * os.path.getsize(path) or n_cells * CELL > most_memory():
        raise TableError(f"'{Path(path).name}' says that it has more rows than it, or the memory there is, can hold.")


def _without_empty(column: pl.Series) -> pl.Series:
    """Texts without empty ones, which is how these programs write that there is none."""
    return column.set(column == "", None) if column.dtype == pl.String else column


def _from_period(column: pl.Series, written: str) -> pl.Series:
    """Stata's weeks, months, quarters and half-years as the day on which they begin; all else as it is."""
    period = written[:3]
    if not column.dtype.is_numeric() or (period not in MONTHS and period != "%tw"):
        return column
    counted = column.cast(pl.Int64)
    if period == "%tw":
        year, behind = 1960 + counted // WEEKS, 7 * (counted % WEEKS)
        month = pl.repeat(1, len(column), eager=True)
    else:
        months = counted * MONTHS[period]
        year, month, behind = 1960 + months // 12, months % 12 + 1, pl.repeat(0, len(column), eager=True)
    begun = pl.DataFrame({"year": year, "month": month, "behind": behind}).select(
        pl.date(pl.col("year"), pl.col("month"), 1) + pl.duration(days=pl.col("behind"))
    )
    return begun.to_series().alias(column.name)


def _labelled(column: pl.Series, labels: Mapping[Any, str], is_ordered: bool) -> pl.Series:
    """Codes as their labels; a code that has none as it is written.

    Of two codes with one label, each has its code behind it. Where no code that occurs has a label, they are numbers.

    Examples
    --------
    >>> _labelled(pl.Series([1.0, 2.0, 3.0]), {1.0: "yes", 2.0: "no"}, False).to_list()
    ['yes', 'no', '3']
    """
    known = column.drop_nulls().unique().sort().to_list()
    if not any(code in labels for code in known):
        return as_whole(column)
    given = [labels.get(code, _written(code)) for code in known]
    named = [*labels.values(), *(_written(code) for code in known if code not in labels)]
    shown = [
        label if named.count(label) == 1 else f"{label} ({_written(code)})"
        for code, label in zip(known, given, strict=True)
    ]
    told = column.replace_strict(known, shown, return_dtype=pl.String)
    own = pl.Enum(shown) if is_ordered else pl.Categorical(pl.Categories.random("labels", pl.UInt32))
    return told.cast(own)


def _written(code: Any) -> str:
    return plain(Decimal(repr(code))) if isinstance(code, int | float) else str(code)
