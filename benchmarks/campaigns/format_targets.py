"""Tables in other formats, for the fuzzer of readers: JSON, Arrow, spreadsheets, statistics packages, SQLite."""

from __future__ import annotations

import io
import json
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl

from tclose.table.formats import arrow_files
from tclose.table.formats.excel_sheets import load_excel
from tclose.table.formats.statistics_files import READERS, load_statistics
from tclose.table.formats.tried_files import read_tried

Mutate = Callable[[bytes], bytes]


def json_line_seeds(frame: pl.DataFrame) -> list[bytes]:
    """An object a line."""
    return [frame.write_ndjson().encode(), b'{"age": 1e5, "ill": [{"a": 1}]}\n\n{"age": -0}\n']


def json_array_seeds(frame: pl.DataFrame) -> list[bytes]:
    """An array of objects."""
    return [json.dumps(frame.to_dicts()).encode(), json.dumps(frame.to_dicts(), indent=2).encode()]


def is_json_name(data: bytes, mark: str) -> bool:
    """Whether the mark stands in a name, which may be shown."""
    return re.search(rb'"[^"]*' + mark.encode() + rb'[^"]*"\s*:', data) is not None


def arrow_seeds(frame: pl.DataFrame) -> list[bytes]:
    """Files and streams."""
    plain, packed, stream = io.BytesIO(), io.BytesIO(), io.BytesIO()
    frame.write_ipc(plain)
    frame.with_columns(pl.col("ill").cast(pl.Categorical)).write_ipc(packed, compression="zstd")
    frame.write_ipc_stream(stream)
    return [plain.getvalue(), packed.getvalue(), stream.getvalue()]


def read_arrow(data: bytes, path: Path) -> object:
    """Without the process that tries it first: what kills this one is tried again with it."""
    path.write_bytes(data)
    return arrow_files.read_arrow(path, made_here=True) is None


def excel_seeds(frame: pl.DataFrame) -> list[bytes]:
    """A workbook of one sheet."""
    from openpyxl import Workbook

    book, made = Workbook(), io.BytesIO()
    for row in [frame.columns, *frame.rows()]:
        book.active.append(row)
    book.save(made)
    return [made.getvalue()]


def inside_workbook(data: bytes, mutate: Mutate) -> bytes:
    """Another sheet, or other texts, in a workbook that is whole."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as parts:
            held = {name: parts.read(name) for name in parts.namelist()}
    except Exception:
        return mutate(data)
    chosen = [name for name in held if name.endswith(("sheet1.xml", "sharedStrings.xml"))]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as parts:
        for name, part in held.items():
            parts.writestr(name, mutate(part) if name in chosen[:2] else part)
    return made.getvalue()


def read_excel(data: bytes, path: Path) -> object:
    """As users do, but in this process."""
    path.write_bytes(data)
    return read_tried("It cannot be read", path, load_excel, None, made_here=True) is None


def statistics_seeds(frame: pl.DataFrame, writer: str, suffix: str) -> list[bytes]:
    """A file of one of the packages, with labels where it has them."""
    import pyreadstat

    table = frame.with_columns(pl.col(pl.String).fill_null("")).to_pandas()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix}"
        labels = {} if suffix == ".xpt" else {"variable_value_labels": {"age": {20: "twenty", 21: "more"}}}
        getattr(pyreadstat, writer)(table, str(path), **labels)
        return [path.read_bytes()]


def read_statistics(data: bytes, path: Path) -> object:
    """As users do, but in this process."""
    path.write_bytes(data)
    reader = READERS[path.suffix]
    return read_tried("It cannot be read", path, load_statistics, reader, False, made_here=True) is None


def sqlite_seeds(frame: pl.DataFrame) -> list[bytes]:
    """A database of one table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        with sqlite3.connect(path) as base:
            base.execute(f"CREATE TABLE people ({', '.join(frame.columns)})")
            base.executemany(f"INSERT INTO people VALUES ({', '.join('?' * frame.width)})", frame.rows())
        base.close()
        return [path.read_bytes()]
