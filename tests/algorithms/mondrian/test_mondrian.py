"""Mondrian against its slow oracle, and what its docstring promises."""

from __future__ import annotations

from collections.abc import Sequence
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
from tests.oracles.mondrian import mondrian
from tests.seeds import one_in

JOBS = {"white": {"office": ["clerk", "boss"], "school": ["teacher"]}, "blue": ["smith", "cook", "driver"]}
ILLS = {"lung": ["flu", "asthma"], "skin": {"burn": [], "rash": ["mild", "bad"]}}


def random_case(seed: int) -> tuple[EncodedTable, Requirement]:
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
    table = encode(read(pl.DataFrame(columns)), schema)
    return table, Requirement.of(schema, table)


def as_sets(partition: Partition) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(partition.labels == label).tolist()) for label in range(partition.n_classes)}


@pytest.mark.parametrize("block", one_in(10, range(10)))
def test_agrees_with_the_oracle(block: int) -> None:
    for seed in range(block * 30, block * 30 + 30):
        table, requirement = random_case(seed)

        def cost(axis: int, low: int, high: int, table: EncodedTable = table) -> float:
            return float(table.axes[axis].cost(np.array([low], np.int32), np.array([high], np.int32))[0])

        def holds(
            rows: Sequence[tuple[int, ...]], table: EncodedTable = table, requirement: Requirement = requirement
        ) -> bool:
            chosen = [row[0] for row in rows]
            return requirement.holds([codes[chosen] for codes in table.codes])

        try:
            found = as_sets(run(Mondrian(), table, requirement))
        except InfeasibleError:
            whole = [(row,) for row in range(len(table))]
            assert len(table) < requirement.k or not holds(whole)
            continue
        is_tree = [hasattr(axis, "hierarchy") for axis in table.axes]
        rows = list(zip(*(places.tolist() for places in table.places), strict=True))
        assert found == mondrian(rows, cost, is_tree, requirement.k, holds), seed


def test_a_cut_goes_between_subtrees_where_it_can() -> None:
    schema = Schema.from_dict({"k": 1, "quasi": {"job": {"kind": "categorical", "hierarchy": JOBS}}})
    # The median of the pre-order lies inside `blue`; the cut between the subtrees is nearly as even.
    jobs = ["smith", "smith", "smith", "cook", "driver", "clerk", "boss"]
    table = encode(read(pl.DataFrame({"job": jobs})), schema)
    requirement = Requirement.of(schema, table)
    labels = run(Mondrian(), table, requirement).labels
    assert len(set(labels[:3].tolist())) == 1
    assert len(set(labels.tolist())) == 5


def test_stops_when_asked_and_still_meets_the_requirement() -> None:
    frame, schema = census(50_000, seed=2)
    table = encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    control = Control()
    control.end()
    import tclose.algorithms.mondrian.mondrian as module

    original = module.BUDGET
    module.BUDGET = 100_000
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
