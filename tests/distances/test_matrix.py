"""A metric given as a matrix: exact, against programs in fractions and against the distances it stands for."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.distances import Matrix
from tclose.errors import SchemaError
from tclose.schema.schema import Schema
from tests.oracles.distance import check_plan, emd_equal, emd_ordered, ground_equal, ground_ordered, transport
from tests.oracles.sabre import exact_transport
from tests.seeds import for_seeds

Costs = list[list[Fraction]]


def test_what_is_not_a_metric_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"triangle inequality.*over row 2"):
        Matrix([[0, 0.2, 1], [0.2, 0, 0.2], [1, 0.2, 0]])


def test_values_must_be_as_many_and_distinct() -> None:
    for values in (("a",), ("a", "a"), ("a", "b", "c")):
        with pytest.raises(SchemaError, match="one distinct value for each"):
            Matrix([[0, 1], [1, 0]], values)
    assert Matrix([[0, 1], [1, 0]], ("a", "b")).domain == ("a", "b")
    assert Matrix([[0]]).size == 1


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "costs.csv").write_text(",a,b,c\na,0,1/3,1\nb,1/3,0,0.7\nc,1,0.7,0\n")
    matrix = Matrix.read(tmp_path / "costs.csv")
    assert (matrix.values, matrix.size) == (("a", "b", "c"), 3)
    assert tclose.emd({"a": 1}, {"b": 1}, matrix) == Fraction(1, 3)
    assert tclose.emd({"b": 1}, {"c": 1}, matrix) == Fraction(7, 10)


@pytest.mark.parametrize(
    "tenth", [0.1, "0.1", "1/10", Decimal("0.1"), Fraction(1, 10), np.float64(0.1), np.float32(0.1)]
)
def test_an_entry_is_the_number_it_is_written_as(tenth: Any) -> None:
    assert tclose.emd([1, 0, 0], [0, 1, 0], Matrix([[0, tenth, 1], [tenth, 0, 1], [1, 1, 0]])) == Fraction(1, 10)


# Against programs in fractions


def random_metric(rng: np.random.Generator, m: int) -> Costs:
    """Shortest ways through a random graph, the longest of them 1."""
    costs = rng.integers(1, 40, (m, m))
    costs = np.minimum(costs, costs.T)
    np.fill_diagonal(costs, 0)
    for middle in range(m):
        costs = np.minimum(costs, costs[:, middle, None] + costs[None, middle, :])
    longest = max(int(costs.max()), 1)
    return [[Fraction(int(cost), longest) for cost in row] for row in costs]


def random_counts(rng: np.random.Generator, m: int, most: int = 20) -> tuple[list[int], list[int]]:
    p, q = (rng.integers(0, most, m).tolist() for _ in range(2))
    p[0], q[-1] = p[0] + 1, q[-1] + 1
    return p, q


@for_seeds(60)
def test_the_linear_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 8))
    costs, (p, q) = random_metric(rng, m), random_counts(rng, m)
    matrix = Matrix(costs)
    found = tclose.emd(p, q, matrix)
    assert isinstance(found, Fraction)
    assert found == exact_transport(p, q, costs) == tclose.emd(q, p, matrix)
    assert float(found) == pytest.approx(transport(p, q, costs), abs=1e-9)
    assert 0 <= found <= 1
    assert check_plan(tclose.moves(p, q, matrix), p, q, costs) == found


@for_seeds(40)
def test_all_ways_to_move_few_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(2, 5)), int(rng.integers(1, 6))
    costs = random_metric(rng, m)
    left, right = (rng.integers(0, m, n).tolist() for _ in range(2))
    least = min(sum((costs[a][b] for a, b in zip(left, way, strict=True)), Fraction()) for way in permutations(right))
    p, q = ([rows.count(value) for value in range(m)] for rows in (left, right))
    assert tclose.emd(p, q, Matrix(costs)) == least / n


@for_seeds(25)
def test_the_distance_it_stands_for(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 9))
    p, q = random_counts(rng, m, 10 ** int(rng.integers(1, 8)))
    for ground, exact in ((ground_ordered(m), emd_ordered(p, q)), (ground_equal(m), emd_equal(p, q))):
        assert tclose.emd(p, q, Matrix(ground)) == exact


def test_hardly_different_is_not_the_same() -> None:
    # As floats the two are equal.
    p, q = [10**20 + 1, 10**20], [1, 1]
    exact = tclose.emd(p, q, "equal")
    assert 0 < exact == tclose.emd(p, q, Matrix([[0, 1], [1, 0]]))


def test_the_finest_entries() -> None:
    """Lengths of ways are sums of costs, and fit 64 bits."""
    fine = Fraction(999_999_999_999_999, 10**15)
    costs = [[Fraction(0), fine, Fraction(1)], [fine, Fraction(0), fine], [Fraction(1), fine, Fraction(0)]]
    p, q = [10**6, 1, 3], [5, 10**6, 10**6 + 1]
    assert tclose.emd(p, q, Matrix(costs)) == exact_transport(p, q, costs)


def test_the_same_is_at_distance_0() -> None:
    matrix = Matrix([[0, 0.5, 1], [0.5, 0, 0.5], [1, 0.5, 0]])
    assert tclose.emd([1, 2, 3], [2, 4, 6], matrix) == 0
    assert tclose.moves([1, 2, 3], [2, 4, 6], matrix) == []


def test_the_plan() -> None:
    matrix = Matrix([[0, 0.5, 1], [0.5, 0, 0.5], [1, 0.5, 0]], ("a", "b", "c"))
    plan = tclose.moves({"a": 1}, {"b": 1, "c": 1}, matrix)
    assert sorted(plan) == [("a", "b", Fraction(1, 2)), ("a", "c", Fraction(1, 2))]
    places = [("abc".index(origin), "abc".index(target), mass) for origin, target, mass in plan]
    ground = [[Fraction(cost) for cost in row] for row in matrix.costs]
    assert check_plan(places, [1, 0, 0], [0, 1, 1], ground) == Fraction(3, 4)


@pytest.mark.parametrize(("p", "q"), [([1, 1], [1, 1, 1]), ([1, 1, 1], [1, 1])])
def test_lengths_must_fit(p: list[int], q: list[int]) -> None:
    with pytest.raises(ValueError, match="mass for each"):
        tclose.emd(p, q, Matrix([[0, 1], [1, 0]]))


# Releases


def test_a_matrix_decides_like_the_distance_it_stands_for() -> None:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"age": rng.integers(20, 80, 300), "ill": rng.choice(["a", "b", "c"], 300)})
    costs = ground_equal(3)
    releases = []
    for keys in ({"distance": "equal"}, {"distance": "matrix", "matrix": {"values": ["a", "b", "c"], "costs": costs}}):
        asked: dict[str, Any] = {
            "k": 5,
            "quasi": {"age": {"kind": "numeric"}},
            "sensitive": {"ill": {**keys, "t": 0.3}},
        }
        releases.append(tclose.anonymize(frame, Schema.from_dict(asked), seed=1))
    exact, by_matrix = releases
    assert exact.classes.tolist() == by_matrix.classes.tolist()
    assert by_matrix.measured.t == exact.measured.t
    assert by_matrix.certificate["reached"]["t"] == exact.certificate["reached"]["t"]
