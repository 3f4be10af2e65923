"""The verifier's way to a joint distance: from released values, against the oracle, and trusting no solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import tclose
from tclose.errors import VerificationError
from tclose.schema.schema import Schema
from tclose.table import least_work as metric
from tclose.table.least_work import Proposal, least_work
from tclose.table.source import read
from tclose.verification.judge_release import check_release
from tests.oracles.joint import by_all_ways, joint_distance
from tests.oracles.sabre import exact_transport
from tests.seeds import for_seeds

PATHS = [("flu", "lung", "*"), ("cold", "lung", "*"), ("mild", "rash", "skin", "*"), ("bad", "rash", "skin", "*")]
NESTED = {"lung": ["flu", "cold"], "skin": {"rash": ["mild", "bad"]}}
ORDER = ("low", "middle", "high")
COLUMNS: dict[str, list[str]] = {
    "ill": ["flu", "flu", "cold", "mild", "bad"],
    "grade": [*ORDER],
    "pay": ["0.5", "2", "4.25"],
    "ward": ["x", "y"],
}
Row = dict[str, str]


def random_rows(random: Random, n_classes: int, most: int) -> list[Row]:
    """Rows in some classes; `ill` and `grade` may be missing."""
    missing = random.random() < 0.3
    rows = []
    for label in range(n_classes):
        for _ in range(random.randint(2, most)):
            row = {name: random.choice(values) for name, values in COLUMNS.items()}
            if missing and random.random() < 0.2:
                row[random.choice(["ill", "grade"])] = ""
            rows.append({"age": f"[{label * 10}, {label * 10 + 9}]", **row})
    return rows


def specs_of(rows: list[Row], columns: list[str]) -> list[dict[str, Any]]:
    known: dict[str, dict[str, Any]] = {
        "ill": {"distance": "hierarchical", "paths": PATHS},
        "grade": {"distance": "ordered", "order": ORDER, "missing": any(not row["grade"] for row in rows)},
        "pay": {"distance": "numeric", "range": ("0", "5")},
        "ward": {"distance": "equal"},
    }
    return [known[column] for column in columns]


def schema_of(columns: list[str], t: Fraction) -> Schema:
    sensitive = {
        "ill": {"distance": "hierarchical", "hierarchy": NESTED},
        "grade": {"distance": "ordered", "order": list(ORDER)},
        "pay": {"distance": "numeric", "range": [0, 5]},
        "ward": {"distance": "equal"},
    }
    quasi = {"age": {"kind": "numeric"}}
    joint = {"together": {"columns": columns, "t": t}}
    return Schema.from_dict({"k": 1, "missing": "category", "quasi": quasi, "sensitive": sensitive, "joint": joint})


def largest(rows: list[Row], columns: list[str]) -> Fraction:
    """By the oracle."""
    table = [tuple(row[column] for column in columns) for row in rows]
    classes: dict[str, list[tuple[str, ...]]] = {}
    for row, values in zip(rows, table, strict=True):
        classes.setdefault(row["age"], []).append(values)
    return max(joint_distance(members, table, specs_of(rows, columns)) for members in classes.values())


def measured(rows: list[Row], columns: list[str], t: Fraction = Fraction(1)) -> Fraction | float:
    return check_release(read(pl.DataFrame(rows)), schema_of(columns, t)).t["together"]


@for_seeds(60)
def test_a_release_is_as_far_as_the_oracle_says(seed: int) -> None:
    """And a hair less is not promised, nor kept by a mutant that is farther."""
    random = Random(seed)
    columns = random.sample(list(COLUMNS), random.choice([2, 2, 3]))
    rows = random_rows(random, random.randint(1, 3), 6)
    t = largest(rows, columns)
    assert measured(rows, columns, t) == t
    if t:
        with pytest.raises(VerificationError, match="t of 'together': "):
            measured(rows, columns, t - Fraction(1, 10**9))
    mutant = [dict(row) for row in rows]
    one, other = random.sample(mutant, 2)
    for name in random.choice([["age"], columns, columns[:1]]):
        one[name], other[name] = other[name], one[name]
    after = largest(mutant, columns)
    if after <= t:
        assert measured(mutant, columns, t) == after
    else:
        with pytest.raises(VerificationError, match="t of 'together': "):
            measured(mutant, columns, t)


@for_seeds(20)
def test_tiny_tables_by_all_ways_to_move_rows(seed: int) -> None:
    random = Random(seed)
    columns = random.sample(list(COLUMNS), 2)
    rows = [{"age": str(row % 2), **{name: random.choice(COLUMNS[name]) for name in COLUMNS}} for row in range(6)]
    table = [tuple(row[column] for column in columns) for row in rows]
    ways = [by_all_ways(table[side::2], table, specs_of(rows, columns)) for side in (0, 1)]
    assert measured(rows, columns) == max(ways)


def random_problem(random: Random) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Points on a grid, and what is too much or lacks at each."""
    points = [(random.randint(0, 4), random.randint(0, 3)) for _ in range(random.randint(2, 9))]
    costs = np.array([[abs(a - c) + 2 * abs(b - d) for c, d in points] for a, b in points])
    surplus = np.array([random.randint(-9, 9) for _ in points])
    surplus[0] -= surplus.sum()
    return costs, surplus


