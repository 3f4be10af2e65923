"""SPSS, Stata and SAS: labels, codes, what is missing, and days of three calendars."""

from __future__ import annotations

from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyreadstat
import pytest

import tclose
from tclose.errors import TableError
from tclose.table.formats import tried_files
from tclose.table.formats.statistics_files import load_statistics
from tclose.table.source import read


@pytest.fixture(autouse=True)
def untried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read files without a trial in another process, which takes most of the time."""
    monkeypatch.setattr(tried_files, "_survives", lambda *arguments: True)


def sav(tmp_path: Path, columns: dict[str, list[Any]], **about: Any) -> Path:
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(pd.DataFrame(columns), str(path), **about)
    return path


def test_labels_are_the_values_and_codes_on_request(tmp_path: Path) -> None:
    path = sav(tmp_path, {"ill": [1.0, 2.0, None]}, variable_value_labels={"ill": {1: "flu", 2: "cold"}})
    assert load_statistics(str(path), "read_sav", False)["ill"].to_list() == ["flu", "cold", None]
    assert load_statistics(str(path), "read_sav", True)["ill"].to_list() == [1, 2, None]


def test_an_order_only_where_the_file_says_so(tmp_path: Path) -> None:
    labels = {1: "zero", 2: "few", 3: "many"}
    path = sav(
        tmp_path,
        {"stage": [3.0, 1.0, 2.0], "kind": [3.0, 1.0, 2.0]},
        variable_value_labels={"stage": labels, "kind": labels},
        variable_measure={"stage": "ordinal", "kind": "nominal"},
    )
    known = {each.column: each.order for each in read(path).categorical}
    assert known == {"stage": ("zero", "few", "many"), "kind": None}


def test_user_defined_missing_values_are_missing(tmp_path: Path) -> None:
    path = sav(
        tmp_path,
        {"a": [1.0, 9.0, 97.0], "s": ["x", "NA", ""]},
        variable_value_labels={"a": {1: "yes", 9: "unknown"}},
        missing_ranges={"a": [9, {"lo": 90, "hi": 99}], "s": ["NA"]},
    )
    frame = load_statistics(str(path), "read_sav", False)
    assert frame["a"].to_list() == ["yes", None, None]
    assert frame["s"].to_list() == ["x", None, None]


def test_labels_for_some_codes(tmp_path: Path) -> None:
    path = sav(tmp_path, {"a": [1.0, 2.5, 3.0]}, variable_value_labels={"a": {1: "one", 3: "three"}})
    assert load_statistics(str(path), "read_sav", False)["a"].to_list() == ["one", "2.5", "three"]


def test_labels_that_no_value_has_leave_numbers(tmp_path: Path) -> None:
    path = sav(tmp_path, {"age": [31.0, 44.0]}, variable_value_labels={"age": {999: "unknown"}})
    assert load_statistics(str(path), "read_sav", False)["age"].to_list() == [31, 44]


def test_two_codes_with_one_label_stay_two(tmp_path: Path) -> None:
    path = sav(tmp_path, {"a": [1.0, 2.0, 3.0]}, variable_value_labels={"a": {1: "no", 2: "no", 3: "yes"}})
    assert load_statistics(str(path), "read_sav", False)["a"].to_list() == ["no (1)", "no (2)", "yes"]


DAYS = [date(1582, 10, 15), date(1959, 12, 31), date(2024, 2, 29), None]
MOMENTS = [datetime(1959, 12, 31, 23, 59, 59), datetime(2024, 2, 29, 0, 0, 1), datetime(1960, 1, 1), None]


@pytest.mark.parametrize("suffix", [".sav", ".zsav", ".dta", ".xpt"])
def test_days_moments_and_times(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    table = pd.DataFrame({"day": DAYS, "moment": MOMENTS, "n": [1.0, 2.0, 3.0, 4.0]})
    writer = {".sav": "write_sav", ".zsav": "write_sav", ".dta": "write_dta", ".xpt": "write_xport"}[suffix]
    getattr(pyreadstat, writer)(table, str(path))
    frame = read(path).frame
    assert frame["day"].to_list() == DAYS
    assert frame["moment"].to_list() == MOMENTS
    assert frame["n"].to_list() == [1, 2, 3, 4]


def test_a_time_of_day(tmp_path: Path) -> None:
    clock = [time(8, 30), time(23, 59, 59)]
    assert load_statistics(str(sav(tmp_path, {"t": clock})), "read_sav", False)["t"].to_list() == clock


PERIODS = {
    "%tm": ([722.0, -1.0, None], [date(2020, 3, 1), date(1959, 12, 1), None]),
    "%tq": ([241.0, -1.0, None], [date(2020, 4, 1), date(1959, 10, 1), None]),
    "%th": ([121.0, -1.0, None], [date(2020, 7, 1), date(1959, 7, 1), None]),
    "%tw": ([3121.0, -52.0, None], [date(2020, 1, 8), date(1959, 1, 1), None]),
}


@pytest.mark.parametrize("form", PERIODS)
def test_periods_of_stata(form: str, tmp_path: Path) -> None:
    """Months, quarters, half-years and weeks since 1960, of which every year has 52."""
    counted, expected = PERIODS[form]
    path = tmp_path / "a.dta"
    pyreadstat.write_dta(pd.DataFrame({"period": counted}), str(path), variable_format={"period": form})
    assert load_statistics(str(path), "read_dta", False)["period"].to_list() == expected


def test_missing_values_of_stata(tmp_path: Path) -> None:
    path = tmp_path / "a.dta"
    pyreadstat.write_dta(pd.DataFrame({"a": [1, 2, "a"]}), str(path), missing_user_values={"a": ["a"]})
    assert load_statistics(str(path), "read_dta", False)["a"].to_list() == [1, 2, None]


def test_a_file_that_says_it_has_more_rows_than_it_can_hold_is_refused_at_once(tmp_path: Path) -> None:
    """The number of rows stands at byte 80; the reader would make room for all of them."""
    path = sav(tmp_path, {"a": [1.0, 2.0]})
    data = bytearray(path.read_bytes())
    assert int.from_bytes(data[80:84], "little") == 2
    data[80:84] = (200_000_000).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(TableError, match="more rows than it"):
        load_statistics(str(path), "read_sav", False)


def test_a_file_of_stata_that_says_it_has_more_variables_than_it_can_hold_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.dta"
    pyreadstat.write_dta(pd.DataFrame({"a": [1.0]}), str(path), version=15)
    data = path.read_bytes()
    assert b"<release>119</release>" in data
    path.write_bytes(data.replace(b"<K>\x01\x00\x00\x00</K>", b"<K>\x01\x00\x00\x22</K>"))
    with pytest.raises(TableError, match="more variables than it can hold"):
        load_statistics(str(path), "read_dta", False)


def test_labels_come_back_as_categories(tmp_path: Path) -> None:
    labels = {1: "flu", 2: "cold"}
    path = sav(
        tmp_path,
        {"age": [float(row % 9) for row in range(40)], "ill": [1.0, 2.0] * 20},
        variable_value_labels={"ill": labels},
    )
    schema = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 0.5}}}
    table = tclose.anonymize(path, schema, method="mondrian", seed=1).table
    assert isinstance(table.schema["ill"], pl.Categorical)
    assert set(table["ill"].cast(pl.String)) == {"flu", "cold"}
