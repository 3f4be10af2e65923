"""Cells that a spreadsheet would take for formulas: found, written with an apostrophe before them, and undone.

A text is one if it begins with `=`, `+`, `-`, `@`, a tab or a carriage return and is no number. It is written with an
apostrophe before it, and so is a text that has apostrophes before such a beginning: whether a text needs one depends on
what stands behind its apostrophes, which one more or less does not change, so that taking one away undoes it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from tclose.errors import FormulaWarning, TableError
from tclose.release.certificate import Certificate, claimed_fields
from tclose.schema.schema import Schema
from tclose.table.column_names import check_names, listed
from tclose.table.formats.file_formats import is_delimited
from tclose.table.reading import texts as value_texts
from tclose.table.source import Source, read
from tclose.table.table_location import file_of, text_file_of
from tclose.table.text_layout import reading_of_release

ESCAPED, AS_THEY_ARE = "escaped", "as they are"  # what a certificate says under `formulas`
NUMBER = r"^[+-]([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?$"
FEW, FIRST = 4096, frozenset("=+-@\t\r")
BEGINS = r"^'*[=+\-@\t\r]"


def escape(texts: pl.Series) -> pl.Series:
    """Texts with an apostrophe before those that need one; missing ones stay so.

    Examples
    --------
    >>> escape(pl.Series(["=1+1", "-5", "flu", "'=1", "'n"])).to_list()
    ["'=1+1", '-5', 'flu', "''=1", "'n"]
    """
    return _where(needs_apostrophe(texts), "'" + texts, texts)


def undo(texts: pl.Series) -> pl.Series:
    """The inverse of `escape`.

    Examples
    --------
    >>> undo(escape(pl.Series(["=1+1", "'=1", "'n", "'-5", "-5"]))).to_list()
    ['=1+1', "'=1", "'n", "'-5", '-5']
    """
    return _where(needs_apostrophe(texts) & texts.str.starts_with("'"), texts.str.slice(1), texts)


def needs_apostrophe(texts: pl.Series) -> pl.Series:
    """Which texts are formulas, or would be without the apostrophes before them."""
    behind = texts.str.strip_chars_start("'")
    return (texts.str.contains(BEGINS) & ~behind.str.contains(NUMBER)).fill_null(False)


def is_formula(texts: pl.Series) -> pl.Series:
    """Which texts a spreadsheet would take for formulas as they stand."""
    return needs_apostrophe(texts) & ~texts.str.starts_with("'").fill_null(False)


def _where(chosen: pl.Series, those: pl.Series, others: pl.Series) -> pl.Series:
    return those.zip_with(chosen, others).alias(others.name) if chosen.any() else others


def escape_frame(frame: pl.DataFrame, decimal: str = ".") -> pl.DataFrame:
    """A table to be written, its names and texts escaped; an Enum has other categories then.

    A column of another type whose text would be a formula, such as minus infinity or a day of the year 10000, becomes
    text; `decimal` is the mark that its numbers are written with.
    """
    as_texts = [_as_written(column, decimal) for column in frame]
    columns = [_by_value(column, escape) if _is_text(column) else column for column in as_texts]
    names = escape(pl.Series(frame.columns, dtype=pl.String)).to_list()
    return pl.DataFrame([column.alias(name) for column, name in zip(columns, names, strict=True)])


def undo_source(source: Source) -> Source:
    """A table that was read from an escaped file, as it was before."""
    raw = dict(zip(undo(pl.Series(source.names, dtype=pl.String)).to_list(), source.names, strict=True))
    if len(raw) < len(source.names):
        check_names(undo(pl.Series(source.names, dtype=pl.String)).to_list())
    digest, column = source.digest, source.column

    def undone(name: str) -> pl.Series:
        found = column(raw[name])
        return (_by_value(found, undo) if _is_text(found) else found).alias(name)

    return replace(source, names=tuple(raw), column=undone, digest=digest)


def count_formulas(frame: pl.DataFrame) -> dict[str, int]:
    """How many cells of each column would be formulas as they stand, for those that have some; a name is one too."""
    counts = {}
    names = is_formula(pl.Series(frame.columns, dtype=pl.String)).to_list()
    for given, named in zip(frame, names, strict=True):
        column, number = _as_written(given), int(named)
        if isinstance(column.dtype, pl.Enum):
            known = column.dtype.categories
            places = [place for place, found in enumerate(_formulas(known)) if found]
            number += int(column.to_physical().is_in(places).sum()) if places else 0
        elif _is_text(column):
            number += int(is_formula(column.cast(pl.String)).sum())
        if number:
            counts[column.name] = number
    return counts


def _formulas(texts: pl.Series) -> list[bool]:
    """Whether each is a formula; of a few texts, most of which are none, a look at their first characters decides."""
    few = texts.to_list() if len(texts) <= FEW else None
    if few is not None and not any(text[:1] in FIRST for text in few if text):
        return [False] * len(few)
    return is_formula(texts).to_list()


def _as_written(column: pl.Series, decimal: str = ".") -> pl.Series:
    """A column as the text that CSV has of it, if some of that would be a formula; else as it is."""
    if not _may_be_formula(column):
        return column
    if isinstance(column.dtype, pl.Duration):
        return value_texts(column)
    options: dict[str, Any] = {"separator": ";", "quote_style": "never", "decimal_comma": decimal == ","}
    written = column.to_frame().write_csv(include_header=False, **options).split("\n")[: len(column)]
    texts = pl.Series(column.name, [text or None for text in written], dtype=pl.String)
    return texts if needs_apostrophe(texts).any() else column


def _may_be_formula(column: pl.Series) -> bool:
    """Whether the text of a column that is none may be: of infinite numbers, and of years with a sign."""
    if column.dtype.is_float():
        return bool(column.is_infinite().any())
    if isinstance(column.dtype, pl.Duration):
        return bool((column.to_physical() < 0).any())
    if column.dtype in (pl.Date, pl.Datetime):
        return not column.dt.year().is_between(0, 9999).all()
    return False


def _is_text(column: pl.Series) -> bool:
    return column.dtype in (pl.String, pl.Categorical, pl.Enum)


def _by_value(column: pl.Series, change: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """The change made to each distinct text of an Enum, or else to each text."""
    if isinstance(column.dtype, pl.Enum):
        known = column.dtype.categories
        changed = change(known)
        if changed.equals(known):
            return column
        return pl.Series(column.name, changed.gather(column.to_physical()), dtype=pl.Enum(changed))
    return change(column.cast(pl.String))


def read_released(
    df: Any,
    schema: Schema,
    encoding: str | None = "utf-8",
    *,
    certificate: Certificate | Mapping[str, Any] | Path | str | None = None,
    escaped: bool | None = None,
) -> Source:
    """A released table as it was before its formulas were escaped, if they were.

    Parameters
    ----------
    df
        The released table: a dataframe, or a path.
    schema
        How a CSV file is read.
    encoding
        Of a release, which is UTF-8; None if it may also be that of the schema, as another tool may write it.
    certificate
        Says whether formulas are escaped; if None, the one beside the file.
    escaped
        Whether they are; None to ask the certificate.
    """
    if encoding is None:
        encoding = reading_of_release(text_file_of(df), schema.encoding, True, ())[0]
    source = read(df, schema.delimiter, encoding)
    if escaped is None:
        escaped = says_escaped(certificate, file_of(df))
    return undo_source(source) if escaped else source


def says_escaped(certificate: Certificate | Mapping[str, Any] | Path | str | None, path: Path | None) -> bool:
    """Whether the certificate, or that beside the file, says that formulas are escaped; no if it cannot be read."""
    return claimed_fields(certificate, path).get("formulas") == ESCAPED


def unescaped_problems(source: Source) -> Iterator[str]:
    """What is wrong with a file whose certificate says that formulas are escaped, as it stands."""
    for name, count in count_formulas(source.frame).items():
        yield f"'{name}': {count} cells are formulas, and the certificate says that they are escaped."


def note_formulas(frame: pl.DataFrame) -> None:
    """Warn of cells that would be formulas; counts and columns, never a cell."""
    counts = count_formulas(frame)
    if counts:
        told = listed([f"{name} ({count})" for name, count in counts.items()])
        warnings.warn(
            f"Cells or names begin as formulas of a spreadsheet do: {told}. Escape them (escape_formulas=True, "
            "--escape-formulas) if the file may be opened in one.",
            FormulaWarning,
            stacklevel=3,
        )


def check_suffix(path: Path, suffix: str) -> None:
    """Only text files are opened as spreadsheets with formulas in them.

    Raises
    ------
    TableError
        The file is none.
    """
    if not is_delimited(suffix):
        raise TableError(
            f"'{path.name}': formulas are escaped in CSV and TSV alone. Write .csv or .tsv, or do not ask."
        )
