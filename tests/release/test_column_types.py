"""Released columns keep their types where values were not generalized."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import tclose

FRAME = pl.DataFrame(
    {
        "age": pl.Series([20, 20, 30, 30], dtype=pl.Int16),
        "yes": [True, True, False, False],
        "town": pl.Series(["b", "b", "a", "a"], dtype=pl.Categorical),
        "day": [dt.date(2020, 1, 1)] * 2 + [dt.date(9999, 12, 31)] * 2,
        "size": [1.5, 1.5, 2.25, 2.25],
        "fine": pl.Series([Decimal("0.10"), Decimal("0.10"), Decimal(2), Decimal(2)], dtype=pl.Decimal(20, 2)),
        "ill": pl.Series(["x", "y", "x", "y"], dtype=pl.Enum(["never", "x", "y"])),
        "pay": [1, 2, 1, 2],
    }
)
QUASI = {
    "age": "numeric",
    "yes": "categorical",
    "town": "categorical",
    "day": "date",
    "size": "numeric",
    "fine": "numeric",
}
SCHEMA = {
    "k": 2,
    "quasi": {name: {"kind": kind} for name, kind in QUASI.items()},
    "sensitive": {"ill": {"distance": "equal", "t": 0.5}, "pay": {"distance": "ordered", "t": 1}},
}


def test_polars() -> None:
    types = tclose.anonymize(FRAME, SCHEMA).table.schema
    assert [types[name] for name in ("age", "yes", "day", "size", "pay")] == [
        pl.Int16, pl.Boolean, pl.Date, pl.Float64, pl.Int64,
    ]  # fmt: skip
    assert types["fine"] == pl.Decimal(20, 2)
    assert isinstance(types["town"], pl.Categorical)
    assert types["ill"] == pl.Enum(["x", "y"])  # what does not occur does not get out


def test_pandas() -> None:
    types = tclose.anonymize(FRAME.to_pandas(), SCHEMA).table.dtypes
    told = [str(types[name]) for name in ("age", "yes", "town", "size", "ill", "pay")]
    assert told == ["int16", "bool", "category", "float64", "category", "int64"]


def test_pyarrow() -> None:
    types = tclose.anonymize(FRAME.to_arrow(), SCHEMA).table.schema
    assert [str(types.field(name).type) for name in ("age", "yes", "size", "day")] == [
        "int16", "bool", "double", "date32[day]",
    ]  # fmt: skip
    assert str(types.field("town").type).startswith("dictionary")


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())], ids=str
)
def test_text_of_pyarrow_can_be_sorted_compared_and_written(kind: Any, tmp_path: Path) -> None:
    """Text stays text of its type; what polars makes of it, views, few functions of pyarrow take."""
    plain = pa.table({"age": [20, 21, 30, 30], "ill": ["x", "y", "x", "y"]})
    given = pa.table([plain["age"], pa.array(["x", "y", "x", "y"]).cast(kind)], names=["age", "ill"])
    schema: dict[str, Any] = {"k": 2, "quasi": {"age": {"kind": "numeric"}},
                              "sensitive": {"ill": {"distance": "equal", "t": 0.5}}}  # fmt: skip
    table = tclose.anonymize(given, schema).table
    assert str(table.schema.field("age").type) == "large_string"  # intervals, which were numbers
    assert table.schema.field("ill").type == (pa.large_string() if kind == pa.string_view() else kind)
    assert table.sort_by("age").num_rows == 4
    assert pc.equal(table["ill"].cast(pa.string()), "x").to_pylist().count(True) == 2
    pq.write_table(table, tmp_path / "table.parquet")
    assert pl.read_parquet(tmp_path / "table.parquet")["ill"].cast(pl.String).sort().to_list() == ["x", "x", "y", "y"]


def test_a_generalized_column_is_text() -> None:
    frame = FRAME.with_columns(age=pl.Series([20, 21, 30, 30]))
    assert tclose.anonymize(frame, SCHEMA).table["age"].dtype == pl.String


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_numbers_of_a_csv_are_numbers_in_parquet(tmp_path: Path, suffix: str) -> None:
    plain = FRAME.with_columns(pl.col("town", "ill").cast(pl.String))
    plain = plain.with_columns(pay=pl.Series(["1.50", "2", "1.50", "2"]))
    plain.write_csv(tmp_path / "table.csv")
    release = tclose.anonymize(tmp_path / "table.csv", SCHEMA)
    release.write(tmp_path / f"release{suffix}", keep_order=True)
    if suffix == ".csv":
        assert pl.read_csv(tmp_path / "release.csv", infer_schema=False)["pay"].to_list() == ["1.50", "2", "1.50", "2"]
    else:
        assert pl.read_parquet(tmp_path / "release.parquet").schema["pay"] == pl.Float64
    assert tclose.verify(tmp_path / f"release{suffix}", SCHEMA).holds


def test_numbers_that_a_double_does_not_hold_stay_text(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("age,pay\n1,0.12345678901234567890\n1,2\n")
    schema: dict[str, Any] = {"k": 2, "quasi": {"age": {"kind": "numeric"}},
                              "sensitive": {"pay": {"distance": "ordered", "t": 1}}}  # fmt: skip
    release = tclose.anonymize(tmp_path / "table.csv", schema)
    assert release.aligned()["pay"].to_list() == ["0.12345678901234567890", "2"]


@pytest.mark.parametrize("form", ["polars", "pandas", "pyarrow"])
def test_a_release_is_short_in_print_and_can_be_pickled(form: str) -> None:
    table = {"polars": FRAME, "pandas": FRAME.to_pandas(), "pyarrow": FRAME.to_arrow()}[form]
    release = tclose.anonymize(table, SCHEMA)
    assert len(repr(release)) < 200
    again = pickle.loads(pickle.dumps(release))
    assert again.certificate.as_dict() == release.certificate.as_dict()
    assert type(again.table) is type(release.table)
    assert again.classes.tolist() == release.classes.tolist()


def test_categories_keep_their_order_or_have_none() -> None:
    sizes = pd.Categorical(["S", "S", "L", "L", "M", "M"] * 2, categories=["S", "M", "L", "never"], ordered=True)
    towns = pd.Categorical(["x", "x", "z", "z", "y", "y"] * 2)
    frame = pd.DataFrame({"size": sizes, "town": towns, "ill": list("ab") * 6})
    schema: dict[str, Any] = {"k": 2, "quasi": {"size": {"kind": "categorical"}, "town": {"kind": "categorical"}},
                              "sensitive": {"ill": {"distance": "equal", "t": 1}}}  # fmt: skip
    table = tclose.anonymize(frame, schema, method="mondrian").table
    assert table["size"].dtype == pd.CategoricalDtype(["S", "M", "L"], ordered=True)
    assert (table["town"].dtype.ordered, sorted(table["town"].dtype.categories)) == (False, ["x", "y", "z"])
    assert table["size"].max() == "L"


def test_nullable_numbers_of_pandas_stay_what_they_are() -> None:
    big = pd.DataFrame(
        {
            "id": pd.array([2**53 + 1] * 2 + [2**53 + 3] * 2 + [None] * 2, dtype="Int64"),
            "yes": pd.array([True] * 2 + [False] * 2 + [None] * 2, dtype="boolean"),
            "ill": list("xyxyxy"),
        }
    )
    schema: dict[str, Any] = {"k": 2, "missing": "category",
                              "quasi": {"id": {"kind": "numeric"}, "yes": {"kind": "categorical"}},
                              "sensitive": {"ill": {"distance": "equal", "t": 1}}}  # fmt: skip
    release = tclose.anonymize(big, schema, method="mondrian")
    assert [str(release.aligned()[name].dtype) for name in ("id", "yes")] == ["Int64", "boolean"]
    assert release.aligned()["id"].tolist()[0] == 2**53 + 1
    assert tclose.verify(release.aligned(), schema, original=big).holds


@pytest.mark.parametrize("cells", [["1e3", "2"], ["+5", " 1"], ["1e-05", "3e+16"], ["12.5", "1.50"]])
def test_every_way_to_write_a_number_is_a_number_in_parquet(tmp_path: Path, cells: list[str]) -> None:
    rows = "".join(f"1,{cell}\n" for cell in cells * 2)
    (tmp_path / "table.csv").write_text(f"age,pay\n{rows}")
    schema: dict[str, Any] = {"k": 2, "quasi": {"age": {"kind": "numeric"}},
                              "sensitive": {"pay": {"distance": "ordered", "t": 1}}}  # fmt: skip
    tclose.anonymize(tmp_path / "table.csv", schema).write(tmp_path / "release.parquet", keep_order=True)
    written = pl.read_parquet(tmp_path / "release.parquet")["pay"]
    assert written.dtype.is_numeric()
    assert [Decimal(str(value)) for value in written] == [Decimal(cell.strip()) for cell in cells * 2]


def test_a_decimal_comma_is_one_in_parquet_too(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("age;pay\n1;10,5\n1;2\n")
    schema: dict[str, Any] = {"k": 2, "decimal": ",", "delimiter": ";", "quasi": {"age": {"kind": "numeric"}},
                              "sensitive": {"pay": {"distance": "numeric", "t": 1}}}  # fmt: skip
    tclose.anonymize(tmp_path / "table.csv", schema).write(tmp_path / "release.parquet", keep_order=True)
    assert pl.read_parquet(tmp_path / "release.parquet")["pay"].to_list() == [10.5, 2.0]


@pytest.mark.parametrize("form", ["nullable", "arrow"])
def test_nullable_and_arrow_types_of_pandas_stay(form: str) -> None:
    columns: dict[str, list[Any]] = {
        "i": [1] * 8 + [2] * 8,
        "b": [True] * 8 + [False] * 8,
        "f": [1.5] * 8 + [2.25] * 8,
        "c": ["x"] * 8 + ["y"] * 8,
        "s": [1, 2] * 8,
    }
    made = pa.table(columns)
    made = made.set_column(3, "c", made["c"].dictionary_encode())
    frame = made.to_pandas(types_mapper=pd.ArrowDtype) if form == "arrow" else made.to_pandas().convert_dtypes()
    keys = {
        "k": 3,
        "quasi": {name: {"kind": "numeric" if name in "if" else "categorical"} for name in "ibfc"},
        "sensitive": {"s": {"distance": "ordered", "t": 1}},
    }
    released = tclose.anonymize(frame, keys, method="mondrian", seed=1).table
    assert str(released["c"].dtype) == "category"
    assert {name: released[name].dtype for name in "ibfs"} == {name: frame[name].dtype for name in "ibfs"}
