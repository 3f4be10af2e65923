"""A table from a file, and how that is to be read: what a schema says of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tclose.table.number_signs import find_signs
from tclose.table.source import Source, read
from tclose.table.text_layout import find_layout

TEXT_FILES = (".csv", ".csv.gz")
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


def read_and_find(path: Path | str, given: Mapping[str, Any] | None = None) -> FoundReading:
    """Read a file; of a text file find what is not given: delimiter, encoding, header, decimal and thousands sign.

    Raises
    ------
    TableError
        The file can be read in more than one way; the message names the option that decides.
    """
    path, given = Path(path), given or {}
    if not path.name.lower().endswith(TEXT_FILES) or not path.is_file():
        return FoundReading(read(path), {}, "")
    zipped = path.name.lower().endswith(".gz")
    layout = find_layout(path, zipped, given.get("delimiter"), given.get("encoding"), given.get("header"))
    source = read(path, layout.delimiter, layout.encoding, header=layout.header)
    distinct = source.each(source.names, lambda column: column.unique())
    signs = find_signs(distinct.values(), layout.delimiter, given.get("decimal"), given.get("thousands"))
    found = {**layout._asdict(), **signs._asdict()}
    reading = {key: value for key, value in found.items() if value != PLAIN[key]}
    return FoundReading(source, reading, _told(path, found) if reading else "")


def _told(path: Path, found: Mapping[str, Any]) -> str:
    shown = {key: SHOWN.get(value, f"'{value}'") for key, value in found.items() if key != "header"}
    thousands = f", thousands sign {shown['thousands']}" if found["thousands"] else ""
    return (
        f"Read {path.name} with delimiter {shown['delimiter']}, encoding {found['encoding']}, decimal sign "
        f"{shown['decimal']}{thousands}, {'a header' if found['header'] else 'no header'}. --delimiter, --encoding, "
        "--decimal, --thousands and --no-header say otherwise."
    )
