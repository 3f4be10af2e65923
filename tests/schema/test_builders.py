"""Hierarchies built from values: every way up by hand."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tclose.errors import SchemaError
from tclose.schema.builders import Builder, Dates, Intervals, Prefixes, builder_as_dict, builder_from_dict, plain
from tclose.schema.hierarchy import Hierarchy


def ways_up(tree: Hierarchy) -> dict[str, tuple[str, ...]]:
    """What stands above each value, narrowest first."""
    ways = {}
    for value, leaf in zip(tree.leaves, tree.leaf_nodes.tolist(), strict=True):
        way, node = [], int(tree.parents[leaf])
        while node >= 0:
            way.append(tree.labels[node])
            node = int(tree.parents[node])
        ways[value] = tuple(way)
    return ways


BUILT: list[tuple[str, Builder, dict[str, tuple[str, ...]]]] = [
    (
        "whole numbers",
        Intervals((5, 10)),
        {
            "0": ("[0, 5)", "[0, 10)", "*"),
            "4": ("[0, 5)", "[0, 10)", "*"),
            "5": ("[5, 10)", "[0, 10)", "*"),
            "10": ("[10, 15)", "[10, 20)", "*"),
        },
    ),
    (
        "negative numbers",
        Intervals((5, 10)),
        {
            "-10": ("[-10, -5)", "[-10, 0)", "*"),
            "-6": ("[-10, -5)", "[-10, 0)", "*"),
            "-5": ("[-5, 0)", "[-10, 0)", "*"),
            "-0.5": ("[-5, 0)", "[-10, 0)", "*"),
            "0": ("[0, 5)", "[0, 10)", "*"),
        },
    ),
    (
        "decimals",
        Intervals((0.5, 1)),
        {
            "-0.25": ("[-0.5, 0)", "[-1, 0)", "*"),
            "0.3": ("[0, 0.5)", "[0, 1)", "*"),
            "0.5": ("[0.5, 1)", "[0, 1)", "*"),
            "7.95": ("[7.5, 8)", "[7, 8)", "*"),
        },
    ),
    (
        "widths that floats cannot say",
        Intervals((0.1, 0.3)),
        {"0.3": ("[0.3, 0.4)", "[0.3, 0.6)", "*"), "0.29": ("[0.2, 0.3)", "[0, 0.3)", "*")},
    ),
    (
        "an origin",
        Intervals((5,), origin=3),
        {"2": ("[-2, 3)", "*"), "3": ("[3, 8)", "*"), "7.9": ("[3, 8)", "*"), "-3": ("[-7, -2)", "*")},
    ),
    (
        "an origin with decimals",
        Intervals((Decimal("2.5"),), origin=Decimal("0.5")),
        {"-2.1": ("[-4.5, -2)", "*"), "0.4": ("[-2, 0.5)", "*"), "3": ("[3, 5.5)", "*")},
    ),
    ("large numbers", Intervals((1000,)), {"1000000": ("[1000000, 1001000)", "*")}),
    ("exponents", Intervals((10,)), {"1e2": ("[100, 110)", "*")}),
    (
        "prefixes",
        Prefixes((3, 1)),
        {"02139": ("021**", "0****", "*"), "02142": ("021**", "0****", "*"), "10001": ("100**", "1****", "*")},
    ),
    (
        "prefixes of texts of uneven length",
        Prefixes((2,)),
        {"a": ("a***", "*"), "ab": ("ab**", "*"), "abcd": ("ab**", "*"), "b": ("b***", "*")},
    ),
    (
        "days to quarters and years",
        Dates(),
        {
            "2020-02-29": ("2020-02", "2020-Q1", "2020", "*"),
            "2020-03-31": ("2020-03", "2020-Q1", "2020", "*"),
            "2020-04-01": ("2020-04", "2020-Q2", "2020", "*"),
            "2021-12-31": ("2021-12", "2021-Q4", "2021", "*"),
        },
    ),
    ("days to years", Dates(("year",)), {"0999-01-01": ("0999", "*"), "2021-12-31": ("2021", "*")}),
]


@pytest.mark.parametrize(("builder", "ways"), [case[1:] for case in BUILT], ids=[case[0] for case in BUILT])
def test_built(builder: Builder, ways: dict[str, tuple[str, ...]]) -> None:
    assert ways_up(builder.build(list(ways)[::-1])) == ways


def test_numbers_stand_by_value_and_texts_by_letters() -> None:
    assert Intervals((5,)).build(["10", "9", "-1", "-2"]).leaves == ("-2", "-1", "9", "10")
    assert Prefixes((1,)).build(["b", "a2", "a1"]).leaves == ("a1", "a2", "b")


@pytest.mark.parametrize("builder", [Intervals((5, 10), 2), Intervals((0.5,)), Prefixes((4, 2)), Dates(("quarter",))])
def test_as_keys_and_back(builder: Builder) -> None:
    assert builder_from_dict(builder_as_dict(builder), "here") == builder


WRONG: list[Any] = [
    ({"build": "trees"}, "here.*intervals, prefixes, dates"),
    ({"build": "intervals"}, "here.*widths"),
    ({"build": "intervals", "widths": []}, "'widths' must be"),
    ({"build": "intervals", "widths": [0]}, "'widths' must be"),
    ({"build": "intervals", "widths": [-5]}, "'widths' must be"),
    ({"build": "intervals", "widths": [10, 5]}, "multiple"),
    ({"build": "intervals", "widths": ["wide"]}, "widths"),
    ({"build": "intervals", "widths": [5], "origin": "x"}, "origin"),
    ({"build": "intervals", "widths": 5}, "widths"),
    ({"build": "prefixes", "lengths": [2, 2]}, "'lengths'.*falling"),
    ({"build": "prefixes", "lengths": [0]}, "'lengths'"),
    ({"build": "prefixes", "lengths": ["a"]}, "lengths"),
    ({"build": "prefixes", "lengths": [2.5]}, "lengths"),
    ({"build": "dates", "levels": ["day"]}, "'levels'"),
    ({"build": "dates", "levels": ["quarter", "month"]}, "'levels'"),
    ({"build": "dates", "levels": []}, "'levels'"),
    ({"build": "dates", "levels": "month"}, "'levels'"),
]


@pytest.mark.parametrize(("keys", "said"), WRONG)
def test_wrong_keys(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        builder_from_dict(keys, "here")


@pytest.mark.parametrize(
    ("value", "text"), [("1.50", "1.5"), ("100", "100"), ("1E+2", "100"), ("0.000", "0"), ("1e-3", "0.001")]
)
def test_plain(value: str, text: str) -> None:
    assert plain(Decimal(value)) == text
