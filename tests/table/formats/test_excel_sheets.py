"""Spreadsheets: what a cell says is what is read, and what is no table is told."""

from __future__ import annotations

import zipfile
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from odf.text import P
from openpyxl import Workbook

from tclose.errors import TableError
from tclose.table.formats.excel_sheets import load_excel, read_excel
from tclose.table.formats.merged_cells import has_merged_cells
from tclose.table.proposing.found_reading import read_and_find


def book(tmp_path: Path, rows: list[list[Any]], at: str = "A1", merged: str = "") -> str:
    made = Workbook()
    page = made.active
    page.title = "One"
    first = page[at]
    for down, row in enumerate(rows):
        for across, value in enumerate(row):
            page.cell(first.row + down, first.column + across, value)
    if merged:
        page.merge_cells(merged)
    made.save(tmp_path / "a.xlsx")
    return str(tmp_path / "a.xlsx")


def column(tmp_path: Path, *values: Any) -> pl.Series:
    frame, numbering = load_excel(book(tmp_path, [["x", "y"], *([value, 1] for value in values)]), None)
    assert numbering == ("row", 2)
    return frame["x"]


VALUES: dict[str, tuple[list[Any], list[Any]]] = {
    "whole numbers": ([1, 2, None], [1, 2, None]),
    "fractions": ([1, 2.5, None], [1.0, 2.5, None]),
    "truths": ([True, False, None], [True, False, None]),
    "days": ([date(1900, 3, 1), date(2024, 2, 29), None], [date(1900, 3, 1), date(2024, 2, 29), None]),
    "moments": ([datetime(2024, 1, 1, 8, 30, 15), None], [datetime(2024, 1, 1, 8, 30, 15), None]),
    "a moment at midnight among others": (
        [datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 1)],
        [datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 1)],
    ),
    "times": ([time(8, 30), time(23, 59, 59)], [time(8, 30), time(23, 59, 59)]),
    "codes with zeros in front": (["02139", "10001"], ["02139", "10001"]),
    "numbers and words": ([1, "x", 2.5], ["1", "x", "2.5"]),
    "days and words": ([date(2024, 1, 1), "unknown"], ["2024-01-01 00:00:00", "unknown"]),
    "truths and words": ([True, "maybe"], ["true", "maybe"]),
    "nothing": ([None, None], [None, None]),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name: str, tmp_path: Path) -> None:
    given, expected = VALUES[name]
    assert column(tmp_path, *given).to_list() == expected


def test_error_cells_are_missing_and_words_that_look_like_them_are_not(tmp_path: Path) -> None:
    made = Workbook()
    for row in (["x", "y"], [1, 1], [2, 1], ["#N/A", 1]):
        made.active.append(row)
    made.save(tmp_path / "a.xlsx")
    assert load_excel(str(tmp_path / "a.xlsx"), None)[0]["x"].to_list() == [1, 2, None]
    assert column(tmp_path, "NA", "n/a").to_list() == ["NA", "n/a"]


def test_a_table_may_stand_anywhere(tmp_path: Path) -> None:
    """Empty rows above the header and empty columns before it say nothing."""
    frame, numbering = load_excel(book(tmp_path, [["x", "y"], [1, 2], [3, 4]], "C4"), None)
    assert frame.to_dict(as_series=False) == {"x": [1, 3], "y": [2, 4]}
    assert numbering == ("row", 5)


REFUSED: dict[str, tuple[list[list[Any]], str]] = {
    "nothing at all": ([[]], "is empty"),
    "a title above": ([["Title"], ["x", "y"], [1, 2], [3, 4]], "row 1 has 1 of 2 cells filled"),
    "a column without a name": ([["x", None, "z"], [1, 2, 3]], "column 2 has no name in row 1"),
    "no names": ([["Ann", 31, date(2024, 1, 1)], ["Bob", 44, date(2024, 1, 2)]], "looks like a row.*Insert a row"),
    "a name twice": ([["x", "x"], [1, 2]], "Columns 1 and 2 .* same name"),
    "an empty row": ([["x", "y"], [1, 2], [None, None], [3, 4]], "row 3 is empty"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_table(name: str, tmp_path: Path) -> None:
    rows, said = REFUSED[name]
    with pytest.raises(TableError, match=said):
        load_excel(book(tmp_path, rows), None)


def test_a_header_alone_is_a_table_without_rows(tmp_path: Path) -> None:
    frame, _ = load_excel(book(tmp_path, [["x", "y"]]), None)
    assert (frame.columns, len(frame)) == (["x", "y"], 0)


@pytest.mark.parametrize(("merged", "found"), [("A2:A3", True), ("A1:B1", True), ("", False)])
def test_merged_cells(merged: str, found: bool, tmp_path: Path) -> None:
    path = book(tmp_path, [["x", "y"], [1, 2], [3, 4]], merged=merged)
    assert has_merged_cells(path, "One") is found
    assert not has_merged_cells(path, "Other")
    if found:
        with pytest.raises(TableError, match=r"merged cells|does not begin with a header|no name"):
            load_excel(path, None)


def test_a_file_that_expands_beyond_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("xl/workbook.xml", b" " * 10_000_000)
    monkeypatch.setattr("tclose.table.formats.excel_sheets.most_memory", lambda: 1 << 20)
    with pytest.raises(TableError, match="expands to 9 MiB"):
        read_excel(tmp_path / "a.xlsx", None)


def test_a_sheet_by_name_comes_before_one_by_number(tmp_path: Path) -> None:
    made = Workbook()
    made.active.title = "2"
    for name, value in (("2", 1), ("1", 2)):
        page = made[name] if name in made.sheetnames else made.create_sheet(name)
        page.append(["x"])
        page.append([value])
    made.save(tmp_path / "a.xlsx")
    for sheet, value in (("2", 1), ("1", 2), (1, 1)):
        assert load_excel(str(tmp_path / "a.xlsx"), sheet)[0]["x"].to_list() == [value]


def test_merged_cells_of_opendocument(tmp_path: Path) -> None:
    made = OpenDocumentSpreadsheet()
    for name, spanned in (("One", 2), ("Two", 1)):
        page = Table(name=name)
        for value in ("x", "1", "2"):
            row, cell = TableRow(), TableCell(valuetype="string", numberrowsspanned=spanned if value == "1" else 1)
            cell.addElement(P(text=value))
            row.addElement(cell)
            page.addElement(row)
        made.spreadsheet.addElement(page)
    path = str(tmp_path / "a.ods")
    made.save(path)
    assert [has_merged_cells(path, name) for name in ("One", "Two", "Three")] == [True, False, False]
    assert load_excel(path, "Two")[0]["x"].to_list() == ["1", "2"]
    with pytest.raises(TableError, match="Unmerge them"):
        load_excel(path, "One")


@pytest.mark.parametrize("text", ["age;sex\n31;F\n", "<html><table></table></html>"])
def test_text_that_is_called_a_spreadsheet_is_refused_with_a_way_on(text: str, tmp_path: Path) -> None:
    (tmp_path / "export.xls").write_text(text)
    with pytest.raises(TableError, match=r"is text.*--format csv"):
        read_excel(tmp_path / "export.xls", None)


def test_a_spreadsheet_without_names_is_not_read_as_if_it_had_none(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"--no-header is for CSV.*Insert a row"):
        read_and_find(book(tmp_path, [["x", "y"], [1, 2]]), {"header": False})
