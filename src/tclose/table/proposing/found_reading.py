"""A table from a file, and how that is to be read: what a schema says of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tclose.errors import TableError
from tclose.table.number_signs import find_signs
from tclose.table.source import Source, called, read
from tclose.table.table_location import TableLocation, text_file_of
from tclose.table.text_layout import find_layout

PLAIN: dict[str, Any] = {"delimiter": ",", "encoding": "utf-8", "decimal": ".", "thousands": "", "header": True}
SHOWN = {"\t": "a tab", " ": "a space", "\u00a0": "a space", "\u202f": "a space"}


class FoundReading(NamedTuple):
    """A table, and how its file is read.

    Attributes
    ----------
    source
        The table.
    reading
        Keys of a schema, without those that it has anyway.
    told
        What was found, in one line; empty if a schema has it so anyway.
    """

    source: Source
    reading: dict[str, Any]
    told: str


def read_and_find(place: TableLocation | Path | str, given: Mapping[str, Any] | None = None) -> FoundReading:
    """Read a table; of a text file find what is not given: delimiter, encoding, header, decimal and thousands sign.

    Raises
    ------
    TableError
        The file can be read in more than one way; the message names the option that decides.
    """
    location, given = TableLocation.of(place), given or {}
    text = text_file_of(location)
    if text is None and given.get("header") is False:
        raise TableError("--no-header is for CSV and TSV. Insert a row with names above the others, or save it as CSV.")
    if text is None:
        return FoundReading(read(location), {}, "")
    path, kind = text
    delimiter = given.get("delimiter") or ("\t" if kind.name == "tsv" else None)
    with called(path.name, location.name):
        layout = find_layout(path, kind.is_zipped, delimiter, given.get("encoding"), given.get("header"))
    source = read(location, layout.delimiter, layout.encoding, header=layout.header)
    distinct = source.each(source.names, lambda column: column.unique())
    signs = find_signs(distinct.values(), layout.delimiter, given.get("decimal"), given.get("thousands"))
    found = {**layout._asdict(), **signs._asdict()}
    reading = {key: value for key, value in found.items() if value != PLAIN[key]}
    if kind.name == "tsv" and found["decimal"] == PLAIN["decimal"]:
        reading.pop("delimiter", None)  # its name says so, and a release in CSV has commas
    return FoundReading(source, reading, _told(location.name, found) if reading else "")


def _told(name: str, found: Mapping[str, Any]) -> str:
    shown = {key: SHOWN.get(value, f"'{value}'") for key, value in found.items() if key != "header"}
    thousands = f", thousands sign {shown['thousands']}" if found["thousands"] else ""
    return (
        f"Read {name} with delimiter {shown['delimiter']}, encoding {found['encoding']}, decimal sign "
        f"{shown['decimal']}{thousands}, {'a header' if found['header'] else 'no header'}. --delimiter, --encoding, "
        "--decimal, --thousands and --no-header say otherwise."
    )
