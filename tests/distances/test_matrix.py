"""A metric given as a matrix: refused unless it is one, and never below the true distance."""

from __future__ import annotations

import sys
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import tclose
from tclose.distances import Matrix
from tclose.errors import MissingExtraError, SchemaError
from tclose.schema.schema import Schema
from tests.oracles.distance import check_plan, emd_equal, emd_ordered, ground_equal, ground_ordered, transport

needs_pot = pytest.mark.skipif(find_spec("ot") is None, reason="POT is not installed")

NOT_A_METRIC: dict[str, tuple[Any, str]] = {
    "empty": ([], "not square"),
    "a row": ([0, 1], "not square"),
    "oblong": ([[0, 1, 1], [1, 0, 1]], "not square"),
    "jagged": ([[0, 1], [1]], "same length"),
    "texts": ([["a", "b"], ["b", "a"]], "numbers"),
    "not a number": ([[0, float("nan")], [float("nan"), 0]], "finite"),
    "infinite": ([[0, float("inf")], [float("inf"), 0]], "finite"),
    "a diagonal": ([[0.1, 1], [1, 0]], "zero on the diagonal"),
    "two values alike": ([[0, 0, 1], [0, 0, 1], [1, 1, 0]], "positive elsewhere"),
    "negative": ([[0, -1], [-1, 0]], "positive elsewhere"),
    "not symmetric": ([[0, 1], [0.5, 0]], "not symmetric"),
    "too large": ([[0, 2], [2, 0]], "normalized.*divide"),
    "too small": ([[0, 0.5], [0.5, 0]], "normalized.*divide"),
    "a shorter detour": ([[0, 0.2, 1], [0.2, 0, 0.2], [1, 0.2, 0]], "triangle inequality.*row 2"),
}


@pytest.mark.parametrize("name", NOT_A_METRIC)
def test_what_is_not_a_normalized_metric_is_refused(name: str) -> None:
    costs, said = NOT_A_METRIC[name]
    with pytest.raises(SchemaError, match=said):
        Matrix(costs)


def test_values_must_be_as_many_and_distinct() -> None:
    for values in (("a",), ("a", "a"), ("a", "b", "c")):
        with pytest.raises(SchemaError, match="one distinct value for each"):
            Matrix([[0, 1], [1, 0]], values)
    assert Matrix([[0, 1], [1, 0]], ("a", "b")).domain == ("a", "b")
    assert Matrix([[0]]).size == 1


FILES = {
    "other names in the column": ",a,b\na,0,1\nc,1,0\n",
    "no names": "0,1,1\n1,0,1\n1,1,0\n",
    "no rows": ",a,b\n",
    "empty": "",
    "words": ",a,b\na,0,x\nb,x,0\n",
    "jagged": ",a,b\na,0\nb,1,0\n",
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_no_matrix(name: str, tmp_path: Path) -> None:
    (tmp_path / "costs.csv").write_text(FILES[name])
    with pytest.raises(SchemaError):
        Matrix.read(tmp_path / "costs.csv")


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "costs.csv").write_text('\ufeff,a,"b,c"\na,0,1\n"b,c",1,0\n', encoding="utf-8")
    matrix = Matrix.read(tmp_path / "costs.csv")
    assert (matrix.values, matrix.size) == (("a", "b,c"), 2)
    assert matrix.source == str(tmp_path / "costs.csv")


# Against the linear program, and against exact distances


def random_metric(rng: np.random.Generator, m: int) -> NDArray[np.float64]:
    """Shortest ways through a random graph, the longest of them 1."""
    costs: NDArray[np.float64] = rng.uniform(0.1, 1, (m, m))
    costs = np.minimum(costs, costs.T)
    np.fill_diagonal(costs, 0)
    for middle in range(m):
        costs = np.minimum(costs, costs[:, middle, None] + costs[None, middle, :])
    costs = np.minimum(costs, costs.T)
    longest: np.float64 = costs.max()
    return costs / longest


