"""Spellings of missing values: active only where they can mean nothing else, in any column."""

from __future__ import annotations

import polars as pl
import pytest

from tclose.table.coded import CodedColumn
from tclose.table.proposing.missing_spellings import find_spellings


@pytest.mark.parametrize(
    ("columns", "sure", "doubtful"),
    [
        ([["a", "?"], ["1", "2"]], ("?",), ()),
        ([["a", "NA", "NULL", "N/A", "-", "."]], ("-", ".", "N/A", "NA", "NULL"), ()),
        ([["1", "2", "N"]], ("N",), ()),
        ([["Y", "N"]], (), ("N",)),
        ([["1", "2", "N"], ["Y", "N"]], (), ("N",)),  # it holds for every column, so one decides for all
        ([["DE", "FR", "NA"]], (), ("NA",)),  # Namibia
        ([["+", "-"]], (), ("-",)),
        ([["No", "None", "Up"]], (), ("None",)),
        ([["2020-01-01", "unknown"]], ("unknown",), ()),
        ([["flu", "unknown"]], (), ("unknown",)),
        ([["1,5", "2,5", "k.A."]], ("k.A.",), ()),
        ([["low", "high"]], (), ()),
        ([["x", ""]], (), ()),
    ],
)
def test_spellings(columns: list[list[str]], sure: tuple[str, ...], doubtful: tuple[str, ...]) -> None:
    found = find_spellings(CodedColumn.of(pl.Series(values)) for values in columns)
    assert (found.sure, found.doubtful) == (sure, doubtful)


def test_columns_with_missing_values_are_counted() -> None:
    columns = [["a", ""], ["b", "?"], ["c", "d"], ["Y", "N"]]
    found = find_spellings(
        [*(CodedColumn.of(pl.Series(each)) for each in columns), CodedColumn.of(pl.Series([1, None]))]
    )
    assert found.n_columns == 3
