"""The hard instances: the optimum of the table answers the question it was made from."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import comb
from pathlib import Path
from random import Random

import polars as pl
import pytest

import tclose
from tclose.datasets import hard
from tclose.datasets.hard import Instance, Triple
from tclose.schema.schema import Schema
from tests.oracles.hard_problems import has_half_clique, least_cut, most_disjoint
from tests.oracles.optimal_partition import Problem, optimum_by_subsets
from tests.seeds import for_seeds


def optimum(instance: Instance) -> int:
    """The least number of hidden cells, by the oracle."""
    found = optimum_by_subsets(Problem.of(instance.frame, instance.schema))
    assert found is not None
    assert found.denominator == 1
    return int(found)


def random_triples(n: int, seed: int) -> list[Triple]:
    random = Random(seed)
    every = [(x, y, z) for x in range(n) for y in range(n) for z in range(n)]
    return random.sample(every, random.randint(1, min(len(every), 5)))


# k-anonymity


@for_seeds(40)
def test_lemma_1_asks_k_by_t(seed: int) -> None:
    random = Random(seed)
    n = random.randint(2, 7)
    frame = pl.DataFrame({name: random.choices("ab", k=n) for name in "pqr"})
    for k in range(1, n + 1):
        asked = hard._schema(frame.columns, k)
        assert optimum(hard.k_to_t(frame, k)) == optimum(Instance(frame, asked, ""))


@for_seeds(40)
def test_theorem_3_the_optimum_tells_the_least_cut(seed: int) -> None:
    n = 4 + 2 * (seed % 2)
    edges = hard.random_graph(n, 1 + seed % comb(n, 2), seed)
    made = hard.bisection(edges, n, least_cut(edges, n))
    assert made.frame.shape == (n, len(edges))
    assert optimum(made) == made.optimum
    assert optimum(made.as_closeness()) == made.optimum


def test_theorem_3_on_eight_vertices() -> None:
    for seed in range(3):
        edges = hard.random_graph(8, 12, seed)
        assert optimum(hard.bisection(edges, 8)) == 4 * (12 + least_cut(edges, 8))


@pytest.mark.parametrize("c", [Fraction(1, 3), Fraction(1, 4), Fraction(2, 7), Fraction(1, 5)])
def test_theorem_4_keeps_the_optimum(c: Fraction) -> None:
    for seed in range(4):
        edges = hard.random_graph(4, 1 + seed, seed)
        small = hard.bisection(edges, 4, least_cut(edges, 4))
        larger = hard.padded(small, c)
        assert larger.frame.height == 2 / c
        assert larger.frame.width == len(edges) * 5
        assert larger.schema.k == c * larger.frame.height
        assert optimum(larger) == larger.optimum == small.optimum
        if larger.frame.height < 10:
            assert optimum(larger.as_closeness()) == small.optimum


@for_seeds(40)
def test_theorem_5_the_optimum_tells_whether_there_is_a_clique(seed: int) -> None:
    # One new row will do, though the paper asks for two: with 4 vertices there is no other way.
    n, c = [(4, Fraction(2, 5)), (6, Fraction(3, 8)), (6, Fraction(3, 7))][seed % 3]
    edges = hard.random_graph(n, 1 + seed % comb(n, 2), seed)
    made = hard.half_clique(edges, n, c)
    assert made.threshold is not None
    assert made.schema.k == c * made.frame.height
    assert (optimum(made) <= made.threshold) == has_half_clique(edges, n)


def test_theorem_5_as_closeness() -> None:
    for seed in range(3):
        made = hard.planted_clique(6, Fraction(3, 8), 3, seed)
        assert optimum(made.as_closeness()) == optimum(made) == made.optimum == made.threshold


def test_theorem_5_prints_a_threshold_that_no_graph_reaches() -> None:
    """Its last sentence has C(n, 2) where the claim has C(n/2, 2)."""
    made = hard.planted_clique(6, Fraction(3, 8), 5, seed=2)
    printed = made.frame.height * made.frame.width - 3 * comb(6, 2)
    assert optimum(made) > printed


def test_theorem_5_prints_a_cost_of_other_edges() -> None:
    """cost(P) = |V1| (|E11| + |E22|) + ... on the way must be |E12|: a path of three edges, cut in the middle."""
    made = hard.half_clique([(0, 1), (1, 2), (2, 3)], 4, Fraction(2, 5))
    cost = Problem.of(made.frame, made.schema).total([0, 0, 1, 1, 1])  # V1 = {0, 1}: one edge each of 11, 12, 22
    assert cost == 2 * (1 + 1) + 3 * 3
    lone = hard.half_clique([(0, 2), (1, 3)], 4, Fraction(2, 5))  # E12 has both edges
    assert Problem.of(lone.frame, lone.schema).total([0, 0, 1, 1, 1]) == 2 * (0 + 2) + 3 * 2


# t-closeness


@for_seeds(36)
def test_theorem_6_the_optimum_tells_how_many_triples_are_disjoint(seed: int) -> None:
    n = 2 + seed % 2
    triples = random_triples(n, seed)
    t = [Fraction(0), Fraction(1, 4), Fraction(33, 100)][seed % 3]
    made = hard.matching(triples, n, t, most_disjoint(triples))
    assert made.threshold == 3 * n * (len(triples) - 1)
    assert optimum(made) == made.optimum
    assert (made.optimum <= made.threshold) == (most_disjoint(triples) == n)


@pytest.mark.parametrize("distance", ["matrix", "joint"])
@pytest.mark.parametrize("t", [Fraction(1, 3), Fraction(3, 8), Fraction(2, 5)])
def test_theorem_7_allows_triples_and_single_new_rows(t: Fraction, distance: str) -> None:
    n = 2
    made = hard.matching_padded([(0, 0, 1), (1, 1, 0), (0, 1, 1)], n, t, 2, distance)  # type: ignore[arg-type]
    problem = Problem.of(made.frame, made.schema)
    assert problem.n == 6 / (1 - 2 * t)
    assert problem.n - 6 == 2 * t * problem.n  # the share of the fourth value
    x, y, z, new = (0, 1), (2, 3), (4, 5), 6
    assert problem.allowed((x[0], y[0], z[1]))
    assert problem.allowed((new,))
    pairs = [(a, b) for a in range(6) for b in range(a)]
    assert not any(problem.allowed(pair) for pair in pairs)
    assert not any(problem.allowed((row,)) for row in range(6))
    labels = [0, 1, 0, 1, 1, 0, *range(2, problem.n - 4)]
    assert problem.total(labels) == made.optimum == made.threshold == 12
    assert problem.cost((x[0], new)) == 2 * 3


@pytest.mark.parametrize("distance", ["matrix", "joint"])
def test_theorem_7_on_nine_rows(distance: str) -> None:
    made = hard.matching_padded([(0, 0, 0)], 1, Fraction(1, 3), 1, distance)  # type: ignore[arg-type]
    assert optimum(made) == made.optimum == 0


def test_theorem_7_by_a_matrix_asks_exactly_t() -> None:
    """A class of one row of each set lies at t; the least less would refuse it."""
    made = hard.matching_padded([(0, 0, 0), (1, 1, 1)], 2, Fraction(2, 5), 2)
    asked = made.schema.sensitive[0]
    assert asked.t == Fraction(2, 5)
    closer = replace(made.schema, sensitive=(replace(asked, t=asked.t - Fraction(1, 10**9)),))
    assert Problem.of(made.frame, made.schema).allowed((0, 2, 4))
    assert not Problem.of(made.frame, closer).allowed((0, 2, 4))


def test_theorem_7_by_a_joint_asks_exactly_t() -> None:
    """A class of one row of each set lies at 2t/3; the least less would refuse it."""
    made = hard.matching_padded([(0, 0, 0), (1, 1, 1)], 2, Fraction(2, 5), 2, "joint")
    asked = made.schema.joint[0]
    closer = replace(made.schema, joint=(replace(asked, t=asked.t - Fraction(1, 10**9)),))
    assert Problem.of(made.frame, made.schema).allowed((0, 2, 4))
    assert not Problem.of(made.frame, closer).allowed((0, 2, 4))


# Planted, refused, released


@for_seeds(12)
def test_what_is_planted_is_best(seed: int) -> None:
    cut = seed % 5
    made = hard.planted_bisection(6, cut, seed)
    assert optimum(made) == made.optimum == 3 * (made.frame.width + cut)
    clique = hard.planted_clique(6, Fraction(3, 7), seed, seed)
    assert optimum(clique) == clique.optimum
    triples = hard.planted_triples(3, seed, seed)
    assert len(triples) == 3 + seed
    assert most_disjoint(triples) == 3
    assert triples == hard.planted_triples(3, seed, seed)


REFUSED: list[tuple[str, Callable[[], object]]] = [
    ("even, from 4", lambda: hard.bisection([(0, 1)], 5)),
    ("must be an edge", lambda: hard.bisection([], 4)),
    ("from 0 to 3", lambda: hard.bisection([(0, 4)], 4)),
    ("join two", lambda: hard.bisection([(1, 1)], 4)),
    ("given twice", lambda: hard.bisection([(0, 1), (1, 0)], 4)),
    ("c must be above 0", lambda: hard.padded(hard.bisection([(0, 1)], 4), Fraction(2, 5))),
    ("must be whole", lambda: hard.padded(hard.bisection([(0, 1)], 4), Fraction(3, 10))),
    ("k = n/2 and no t", lambda: hard.padded(hard.bisection([(0, 1)], 4).as_closeness(), Fraction(1, 3))),
    ("below 1/2", lambda: hard.half_clique([(0, 1)], 4, Fraction(1, 3))),
    ("below 1/3", lambda: hard.matching([(0, 0, 0)], 1, Fraction(1, 3))),
    ("given twice", lambda: hard.matching([(0, 0, 0), (0, 0, 0)], 1)),
    ("from 1/3", lambda: hard.matching_padded([(0, 0, 0)], 1, Fraction(1, 4))),
    ("must be whole", lambda: hard.matching_padded([(0, 0, 0)], 1, Fraction(41, 100))),
    ("k must be from 1", lambda: hard.k_to_t(pl.DataFrame({"a": ["1"]}), 2)),
    ("Rename", lambda: hard.k_to_t(pl.DataFrame({"value": ["1"]}), 1)),
    ("another bisection", lambda: hard.planted_bisection(6, 5)),
]


@pytest.mark.parametrize(("said", "make"), REFUSED, ids=lambda part: part if isinstance(part, str) else "")
def test_what_is_refused(said: str, make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=said):
        make()


def test_an_instance_that_asks_t_stays_as_it_is() -> None:
    made = hard.matching([(0, 0, 0)], 1)
    assert made.as_closeness() is made


def test_thresholds_without_a_finite_decimal_go_through_a_file(tmp_path: Path) -> None:
    made = hard.planted_bisection(6, 1).as_closeness()
    padded = hard.padded(hard.planted_bisection(4, 1), Fraction(1, 3)).as_closeness()
    assert padded.schema.sensitive[0].t == Fraction(2, 3)
    for instance in (made, padded):
        instance.schema.save(tmp_path / "schema.toml")
        instance.frame.write_csv(tmp_path / "table.csv")
        again = Schema.load(tmp_path / "schema.toml")
        assert again.sensitive[0].t == instance.schema.sensitive[0].t
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tclose.HighLossWarning)
            release = tclose.anonymize(tmp_path / "table.csv", again, method="mondrian", allow_single_class=True)
        assert release.measured.t["value"] <= again.sensitive[0].t  # type: ignore[operator]
        assert instance.optimum is not None
        assert release.certificate["suppressed_cells"] >= instance.optimum
