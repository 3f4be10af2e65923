"""Sheets of Excel and OpenDocument, read by calamine.

A sheet is a table if its first row that is not empty holds a name for every column, and rows follow without a gap.
"""

from __future__ import annotations

import zipfile
from datetime import date, time
from pathlib import Path
from typing import Any

import polars as pl

from tclose.errors import TableError
from tclose.schema.guarding import guarded
from tclose.table.column_names import check_names, listed
from tclose.table.formats.merged_cells import has_merged_cells
from tclose.table.formats.tried_files import need, read_tried
from tclose.table.formats.whole_numbers import as_whole
from tclose.table.memory_limit import most_memory
from tclose.table.text_layout import is_like_a_row

LOOKED_AT = 100  # rows in which the header is looked for
DAY_ZERO = [date(1899, 12, 30), date(1899, 12, 31)]  # of a time of day, in calamine and in Excel
Numbering = tuple[str, int]


def read_excel(path: Path, sheet: str | int | None) -> tuple[pl.DataFrame, Numbering]:
    """A sheet, and what its rows are called in messages, with the first one's number; tried in another process.

    Parameters
    ----------
    path
        Of an .xlsx, .xlsm, .xlsb, .xls or .ods file.
    sheet
        Its name, or its number from 1 up; the only one that holds something, if None.

    Raises
    ------
    TableError
        It cannot be read, there is no such sheet, several hold something and none is named, or the sheet is no table.
    MissingExtraError
        The reader is not installed.
    """
    need("fastexcel", "excel", "A spreadsheet")
    problem = f"'{path.name}' is not a readable spreadsheet, or has a password"
    guarded(problem, lambda: _check_kind(path))
    guarded(problem, lambda: _check_size(path))
    return read_tried(problem, path, load_excel, sheet)


def _check_kind(path: Path) -> None:
    """Refuse text that is called a spreadsheet, as some programs export it."""
    with path.open("rb") as file:
        start = file.read(4096)
    if start and not start.startswith((b"PK", b"\xd0\xcf\x11\xe0")) and min(start) >= 9:
        raise TableError(
            f"'{path.name}' is called a spreadsheet and is text. Give --format csv; or, if it is a page of HTML, "
            "open it in a spreadsheet and save it as .xlsx."
        )


def _check_size(path: Path) -> None:
    """Refuse a file that expands to more than the memory there is."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as parts:
        needed, most = sum(part.file_size for part in parts.infolist()), most_memory()
    if needed > most:
        raise TableError(
            f"'{path.name}' expands to {needed >> 20:,} MiB, and this process may take {most >> 20:,} MiB of memory."
        )


def load_excel(path: str, sheet: str | int | None) -> tuple[pl.DataFrame, Numbering]:
    """Read it in this process."""
    import fastexcel

    book = fastexcel.read_excel(path)
    name = _chosen(book, sheet, Path(path).name)
    shown = f"Sheet '{name}' of '{Path(path).name}'"
    top = book.load_sheet(name, header_row=None, skip_rows=0, n_rows=LOOKED_AT, dtypes="string").to_polars()
    header, names = _header(top, shown)
    rows = _rows(book, name, header + 1)
    if has_merged_cells(path, name):
        raise TableError(
            f"{shown} has merged cells, of which all but the first are empty. Unmerge them, and fill every cell."
        )
    return _table(rows, names, header, shown), ("row", header + 2)


def _chosen(book: Any, sheet: str | int | None, where: str) -> str:
    """The name of the sheet to read."""
    names: list[str] = book.sheet_names
    if sheet in names:
        return str(sheet)
    if sheet is not None:
        number = int(sheet) if str(sheet).isascii() and str(sheet).isdigit() else 0
        if 1 <= number <= len(names):
            return names[number - 1]
        raise TableError(f"'{where}' has no sheet '{sheet}'. It has {listed(names)}.")
    if len(names) == 1:
        return names[0]
    filled = [name for name in names if _holds_something(book, name)]
    if len(filled) != 1:
        has = f"{len(filled)} sheets with something in them: {listed(filled)}" if filled else "nothing in its sheets"
        raise TableError(f"'{where}' has {has}. Name one with --sheet.")
    return filled[0]


def _holds_something(book: Any, name: str) -> bool:
    top = book.load_sheet(name, header_row=None, skip_rows=0, n_rows=LOOKED_AT, dtypes="string").to_polars()
    return any(column.null_count() < len(column) for column in top)


def _rows(book: Any, name: str, skipped: int) -> pl.DataFrame:
    """All cells below the header, a column of several types as text: an error cell, such as #N/A, is missing.

    A column of dates loses its words when it is read as dates, so every column is read as text as well.
    """
    typed = book.load_sheet(name, header_row=None, skip_rows=skipped, schema_sample_rows=None).to_polars()
    shown = book.load_sheet(name, header_row=None, skip_rows=skipped, dtypes="string").to_polars()
    return pl.DataFrame(
        [
            as_read if as_read.null_count() == as_text.null_count() else as_text
            for as_read, as_text in zip(map(_without_midnight, typed), shown, strict=True)
        ]
    )


def _without_midnight(column: pl.Series) -> pl.Series:
    """Moments as days if all are at midnight, and as times if all are on the day that Excel counts from."""
    if not isinstance(column.dtype, pl.Datetime) or column.null_count() == len(column):
        return column
    if (column.dt.time() == time()).all():
        return column.dt.date()
    return column.dt.time() if column.dt.date().is_in(DAY_ZERO).all() else column


def _header(top: pl.DataFrame, shown: str) -> tuple[int, list[str | None]]:
    """Which row holds the names, and the names; None for a column that has none."""
    rows = top.rows()
    header = next((place for place, row in enumerate(rows) if any(_text(cell) for cell in row)), None)
    if header is None:
        raise TableError(f"{shown} is empty.")
    names = [_text(cell) for cell in rows[header]]
    below = rows[header + 1 :]
    used = [any(_text(row[place]) for row in below) for place in range(len(names))]
    n_named = sum(name is not None for name in names)
    if n_named * 2 <= sum(used):
        raise TableError(
            f"{shown} does not begin with a header: row {header + 1} has {n_named} of {sum(used)} cells filled. "
            "Delete what stands above the row with the names of the columns, and unmerge its cells."
        )
    columns = [[_text(row[place]) or "" for row in below] for place in range(len(names))]
    if below and is_like_a_row([name or "" for name in names], columns):
        raise TableError(
            f"{shown}: row {header + 1} looks like a row and not like names. Insert a row with names above it; a name "
            "that is a number needs a letter before it."
        )
    return header, names


def _text(cell: object) -> str | None:
    return str(cell) if cell is not None and str(cell).strip() else None


def _table(rows: pl.DataFrame, names: list[str | None], header: int, shown: str) -> pl.DataFrame:
    """The rows below the header under its names, without columns and rows at the end that hold nothing."""
    columns = []
    for place, column in enumerate(rows):
        name = names[place] if place < len(names) else None
        if name is None and column.null_count() < len(column):
            raise TableError(f"{shown}: column {place + 1} has no name in row {header + 1}. Name it, or delete it.")
        if name is not None:
            columns.append((name, column))
    check_names([name for name, _ in columns])
    frame = pl.DataFrame({name: as_whole(column) for name, column in columns})
    filled = frame.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
    n_rows = int(filled.arg_true().max() + 1) if filled.any() else 0  # type: ignore[operator]
    gaps = (~filled.head(n_rows)).arg_true()
    if len(gaps):
        raise TableError(f"{shown}: row {int(gaps[0]) + header + 2} is empty. Delete empty rows between the others.")
    return frame.head(n_rows)
