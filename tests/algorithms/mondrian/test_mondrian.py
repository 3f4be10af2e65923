"""Mondrian against its slow oracle, and what its docstring promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.algorithms.control import Control
from tclose.algorithms.mondrian.mondrian import Mondrian
from tclose.algorithms.requirement import Requirement
from tclose.datasets import census
from tclose.errors import InfeasibleError
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.partition import Partition
from tclose.table.source import read
from tclose.testing import run
from tests.oracles.mondrian import mondrian, textbook_mondrian
from tests.seeds import for_seeds

JOBS = {"white": {"office": ["clerk", "boss"], "school": ["teacher"]}, "blue": ["smith", "cook", "driver"]}
ILLS = {"lung": ["flu", "asthma"], "skin": {"burn": [], "rash": ["mild", "bad"]}}


def random_frame(seed: int) -> tuple[dict[str, list[Any]], Schema]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    columns: dict[str, list[Any]] = {
        "age": rng.integers(20, 40, n).tolist(),
        "zip": [f"{z:03}" for z in rng.integers(0, 30, n)],
        "job": rng.choice(["clerk", "boss", "teacher", "smith", "cook", "driver"], n).tolist(),
        "ill": rng.choice(["flu", "asthma", "burn", "mild", "bad"], n, p=[0.4, 0.2, 0.2, 0.1, 0.1]).tolist(),
        "pay": rng.integers(0, 8, n).tolist(),
    }
    if rng.random() < 0.5:
        for name in ("age", "job", "ill"):
            columns[name] = [None if rng.random() < 0.1 else value for value in columns[name]]
    ill: dict[str, Any] = {"distance": "hierarchical", "hierarchy": ILLS, "t": float(rng.choice([0, 0.2, 0.4, 0.7]))}
    if rng.random() < 0.3:
        ill["l"] = [{"entropy": 2}, 2, {"frequency": "3/2"}, {"recursive": {"c": 3, "l": 2}}][int(rng.integers(4))]
    schema = Schema.from_dict(
        {
            "k": int(rng.integers(1, 5)),
            "missing": "category",
            "recode": str(rng.choice(["generalize", "suppress"])),
            "quasi": {
                "age": {"kind": "numeric"},
                "zip": {"kind": "text"},
                "job": {"kind": "categorical", "hierarchy": JOBS},
            },
            "sensitive": {"ill": ill, "pay": {"distance": str(rng.choice(["ordered", "numeric"])), "t": 0.4}},
        }
    )
    return columns, schema


def random_case(seed: int) -> tuple[EncodedTable, Requirement]:
    columns, schema = random_frame(seed)
    table = encode(read(pl.DataFrame(columns)), schema)
    return table, Requirement.of(schema, table)


def as_sets(partition: Partition) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(partition.labels == label).tolist()) for label in range(partition.n_classes)}


def as_given(columns: dict[str, list[Any]], recode: str) -> list[list[Fraction]]:
    """The value of each row on every axis as a share of the range: of categories, the place as given or by alphabet."""
    jobs = ["clerk", "boss", "teacher", "smith", "cook", "driver"]
    points = []
    for name in ("age", "zip", "job"):
        known = sorted({value for value in columns[name] if value is not None})
        order = jobs if name == "job" and recode == "generalize" else known
        by_value = name == "age" and recode == "generalize"
        at = {value: value - known[0] if by_value else place for place, value in enumerate(order)}
        widest = max([*at.values(), 1])
        points.append([Fraction(2) if value is None else Fraction(at[value], widest) for value in columns[name]])
    return [list(row) for row in zip(*points, strict=True)]


def holds_of(table: EncodedTable, requirement: Requirement) -> Callable[[Sequence[int]], bool]:
    return lambda rows: requirement.holds([codes[list(rows)] for codes in table.codes])


def by_oracle(table: EncodedTable, requirement: Requirement, rows: Sequence[int] | None = None) -> set[frozenset[int]]:
    """What the oracle makes of all rows, or of some."""

    def cost(axis: int, low: int, high: int) -> Fraction:
        return Fraction(float(table.axes[axis].cost(np.array([low], np.int32), np.array([high], np.int32))[0]))

    chosen = range(len(table)) if rows is None else rows
    places = [tuple(int(column[row]) for column in table.places) for row in chosen]
    trees = [getattr(axis, "hierarchy", None) for axis in table.axes]
    spreads = [
        Fraction(1, max(axis.size - 1, 1)) if tree is not None and tree.height > 1 else Fraction(0)
        for axis, tree in zip(table.axes, trees, strict=True)
    ]
    holds = holds_of(table.take(np.array(chosen)), requirement)
    found = mondrian(places, cost, spreads, [axis.share for axis in table.axes], requirement.k, holds)
    return {frozenset(chosen[row] for row in members) for members in found}


@pytest.mark.parametrize("textbook", [False, True])
@for_seeds(300, everyday=6, at_a_time=50, tested=60)
def test_agrees_with_the_oracle(textbook: bool, seed: int) -> None:
    columns, schema = random_frame(seed)
    table, requirement = random_case(seed)
    holds = holds_of(table, requirement)
    try:
        found = as_sets(run(Mondrian(textbook=textbook), table, requirement))
    except InfeasibleError:
        assert len(table) < requirement.k or not holds(range(len(table)))
        return
    whole = {frozenset(range(len(table)))}
    if textbook:
        assert found == at_medians(columns, schema, table, requirement, whole)
    else:
        assert found == by_both_oracles(columns, schema, table, requirement, whole)


def at_medians(
    columns: dict[str, list[Any]],
    schema: Schema,
    table: EncodedTable,
    requirement: Requirement,
    start: set[frozenset[int]],
) -> set[frozenset[int]]:
    """What the oracle of the textbook makes of each of these classes."""
    points = as_given(columns, schema.recode)
    weights = [axis.column_weight for axis in table.axes]
    cut: set[frozenset[int]] = set()
    for members in map(sorted, start):
        holds = holds_of(table.take(np.array(members)), requirement)
        found = textbook_mondrian([points[row] for row in members], weights, requirement.k, holds)
        cut |= {frozenset(members[place] for place in places) for places in found}
    return cut


def by_both_oracles(
    columns: dict[str, list[Any]],
    schema: Schema,
    table: EncodedTable,
    requirement: Requirement,
    start: set[frozenset[int]],
) -> set[frozenset[int]]:
    """These classes cut where that saves most, or so after the textbook has cut them, whichever loses less."""
    ways = [start, at_medians(columns, schema, table, requirement, start)]
    made = [set().union(*(by_oracle(table, requirement, sorted(members)) for members in way)) for way in ways]
    return min(made, key=lambda classes: loss_of_sets(table, classes))


def loss_of_sets(table: EncodedTable, classes: set[frozenset[int]]) -> float:
    labels = np.empty(len(table), np.int64)
    for label, members in enumerate(classes):
        labels[list(members)] = label
    return round(table.loss(labels), 12)


def test_what_t_allows_may_be_used_up_by_cuts_that_save_most_at_first() -> None:
    better = 0
    for seed in range(40):
        table, requirement = random_case(seed)
        if len(table) < requirement.k or not holds_of(table, requirement)(range(len(table))):
            continue
        found = loss_of_sets(table, as_sets(run(Mondrian(), table, requirement)))
        assert found <= loss_of_sets(table, as_sets(run(Mondrian(textbook=True), table, requirement)))
        better += found < loss_of_sets(table, by_oracle(table, requirement))
    assert better > 0


def two_columns(rows: list[tuple[int, int]], k: int, **weights: int) -> tuple[EncodedTable, Requirement]:
    frame = pl.DataFrame({"a": [a for a, _ in rows], "b": [b for _, b in rows]})
    quasi = {name: {"kind": "numeric", "weight": weights.get(name, 1)} for name in frame.columns}
    schema = Schema.from_dict({"k": k, "quasi": quasi})
    table = encode(read(frame), schema)
    return table, Requirement.of(schema, table)


def test_the_cut_is_the_one_that_saves_most_and_in_the_textbook_that_of_the_widest() -> None:
    """Both axes are as wide; along `b` the rows are in two clusters, so that a cut there saves more."""
    rows = [(0, 0), (3, 100), (4, 1), (6, 99), (7, 0), (10, 100)]
    table, requirement = two_columns(rows, 3)
    assert as_sets(run(Mondrian(), table, requirement)) == {frozenset({0, 2, 4}), frozenset({1, 3, 5})}
    assert as_sets(run(Mondrian(textbook=True), table, requirement)) == {frozenset({0, 1, 2}), frozenset({3, 4, 5})}
    heavy, asked = two_columns(rows, 3, b=2)
    assert as_sets(run(Mondrian(textbook=True), heavy, asked)) == {frozenset({0, 2, 4}), frozenset({1, 3, 5})}


def test_the_textbook_cuts_at_the_median_or_not_at_all() -> None:
    """Four of five rows have the largest value: nothing lies beyond the median, though a cut with k rows there is."""
    table, requirement = two_columns([(0, 0), (9, 0), (9, 0), (9, 0), (9, 0)], 1)
    assert run(Mondrian(textbook=True), table, requirement).n_classes == 1
    assert run(Mondrian(), table, requirement).n_classes == 2
    odd, asked = two_columns([(value, 0) for value in range(5)], 2)
    assert as_sets(run(Mondrian(textbook=True), odd, asked)) == {frozenset({0, 1, 2}), frozenset({3, 4})}


def test_the_textbook_has_categories_in_the_order_given() -> None:
    """By frequency `driver` would be the first of its siblings, and `cook` would be alone."""
    schema = Schema.from_dict({"k": 2, "quasi": {"job": {"kind": "categorical", "hierarchy": JOBS}}})
    jobs = ["smith", "smith", "cook", "cook", "driver", "driver", "driver"]
    table = encode(read(pl.DataFrame({"job": jobs})), schema)
    requirement = Requirement.of(schema, table)
    assert as_sets(run(Mondrian(textbook=True), table, requirement)) == {
        frozenset({0, 1}), frozenset({2, 3}), frozenset({4, 5, 6}),
    }  # fmt: skip


def test_intervals_become_as_narrow_as_coarsest_asks() -> None:
    """In the textbook an axis that is too wide comes first, else what is too wide costs more than all else."""
    frame, schema = census(600, seed=3)
    keys = schema.as_dict()
    keys["quasi"]["age"] = {"kind": "numeric", "coarsest": 12}
    limited = Schema.from_dict(keys)
    table = encode(read(frame), limited)
    requirement = Requirement.of(limited, table)
    for method in (Mondrian(), Mondrian(textbook=True)):
        labels = run(method, table, requirement).labels
        ages = frame["age"].to_numpy()
        assert all(np.ptp(ages[labels == label]) <= 12 for label in range(labels.max() + 1))


def test_a_cut_goes_between_subtrees_where_that_saves_most() -> None:
    """The median of the pre-order lies inside `blue`; the cut between the subtrees saves more than one there."""
    schema = Schema.from_dict({"k": 2, "quasi": {"job": {"kind": "categorical", "hierarchy": JOBS}}})
    jobs = ["smith", "smith", "smith", "cook", "driver", "clerk", "boss"]
    table = encode(read(pl.DataFrame({"job": jobs})), schema)
    found = as_sets(run(Mondrian(), table, Requirement.of(schema, table)))
    assert found == {frozenset({0, 1, 2}), frozenset({3, 4}), frozenset({5, 6})}


def test_of_cuts_that_save_nothing_the_one_nearest_the_median_is_made() -> None:
    """Without a hierarchy four values lose as much as two, and only a single one loses nothing."""
    schema = Schema.from_dict({"k": 2, "quasi": {"job": {"kind": "categorical"}}})
    table = encode(read(pl.DataFrame({"job": [*"aabbccdd"]})), schema)
    assert run(Mondrian(), table, Requirement.of(schema, table)).n_classes == 4


def test_stops_when_asked_and_still_meets_the_requirement() -> None:
    frame, schema = census(50_000, seed=2)
    table = encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    control = Control()
    control.end()
    import tclose.algorithms.mondrian.mondrian as module

    original = module.BUDGET
    module.BUDGET = 5_000_000
    try:
        partition = Mondrian().partition(table, requirement, rng=np.random.default_rng(0), control=control)
    finally:
        module.BUDGET = original
    assert partition.facts == {"stopped_early": True}
    whole = run(Mondrian(), table, requirement)
    assert 1 < partition.n_classes < whole.n_classes
    for label in range(partition.n_classes):
        assert requirement.holds([codes[partition.labels == label] for codes in table.codes])


def test_a_budget_changes_nothing() -> None:
    frame, schema = census(5_000, seed=2)
    table = encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    import tclose.algorithms.mondrian.mondrian as module

    whole = run(Mondrian(), table, requirement)
    reports: list[float | None] = []
    original = module.BUDGET
    module.BUDGET = 10
    try:
        control = Control(listener=lambda loss, done: reports.append(done))
        pieces = Mondrian().partition(table, requirement, rng=np.random.default_rng(0), control=control)
    finally:
        module.BUDGET = original
    assert np.array_equal(whole.labels, pieces.labels)
    assert len(reports) > 100


@pytest.mark.slow
def test_many_distinct_values_are_ordinary() -> None:
    rng = np.random.default_rng(1)
    n = 20_000
    frame = pl.DataFrame(
        {"income": rng.permutation(n) * 97, "age": rng.integers(0, 90, n), "pay": rng.random(n).round(6)}
    )
    schema = Schema.from_dict(
        {
            "k": 5,
            "quasi": {"income": {"kind": "numeric"}, "age": {"kind": "numeric"}},
            "sensitive": {"pay": {"distance": "ordered", "t": 0.2}},
        }
    )
    table = encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    partition = run(Mondrian(), table, requirement)
    assert partition.n_classes > 100
    assert all(requirement.holds([codes[partition.labels == c] for codes in table.codes]) for c in range(20))


def test_a_table_whose_best_cuts_all_fail_is_still_cut_at_its_median() -> None:
    # Amounts grow so fast that the thousand cuts next to the largest save most, and every one has only "b" above it.
    n = 2_400
    place = np.arange(n)
    ill = np.where(place < n // 2, np.where(place % 2, "a", "b"), np.where(place < 3 * n // 4, "a", "b"))
    schema = Schema.from_dict(
        {"k": 2, "quasi": {"pay": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": "0.02"}}}
    )
    table = encode(read(pl.DataFrame({"pay": 1.05 ** (place / 4), "ill": ill})), schema)
    requirement = Requirement.of(schema, table)
    found = Mondrian().partition(table, requirement, rng=np.random.default_rng(0), control=Control())
    textbook = Mondrian(textbook=True).partition(table, requirement, rng=np.random.default_rng(0), control=Control())
    assert found.n_classes > 1
    assert table.loss(found.labels) <= table.loss(textbook.labels)
    assert requirement.holds_in_all(table, found.labels)
