"""Coded columns hold what the column held, whatever its type and however many pieces it is read in."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.table import coded
from tclose.table.coded import CodedColumn, as_enum, as_text, places_in

COLUMNS = {
    "text": pl.Series("x", ["b", "a", "", "b", "a longer text than twelve bytes"]),
    "categories": pl.Series("x", ["b", "a", "b"], dtype=pl.Categorical),
    "enum": pl.Series("x", ["b", "a", "b"], dtype=pl.Enum(["never", "b", "a"])),
    "integers": pl.Series("x", [3, -5, 3]),
    "narrow integers": pl.Series("x", [-128, 127, 0], dtype=pl.Int8),
    "unsigned integers": pl.Series("x", [2**64 - 1, 0, 2**64 - 1], dtype=pl.UInt64),
    "integers far apart": pl.Series("x", [10**15, -(10**15), 10**15]),
    "long integers": pl.Series("x", [2**100, -(2**100)], dtype=pl.Int128),
    "floats": pl.Series("x", [0.5, float("nan"), float("-inf"), 0.5, float("nan")]),
    "narrow floats": pl.Series("x", [0.1, 2.5], dtype=pl.Float32),
    "decimals": pl.Series("x", [Decimal("1.50"), Decimal("0.25")]),
    "truth": pl.Series("x", [True, False, True]),
    "dates": pl.Series("x", [date(2021, 3, 2), date(1931, 1, 1)]),
    "moments": pl.Series("x", [datetime(2021, 3, 2, 4), datetime(1931, 1, 1)]).dt.replace_time_zone("UTC"),
    "times": pl.Series("x", [time(3), time(1)]),
    "durations": pl.Series("x", [timedelta(3), timedelta(1)]),
    "bytes": pl.Series("x", [b"b", b"a", b"b"]),
    "nothing": pl.Series("x", [None, None]),
    "no rows": pl.Series("x", [], dtype=pl.String),
    "no numbers": pl.Series("x", [], dtype=pl.Int64),
}


def decoded(column: CodedColumn) -> pl.Series:
    return column.values.gather(column.codes)


@pytest.mark.parametrize("n_null", [0, 2])
@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_a_coded_column_holds_the_column(column: pl.Series, n_null: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coded, "PIECE", 2)
    column = column.extend_constant(None, n_null)
    plain = column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column
    found = CodedColumn.of(column)
    assert found.name == "x"
    assert decoded(found).equals(plain, check_dtypes=True)
    assert found.values.equals(plain.unique().sort(nulls_last=True))
    assert found.counts.tolist() == [plain.eq_missing(value).sum() for value in found.values]


@given(st.lists(st.one_of(st.none(), st.integers(-300, 300)), max_size=400), st.data())
def test_values_of_rows_not_taken_are_gone(values: list[int | None], data: st.DataObject) -> None:
    column = pl.Series("x", values, dtype=pl.Int64)
    chosen = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=20)) if values else []
    rows = np.array(chosen, np.int64)
    left = CodedColumn.of(column).take(rows)
    again = CodedColumn.of(column.gather(rows))
    assert left.values.equals(again.values)
    assert left.codes.tolist() == again.codes.tolist()


def test_values_that_become_alike_are_joined() -> None:
    column = CodedColumn.of(pl.Series("x", ["1.0", "2", "1", None, "2"]))
    joined = column.with_values(column.values.cast(pl.Float64))
    assert joined.values.to_list() == [1.0, 2.0, None]
    assert joined.codes.tolist() == [0, 1, 0, 2, 1]


def test_what_belongs_to_a_value_is_spread_over_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coded, "PIECE", 2)
    column = CodedColumn.of(pl.Series(["b", "a", "c", "b", "b"]))
    assert column.spread(np.array([10, 20, 30])).tolist() == [20, 10, 30, 20, 20]


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1))
def test_places_are_those_of_a_dictionary(numbers: list[int]) -> None:
    distinct = sorted(set(numbers))
    wanted = [distinct.index(number) for number in numbers]
    assert places_in(np.array(distinct), np.array(numbers)).tolist() == wanted


@pytest.mark.parametrize("n_values", [1, 255, 256, 257, 70_000])
def test_codes_are_wide_enough(n_values: int) -> None:
    column = pl.Series(np.arange(n_values)).cast(pl.String)
    for given_column in (column, column.extend_constant(None, 1)):
        assert decoded(CodedColumn.of(given_column)).equals(given_column)


def test_an_enum_and_back_is_the_same_text_sorted_in_memory() -> None:
    texts: list[Any] = ["a second long enough text", None, "a first text that is long", "", "a second long enough text"]
    frame = pl.DataFrame({"x": texts, "y": range(5)})
    compact = frame.with_columns(as_enum(frame["x"]))
    assert compact["x"].dtype == pl.Enum(sorted({text for text in texts if text is not None}))
    assert as_text(compact).equals(frame)
    assert as_text(compact).schema == frame.schema
    assert as_enum(frame["y"]).equals(frame["y"])


@given(st.lists(st.sampled_from(["a", "b", "c", None])), st.lists(st.sampled_from(["a", "b", "d", None])))
def test_more_rows_after_others(left: list[str | None], right: list[str | None]) -> None:
    for dtype, turn in ((pl.String, str), (pl.Int64, ord), (pl.Float64, lambda each: ord(each) / 4)):
        first, second = (
            pl.Series("x", [None if each is None else turn(each) for each in given], dtype=dtype)
            for given in (left, right)
        )
        known = CodedColumn.of(first)
        joined = known.followed_by(CodedColumn.of(second))
        assert joined.values.gather(joined.codes).to_list() == [*first, *second]
        codes = known.codes_for(second)
        expected = {*second} <= {*first}
        assert (codes is not None) == expected or (expected and not len(first.drop_nulls()))
        if codes is not None:
            assert known.values.gather(codes).to_list() == second.to_list()
