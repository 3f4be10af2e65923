"""A matrix in a schema: read exactly, and refused unless it is a metric to the last digit."""

from __future__ import annotations

import time
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tclose.errors import SchemaError
from tclose.schema.columns import MOST_VALUES
from tclose.schema.cost_matrix import CostMatrix
from tclose.schema.schema import Schema

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
    "a truth": ([[0, True], [True, 0]], "numbers"),
    "a huge exponent": ([[0, "1e999999999"], ["1e999999999", 0]], "numbers"),
    "texts that are no number": ([["0", "nan"], ["nan", "0"]], "finite"),
    "one text": ("01", "numbers"),
    "a number": (3, "numbers"),
    "17 digits": ([[0, 0.12345678901234567, 1], [0.12345678901234567, 0, 1], [1, 1, 0]], "denominator.*Round all"),
    "many primes": (
        [[0, "1/10000019", 1], ["1/10000019", 0, "1000000006/1000000007"], [1, "1000000006/1000000007", 0]],
        "denominator",
    ),
    "a shorter detour": ([[0, 0.2, 1], [0.2, 0, 0.2], [1, 0.2, 0]], "triangle inequality.*row 2"),
}


@pytest.mark.parametrize("name", NOT_A_METRIC)
def test_what_is_not_a_normalized_metric_is_refused(name: str) -> None:
    costs, said = NOT_A_METRIC[name]
    with pytest.raises(SchemaError, match=said):
        CostMatrix.of(costs)


FILES = {
    "other names in the column": ",a,b\na,0,1\nc,1,0\n",
    "no names": "0,1,1\n1,0,1\n1,1,0\n",
    "no rows": ",a,b\n",
    "empty": "",
    "words": ",a,b\na,0,x\nb,x,0\n",
    "jagged": ",a,b\na,0\nb,1,0\n",
    "a hole": ",a,b\na,0,\nb,,0\n",
    "over zero": ",a,b\na,0,1/0\nb,1/0,0\n",
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_no_matrix(name: str, tmp_path: Path) -> None:
    (tmp_path / "costs.csv").write_text(FILES[name])
    with pytest.raises(SchemaError):
        CostMatrix.read(tmp_path / "costs.csv")


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "costs.csv").write_text('\ufeff,a,"b,c"\na,0,1\n"b,c",1,0\n', encoding="utf-8")
    matrix = CostMatrix.read(tmp_path / "costs.csv")
    assert (matrix.values, matrix.costs) == (("a", "b,c"), ((Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))))
    assert matrix.source == str(tmp_path / "costs.csv")


# Exactly


def triangle(first: Any, second: Any, whole: Any = 1) -> list[list[Any]]:
    """Two short ways, and one as long as both or not."""
    return [[0, first, whole], [first, 0, second], [whole, second, 0]]


def test_a_detour_may_be_as_long_as_the_way_itself() -> None:
    CostMatrix.of(triangle("1/3", "2/3"))
    CostMatrix.of(triangle(0.1, 0.9))
    CostMatrix.of(triangle("0.3333", "0.6667"))
    with pytest.raises(SchemaError, match=r"row 1 is farther from row 3 than by a detour over row 2.*round all .* up"):
        CostMatrix.of(triangle("0.3333", "0.6666"))  # both rounded, one of them down
    with pytest.raises(SchemaError, match="triangle"):
        CostMatrix.of(triangle(0.1, Fraction(9, 10) - Fraction(1, 10**14)))


def test_the_largest_entry_is_exactly_1() -> None:
    for largest in ("0.9999999999999", "1.0000000000001"):
        with pytest.raises(SchemaError, match=r"normalized.*divide"):
            CostMatrix.of(triangle("0.6", "0.7", largest))


def test_rounded_up_a_metric_stays_one() -> None:
    rng = np.random.default_rng(3)
    points = rng.uniform(0, 1, (40, 3))
    costs = abs(points[:, None] - points[None]).sum(axis=2)
    costs /= costs.max()
    CostMatrix.of(np.ceil(costs * 10**6 - 1e-9) / 10**6)


@pytest.mark.slow
def test_300_values_are_checked_within_seconds() -> None:
    places = np.arange(300)
    costs = [[Fraction(int(abs(a - b)), 299) for b in places] for a in places]
    began = time.process_time()
    matrix = CostMatrix.of([[str(cost) for cost in row] for row in costs], map(str, places))
    assert time.process_time() - began < 5
    assert matrix.costs[0][1] == Fraction(1, 299)
    assert matrix.whole[1] == 299


# In a schema


def schema_with(matrix: Any) -> Schema:
    return Schema.from_dict(
        {
            "k": 2,
            "quasi": {"age": {"kind": "numeric"}},
            "sensitive": {"ill": {"distance": "matrix", "matrix": matrix, "t": 0.2}},
        }
    )


def test_the_exact_values_survive_a_round_trip(tmp_path: Path) -> None:
    costs = triangle("1/3", "0.7000000001")
    schema = schema_with({"values": ["a", "b", "c"], "costs": costs})
    given = schema.as_dict()["sensitive"]["ill"]["matrix"]
    assert [str(cost) for cost in given["costs"][1]] == ["1/3", "0", "0.7000000001"]
    for again in (
        Schema.from_dict(schema.as_dict()),
        Schema.from_dict(tomllib.loads(schema.to_toml())),
    ):
        assert again == schema
    schema.save(tmp_path / "schema.toml")
    matrix = Schema.load(tmp_path / "schema.toml").sensitive[0].matrix
    assert matrix is not None
    assert matrix.costs[1] == (Fraction(1, 3), Fraction(0), Fraction(7000000001, 10**10))
    assert schema_with(matrix) == schema


def test_toml_may_write_decimals_and_fractions() -> None:
    text = """
    k = 2
    quasi.age.kind = "numeric"
    [sensitive.ill]
    distance = "matrix"
    matrix = { values = ["a", "b", "c"], costs = [[0, "1/3", 1], ["1/3", 0, 0.75], [1.0, 0.75, 0.0]] }
    """
    matrix = Schema.from_dict(tomllib.loads(text)).sensitive[0].matrix
    assert matrix is not None
    assert matrix.whole[0].tolist() == [[0, 4, 12], [4, 0, 9], [12, 9, 0]]


@pytest.mark.slow
def test_more_values_than_can_be_decided_are_refused() -> None:
    size = MOST_VALUES + 1
    costs = 1 - np.eye(size, dtype=int)
    with pytest.raises(SchemaError, match=r"\[sensitive.ill\]: the matrix has 501 values, and at most 500 are decided"):
        schema_with({"values": [str(value) for value in range(size)], "costs": costs})
    schema_with({"values": [str(value) for value in range(size - 1)], "costs": costs[1:, 1:]})