def expected_work(costs: NDArray[np.int64], surplus: NDArray[np.int64]) -> int:
    over, lacking = np.maximum(surplus, 0).tolist(), np.maximum(-surplus, 0).tolist()
    if not any(over):
        return 0
    ground = [[Fraction(int(cost)) for cost in row] for row in costs]
    return int(exact_transport(over, lacking, ground) * sum(over))


def spoilt_flows(proposal: Proposal) -> Proposal:
    return replace(proposal, flows=np.roll(proposal.flows, 1, axis=0))


def negative_flows(proposal: Proposal) -> Proposal:
    flows = proposal.flows.copy()
    flows[:2, :2] += np.array([[1, -1], [-1, 1]])[: len(flows), : flows.shape[1]] * 1000
    return replace(proposal, flows=flows)


def other_heights(proposal: Proposal) -> Proposal:
    return replace(proposal, heights=proposal.heights * 2, depths=proposal.depths * 2)


def lower_heights(proposal: Proposal) -> Proposal:
    return replace(proposal, heights=proposal.heights - 1)


def huge_heights(proposal: Proposal) -> Proposal:
    return replace(proposal, heights=proposal.heights + 2**62, depths=proposal.depths - 2**62)


SPOILERS = [spoilt_flows, negative_flows, other_heights, lower_heights, huge_heights]


@pytest.mark.parametrize("spoil", [None, *SPOILERS])
@for_seeds(40)
def test_what_a_solver_proposes_does_not_matter(
    seed: int, spoil: Callable[[Proposal], Proposal] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs, surplus = random_problem(Random(seed))
    honest = metric.propose
    if spoil is not None:
        monkeypatch.setattr(metric, "propose", lambda *given: spoil(honest(*given)))
    assert least_work(costs, surplus) == expected_work(costs, surplus)
    monkeypatch.undo()


def test_an_honest_proposal_is_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> int:
        raise AssertionError("the slow solver was asked")

    monkeypatch.setattr(metric, "_solved", never)
    for seed in range(200):
        least_work(*random_problem(Random(seed)))


def test_a_proof_that_is_too_good_is_none() -> None:
    """Heights that rise more than the way is long would prove any distance."""
    costs, surplus = np.array([[0, 3], [3, 0]]), np.array([2, -2])
    plan = Proposal(np.array([0]), np.array([1]), np.array([[2]]), np.array([3]), np.array([0]))
    assert metric._proved(costs, surplus, plan) == 6
    assert metric._proved(costs, surplus, replace(plan, heights=np.array([4]))) is None
    assert metric._proved(costs, surplus, replace(plan, heights=np.array([2]))) is None
    assert metric._proved(costs, surplus, replace(plan, flows=np.array([[3]]))) is None


def test_sums_beyond_64_bits() -> None:
    costs = np.array([[0, 2**49], [2**49, 0]])
    surplus = np.array([2**60, -(2**60)])
    assert least_work(costs, surplus) == 2**109


def test_costs_whose_sum_is_beyond_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow solver must not add up costs in 64 bits."""
    costs = np.full((200, 200), 2**50 - 1) * (1 - np.eye(200, dtype=np.int64))
    surplus = np.zeros(200, np.int64)
    surplus[[0, 1, 2, 3]] = 3, 1, -2, -2
    monkeypatch.setattr(metric, "_proved", lambda *_: None)
    assert least_work(costs, surplus) == 4 * (2**50 - 1)


def test_the_worst_classes_of_a_joint_are_told() -> None:
    rows = random_rows(Random(3), 5, 8)
    columns = ["ill", "grade"]
    report = tclose.assess(pl.DataFrame(rows), schema_of(columns, Fraction(1)))
    told = report.as_dict()
    assert Fraction(told["t"]["together"]["exact"]) == largest(rows, columns)
    worst = [entry["t"]["value"] for entry in told["worst"]["together"]]
    assert worst == sorted(worst, reverse=True)
    assert worst[0] == told["t"]["together"]["value"]
    assert set(told["l"]) == set(COLUMNS)
