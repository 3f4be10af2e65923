"""One table in all the forms it can come in: files, and the frames of each library."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz.cases import Case, Column
from tests.fuzz.meaning import Cell, Rows, label
from tests.fuzz.oracle import is_measured_quasi

TIMES = {"timestamp": "datetime64[us]", "length": "timedelta64[us]"}


def arrow(case: Case) -> pa.Table:
    """With the type that each column has."""
    return pa.table({column.name: pa.array(column.cells, _arrow_type(column)) for column in case.columns})


def _arrow_type(column: Column) -> pa.DataType:
    if column.type == "decimal":
        given = [cell for cell in column.cells if isinstance(cell, Decimal)]
        scale = max((-int(cell.as_tuple().exponent) for cell in given), default=0)
        return pa.decimal128(38, scale)
    if column.type == "zoned":
        zones = {str(cell.tzinfo) for cell in column.cells if cell is not None}  # type: ignore[union-attr]
        return pa.timestamp("us", next(iter(zones), "UTC"))
    types = {"int": pa.int64(), "float": pa.float64(), "date": pa.date32(), "bool": pa.bool_(), "text": pa.string()}
    if column.type == "length":
        return pa.duration("us")
    return types.get(column.type, pa.timestamp("us"))


def csv_text(case: Case) -> str:
    """As a CSV has it, numbers by the digits they print as."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", delimiter=case.schema.get("delimiter", ","))
    writer.writerow([column.name for column in case.columns])
    plain, mark = _labelled(case), case.schema.get("decimal", ".")
    for row in case.rows:
        texts = {name: written(cell, name in plain) for name, cell in row.items()}
        commas = {name for name, cell in row.items() if isinstance(cell, float | Decimal) and name not in plain}
        writer.writerow([text.replace(".", mark) if name in commas else text for name, text in texts.items()])
    return out.getvalue()


def written(cell: Cell, plain: bool = False) -> str:
    """A cell of a CSV; where labels are compared, a number as its label has it."""
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, float) and not plain:
        return repr(cell)
    if isinstance(cell, Decimal) and not plain:
        return format(cell, "f")
    return "-0" if repr(cell) == "-0.0" else label(cell)


def _labelled(case: Case) -> set[str]:
    schema = case.schema
    names = {name for name, keys in schema["quasi"].items() if not is_measured_quasi(keys)}
    names |= {
        name for name, keys in schema.get("sensitive", {}).items() if keys["distance"] not in ("ordered", "numeric")
    }
    names |= {name for name, keys in schema.get("sensitive", {}).items() if keys.get("order")}
    return names | {*schema.get("keep", [])}


def _pandas_numpy(case: Case, _folder: Path) -> Any:
    if any(column.type in ("int", "bool") and None in column.cells for column in case.columns):
        return None
    types = {"float": "float64", "int": "int64", "bool": "bool"} | TIMES
    return pd.DataFrame({c.name: _series(c, types.get(c.type, "object")) for c in case.columns})


def _pandas_nullable(case: Case, _folder: Path) -> Any:
    types = {"float": "Float64", "int": "Int64", "bool": "boolean", "text": "string"} | TIMES
    return pd.DataFrame({c.name: _series(c, types.get(c.type, "object")) for c in case.columns})


def _series(column: Column, dtype: str) -> Any:
    if column.type == "zoned":
        return arrow_series(column)
    return pd.Series(list(column.cells), dtype=dtype)


def arrow_series(column: Column) -> Any:
    """A column with a zone as pandas has it: microseconds of that zone."""
    return pa.array(column.cells, _arrow_type(column)).to_pandas()


def _csv(case: Case, folder: Path) -> Any:
    path = folder / "table.csv"
    path.write_text(csv_text(case), encoding="utf-8")
    return path


def _gzipped(case: Case, folder: Path) -> Any:
    path = folder / "table.csv.gz"
    path.write_bytes(gzip.compress(csv_text(case).encode()))
    return path


def _parquet(case: Case, folder: Path) -> Any:
    path = folder / "table.parquet"
    pq.write_table(arrow(case), path)
    return path


def _narrow(case: Case, _folder: Path) -> Any:
    """Arrow types that hold the same values in less room."""
    table = arrow(case)
    for place, column in enumerate(case.columns):
        narrow = _narrow_type(column)
        if narrow is not None:
            table = table.set_column(place, column.name, table[column.name].cast(narrow))
    return table


def _narrow_type(column: Column) -> pa.DataType | None:
    if column.type == "text":
        return pa.dictionary(pa.int32(), pa.string())
    if column.type == "timestamp" and all(cell is None or not cell.microsecond for cell in column.cells):  # type: ignore[union-attr]
        return pa.timestamp("s")
    if column.type == "length" and all(cell is None or not cell.microseconds for cell in column.cells):  # type: ignore[union-attr]
        return pa.duration("s")
    if column.type == "int":
        given = [cell for cell in column.cells if isinstance(cell, int)]
        fitting = [bits for bits in (8, 16, 32) if all(-(2 ** (bits - 1)) <= cell < 2 ** (bits - 1) for cell in given)]
        return {8: pa.int8(), 16: pa.int16(), 32: pa.int32()}[fitting[0]] if fitting else None
    return pa.date64() if column.type == "date" else None


def _pandas_category(case: Case, folder: Path) -> Any:
    frame = _pandas_nullable(case, folder)
    return frame.astype({column.name: "category" for column in case.columns if column.type == "text"})


FORMS: dict[str, Callable[[Case, Path], Any]] = {
    "polars": lambda case, _folder: pl.from_arrow(arrow(case)),
    "pyarrow": lambda case, _folder: arrow(case),
    "pyarrow narrow": _narrow,
    "polars categorical": lambda case, _folder: pl.from_arrow(arrow(case)).with_columns(  # type: ignore[union-attr]
        pl.col(column.name).cast(pl.Categorical) for column in case.columns if column.type == "text"
    ),
    "csv": _csv,
    "csv.gz": _gzipped,
    "parquet": _parquet,
    "pandas numpy": _pandas_numpy,
    "pandas nullable": _pandas_nullable,
    "pandas category": _pandas_category,
    "pandas arrow": lambda case, _folder: arrow(case).to_pandas(types_mapper=pd.ArrowDtype),
}


def make_form(case: Case, form: str, folder: Path) -> Any:
    """The table in this form; None if it cannot hold it."""
    return FORMS[form](case, folder)


def read_file(path: Path, delimiter: str = ",") -> Rows:
    """The rows of a released file, by the csv module or pyarrow."""
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()  # type: ignore[no-any-return]
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    return [dict(row) for row in csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)]


def as_rows(table: Any) -> Rows:
    """A released table, of whatever library, as plain rows."""
    if isinstance(table, pd.DataFrame):
        return [
            {str(name): _cell(cell) for name, cell in row.items()} for row in table.astype(object).to_dict("records")
        ]
    if isinstance(table, pa.Table):
        return table.to_pylist()  # type: ignore[no-any-return]
    return table.to_dicts()  # type: ignore[no-any-return]


def _cell(cell: Any) -> Cell:
    if cell is pd.NaT or cell is pd.NA:
        return None
    if isinstance(cell, pd.Timestamp):
        return cell.to_pydatetime()  # type: ignore[no-any-return]
    if isinstance(cell, pd.Timedelta):
        return cell.to_pytimedelta()  # type: ignore[no-any-return]
    if hasattr(cell, "item") and not isinstance(cell, date | timedelta):
        return cell.item()  # type: ignore[no-any-return]
    return cell  # type: ignore[no-any-return]
