"""Exact decimals, however long or small: none is rounded, and none fills the memory."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from tclose.errors import SchemaError, TableError
from tclose.schema.builders import Intervals
from tclose.schema.decimals import Decimals, TooManyDigits, is_bounded, text
from tclose.schema.schema import Schema
from tclose.table.encode import encode
from tclose.table.source import read

TINY = [Decimal("1e-5000"), Decimal("1e-9999999"), Decimal("0." + "0" * 5000 + "1")]
HUGE = [Decimal("1e5000"), Decimal("1e9999999"), Decimal("0e-9999999"), 10**5000, float("inf"), float("nan")]


def of_a_quasi(**keys: Any) -> dict[str, Any]:
    return {"k": 2, "quasi": {"age": {"kind": "numeric", **keys}}}


def of_a_sensitive(**keys: Any) -> dict[str, Any]:
    return {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"pay": {"t": 0.5, **keys}}}


@pytest.mark.parametrize("number", [*TINY, *HUGE], ids=range(9))
def test_a_number_of_a_schema_is_refused_where_it_is_too_long_to_write(number: Any) -> None:
    schemas = [
        of_a_quasi(step=number),
        of_a_quasi(bottom=number),
        of_a_quasi(top=number),
        of_a_quasi(range=[number, 10]),
        of_a_quasi(hierarchy={"build": "intervals", "widths": [number]}),
        of_a_quasi(hierarchy={"build": "intervals", "widths": [5], "origin": number}),
        of_a_sensitive(distance="ordered", edges=[number]),
        of_a_sensitive(distance="ordered", order=[number, 1]),
        of_a_sensitive(distance="numeric", range=[number, 1]),
    ]
    assert not is_bounded(number)
    for keys in schemas:
        with pytest.raises(SchemaError, match=r"age|pay"):
            Schema.from_dict(keys)


def test_the_least_and_the_largest_double_are_let_in() -> None:
    for number in (5e-324, 2.2250738585072014e-308, 9e299, Decimal("1.50"), 0, -7):
        assert is_bounded(number)


@pytest.mark.parametrize("number", [TINY[0], TINY[1], Decimal("1" * 5000)], ids=range(3))
def test_numbers_that_no_common_integer_of_a_reasonable_size_holds(number: Decimal) -> None:
    with pytest.raises(TooManyDigits):
        Decimals.of([number])


@pytest.mark.parametrize("cell", ["1e-9999999", "0." + "123456789" * 600], ids=["small", "long"])
def test_a_cell_of_too_many_digits_ends_with_a_sentence(cell: str) -> None:
    with pytest.raises(TableError, match="'age'"):
        encode(read(pl.DataFrame({"age": [cell] * 4})), Schema.from_dict(of_a_quasi()))


def test_an_integer_beyond_the_limit_of_python_is_written() -> None:
    assert text(10**5000, 0) == "1" + "0" * 5000
    assert text(-(10**5000) - 1, 5000) == "-1." + "0" * 4999 + "1"


def test_intervals_of_narrow_widths_are_not_rounded() -> None:
    long = "12345678901234567890123456789012345"
    built = Intervals((Decimal("1e-40"), 10)).build(["5", long])
    assert built.labels[1:4] == ("[0, 10)", "[5, 5." + "0" * 39 + "1)", "5")
    assert f"[{long[:-1]}0, {long[:-2]}50)" in built.labels
