"""A table of all types, and the same in every format that some library here can write."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyreadstat
import xlwt
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from odf.text import P
from openpyxl import Workbook

N = 120
SCHEMA: dict[str, Any] = {
    "k": 4,
    "missing": "category",
    "quasi": {
        "age": {"kind": "numeric", "step": 5},
        "height": {"kind": "numeric"},
        "born": {"kind": "date", "step": "year"},
        "member": {"kind": "categorical"},
        "zip": {"kind": "text"},
        "city": {"kind": "categorical"},
    },
    "sensitive": {
        "ill": {"distance": "equal", "t": 0.4},
        "dose": {"distance": "ordered", "t": 0.4},
        "seen": {"distance": "ordered", "t": 0.4},
    },
}


def all_types(n: int = N, seed: int = 3) -> pl.DataFrame:
    """Whole numbers, fractions, dates, moments, truths, codes with zeros in front, and texts; some are missing."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "height": (rng.integers(300, 400, n) / 2),
            "born": [
                date(1930 + int(year), 1 + int(month), 28) for year, month in rng.integers(0, 12, (n, 2)) * [5, 1]
            ],
            "member": rng.integers(0, 2, n).astype(bool),
            "zip": [f"{code:05}" for code in rng.choice([2138, 2139, 10001, 10002], n)],
            "city": [None if each == "x" else str(each) for each in rng.choice(["Bonn", "Köln", "Łódź", "x"], n)],
            "ill": rng.choice(["flu", "cold", "rash"], n),
            "dose": [None if dose == 7 else int(dose) for dose in rng.integers(0, 12, n)],
            "seen": [datetime(2024, 1 + int(m), 1, 8, 30, 15) for m in rng.integers(0, 12, n)],
        }
    )


def write_csv(frame: pl.DataFrame, path: Path) -> None:
    frame.write_csv(path)


def write_tsv(frame: pl.DataFrame, path: Path) -> None:
    frame.write_csv(path, separator="\t")


def write_tsv_gz(frame: pl.DataFrame, path: Path) -> None:
    path.write_bytes(gzip.compress(frame.write_csv(separator="\t").encode()))


def write_json(frame: pl.DataFrame, path: Path) -> None:
    path.write_text(json.dumps(frame.to_dicts(), default=_as_json, indent=1), encoding="utf-8")


def write_jsonl(frame: pl.DataFrame, path: Path) -> None:
    lines = [json.dumps(row, default=_as_json) for row in frame.iter_rows(named=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_jsonl_gz(frame: pl.DataFrame, path: Path) -> None:
    frame.write_ndjson(plain := path.with_suffix(""))
    path.write_bytes(gzip.compress(plain.read_bytes()))


def _as_json(value: date | datetime) -> str:
    return value.isoformat()


def write_arrow(frame: pl.DataFrame, path: Path) -> None:
    frame.write_ipc(path, compression="lz4")


def write_feather(frame: pl.DataFrame, path: Path) -> None:
    import pyarrow.feather

    pyarrow.feather.write_feather(frame.to_arrow(), path)


def write_stream(frame: pl.DataFrame, path: Path) -> None:
    frame.write_ipc_stream(path)


def write_xlsx(frame: pl.DataFrame, path: Path, sheet: str = "People") -> None:
    book = Workbook()
    page = book.active
    page.title = sheet
    for row in [tuple(frame.columns), *frame.iter_rows()]:
        page.append(row)
    book.save(path)


def write_xls(frame: pl.DataFrame, path: Path) -> None:
    book = xlwt.Workbook()
    page = book.add_sheet("People")
    styles = {date: "YYYY-MM-DD", datetime: "YYYY-MM-DD HH:MM:SS"}
    for place, row in enumerate([tuple(frame.columns), *frame.iter_rows()]):
        for column, value in enumerate(row):
            if value is not None:
                page.write(place, column, value, xlwt.easyxf(num_format_str=styles.get(type(value), "General")))
    book.save(str(path))


def write_ods(frame: pl.DataFrame, path: Path) -> None:
    book, page = OpenDocumentSpreadsheet(), Table(name="People")
    for values in [tuple(frame.columns), *frame.iter_rows()]:
        row = TableRow()
        for value in values:
            row.addElement(_ods_cell(value))
        page.addElement(row)
    book.spreadsheet.addElement(page)
    book.save(str(path))


def _ods_cell(value: Any) -> Any:
    if value is None:
        return TableCell()
    if isinstance(value, bool):
        return TableCell(valuetype="boolean", booleanvalue=str(value).lower())
    if isinstance(value, int | float):
        return TableCell(valuetype="float", value=str(value))
    if isinstance(value, date | datetime):
        return TableCell(valuetype="date", datevalue=value.isoformat())
    cell = TableCell(valuetype="string")
    cell.addElement(P(text=value))
    return cell


def for_statistics(frame: pl.DataFrame) -> Any:
    """As packages for statistics have it: truths are numbers, and a missing text is empty."""
    told = frame.with_columns(pl.col(pl.Boolean).cast(pl.Int64), pl.col(pl.String).fill_null(""))
    return told.to_pandas()


def write_sav(frame: pl.DataFrame, path: Path) -> None:
    pyreadstat.write_sav(for_statistics(frame), str(path), compress=path.suffix == ".zsav")


def write_por(frame: pl.DataFrame, path: Path) -> None:
    """Which has upper-case names and no letters beyond English ones."""
    told = frame.with_columns(pl.col("city").str.replace("Köln", "Koln").str.replace("Łódź", "Lodz"))
    pyreadstat.write_por(for_statistics(told), str(path))


def write_dta(frame: pl.DataFrame, path: Path) -> None:
    pyreadstat.write_dta(for_statistics(frame), str(path))


def write_pandas_dta(frame: pl.DataFrame, path: Path) -> None:
    table = for_statistics(frame)
    table["born"] = table["born"].astype("datetime64[ns]")
    table.to_stata(path, write_index=False, version=118, convert_dates={"born": "td", "seen": "tc"})


def write_xpt(frame: pl.DataFrame, path: Path) -> None:
    pyreadstat.write_xport(for_statistics(frame), str(path), file_format_version=8)


def write_sqlite(frame: pl.DataFrame, path: Path) -> None:
    told = frame.with_columns(
        pl.col(pl.Date).dt.to_string("iso"), pl.col(pl.Datetime).dt.to_string("%Y-%m-%dT%H:%M:%S")
    )
    with sqlite3.connect(path) as base:
        base.execute(f"CREATE TABLE people ({', '.join(told.columns)})")
        base.executemany(f"INSERT INTO people VALUES ({', '.join('?' * told.width)})", told.rows())
    base.close()


WRITERS: dict[str, Callable[[pl.DataFrame, Path], None]] = {
    "a.csv": write_csv,
    "a.tsv": write_tsv,
    "a.tab": write_tsv,
    "a.tsv.gz": write_tsv_gz,
    "a.json": write_json,
    "a.jsonl": write_jsonl,
    "a.ndjson": write_jsonl,
    "a.jsonl.gz": write_jsonl_gz,
    "a.arrow": write_arrow,
    "a.feather": write_feather,
    "a.ipc": write_stream,
    "a.xlsx": write_xlsx,
    "a.xls": write_xls,
    "a.ods": write_ods,
    "a.sav": write_sav,
    "a.zsav": write_sav,
    "a.por": write_por,
    "a.dta": write_dta,
    "b.dta": write_pandas_dta,
    "a.xpt": write_xpt,
    "a.sqlite": write_sqlite,
    "a.db": write_sqlite,
}
