"""What is measured, against trying everything, the papers' tables and the findings that made the judge."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

from tclose.errors import TableError
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.measure_release import Measured, measure
from tests.verification import by_trying

TREE = {"lung": {"flu": [], "deep": ["asthma", "cancer"]}, "skin": []}
PATHS = {
    "flu": ("flu", "lung", "*"),
    "asthma": ("asthma", "deep", "lung", "*"),
    "cancer": ("cancer", "deep", "lung", "*"),
    "skin": ("skin", "*"),
}


def schema_of(sensitive: dict[str, Any], joint: dict[str, Any] | None = None, **keys: Any) -> Schema:
    table = {"k": 1, "missing": "category", "quasi": {"q": {"kind": "text"}}, "sensitive": sensitive, **keys}
    return Schema.from_dict(table | ({"joint": joint} if joint else {}))


def measured(labels: list[Any], values: Any, keys: dict[str, Any], **top: Any) -> Measured:
    frame = pl.DataFrame({"q": pl.Series(labels, dtype=pl.String), "s": values})
    return measure(Source.of(frame), schema_of({"s": {"t": 1, **keys}}, **top))


def t_of(labels: list[Any], values: Any, keys: dict[str, Any], **top: Any) -> Fraction:
    return measured(labels, values, keys, **top).t["s"]


def random_classes(rng: random.Random, rows: int) -> list[str]:
    return [rng.choice("abc") for _ in range(rows)]


@pytest.mark.parametrize("seed", range(60))
def test_every_distance_is_what_trying_finds(seed: int) -> None:
    rng = random.Random(seed)
    rows = rng.randint(1, 6)
    labels = random_classes(rng, rows)
    words = [rng.choice([*PATHS, None]) for _ in range(rows)]
    assert t_of(labels, pl.Series(words, dtype=pl.String), {"distance": "equal"}) == by_trying.largest_distance(
        labels, words, by_trying.equal
    )
    assert t_of(
        labels, pl.Series(words, dtype=pl.String), {"distance": "hierarchical", "hierarchy": TREE}
    ) == by_trying.largest_distance(labels, words, by_trying.in_tree(PATHS))
    order = list(PATHS)
    full = [*order, *([None] if None in words else [])]
    assert t_of(
        labels, pl.Series(words, dtype=pl.String), {"distance": "ordered", "order": order}
    ) == by_trying.largest_distance(labels, words, by_trying.on_a_line(full))
    numbers = [rng.choice([None, 1, 3, 10, -2]) for _ in range(rows)]
    ranked = [*sorted({n for n in numbers if n is not None}), *([None] if None in numbers else [])]
    assert t_of(labels, pl.Series(numbers, dtype=pl.Int64), {"distance": "ordered"}) == by_trying.largest_distance(
        labels, numbers, by_trying.on_a_line(ranked)
    )
    known = [Fraction(number or 0) for number in numbers]
    span = max(known) - min(known) or 1
    assert t_of(labels, [int(x) for x in known], {"distance": "numeric"}) == by_trying.largest_distance(
        labels, known, lambda one, other: abs(one - other) / span
    )


@pytest.mark.parametrize("seed", range(40))
def test_joints_and_matrices_are_what_trying_finds(seed: int) -> None:
    rng = random.Random(seed)
    rows = rng.randint(2, 5)
    labels = random_classes(rng, rows)
    words = [rng.choice([*PATHS, None]) for _ in range(rows)]
    pays = [rng.choice([1, 2, 5]) for _ in range(rows)]
    frame = pl.DataFrame({"q": labels, "w": pl.Series(words, dtype=pl.String), "p": pays})
    schema = schema_of(
        {"w": {"distance": "hierarchical", "hierarchy": TREE}, "p": {"distance": "numeric", "range": [0, 7]}},
        {"both": {"columns": ["w", "p"], "t": 1}},
    )
    tree = by_trying.in_tree(PATHS)

    def cost(one: Any, other: Any) -> Fraction:
        return (tree(one[0], other[0]) + Fraction(abs(one[1] - other[1]), 7)) / 2

    both = list(zip(words, pays, strict=True))
    found = measure(Source.of(frame), schema)
    assert found.t["both"] == by_trying.largest_distance(labels, both, cost)
    assert found.t["p"] == by_trying.largest_distance(labels, pays, lambda x, y: Fraction(abs(x - y), 7))
    costs = {frozenset("ab"): Fraction(3, 10), frozenset("ac"): Fraction(1), frozenset("bc"): Fraction(4, 5)}
    values = [rng.choice("abc") for _ in range(rows)]
    keys = {
        "distance": "matrix",
        "matrix": {"values": ["a", "b", "c"], "costs": [[0, 0.3, 1], [0.3, 0, 0.8], [1, 0.8, 0]]},
    }
    expected = by_trying.largest_distance(labels, values, lambda x, y: costs.get(frozenset((x, y)), Fraction(0)))
    assert t_of(labels, values, keys) == expected


def test_the_distances_of_every_class_are_given_on_demand() -> None:
    found = measured(["a", "a", "b", "b"], [10, 20, 30, 40], {"distance": "ordered"})
    each = found.distances("s")
    assert each.floats.tolist() == pytest.approx([1 / 3, 1 / 3])
    assert [each.exact(0), each.exact(1)] == [Fraction(1, 3)] * 2
    assert found.grouping.labels.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])


# The tables of paper 001, sections 2 to 5, and example 1 of 004.

INCIDENTS = [
    "power",
    "power",
    "power",
    "theft",
    "fire",
    "accident",
    "fire",
    "walk",
    "power",
    "pest",
    "power",
    "walk",
    "tree",
    "walk",
]
ZONES = ["2C", "2C", "2C", "4F", "4F", "4F", "4F", "9A", "9A", "3B", "3B", "3B", "3B", "3B"]


def test_paper_001() -> None:
    found = measured(ZONES, INCIDENTS, {"distance": "equal"})
    assert (found.k, found.classes, found.l["s"].distinct) == (2, 4, 1)
    assert float(found.t["s"]) == pytest.approx(0.7143, abs=1e-4)
    salaries = [3000, 4000, 5000, 6000, 11000, 8000, 7000, 9000, 10000]
    assert t_of([*"111222333"], salaries, {"distance": "ordered"}) == Fraction(375, 1000)
    merits, names = [1, 4, 2, 3, 3, 4, 3, 1, 4, 3], [*"eeeuggggrr"]
    assert t_of(names, [str(m) for m in merits], {"distance": "ordered", "order": [3, 4, 1, 2]}) == Fraction(1, 3)
    diseases = ["ulcer", "gastritis", "cancer", "gastritis", "flu", "bronchitis", "bronchitis", "pneumonia", "cancer"]
    assert t_of([*"111222333"], diseases, {"distance": "equal"}) == Fraction(4, 9)


def test_paper_004_example_1() -> None:
    tree = {"R": ["SARS", "pneumonia", "bronchitis"], "D": ["intestinal", "gastric flu", "ulcer"]}
    values = ["SARS", "pneumonia", "bronchitis", "intestinal", "gastric flu", "ulcer"]
    assert t_of([*"111222"], values, {"distance": "hierarchical", "hierarchy": tree}) == Fraction(1, 2)


# What was found wrong in a reading that methods and verifier shared.


def test_dates_of_the_year_9999_rank_last() -> None:
    until = ["2020-01-01"] * 2 + ["2021-01-01"] * 2 + ["9999-12-31"] * 2
    ages = ["20", "20", "50", "50", "50", "50"]
    for values in (
        pl.Series(until),
        pl.Series(until).str.to_date(),
        pl.Series([f"{u}T00:00:00Z" for u in until]),
        pl.Series([datetime.fromisoformat(u) for u in until]),
        pl.Series([datetime.fromisoformat(u) for u in until], dtype=pl.Datetime("ms", "UTC")),
    ):
        assert t_of(ages, values, {"distance": "ordered"}) == Fraction(1, 2)


def test_decimals_of_18_places_are_three_values() -> None:
    values = [Decimal("0.1"), Decimal("0.100000000000000001"), Decimal("0.100000000000000002")]
    for series in (pl.Series(values, dtype=pl.Decimal(38, 18)), pl.Series([str(value) for value in values])):
        assert t_of([*"abb"], series, {"distance": "ordered"}) == Fraction(1, 2)
        assert t_of([*"abb"], series, {"distance": "numeric"}) == Fraction(1, 2)


def forms(numbers: list[int]) -> list[pl.Series]:
    kinds: list[Any] = [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64]
    kinds += [pl.Float32, pl.Float64, pl.Decimal(38, 3), pl.String]
    made = [pl.Series(numbers).cast(kind) for kind in kinds]
    texts = pl.Series([f" {number}.00 " for number in numbers])
    return [*made, texts, made[-1].cast(pl.Categorical), made[-1].cast(pl.Enum(sorted(set(map(str, numbers)))))]


@pytest.mark.parametrize("keys", [{"distance": "ordered"}, {"distance": "numeric"}, {"distance": "ordered", "bins": 3}])
def test_one_table_in_every_type_is_one_table(keys: dict[str, Any]) -> None:
    numbers = [1, 5, 5, 20, 7, 100, 3, 1]
    found = {t_of([*"aabbccdd"], series, keys) for series in forms(numbers)}
    assert len(found) == 1
    assert {t_of([*"aabbccdd"], series, {"distance": "ordered", "edges": [4, 7.5]}) for series in forms(numbers)} == {
        Fraction(7, 16)
    }


@pytest.mark.parametrize("distance", ["ordered", "numeric"])
def test_boundary_numbers_are_one_table_in_text_and_typed(distance: str) -> None:
    for numbers, kind in (
        ([2.0**53, 2.0**53 - 1, 2.0**53 + 2], pl.Float64),
        ([5e-324, 1e308, -1.7976931348623157e308], pl.Float64),
        ([-0.0, 0.0, 0.1 + 0.2], pl.Float64),
        ([2**63 - 1, -(2**63), 0], pl.Int64),
        ([2**64 - 1, 2**64 - 2, 0], pl.UInt64),
    ):
        typed, text = pl.Series(numbers, dtype=kind), pl.Series([str(number) for number in numbers])
        assert t_of([*"aab"], typed, {"distance": distance}) == t_of([*"aab"], text, {"distance": distance})


def test_numbers_of_17_digits_are_decided_exactly() -> None:
    rng = random.Random(1)
    numbers = [rng.random() * 1e5 for _ in range(7)]
    labels = [*"aaabbcc"]
    exact = [Fraction(repr(number)) for number in numbers]
    span = max(exact) - min(exact)
    found = t_of(labels, numbers, {"distance": "numeric"})
    assert found == by_trying.largest_distance(labels, exact, lambda x, y: abs(x - y) / span)


def test_missing_values_are_read_alike_in_text_and_typed() -> None:
    for values in (
        pl.Series(["1", "2", "", "nan", "-9.0", " "]),
        pl.Series([1.0, 2.0, None, float("nan"), -9.0, None]),
        pl.Series([1, 2, None, None, -9, None]),
    ):
        found = measured([*"aabbbb"], values, {"distance": "ordered"}, missing_values=["-9", "?"])
        assert (found.n_missing["s"], found.t["s"]) == (4, Fraction(1, 2))
        with pytest.raises(TableError, match="missing"):
            t_of([*"aabbbb"], values, {"distance": "numeric"}, missing_values=["-9"])


@pytest.mark.parametrize(
    "values",
    [
        ["2021-01-01", "2021-01-01T00:00:00"],
        ["2021-01-01T00:00:00Z", "2021-01-01T00:00:00"],
        ["one", "two"],
        ["2021-02-30", "2021-01-01"],
        [float("inf"), 1.0],
        [True, False],
    ],
)
def test_what_has_no_order_is_refused_without_a_cell(values: list[Any]) -> None:
    with pytest.raises(TableError) as caught:
        t_of([*"ab"], pl.Series(values), {"distance": "ordered"})
    assert not any(str(value) in str(caught.value) for value in values)


def test_zones_are_compared_as_instants() -> None:
    texts = ["2021-01-01T12:00:00+02:00", "2021-01-01T11:00:00+00:00", "2021-01-01 10:30Z"]
    assert t_of([*"abc"], texts, {"distance": "ordered"}) == t_of([*"abc"], [1, 3, 2], {"distance": "ordered"})


def test_typed_dates_beyond_year_9999() -> None:
    days = pl.Series([2932896, 2932897, -800000], dtype=pl.Int32).cast(pl.Date)
    assert t_of([*"abb"], days, {"distance": "ordered"}) == t_of([*"abb"], [2, 3, 1], {"distance": "ordered"})


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 50])
def test_bins_are_as_defined(bins: int) -> None:
    rng = random.Random(bins)
    values = [rng.randint(0, 9) for _ in range(6)]
    labels = random_classes(rng, 6)
    below = {v: sum(w < v for w in values) for v in values}
    binned = [bins * below[v] // len(values) for v in values]
    expected = by_trying.largest_distance(labels, binned, by_trying.on_a_line(sorted(set(binned))))
    assert t_of(labels, values, {"distance": "ordered", "bins": bins}) == expected


def test_classes_are_released_values_as_they_stand() -> None:
    frame = pl.DataFrame({"q": ["", None, "*", "a"], "s": [1, 1, 1, 1]})
    found = measure(Source.of(frame), schema_of({"s": {"distance": "equal", "t": 1}}))
    assert (found.classes, found.k) == (3, 1)


def test_many_classes_and_values_are_measured_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    from tclose.verification import released_classes

    rng = random.Random(3)
    labels = [str(rng.randint(0, 99)) for _ in range(400)]
    words = [rng.choice([*PATHS]) for _ in range(400)]
    days = [date(2000, 1, 1) + timedelta(rng.randint(0, 300)) for _ in range(400)]
    whole = [
        t_of(labels, words, {"distance": "hierarchical", "hierarchy": TREE}),
        t_of(labels, days, {"distance": "ordered"}),
    ]
    monkeypatch.setattr(released_classes, "BLOCK", 16)
    assert whole == [
        t_of(labels, words, {"distance": "hierarchical", "hierarchy": TREE}),
        t_of(labels, days, {"distance": "ordered"}),
    ]


def test_an_empty_table_is_measured() -> None:
    found = measured([], pl.Series([], dtype=pl.Int64), {"distance": "ordered"})
    assert (found.rows, found.k, found.t) == (0, 0, {"s": Fraction(0)})
