"""Decimal and thousands signs: found where the texts decide, else asked for."""

from __future__ import annotations

import polars as pl
import pytest

from tclose.errors import TableError
from tclose.table.number_signs import find_signs

FOUND = [
    ([["1", "2"]], ";", (".", "")),
    ([["a", "1,5"]], ";", (".", "")),  # no column of numbers
    ([["1.5", "2"]], ";", (".", "")),
    ([["1,5", "2"]], ";", (",", "")),
    ([["1,5", "?"]], ";", (",", "")),
    ([["-1,25"], ["1.234", "950"]], ";", (",", ".")),
    ([["1,234.5"]], ";", (".", ",")),
    ([["1.234,5"]], ";", (",", ".")),
    ([["1,234"]], ",", (".", ",")),  # in quotes: where commas divide columns, they part thousands as well
    ([["1,234"], ["3,75"]], ",", (",", "")),  # in quotes: but not where they cannot
    ([["1.234"], ["3,75"]], ",", (",", ".")),
    ([["1.234.567"]], ",", (",", ".")),
    ([["1.234"], ["0.5"]], ",", (".", "")),
    ([["1,234,567", "1,000"]], ";", (".", ",")),
    ([["1.234.567"]], ";", (",", ".")),
    ([["1 234"], ["0,5"]], ";", (",", " ")),
    ([["1'234.5"]], ";", (".", "'")),
    ([["31.12.2024"], ["1.5"]], ";", (".", "")),  # dates say nothing
    ([["0.125", "0.250"]], ";", (".", "")),  # no group of thousands begins with 0
    ([["1.234", "1500"], ["2.5"]], ";", (".", "")),
]


@pytest.mark.parametrize(("columns", "delimiter", "signs"), FOUND)
def test_signs_are_found(columns: list[list[str]], delimiter: str, signs: tuple[str, str]) -> None:
    given = [pl.Series(f"c{place}", values) for place, values in enumerate(columns)]
    assert find_signs(given, delimiter) == signs


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ([["1,234"]], "two ways"),
        ([["1.234", "2.500"]], "two ways"),
        ([["1.5"], ["1,5"]], "different signs"),
    ],
)
def test_what_can_be_read_in_two_ways_is_asked_for(columns: list[list[str]], said: str) -> None:
    given = [pl.Series(f"c{place}", values) for place, values in enumerate(columns)]
    with pytest.raises(TableError, match=f"{said}.*--decimal"):
        find_signs(given, ";")
    assert find_signs(given, ";", decimal=",", thousands="") == (",", "")
    assert find_signs(given, ";", decimal=".", thousands="") == (".", "")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_two_ways_that_are_offered_read_different_numbers(delimiter: str) -> None:
    with pytest.raises(TableError) as caught:
        find_signs([pl.Series("pay", ["950", "1.234", "12.500"])], delimiter)
    assert "--decimal '.', or --decimal ',' --thousands '.'." in str(caught.value)
