"""Axes: the loss and the label of every span of small axes, against brute force; and the kernel's twin of the loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.algorithms.packing import costs_of
from tclose.kernels.costs import span_cost
from tclose.schema.schema import Schema
from tclose.table.axes import Axis, SpanAxis, TreeAxis
from tclose.table.encode import EncodedTable, encode
from tclose.table.source import read

Told = tuple[str | None, Fraction]  # label and loss


def encoded(columns: dict[str, list[str]], quasi: dict[str, Any], **keys: Any) -> EncodedTable:
    schema = Schema.from_dict({"k": 1, "missing": "category", "quasi": quasi, **keys})
    return encode(read(pl.DataFrame(columns)), schema)


def spans(axis: Axis) -> list[tuple[int, int]]:
    return list(combinations_with_replacement(range(axis.size), 2))


def check_all_spans(axis: Axis, told: Callable[[int, int], Told]) -> None:
    """Label and loss of every span are what brute force says."""
    pairs = spans(axis)
    low, high = (np.array(side, np.int32) for side in zip(*pairs, strict=True))
    wanted = [told(*pair) for pair in pairs]
    assert axis.labels(low, high) == [label for label, _ in wanted]
    assert axis.cost(low, high).tolist() == pytest.approx([float(loss) for _, loss in wanted], abs=1e-12)


def with_missing(last: int, missing: bool, told: Callable[[int, int], Told]) -> Callable[[int, int], Told]:
    """Missing is the last place: alone it stays missing, mixed it is a star and loses all."""

    def of_span(low: int, high: int) -> Told:
        if not missing or high < last:
            return told(low, high)
        return (None, Fraction(0)) if low == high else ("*", Fraction(1))

    return of_span


# Numbers

VALUES = ["-7", "-5", "0", "2.5", "10", "11", "12.25", "19"]
NUMERIC: dict[str, dict[str, Any]] = {
    "plain": {},
    "step": {"step": 5},
    "decimal step": {"step": 0.5},
    "step above the range": {"step": 100},
    "bottom": {"bottom": 0},
    "top": {"top": 11},
    "tails": {"bottom": -5, "top": 12.25},
    "tails and step": {"bottom": -6, "top": 11, "step": 5},
    "tails beyond all": {"bottom": -100, "top": 100},
    "bottom above all": {"bottom": 50},
    "range": {"range": [-10, 30]},
    "range and step": {"range": [-8, 20], "step": 5},
    "all of it": {"range": [-8, 30], "step": 4, "bottom": -3, "top": 11},
}


def plain(number: Fraction) -> str:
    return f"{float(number):.6f}".rstrip("0").rstrip(".")


def line_span(
    values: Sequence[Any],
    snap: Callable[[Any], tuple[Any, Any]],
    tails: tuple[Any, Any],
    limits: tuple[Any, Any],
    shown: Callable[[Any], str],
    form: str,
) -> Callable[[int, int], Told]:
    """By hand, for numbers and dates alike.

    A tail has a name; other ends snap outward, but never into a tail or beyond a declared limit.
    The range is the declared one, or runs between the outermost ends that are ever shown.
    """
    bottom, top = tails
    floors, ceilings = (
        [end for end in (tail, limit) if end is not None] for tail, limit in zip(tails, limits, strict=True)
    )

    def ends(value: Any) -> tuple[Any, Any]:
        if bottom is not None and value < bottom:
            return bottom, bottom
        if top is not None and value > top:
            return top, top
        low, high = snap(value)
        return max([low, *floors]), min([high, *ceilings])

    least = limits[0] if limits[0] is not None else min(ends(value)[0] for value in values)
    most = limits[1] if limits[1] is not None else max(ends(value)[1] for value in values)

    def mark(value: Any) -> str | None:
        if bottom is not None and value < bottom:
            return f"<{shown(bottom)}"
        return f">{shown(top)}" if top is not None and value > top else None

    def told(low: int, high: int) -> Told:
        first, last = values[low], values[high]
        begin, end = ends(first)[0], ends(last)[1]
        label_low, label_high = mark(first) or shown(begin), mark(last) or shown(end)
        begin = least if label_low[0] == "<" else begin
        end = most if label_high[0] == ">" else end
        label = label_low if label_low == label_high else form.format(label_low, label_high)
        return label, ratio(end - begin, most - least) if most > least else Fraction(0)

    return told


def ratio(part: Any, whole: Any) -> Fraction:
    return Fraction(part.days, whole.days) if isinstance(part, timedelta) else Fraction(part) / whole


def numeric_span(values: Sequence[Fraction], keys: dict[str, Any]) -> Callable[[int, int], Told]:
    def exact(given: Any) -> Fraction | None:
        return None if given is None else Fraction(str(given))

    step = exact(keys.get("step"))

    def snap(value: Fraction) -> tuple[Fraction, Fraction]:
        return (value // step * step, -(-value // step) * step) if step else (value, value)

    low, high = keys.get("range", (None, None))
    tails = exact(keys.get("bottom")), exact(keys.get("top"))
    return line_span(values, snap, tails, (exact(low), exact(high)), plain, "[{}, {}]")


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", NUMERIC)
def test_numbers(name: str, missing: bool) -> None:
    keys = NUMERIC[name]
    table = encoded({"q": VALUES + [""] * missing}, {"q": {"kind": "numeric", **keys}})
    told = numeric_span([Fraction(value) for value in VALUES], keys)
    assert table.axes[0].size == len(VALUES) + missing
    check_all_spans(table.axes[0], with_missing(len(VALUES), missing, told))


def test_bounds_of_tails_are_open() -> None:
    axis = encoded({"q": VALUES}, {"q": {"kind": "numeric", "bottom": 0, "top": 11, "step": 5}}).axes[0]
    assert isinstance(axis, SpanAxis)
    low, high = np.array([0, 0, 3, 6], np.int32), np.array([1, 4, 7, 7], np.int32)
    assert axis.labels(low, high) == ["<0", "[<0, 10]", "[0, >11]", ">11"]
    assert axis.bounds(low, high) == ([None, None, "0", "11"], ["0", "10", None, None])


@pytest.mark.parametrize("keys", [{}, {"bottom": 9}, {"top": 5}, {"range": [0, 10]}])
def test_one_number_alone(keys: dict[str, Any]) -> None:
    axis = encoded({"q": ["7", "7"]}, {"q": {"kind": "numeric", **keys}}).axes[0]
    assert axis.cost(np.zeros(1, np.int32), np.zeros(1, np.int32)).tolist() == [0]


def test_nothing_but_missing() -> None:
    for kind in ("numeric", "date", "text", "categorical", "digits"):
        axis = encoded({"q": ["", ""]}, {"q": {"kind": kind}}).axes[0]
        place = np.zeros(1, np.int32)
        assert axis.size == 1
        assert axis.labels(place, place) == [None]
        assert axis.cost(place, place).tolist() == [0]


# Dates

DAYS = ["1969-12-25", "1969-12-31", "1970-01-01", "1970-02-28", "1970-03-31", "1970-04-01", "1972-02-29"]
DATES: dict[str, dict[str, Any]] = {
    "plain": {},
    "day": {"step": "day"},
    "one day": {"step": 1},
    "week": {"step": 7},
    "month": {"step": "month"},
    "quarter": {"step": "quarter"},
    "year": {"step": "year"},
    "tails": {"bottom": "1970-01-01", "top": "1970-03-31"},
    "tails and months": {"bottom": "1969-12-28", "top": "1970-03-15", "step": "month"},
    "range": {"range": ["1969-01-01", "1975-01-01"]},
    "range and quarters": {"range": ["1969-12-01", "1972-03-15"], "step": "quarter"},
}
EPOCH = date(1970, 1, 1)


def period(day: date, step: Any) -> tuple[date, date]:
    """The first and last day of the period a day lies in."""
    if step in (None, "day"):
        return day, day
    if isinstance(step, int):
        first = EPOCH + timedelta((day - EPOCH).days // step * step)
        return first, first + timedelta(step - 1)
    length = {"month": 1, "quarter": 3, "year": 12}[step]
    month = (day.month - 1) // length * length
    following = date(day.year + (month + length) // 12, (month + length) % 12 + 1, 1)
    return date(day.year, month + 1, 1), following - timedelta(1)


def date_span(keys: dict[str, Any]) -> Callable[[int, int], Told]:
    def day(given: str | None) -> date | None:
        return None if given is None else date.fromisoformat(given)

    low, high = keys.get("range", (None, None))
    tails = day(keys.get("bottom")), day(keys.get("top"))
    days = [date.fromisoformat(written) for written in DAYS]
    return line_span(days, lambda one: period(one, keys.get("step")), tails, (day(low), day(high)), str, "{}/{}")


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", DATES)
def test_dates(name: str, missing: bool) -> None:
    keys = DATES[name]
    table = encoded({"q": DAYS + [""] * missing}, {"q": {"kind": "date", **keys}})
    check_all_spans(table.axes[0], with_missing(len(DAYS), missing, date_span(keys)))


# Trees

UNEVEN = {"x": ["a", "b"], "y": {"z": {"w": ["c"]}, "d": [], "v": ["e", "f", "g"]}, "h": []}
TREES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "flat": ({"kind": "categorical"}, list("cabbca")),
    "one value": ({"kind": "categorical"}, ["a", "a"]),
    "uneven": ({"kind": "categorical", "hierarchy": UNEVEN}, list("aabcddefffh")),
    "unused leaves": ({"kind": "categorical", "hierarchy": UNEVEN}, list("gba")),
    "intervals": (
        {"kind": "categorical", "hierarchy": {"build": "intervals", "widths": [5, 10]}},
        ["3", "7", "12", "-1"],
    ),
    "zip codes": ({"kind": "text"}, ["02139", "02138", "02142", "10001", "10002", "94110"]),
    "texts": ({"kind": "text"}, ["a", "ab", "abc", "b", "bcd", "bce"]),
    "one text": ({"kind": "text"}, ["abc"]),
}


def tree_span(axis: TreeAxis) -> Callable[[int, int], Told]:
    """By climbing: the deepest node above all leaves of the span, and the share of leaves below it."""
    tree = axis.hierarchy

    def way_up(node: int) -> list[int]:
        above = int(tree.parents[node])
        return [node] + (way_up(above) if above >= 0 else [])

    ways = [way_up(int(leaf)) for leaf in axis.leaves]

    def told(low: int, high: int) -> Told:
        common = set(ways[low]).intersection(*ways[low : high + 1])
        ancestor = max(common, key=lambda node: len(way_up(node)))
        below = sum(ancestor in way for way in ways)
        return tree.labels[ancestor], Fraction(below, len(ways)) if below > 1 else Fraction(0)

    return told


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", TREES)
def test_trees(name: str, missing: bool) -> None:
    keys, values = TREES[name]
    axis = encoded({"q": values + [""] * missing}, {"q": keys}).axes[0]
    assert isinstance(axis, TreeAxis)
    assert sorted(axis.hierarchy.labels[leaf] for leaf in axis.leaves) == sorted(axis.hierarchy.leaves)
    check_all_spans(axis, with_missing(len(axis.leaves), missing, tree_span(axis)))


@pytest.mark.parametrize("seed", range(10))
def test_random_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = sorted({"".join(rng.choice(list("ab"), int(rng.integers(1, 7)))) for _ in range(25)})
    axis = encoded({"q": rng.choice(values, 60).tolist()}, {"q": {"kind": "text"}}).axes[0]
    assert isinstance(axis, TreeAxis)
    check_all_spans(axis, tree_span(axis))


def test_the_loss_of_text_is_the_share_of_distinct_values_under_the_prefix() -> None:
    table = encoded({"q": ["02139", "02138", "02138", "10001", "94110"]}, {"q": {"kind": "text"}})
    labels = np.array([0, 0, 0, 1, 2])
    assert table.loss(labels) == pytest.approx(3 / 5 * 2 / 4)


@pytest.mark.parametrize("missing", [False, True])
def test_digits(missing: bool) -> None:
    values = ["0213", "0214", "1213", "0293"]
    table = encoded({"q": values + [""] * missing}, {"q": {"kind": "digits"}})
    assert [axis.weight for axis in table.axes] == [0.25] * 4
    for position, axis in enumerate(table.axes):
        digits = {value[position] for value in values}
        assert isinstance(axis, TreeAxis)
        assert axis.position == position

        def told(low: int, high: int, axis: TreeAxis = axis) -> Told:
            return (axis.hierarchy.labels[axis.leaves[low]], Fraction(0)) if low == high else ("*", Fraction(1))

        assert {axis.hierarchy.labels[leaf] for leaf in axis.leaves} == digits
        check_all_spans(axis, with_missing(len(digits), missing, told))


@pytest.mark.parametrize("missing", [False, True])
def test_suppression(missing: bool) -> None:
    columns = {
        "n": ["1", "2.50", "2.5", "3"] + [""] * missing,
        "d": ["2021-01-01", "2021-01-01", "2020-01-01", "1999-12-31"] + [""] * missing,
        "c": ["a", "b", "c", "a"] + [""] * missing,
        "t": ["02139", "02138", "1", "02139"] + [""] * missing,
    }
    quasi: dict[str, Any] = {"n": {"kind": "numeric"}, "d": {"kind": "date"}, "t": {"kind": "text"}}
    quasi["c"] = {"kind": "categorical", "hierarchy": {"x": ["a", "b"], "y": ["c"]}}
    table = encoded(columns, quasi, recode="suppress")
    assert [axis.weight for axis in table.axes] == [0.25] * 4
    kept = {"n": {"1", "2.5", "3"}, "d": set(columns["d"][:4]), "c": set("abc"), "t": set(columns["t"][:4])}
    for axis in table.axes:
        assert isinstance(axis, TreeAxis)
        values = [axis.hierarchy.labels[leaf] for leaf in axis.leaves]
        assert set(values) == kept[axis.column]

        def told(low: int, high: int, values: list[str] = values) -> Told:
            return (values[low], Fraction(0)) if low == high else ("*", Fraction(1))

        check_all_spans(axis, with_missing(len(values), missing, told))


# The kernel's twin


def all_kinds(missing: bool, recode: str) -> EncodedTable:
    """A table with an axis of every kind."""
    rng = np.random.default_rng(5)
    pools: dict[str, tuple[dict[str, Any], list[str]]] = {
        "plain": ({"kind": "numeric"}, VALUES),
        "tree": ({"kind": "categorical", "hierarchy": UNEVEN}, list("abcdefgh")),
        "zip": ({"kind": "text"}, TREES["zip codes"][1]),
        "phone": ({"kind": "digits"}, ["012", "345", "042"]),
        "flat": ({"kind": "categorical"}, list("abc")),
        "constant": ({"kind": "categorical"}, ["a"]),
        "date": ({"kind": "date"}, DAYS),
    }
    if recode == "generalize":
        pools |= {
            "step": ({"kind": "numeric", "step": 5, "bottom": -6, "top": 12}, VALUES),
            "month": ({"kind": "date", "step": "month"}, DAYS),
        }
    columns = {name: [*rng.permutation(pool).tolist(), *rng.choice(pool, 20)][:20] for name, (_, pool) in pools.items()}
    if missing:
        columns = {name: [*values, "", ""] for name, values in columns.items()}
    return encoded(columns, {name: keys for name, (keys, _) in pools.items()}, recode=recode)


@pytest.mark.parametrize("recode", ["generalize", "suppress"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("compiled", [True, False])
def test_the_kernel_costs_the_same(compiled: bool, missing: bool, recode: str) -> None:
    table = all_kinds(missing, recode)
    costs = costs_of(table)
    kernel: Any = span_cost
    kernel = kernel if compiled else kernel.py_func
    for place, axis in enumerate(table.axes):
        pairs = spans(axis)
        low, high = (np.array(side, np.int32) for side in zip(*pairs, strict=True))
        assert [kernel(costs, place, *pair) for pair in pairs] == axis.cost(low, high).tolist()
