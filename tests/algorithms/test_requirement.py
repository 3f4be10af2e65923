"""Whether the whole table can hold, also against another one."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.algorithms import REGISTRY
from tclose.algorithms.requirement import Requirement
from tclose.errors import InfeasibleError
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.partition import Partition
from tclose.table.source import read
from tclose.testing import run
from tests.algorithms.mondrian.test_mondrian import random_case

METHODS = pytest.mark.parametrize(
    "name", [name for name in REGISTRY if "equal" in REGISTRY[name].capabilities.distances]
)


def two_halves(**asked: Any) -> tuple[EncodedTable, Requirement]:
    """Half of the rows have ill a, the others b; pay goes from 0 to 3 in both."""
    columns = {"job": list("xyzw") * 10, "ill": ["a"] * 20 + ["b"] * 20, "pay": [0, 1, 2, 3] * 10}
    schema = Schema.from_dict({"k": 2, "quasi": {"job": {"kind": "categorical"}}, "sensitive": asked})
    table = encode(read(pl.DataFrame(columns).select("job", *asked)), schema)
    return table, Requirement.of(schema, table)


PAY = {"distance": "ordered", "t": 0.9}


@METHODS
@pytest.mark.parametrize(
    ("ill", "said"),
    [
        ({"distance": "equal", "t": 0.1}, "farther than t from the reference in 'ill'.* Raise t"),
        ({"distance": "equal", "t": 0.5, "l": 2}, "not as diverse in 'ill' as its l asks.* Lower l"),
        ({"distance": "equal", "l": {"entropy": 2}}, "not as diverse in 'ill'"),
    ],
)
def test_rows_that_cannot_hold_against_another_table(name: str, ill: dict[str, Any], said: str) -> None:
    for asked in ({"ill": ill}, {"pay": PAY, "ill": ill}):
        table, requirement = two_halves(**asked)
        assert requirement.holds(table.codes)
        part = table.take(np.arange(20))
        assert not requirement.holds(part.codes)
        with pytest.raises(InfeasibleError, match=said):
            run(REGISTRY[name](), part, requirement)


@METHODS
def test_rows_that_hold_only_together(name: str) -> None:
    """At t = 1/2 the half with ill a is just within; more than all of it together is not asked."""
    table, requirement = two_halves(ill={"distance": "equal", "t": 0.5}, pay={"distance": "ordered", "t": 0})
    part = table.take(np.arange(20))
    found = run(REGISTRY[name](), part, requirement)
    assert requirement.holds_in_all(part, found.labels)


def test_rows_are_counted_in_words() -> None:
    table, requirement = two_halves(ill={"distance": "equal", "t": 1})
    requirement.check_whole(table.take(np.arange(2)))
    with pytest.raises(InfeasibleError, match="The table has 1 row, and k = 2 asks for more"):
        requirement.check_whole(table.take(np.arange(1)))


def test_all_classes_must_hold() -> None:
    table, requirement = two_halves(ill={"distance": "equal", "t": 0.1})
    rows = np.arange(40)
    assert requirement.holds_in_all(table, rows % 20)
    assert not requirement.holds_in_all(table, rows // 20)
    assert not requirement.holds_in_all(table, np.minimum(rows, 1))  # a class of one row
    assert not requirement.holds_in_all(table, np.where(rows % 20 < 19, rows % 20, 19 + rows // 20))


def test_all_classes_against_the_definition() -> None:
    """Random classes of random tables."""
    verdicts = []
    for seed in range(60):
        table, requirement = random_case(seed)
        rng = np.random.default_rng(seed)
        labels = Partition.of(rng.integers(0, 1 + len(table) // 12, len(table))).labels
        members = [np.flatnonzero(labels == label) for label in range(labels.max() + 1)]
        held = all(
            len(rows) >= requirement.k and requirement.holds([codes[rows] for codes in table.codes]) for rows in members
        )
        assert requirement.holds_in_all(table, labels) == held
        verdicts.append(held)
    assert 5 < sum(verdicts) < 55


def test_without_sensitive_attributes_k_alone_is_asked() -> None:
    table, requirement = two_halves()
    rows = np.arange(40)
    assert requirement.holds_in_all(table, rows // 2)
    assert not requirement.holds_in_all(table, np.minimum(rows, 1))
    start = run(REGISTRY["mondrian"](), table, requirement)
    for name in ("tight", "sabre-ak"):
        found = run(REGISTRY[name](), table, requirement, start)
        assert table.loss(found.labels) <= table.loss(start.labels)
