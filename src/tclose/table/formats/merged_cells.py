"""Merged cells of a spreadsheet: all but the first of them are empty, and would be read as missing values."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import PurePosixPath
from xml.etree import ElementTree

PIECE, OVERLAP, MOST_BYTES = 1 << 20, 1 << 10, 1 << 24
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\b[^>]*?\bref="([A-Z]+[0-9]+:[A-Z]+[0-9]+)"')
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def has_merged_cells(path: str, sheet: str) -> bool:
    """Whether a sheet of an .xlsx or .ods file has merged cells; of other files that is not known, and no."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as parts:
        names = set(parts.namelist())
        if "xl/workbook.xml" in names:
            part = _part_of(parts, sheet)
            return part in names and any(_MERGED.search(piece) for piece in _pieces(parts, part))
        if "content.xml" in names:
            return _spans_in_table(parts, sheet)
    return False


def _part_of(parts: zipfile.ZipFile, sheet: str) -> str:
    """The part of an .xlsx file that holds a sheet; empty if that is not said."""
    relation = ""
    for node in _tree(parts, "xl/workbook.xml").iter():
        if node.tag.endswith("}sheet") and node.get("name") == sheet:
            relation = node.get(_RELATION) or ""
    for node in _tree(parts, "xl/_rels/workbook.xml.rels").iter():
        if node.get("Id") == relation:
            target = node.get("Target") or ""
            return target.removeprefix("/") if target.startswith("/") else str(PurePosixPath("xl") / target)
    return ""


def _tree(parts: zipfile.ZipFile, name: str) -> ElementTree.Element:
    with parts.open(name) as part:
        return ElementTree.fromstring(part.read(MOST_BYTES))


def _pieces(parts: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """A part, some bytes at a time, each with the end of the one before."""
    before = b""
    with parts.open(name) as part:
        while piece := part.read(PIECE):
            yield before + piece
            before = piece[-OVERLAP:]


def _spans_in_table(parts: zipfile.ZipFile, sheet: str) -> bool:
    """Whether a cell of a table in an .ods file spans several."""
    inside, found = False, False
    with parts.open("content.xml") as part:
        for event, node in ElementTree.iterparse(part, events=("start", "end")):
            name = node.tag.rpartition("}")[2]
            if event == "start" and name == "table":
                inside = next((value for key, value in node.items() if key.endswith("}name")), "") == sheet
            elif event == "end" and name == "table-cell":
                spans = [value for key, value in node.items() if key.endswith("-spanned")]
                found = found or (inside and any(value != "1" for value in spans))
                node.clear()
    return found
