"""Axes with limits: what is shown and lost of every span, by the kernel too, and which places are kept apart."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.algorithms.packing import costs_of
from tclose.errors import InfeasibleError, TableError
from tclose.kernels.costs import span_cost
from tclose.schema.schema import Schema
from tclose.table.axes import TOO_WIDE, SpanAxis
from tclose.table.encode import EncodedTable, encode
from tclose.table.source import read

TREE = {"u": ["a", "b"], "v": {"w": ["c", "d"], "e": []}, "f": []}


def encoded(values: list[Any], **keys: Any) -> EncodedTable:
    schema = Schema.from_dict({"k": 1, "missing": "category", "quasi": {"q": keys}})
    return encode(read(pl.DataFrame({"q": values})), schema)


def mixable(table: EncodedTable, one: int, other: int) -> bool:
    """Whether two rows may be in one class."""
    axis, places = table.axes[0], np.sort(table.places[0][[one, other]])
    apart = axis.blocks is not None and axis.blocks[places[0]] != axis.blocks[places[1]]
    wide = isinstance(axis, SpanAxis) and bool(axis.too_wide(places[:1], places[1:])[0])
    return not (apart or wide)


def pairs(table: EncodedTable, values: list[Any]) -> set[tuple[Any, Any]]:
    """Which of these values, none twice, may be mixed."""
    found = combinations_with_replacement(range(len(values)), 2)
    return {(values[one], values[other]) for one, other in found if one < other and mixable(table, one, other)}


@pytest.mark.parametrize(
    ("values", "keys", "expected"),
    [
        ([0, 4, 5, 9, 30, None], {"kind": "numeric", "coarsest": 5}, {(0, 4), (0, 5), (4, 5), (4, 9), (5, 9)}),
        ([1, 4, 6], {"kind": "numeric", "coarsest": 5, "step": 5}, {(1, 4)}),
        ([1, 4, 6], {"kind": "numeric", "coarsest": 5}, {(1, 4), (1, 6), (4, 6)}),
        ([1, 5, 95, 99], {"kind": "numeric", "coarsest": 5, "bottom": 10, "top": 90}, {(1, 5), (95, 99)}),
        ([1, 14, 16], {"kind": "numeric", "coarsest": 5, "bottom": 10}, {(1, 14), (14, 16)}),
        (
            ["2021-03-01", "2021-03-31", "2021-04-01"],
            {"kind": "date", "coarsest": "month"},
            {("2021-03-01", "2021-03-31")},
        ),
        (
            ["2021-01-01", "2021-03-31", "2021-04-01", None],
            {"kind": "date", "coarsest": "quarter"},
            {("2021-01-01", "2021-03-31")},
        ),
        (["02139", "02142", "02200", "10001"], {"kind": "text", "coarsest": 3}, {("02139", "02142")}),
        (["ab", "abc", "abd"], {"kind": "text", "coarsest": 3}, set()),
        (["ab", "abc", "b"], {"kind": "text", "coarsest": 2}, {("ab", "abc")}),
        (list("abcdef"), {"kind": "categorical", "hierarchy": TREE, "coarsest": 1}, {("a", "b"), ("c", "d")}),
        (
            list("abcde"),
            {"kind": "categorical", "hierarchy": TREE, "coarsest": 2},
            {("a", "b"), ("c", "d"), ("c", "e"), ("d", "e")},
        ),
        (list("abcde"), {"kind": "categorical", "hierarchy": TREE, "coarsest": "w"}, {("a", "b"), ("c", "d")}),
        (list("ab"), {"kind": "categorical", "coarsest": 0}, set()),
        (["a", None], {"kind": "categorical", "coarsest": 1}, {("a", None)}),
    ],
)
def test_which_values_may_be_mixed(values: list[Any], keys: dict[str, Any], expected: set[Any]) -> None:
    assert pairs(encoded(values, **keys), values) == expected


@pytest.mark.parametrize(
    ("values", "keys", "shown"),
    [
        (list("abcdef"), {"kind": "categorical", "hierarchy": TREE, "finest": 1}, ["u", "u", "w", "w", "e", "f"]),
        (list("abcdef"), {"kind": "categorical", "hierarchy": TREE, "finest": 2}, ["u", "u", "v", "v", "v", "f"]),
        (list("abcdef"), {"kind": "categorical", "hierarchy": TREE, "finest": 0}, list("abcdef")),
        (["02139", "02142", "10001"], {"kind": "text", "finest": 3}, ["021**", "021**", "100**"]),
        (["ab", "abc", "x", "yz1"], {"kind": "text", "finest": 2}, ["ab*", "ab*", "x", "yz*"]),
        (["3", "14"], {"kind": "categorical", "hierarchy": {"build": "intervals", "widths": [5, 10]}, "finest": 2},
         ["[0, 10)", "[10, 20)"]),
    ],
)  # fmt: skip
def test_no_value_is_shown_finer(values: list[str], keys: dict[str, Any], shown: list[str]) -> None:
    table = encoded(values, **keys)
    assert table.axes[0].labels(table.places[0], table.places[0]) == shown


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        ([0, 4, 5, 9, 30, None], {"kind": "numeric", "coarsest": 5}),
        (list("abcdef"), {"kind": "categorical", "hierarchy": TREE, "finest": 1}),
        ([*"abcdef", None], {"kind": "categorical", "hierarchy": TREE, "finest": 2, "coarsest": 2}),
        (["02139", "02142", "10001"], {"kind": "text", "finest": 3}),
    ],
)
def test_the_kernel_prices_every_span_alike(values: list[Any], keys: dict[str, Any]) -> None:
    table = encoded(values, **keys)
    axis, costs = table.axes[0], costs_of(table)
    for low, high in combinations_with_replacement(range(axis.size), 2):
        expected = axis.cost(np.array([low], np.int32), np.array([high], np.int32))[0]
        assert span_cost.py_func(costs, 0, low, high) == expected  # type: ignore[attr-defined]
        assert span_cost(costs, 0, low, high) == expected
        if expected > 1:
            assert expected > TOO_WIDE


def test_a_node_that_is_released_for_its_leaves_loses_as_much_as_they_are() -> None:
    table = encoded(list("abcdef"), kind="categorical", hierarchy=TREE, finest=1)
    assert table.loss(np.arange(6)) == pytest.approx((2 * 2 / 6 + 2 * 2 / 6) / 6)


def test_what_could_never_be_released_names_its_column() -> None:
    with pytest.raises(InfeasibleError, match="Column 'q': by its `step` a single value"):
        encoded(["2021-01-31", "2021-02-03"], kind="date", step=10, coarsest="month")
    with pytest.raises(InfeasibleError, match="Column 'q': by its `finest` a single value"):
        encoded(list("ac"), kind="categorical", hierarchy=TREE, finest=2, coarsest="w")


def test_a_star_at_the_end_of_a_text_is_refused_where_stars_are_counted() -> None:
    with pytest.raises(TableError, match=r"1 row end in a star"):
        encoded(["021*", "0213"], kind="text", coarsest=2)
    for keys in ({"coarsest": 0}, {"hierarchy": {"build": "prefixes", "lengths": [2, 1]}, "finest": 1}):
        with pytest.raises(TableError, match=r"1 row end in a star"):
            encoded(["1*", "11"], kind="categorical", **keys)


def test_very_long_numbers_reach_as_far_as_short_ones() -> None:
    table = encoded([str(10**25), str(10**25 + 4), str(10**25 + 9)], kind="numeric", coarsest=5)
    assert table.axes[0].reach.tolist() == [1, 2, 2]  # type: ignore[union-attr]
