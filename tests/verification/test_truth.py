"""Truth: releases that cover their originals pass, and every single cell that is changed is found."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.truth import truth_problems

TREE = {"lung": ["flu", "asthma"], "skin": ["rash", "burn"]}
DAYS = ["2021-01-02", "2021-01-09", "2022-02-01", "2022-05-01"]
BIG = [20_000_000_000_000_001, 30_000_000_000_000_003]


def problems(original: Any, released: Any, keys: dict[str, Any], **top: Any) -> list[str]:
    schema = Schema.from_dict({"k": 1, "missing": "category", "quasi": {"x": keys}, **top})
    before = pl.DataFrame({"x": original})
    after = pl.DataFrame(released if isinstance(released, dict) else {"x": released})
    return truth_problems(Source.of(before), Source.of(after), schema)


NUMERIC, DATE, CATEGORY = {"kind": "numeric"}, {"kind": "date"}, {"kind": "categorical"}
STEPPED = {"kind": "numeric", "step": 5, "bottom": 18, "top": 90}
TAILS = {"kind": "date", "bottom": date(2021, 1, 5), "top": date(2022, 4, 15)}
TRUE_AND_FALSE: list[tuple[dict[str, Any], Any, list[Any], list[tuple[int, Any]]]] = [
    (
        NUMERIC,
        [20, 45, 3, None],
        ["[20, 45]", "[20, 45]", "3", None],
        [(0, "[21, 45]"), (1, "[20, 44]"), (2, "4"), (2, None), (3, "3"), (1, "[20, 45"), (1, "")],
    ),
    (NUMERIC, [20, None], ["*", "*"], []),
    (NUMERIC, ["0.10", " 1e1 "], ["[0.1, 10]", "10"], [(0, "[0.100000000000000001, 10]"), (1, "9.99999999999999999")]),
    (
        NUMERIC,
        BIG,
        [f"[{BIG[0]}, {BIG[1]}]"] * 2,
        [(0, "[20000000000000002, 30000000000000003]"), (0, "[19.9999999999999, 30.0000000000001]")],
    ),
    (NUMERIC, [0.1 + 0.2, -0.0], ["0.30000000000000004", "0"], [(0, "0.3"), (1, "0.000001")]),
    (
        NUMERIC,
        [1e20, 2e20],
        ["[100000000000000000000, 200000000000000000000]"] * 2,
        [(1, "[100000000000000000000, 199999999999999999999]")],
    ),
    (
        STEPPED,
        [17, 20, 92, 40],
        ["<18", "20", ">90", "[40, >90]"],
        [
            (0, "<17"),
            (0, ">90"),
            (1, "<18"),
            (1, "[19, 25]"),
            (1, "[20, 24]"),
            (2, "92"),
            (2, "[90, 95]"),
            (3, "[45, >90]"),
            (3, "[<18, 35]"),
        ],
    ),
    (STEPPED, [18, 90], ["18", "[80, 90]"], [(0, "<18"), (1, ">90")]),
    (
        DATE,
        DAYS,
        ["2021-01-02/2021-01-09"] * 2 + DAYS[2:],
        [(0, "2021-01-03/2021-01-09"), (1, "2021-01-02/2021-01-08"), (3, "2022-02-01"), (3, "*x")],
    ),
    (DATE, [date(1, 1, 1), date(9999, 12, 31)], ["0001-01-01/9999-12-31"] * 2, [(1, "0001-01-01/9999-12-30")]),
    (DATE, [datetime(2021, 1, 2, 23, 59)], ["2021-01-02"], [(0, "2021-01-03")]),
    ({**DATE, "format": "%d.%m.%Y"}, ["02.01.2021"], ["02.01.2021"], [(0, "01.02.2021"), (0, "2021-01-02")]),
    (
        {**DATE, "step": "month"},
        DAYS,
        ["2021-01-01/2021-01-31"] * 2 + ["2022-02-01/2022-05-31"] * 2,
        [(0, "2021-01-02/2021-01-31"), (3, "2022-02-01/2022-05-01"), (0, "2021-02-01/2021-02-28")],
    ),
    ({**DATE, "step": 7}, DAYS[:2], ["2020-12-31/2021-01-13"] * 2, [(0, "2021-01-01/2021-01-13")]),
    (
        TAILS,
        ["2021-01-02", "2022-05-01"],
        ["<2021-01-05", "2021-02-01/>2022-04-15"],
        [(0, "<2021-01-04"), (0, "2021-01-05"), (1, "<2021-01-05/2022-03-01")],
    ),
    (CATEGORY, ["a", "b", None], ["a", "*", None], [(0, "b"), (1, "a"), (2, "a"), (0, "")]),
    (CATEGORY, [1.0, 2.5], ["1", "2.5"], [(0, "1.0"), (1, "2")]),
    ({**CATEGORY, "hierarchy": TREE}, ["flu", "burn"], ["lung", "burn"], [(0, "skin"), (1, "rash"), (1, "lung")]),
    (
        {**CATEGORY, "hierarchy": {"build": "intervals", "widths": [5, 10]}},
        [1, 10],
        ["[0, 5)", "[10, 20)"],
        [(0, "[5, 10)"), (1, "[0, 10)"), (0, "2")],
    ),
    (
        {**CATEGORY, "hierarchy": {"build": "dates"}},
        DAYS[:2],
        ["2021-01", "2021-Q1"],
        [(0, "2021-02"), (1, "2021-Q2"), (1, "2022")],
    ),
    (
        {**CATEGORY, "hierarchy": {"build": "prefixes", "lengths": [3, 1]}},
        ["02139", "021"],
        ["021**", "0****"],
        [(0, "022**"), (1, "1****")],
    ),
    (
        {"kind": "text"},
        ["02139", "02142", "10001"],
        ["021**", "021**", "10001"],
        [(0, "022**"), (1, "02143"), (2, "1000"), (2, "1****1")],
    ),
    ({"kind": "text"}, ["02139", "021"], ["021*", "021*"], [(0, "022*"), (1, "0213*")]),
    ({"kind": "digits"}, ["42701", "42711"], ["427*1", "42711"], [(0, "427*2"), (1, "42701"), (1, "4271*1")]),
]


@pytest.mark.parametrize("case", TRUE_AND_FALSE)
def test_every_changed_cell_is_found(case: tuple[dict[str, Any], Any, list[Any], list[tuple[int, Any]]]) -> None:
    keys, original, released, wrong = case
    assert problems(original, pl.Series(released, dtype=pl.String), keys) == []
    for row, cell in wrong:
        changed = [cell if place == row else each for place, each in enumerate(released)]
        found = problems(original, pl.Series(changed, dtype=pl.String), keys)
        assert len(found) == 1, (row, cell)
        assert f"(row {row})" in found[0]


def test_numbers_of_two_to_the_fifty_and_more() -> None:
    """An interval that was cut to 15 digits does not cover."""
    assert problems([2e16, 3e16], ["[19.9999999999999, 30.0000000000001]"] * 2, NUMERIC)
    assert problems([2**63 - 1, 2**53 + 1], [f"[{2**53 + 2}, {2**63 - 1}]"] * 2, NUMERIC)
    assert not problems([2**63 - 1, 2**53 + 1], [f"[{2**53 + 1}, {2**63 - 1}]"] * 2, NUMERIC)


@pytest.mark.parametrize("kind", ["numeric", "date", "categorical", "text"])
def test_under_suppress_a_cell_is_its_value_or_hidden(kind: str) -> None:
    values = {"numeric": ["1.50", "7"], "date": DAYS[:2], "categorical": ["a", "b"], "text": ["02139", "10001"]}[kind]
    keys = {"kind": kind}
    shown = ["1.5", "7"] if kind == "numeric" else values
    broader = {"numeric": "[1, 7]", "date": "2021-01-01/2021-01-09", "categorical": "ab", "text": "021**"}[kind]
    assert problems(values, [shown[0], "*"], keys, recode="suppress") == []
    for cell in (shown[1], broader, None):
        assert problems(values, [cell, "*"], keys, recode="suppress")


def test_bounds() -> None:
    keys = {"kind": "numeric", "publish": "bounds", "bottom": 18, "top": 90}
    original = [17, 30, 95, None, 12]
    low, high = [None, 20, 90, "*", None], [18, 30, None, "*", 40]
    assert problems(original, bounds(low, high), keys) == []
    for row, side, cell in ((0, 1, 17), (1, 0, 31), (1, 1, 29), (2, 0, 91), (3, 0, None), (4, 1, 11), (1, 0, "x")):
        ends = [list(low), list(high)]
        ends[side][row] = cell
        assert problems(original, bounds(*ends), keys), (row, side, cell)
    assert problems([30], bounds([None], [40]), {"kind": "numeric", "publish": "bounds"})
    assert "look like" in problems([17, None], bounds([None, None], [None, None]), keys)[0]
    assert problems([None, None], bounds([None, None], [None, None]), keys) == []


def bounds(low: list[Any], high: list[Any]) -> dict[str, pl.Series]:
    ends = {"x_low": low, "x_high": high}
    return {n: pl.Series([None if v is None else str(v) for v in e], dtype=pl.String) for n, e in ends.items()}


def test_means_are_recomputed() -> None:
    keys = {"kind": "numeric", "publish": "mean"}
    original = [1, 1, 2, 10, 20, None]
    released = [1.33, 1.33, 1.33, 15.0, 15.0, None]
    assert problems(original, released, keys) == []
    for row, cell in ((0, 1.34), (3, 15.01), (3, None), (5, 15.0), (4, 14.99)):
        changed = [cell if place == row else each for place, each in enumerate(released)]
        assert problems(original, changed, keys), (row, cell)
    tails = {**keys, "bottom": 5, "top": 90}
    assert problems([10.0, 10.0, 11.0, 900.25], [30.25] * 4, tails) == []
    assert problems([10.0, 10.0, 900.25], [36.67] * 3, tails) == []  # 90 is whole, whatever it stands for
    assert problems([10, 95, 3, 12], [29.25] * 4, tails) == []
    assert problems([10, 95, 3, 12], [30.0] * 4, tails)
    exact = [Decimal("0.1"), Decimal("0.100000000000000003")]
    assert problems(exact, ["0.1000000000000000015"] * 2, keys) == []
    assert problems(exact, ["0.10000000000000000152"] * 2, keys)
    assert problems(BIG, [2.5e16, 2.5e16], keys) == []
    assert problems(BIG, [2.5e16 + 8, 2.5e16 + 8], keys)
    assert problems([1, 2], ["*", "*"], keys) == []


SCHEMA = Schema.from_dict(
    {
        "k": 1,
        "missing": "drop",
        "missing_values": ["?"],
        "quasi": {"x": {"kind": "numeric"}},
        "sensitive": {"s": {"distance": "equal", "t": 1}},
        "keep": ["z"],
    }
)
ORIGINAL = pl.DataFrame({"x": ["1", "2", "?", "4"], "s": ["a", "b", "c", "?"], "z": [1.5, None, 2.0, 3.0]})


def test_rows_are_left_out_only_if_something_is_missing() -> None:
    released = Source.of(pl.DataFrame({"x": ["2", "1"], "s": ["b", "a"], "z": [None, 1.5]}))
    original = Source.of(ORIGINAL)
    assert truth_problems(original, released, SCHEMA, np.array([1, 0])) == []
    assert truth_problems(original, released, SCHEMA, np.array([1, 1]))
    assert truth_problems(original, released, SCHEMA, np.array([1, 4]))
    assert truth_problems(original, released, SCHEMA)
    one = Source.of(pl.DataFrame({"x": ["2"], "s": ["b"], "z": [None]}))
    assert "left out" in truth_problems(original, one, SCHEMA, np.array([1]))[0]


@pytest.mark.parametrize(("column", "cell"), [("s", "x"), ("s", None), ("z", "1.6"), ("z", None), ("s", "B")])
def test_sensitive_and_kept_values_are_unchanged(column: str, cell: Any) -> None:
    cells = {"x": ["2", "1"], "s": ["b", "a"], "z": ["", "1.50"]}
    rows = np.array([1, 0])
    assert truth_problems(Source.of(ORIGINAL), Source.of(pl.DataFrame(cells)), SCHEMA, rows) == []
    cells[column] = [cells[column][0], cell]
    found = truth_problems(Source.of(ORIGINAL), Source.of(pl.DataFrame(cells)), SCHEMA, rows)
    assert found == [f"Column '{column}': 1 row is released as another value (row 1)."]


MOMENT = datetime(1970, 1, 1, 5, 7, 20)
DAY = date(2020, 6, 27)  # 18,440 days after the first of 1970, as 5:07:20 is 18,440 seconds after midnight
SAME_NUMBER: dict[str, list[Any]] = {
    "day": [DAY, "2020-06-27", datetime(2020, 6, 27), "2020-06-27T00:00:00"],
    "moment": [MOMENT, "1970-01-01T05:07:20"],
    "zoned moment": [MOMENT.replace(tzinfo=UTC), "1970-01-01T06:07:20+01:00"],
    "time of day": [MOMENT.time(), timedelta(seconds=18440), "05:07:20"],
    "number": [18440, 18440.0, "18440"],
}


def test_a_value_is_not_another_one_that_is_the_same_number_inside() -> None:
    schema = Schema.from_dict({"k": 1, "quasi": {"q": {"kind": "text"}}, "keep": ["kept"]})
    values = [(what, value) for what, several in SAME_NUMBER.items() for value in several]
    for (one, before), (other, after) in product(values, repeat=2):
        original, released = (Source.of(pl.DataFrame({"q": ["a"], "kept": [each]})) for each in (before, after))
        if isinstance(before, str) and isinstance(after, str) and before != after:
            continue  # texts are compared as they stand
        found = truth_problems(original, released, schema)
        assert (found == []) == (one == other), (before, after)
