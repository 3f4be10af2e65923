"""Verdicts: each promise broken by itself, thresholds met with equality, and no cell in a sentence."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import polars as pl
import pytest

from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.judge_release import Judgement, judge

TABLE: dict[str, Any] = {
    "age": ["20", "20", "[30, 40]", "[30, 40]"],
    "ill": ["a", "b", "a", "b"],
    "pay": ["1", "2", "3", "4"],
    "region": ["x", "x", "y", "y"],
}


def judged(table: dict[str, Any], **changes: Any) -> Judgement:
    keys: dict[str, Any] = {
        "k": 2,
        "quasi": {"age": {"kind": "numeric"}},
        "sensitive": {"ill": {"distance": "equal", "t": 0}, "pay": {"distance": "ordered", "t": "1/3"}},
        "keep": ["region"],
        "identifiers": ["name"],
        "unit": "person",
    }
    return judge(Source.of(pl.DataFrame(table)), Schema.from_dict(keys | changes))


def test_thresholds_met_with_equality_hold() -> None:
    found = judged(TABLE)
    assert found.holds, found.problems
    assert (found.k, found.t) == (2, {"ill": Fraction(0), "pay": Fraction(1, 3)})
    assert found.l["ill"].distinct == 2


@pytest.mark.parametrize(
    ("changes", "cells", "words"),
    [
        ({"k": 3}, {}, ["smallest class", "2", "3"]),
        (
            {"sensitive": {"ill": {"distance": "equal"}, "pay": {"distance": "ordered", "t": 0.333}}},
            {},
            ["'pay'", "1/3"],
        ),
        ({}, {"ill": ["a", "a", "a", "b"]}, ["'ill'", "1/4", "t is 0"]),
        ({}, {"name": ["n"] * 4}, ["'name'", "identifier"]),
        ({}, {"person": ["n"] * 4}, ["'person'"]),
        ({}, {"more": ["n"] * 4}, ["'more'"]),
        ({}, {"region": ["x", "y", "x", "y"]}, ["single out", "1 row,"]),
        ({}, {"age": ["20", "20", None, None]}, ["'age'", "2 rows have no value"]),
        ({"missing": "drop"}, {"age": ["20", "20", None, None]}, ["'age'"]),
        ({}, {"ill": ["a", "", "a", ""]}, ["'ill'", "2 rows have no value"]),
        (
            {"sensitive": {"ill": {"distance": "equal", "l": 3}, "pay": {"distance": "ordered", "t": 1}}},
            {},
            ["'ill'", "distinct 2", "3 is asked"],
        ),
        (
            {"sensitive": {"ill": {"distance": "numeric", "t": 1}, "pay": {"distance": "ordered", "t": 1}}},
            {},
            ["'ill'"],
        ),
    ],
)
def test_each_broken_promise_is_named(changes: dict[str, Any], cells: dict[str, Any], words: list[str]) -> None:
    found = judged(TABLE | cells, **changes)
    assert not found.holds
    assert len(found.problems) == 1
    assert all(word in found.problems[0] for word in words), found.problems


def test_a_column_that_is_not_there_is_named() -> None:
    found = judged({name: cells for name, cells in TABLE.items() if name != "ill"})
    assert found.problems == ["Column 'ill' is part of the release and not in the table."]


def test_kept_columns_may_go_unchecked_and_categories_may_be_missing() -> None:
    assert judged(TABLE | {"region": ["x", "y", "x", "y"]}, keep_unchecked=True).holds
    assert judged(TABLE | {"age": ["20", "20", None, None]}, missing="category").holds


def test_open_bounds_may_be_empty() -> None:
    table: dict[str, Any] = {name: cells for name, cells in TABLE.items() if name != "age"}
    table |= {"age_low": [None, None, 30, 30], "age_high": [20, 20, 40, 40]}
    bounds = {"kind": "numeric", "publish": "bounds"}
    assert judged(table, quasi={"age": {**bounds, "bottom": 18}}).holds
    assert not judged(table, quasi={"age": {**bounds, "top": 90}}).holds


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["20", "30", ""])])
@pytest.mark.parametrize("empty", ["", None])
def test_empty_cells_in_every_type_of_text(kind: Any, empty: str | None) -> None:
    asked = Schema.from_dict({"k": 1, "quasi": {"age": {"kind": "categorical"}}})
    assert judge(Source.of(pl.DataFrame({"age": pl.Series(["20", "30"], dtype=kind)})), asked).holds
    found = judge(Source.of(pl.DataFrame({"age": pl.Series(["20", empty], dtype=kind)})), asked)
    assert len(found.problems) == 1
    assert "1 row has no value" in found.problems[0]


def test_a_nan_is_no_value() -> None:
    asked = Schema.from_dict({"k": 1, "quasi": {"age": {"kind": "numeric"}}})
    assert not judge(Source.of(pl.DataFrame({"age": [1.5, float("nan")]})), asked).holds