@needs_pot
@pytest.mark.parametrize("seed", range(25))
def test_the_linear_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 8))
    costs = random_metric(rng, m)
    matrix = Matrix(costs)
    p, q = (rng.integers(0, 20, m).tolist() for _ in range(2))
    p[0], q[-1] = p[0] + 1, q[-1] + 1
    wanted = transport(p, q, [[Fraction(cost) for cost in row] for row in costs.tolist()])
    found = float(tclose.emd(p, q, matrix))
    assert wanted - 1e-9 <= found <= wanted + 2e-9  # the program itself is solved to 1e-9
    assert float(tclose.emd(q, p, matrix)) == pytest.approx(found, abs=1e-9)
    assert 0 <= found <= 1


@needs_pot
@pytest.mark.parametrize("seed", range(25))
def test_never_below_the_exact_distance_and_at_most_a_billionth_above(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 9))
    p, q = (rng.integers(0, 10 ** int(rng.integers(1, 8)), m).tolist() for _ in range(2))
    p[0], q[-1] = p[0] + 1, q[-1] + 1
    for ground, exact in ((ground_ordered(m), emd_ordered(p, q)), (ground_equal(m), emd_equal(p, q))):
        found = tclose.emd(p, q, Matrix([[float(cost) for cost in row] for row in ground]))
        assert exact <= Fraction(float(found)) <= exact + Fraction(1, 10**9)


@needs_pot
def test_hardly_different_is_not_the_same() -> None:
    # As floats the two are equal; doubt rejects, so the distance is not 0.
    p, q = [10**20 + 1, 10**20], [1, 1]
    exact = tclose.emd(p, q, "equal")
    assert 0 < exact <= Fraction(tclose.emd(p, q, Matrix([[0, 1], [1, 0]])))


@needs_pot
def test_the_same_is_at_distance_0() -> None:
    matrix = Matrix([[0, 0.5, 1], [0.5, 0, 0.5], [1, 0.5, 0]])
    assert tclose.emd([1, 2, 3], [2, 4, 6], matrix) == 0
    assert tclose.moves([1, 2, 3], [2, 4, 6], matrix) == []


@needs_pot
def test_the_plan() -> None:
    matrix = Matrix([[0, 0.5, 1], [0.5, 0, 0.5], [1, 0.5, 0]], ("a", "b", "c"))
    plan = tclose.moves({"a": 1}, {"b": 1, "c": 1}, matrix)
    assert sorted(plan) == [("a", "b", Fraction(1, 2)), ("a", "c", Fraction(1, 2))]
    places = [("abc".index(origin), "abc".index(target), mass) for origin, target, mass in plan]
    ground = [[Fraction(cost) for cost in row] for row in matrix.costs]
    assert check_plan(places, [1, 0, 0], [0, 1, 1], ground) == Fraction(3, 4)


@needs_pot
@pytest.mark.parametrize(("p", "q"), [([1, 1], [1, 1, 1]), ([1, 1, 1], [1, 1])])
def test_lengths_must_fit(p: list[int], q: list[int]) -> None:
    with pytest.raises(ValueError, match="mass for each"):
        tclose.emd(p, q, Matrix([[0, 1], [1, 0]]))


# Without POT


def test_without_its_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ot", None)
    matrix = Matrix([[0, 1], [1, 0]])
    for ask in (tclose.emd, tclose.moves):
        with pytest.raises(MissingExtraError, match=r"POT.*pip install 'tclose\[matrix\]'"):
            ask([1, 0], [1, 1], matrix)
    frame = pl.DataFrame({"age": [1, 2], "ill": ["a", "b"]})
    costs = {"values": ["a", "b"], "costs": [[0, 1], [1, 0]]}
    keys: dict[str, Any] = {"k": 1, "quasi": {"age": {"kind": "numeric"}}}
    schema = Schema.from_dict(keys | {"sensitive": {"ill": {"distance": "matrix", "matrix": costs, "t": 1}}})
    with pytest.raises(MissingExtraError, match="POT"):
        tclose.assess(frame, schema)


@needs_pot
def test_a_matrix_decides_like_the_distance_it_stands_for() -> None:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"age": rng.integers(20, 80, 300), "ill": rng.choice(["a", "b", "c"], 300)})
    costs = [[float(cost) for cost in row] for row in ground_equal(3)]
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
    assert float(by_matrix.measured.t["ill"]) == pytest.approx(float(exact.measured.t["ill"]), abs=1e-9)
    assert by_matrix.certificate["reached"]["t"]["ill"]["exact"] is None
