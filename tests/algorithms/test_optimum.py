"""Methods that claim the optimum, or to be near it, beside the optimum found by trying everything.

The oracle reads the raw table and the schema, and shares nothing with the methods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import count

import numpy as np
import polars as pl
import pytest

from tclose.algorithms import REGISTRY, Algorithm, find
from tclose.algorithms.capable import check_capable
from tclose.algorithms.requirement import Requirement
from tclose.datasets import hard
from tclose.datasets.hard import Instance
from tclose.errors import InfeasibleError, SchemaError, SizeError
from tclose.schema.schema import Schema
from tclose.table.encode import encode
from tclose.table.source import read
from tclose.testing import run
from tests.oracles.hard_problems import least_cut, most_disjoint
from tests.oracles.optimal_partition import Problem, optimum_by_subsets, optimum_of_all
from tests.seeds import for_seeds
from tests.small_tables import (
    DISTANCES,
    capped_table,
    matrix_table,
    paired_table,
    reached_table,
    small_table,
    starred_table,
    tiny_steps,
)

QUICK, MANY = 80, 2000
NAMES = ("exact", "milp", "two-diversity")
OPTIMAL = pytest.mark.parametrize("name", NAMES)


@cache
def least_of(seed: int) -> Fraction | None:
    """The least cost of a small table, None if nothing meets the requirement."""
    return optimum_by_subsets(Problem.of(*small_table(seed)))


def labels_by(method: Algorithm, frame: pl.DataFrame, schema: Schema) -> Sequence[int] | None:
    """The classes a method finds, None if it says that there are none."""
    table = encode(read(frame), schema)
    try:
        partition = run(method, table, Requirement.of(schema, table))
    except InfeasibleError:
        return None
    found: list[int] = partition.labels.tolist()
    return found


def is_for(method: Algorithm, schema: Schema) -> bool:
    try:
        check_capable(method, schema)
    except SchemaError:
        return False
    return True


@cache
def seed_for(name: str, place: int) -> int:
    """The seed of a small table that a method takes, the first for place 0: none is passed over without a word."""
    first = 0 if place == 0 else seed_for(name, place - 1) + 1
    return next(seed for seed in count(first) if is_for(find(name), small_table(seed)[1]))


def check_optimal(method: Algorithm, frame: pl.DataFrame, schema: Schema, least: Fraction | None) -> None:
    """The method finds classes exactly if there are any, all are allowed, and none cost less."""
    labels = labels_by(method, frame, schema)
    assert (labels is None) == (least is None)
    if labels is None or least is None:
        return
    problem = Problem.of(frame, schema)
    cost = problem.total(labels)
    assert cost is not None, "some class breaks the requirement"
    if schema.recode == "suppress":
        assert cost == least
    else:
        assert abs(problem.loss(cost - least)) <= 1e-9


# The oracle itself


@for_seeds(100)
def test_both_oracles_agree(seed: int) -> None:
    frame, schema = small_table(seed, most=7)
    problem = Problem.of(frame, schema)
    assert optimum_by_subsets(problem) == optimum_of_all(problem)


@for_seeds(200, at_a_time=50)
def test_the_oracle_and_the_package_judge_and_price_alike(seed: int) -> None:
    frame, schema = small_table(seed)
    problem, table = Problem.of(frame, schema), encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    assert problem.n == len(table)
    rng = np.random.default_rng(seed)
    for n_classes in (1, 2, 3):
        drawn = rng.integers(0, n_classes, len(table))
        labels = np.unique(drawn, return_inverse=True)[1].astype(np.int64)
        whole = sum(
            (problem.cost(tuple(np.flatnonzero(labels == one).tolist())) for one in set(labels.tolist())), Fraction(0)
        )
        assert table.loss(labels) == pytest.approx(float(problem.loss(whole)), abs=1e-12)
        if schema.recode == "suppress":
            assert table.hidden_cells(labels) == whole
        for one in range(int(labels.max()) + 1):
            rows = np.flatnonzero(labels == one)
            holds = len(rows) >= schema.k and requirement.holds([codes[rows] for codes in table.codes])
            assert holds == problem.allowed(tuple(rows.tolist()))


def test_small_tables_ask_for_everything() -> None:
    """Otherwise the comparisons below would prove less than they seem to."""
    schemas = [small_table(seed)[1] for seed in range(QUICK)]
    assert {schema.recode for schema in schemas} == {"suppress", "generalize"}
    assert {schema.missing for schema in schemas} == {None, "category", "drop"}
    assert {schema.k for schema in schemas} == {1, 2, 3}
    assert {quasi.kind for schema in schemas for quasi in schema.quasi} == {
        "numeric", "categorical", "date", "text", "digits"
    }  # fmt: skip
    assert {each.distance for schema in schemas for each in schema.sensitive} == {
        "equal", "ordered", "numeric", "hierarchical", "matrix"
    }  # fmt: skip
    assert any(schema.joint for schema in schemas)
    assert {len(schema.sensitive) for schema in schemas} == {0, 1, 2, 3}
    asked = {name for schema in schemas for each in schema.sensitive if each.l for name, _ in each.l.items()}
    assert asked == {"distinct", "entropy", "frequency", "recursive"}
    costs = [least_of(seed) for seed in range(QUICK)]
    assert sum(cost is None for cost in costs) < QUICK / 3
    assert len({cost for cost in costs if cost}) > QUICK / 5


# Methods that claim the optimum


@OPTIMAL
@for_seeds(QUICK)
def test_optimal_methods_find_the_optimum(name: str, seed: int) -> None:
    seed = seed_for(name, seed)
    check_optimal(find(name), *small_table(seed), least_of(seed))


@for_seeds(60, at_a_time=30)
def test_optimal_methods_find_the_optimum_under_caps(seed: int) -> None:
    for name, recodes in (("exact", ("suppress", "generalize")), ("milp", ("suppress",))):
        frame, schema = capped_table(seed, recodes)
        least = optimum_by_subsets(Problem.of(frame, schema))
        check_optimal(find(name), frame, schema, least)


@for_seeds(200, at_a_time=100)
def test_the_oracle_and_the_package_judge_caps_alike(seed: int) -> None:
    frame, schema = capped_table(seed)
    problem, table = Problem.of(frame, schema), encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    rng = np.random.default_rng(seed)
    for _ in range(8):
        rows = np.flatnonzero(rng.random(len(table)) < 0.6)
        if len(rows):
            holds = len(rows) >= schema.k and requirement.holds([codes[rows] for codes in table.codes])
            assert holds == problem.allowed(tuple(rows.tolist()))


@pytest.mark.slow
@for_seeds(MANY, at_a_time=50, tested=150)
def test_optimal_methods_and_trying_everything_agree_on_many(seed: int) -> None:
    """All of them on the same table, so that the slow oracle is asked once."""
    frame, schema = small_table(QUICK + seed)
    least = least_of(QUICK + seed)
    for method in map(find, NAMES):
        if is_for(method, schema):
            check_optimal(method, frame, schema, least)


def check_all_three(seed: int) -> None:
    """Both methods take the table, and find what trying everything finds."""
    frame, schema = starred_table(seed)
    least = optimum_by_subsets(Problem.of(frame, schema))
    for method in (find("exact"), find("milp")):
        assert is_for(method, schema)
        check_optimal(method, frame, schema, least)


@for_seeds(QUICK)
def test_exact_and_milp_and_trying_everything_agree(seed: int) -> None:
    check_all_three(seed)


@pytest.mark.slow
@for_seeds(MANY, at_a_time=50, tested=150)
def test_exact_and_milp_and_trying_everything_agree_on_many(seed: int) -> None:
    check_all_three(QUICK + seed)


# A matrix, where classes lie exactly at t


def check_bounds(frame: pl.DataFrame, schema: Schema) -> None:
    """Both methods find the optimum, and say so."""
    problem, table = Problem.of(frame, schema), encode(read(frame), schema)
    least = optimum_by_subsets(problem)
    assert least is not None
    for name in ("exact", "milp"):
        found = run(find(name), table, Requirement.of(schema, table))
        assert problem.total(found.labels.tolist()) == least, name
        assert found.facts["optimal"], name
        assert found.facts["loss_at_least"] == pytest.approx(float(problem.loss(least)), abs=1e-12), name


def test_a_matrix_at_equality() -> None:
    """Two classes lie at 1/14 exactly; both methods once claimed 5/7 to be the least loss."""
    costs = [[0, 0.25, 1], [0.25, 0, 0.875], [1, 0.875, 0]]
    ill = {"distance": "matrix", "matrix": {"values": ["x", "y", "z"], "costs": costs}, "t": "1/14"}
    schema = Schema.from_dict(
        {"k": 2, "recode": "suppress", "quasi": {"q": {"kind": "categorical"}}, "sensitive": {"ill": ill}}
    )
    frame = pl.DataFrame({"q": list("ddbccab"), "ill": list("xxxxyxy")})
    problem = Problem.of(frame, schema)
    assert optimum_by_subsets(problem) == optimum_of_all(problem) == 3
    check_bounds(frame, schema)


@for_seeds(150, at_a_time=50)
def test_a_matrix_at_distances_that_occur(seed: int) -> None:
    check_bounds(*matrix_table(seed))


@for_seeds(75, at_a_time=25)
def test_a_joint_with_a_matrix_at_distances_that_occur(seed: int) -> None:
    check_bounds(*matrix_table(10_000 + seed, joint=True))


@pytest.mark.slow
@for_seeds(1500, at_a_time=50, tested=150)
def test_a_matrix_at_distances_that_occur_on_many(seed: int) -> None:
    check_bounds(*matrix_table(20_000 + seed, joint=seed % 3 == 0))


# Every distance, where classes lie exactly at t; and 2-diversity where a value has exactly half of the rows


def check_claims(name: str, frame: pl.DataFrame, schema: Schema) -> bool:
    """What a method claims is true, to the last digit; whether it found a partition at all."""
    problem, method = Problem.of(frame, schema), find(name)
    least, table = optimum_by_subsets(problem), encode(read(frame), schema)
    assert is_for(method, schema)
    try:
        found = run(method, table, Requirement.of(schema, table))
    except InfeasibleError:
        assert least is None
        return False
    assert least is not None
    cost = problem.total(found.labels.tolist())
    assert cost is not None, "some class breaks the requirement"
    assert found.facts["loss_at_least"] <= float(problem.loss(least))
    assert not found.facts["optimal"] or cost == least
    assert found.facts["optimal"], "nothing stopped it"
    return True


def check_reached(seed: int, distance: str) -> None:
    """Both recodings for `exact`, and stars for `milp`."""
    demand = "joint" if distance == "joint" else "t"
    stars, spans = (reached_table(seed, distance, recode, demand) for recode in ("suppress", "generalize"))
    assert check_claims("exact", *stars)
    assert check_claims("milp", *stars)
    assert check_claims("exact", *spans)


EVERY = pytest.mark.parametrize("distance", [*DISTANCES, "joint"])


@EVERY
@for_seeds(12, everyday=3)
@pytest.mark.everyday(7)
def test_bounds_at_thresholds_that_are_reached(seed: int, distance: str) -> None:
    check_reached(seed, distance)


@pytest.mark.slow
@EVERY
@for_seeds(300, at_a_time=50, tested=50)
def test_bounds_at_thresholds_that_are_reached_on_many(seed: int, distance: str) -> None:
    check_reached(1000 + seed, distance)


PAIRED = pytest.mark.parametrize("diverse", [True, False], ids=["2-diverse", "2-anonymous"])
RECODED = pytest.mark.parametrize("recode", ["suppress", "generalize"])


@PAIRED
@RECODED
@for_seeds(60)
def test_two_diversity_and_trying_everything_agree(seed: int, recode: str, diverse: bool) -> None:
    check_claims("two-diversity", *paired_table(seed, recode, diverse))


@pytest.mark.slow
@PAIRED
@RECODED
@for_seeds(1000, at_a_time=50, tested=100)
def test_two_diversity_and_trying_everything_agree_on_many(seed: int, recode: str, diverse: bool) -> None:
    check_claims("two-diversity", *paired_table(5000 + seed, recode, diverse))


def test_paired_tables_are_often_at_equality() -> None:
    made = [paired_table(seed, "suppress", diverse=True) for seed in range(60)]
    halves = [2 * max(Counter(frame["s"].to_list()).values()) == len(frame) for frame, _ in made]
    assert sum(halves) > 10
    assert any(frame["s"].null_count() for frame, _ in made)
    assert any(sum(frame[name].null_count() for name in frame.columns if name != "s") for frame, _ in made)
    found = [check_claims("two-diversity", *paired_table(seed, "suppress", diverse=True)) for seed in range(60)]
    assert 15 < sum(found) < 60


@pytest.mark.parametrize("name", ["exact", "two-diversity"])
def test_losses_that_floats_cannot_tell_apart(name: str) -> None:
    """Pairs of 0, 2, 3 and 5 lose 1 and 5, or 2 and 2, in a million million; the first were once called optimal."""
    frame = pl.DataFrame({"a": [0, 2, 3, 5, 10**12, 10**12 + 1], "s": list("uvwxyz")})
    schema = tiny_steps(0)[1]
    schema = Schema.from_dict(schema.as_dict() | {"quasi": {"a": {"kind": "numeric"}}})
    assert check_claims(name, frame, schema)


@pytest.mark.parametrize("name", ["exact", "two-diversity"])
@for_seeds(60)
def test_tiny_steps(name: str, seed: int) -> None:
    check_claims(name, *tiny_steps(seed))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["exact", "two-diversity"])
@for_seeds(1000, at_a_time=50, tested=100)
def test_tiny_steps_on_many(name: str, seed: int) -> None:
    check_claims(name, *tiny_steps(1000 + seed))


def test_starred_tables_ask_for_everything() -> None:
    schemas = [starred_table(seed)[1] for seed in range(QUICK)]
    assert {schema.k for schema in schemas} == {1, 2, 3}
    assert {each.distance for schema in schemas for each in schema.sensitive} == {
        "equal", "ordered", "numeric", "hierarchical", "matrix"
    }  # fmt: skip
    assert any(schema.joint for schema in schemas)
    assert {len(schema.sensitive) for schema in schemas} == {0, 1, 2, 3}
    assert (
        sum(any(each.t is not None and 0 < each.t < 1 for each in schema.sensitive) for schema in schemas) > QUICK / 2
    )


@OPTIMAL
def test_optimal_methods_take_some_of_the_small_tables(name: str) -> None:
    method = find(name)
    assert sum(is_for(method, small_table(seed)[1]) for seed in range(QUICK)) >= QUICK / 20


@for_seeds(QUICK)
def test_k_approx_stays_within_its_factor(seed: int) -> None:
    seed = seed_for("k-approx", seed)
    method, (frame, schema) = find("k-approx"), small_table(seed)
    labels, least = labels_by(method, frame, schema), least_of(seed)
    assert (labels is None) == (least is None)
    if labels is not None and least is not None:
        problem = Problem.of(frame, schema)
        cost = problem.total(labels)
        assert cost is not None
        assert least <= cost <= len(problem.prices) * least


@pytest.mark.parametrize("name", REGISTRY)
@for_seeds(40)
@pytest.mark.everyday(5)
def test_no_method_loses_less_than_the_optimum(name: str, seed: int) -> None:
    seed = seed_for(name, seed)
    method, (frame, schema) = find(name), small_table(seed)
    labels, least = labels_by(method, frame, schema), least_of(seed)
    assert (labels is None) == (least is None)
    if labels is not None and least is not None:
        problem = Problem.of(frame, schema)
        cost = problem.total(labels)
        assert cost is not None, "some class breaks the requirement"
        assert cost >= least - Fraction(1, 10**9)


# Hard instances


def hard_instances() -> dict[str, Instance]:
    """Small ones, each with its optimum; k-anonymity is also asked as t-closeness."""
    graph, triples = hard.random_graph(8, 11, seed=4), hard.planted_triples(3, 3, seed=5)
    by_k = {
        "bisection of 6": hard.planted_bisection(6, 2, seed=1),
        "bisection of 8": hard.bisection(graph, 8, least_cut(graph, 8)),
        "padded to a third": hard.padded(hard.planted_bisection(4, 1, seed=2), Fraction(1, 3)),
        "padded to a fifth": hard.padded(hard.planted_bisection(4, 2, seed=3), Fraction(1, 5)),
        "half clique of 6": hard.planted_clique(6, Fraction(3, 8), 4, seed=1),
        "half clique of 8": hard.planted_clique(8, Fraction(2, 5), 5, seed=2),
    }
    few = triples[1:]
    return (
        by_k
        | {f"{name}, by t": made.as_closeness() for name, made in by_k.items()}
        | {
            "matching of 3": hard.matching(triples, 3, disjoint=3),
            "matching of 3, t 1/4": hard.matching(triples, 3, Fraction(1, 4), 3),
            "matching of 3, not perfect": hard.matching(few, 3, Fraction(33, 100), most_disjoint(few)),
            "matching of 1, padded": hard.matching_padded([(0, 0, 0)], 1, Fraction(1, 3), 1),
            "matching of 2, padded": hard.matching_padded(hard.planted_triples(2, 2, seed=1), 2, Fraction(1, 3), 2),
            "matching of 2, padded, joint": hard.matching_padded(
                hard.planted_triples(2, 2, seed=1), 2, Fraction(1, 3), 2, "joint"
            ),
        }
    )


INSTANCES = hard_instances()
HARD = pytest.mark.parametrize("made", INSTANCES.values(), ids=INSTANCES)


@HARD
def test_the_oracle_solves_the_hard_instances(made: Instance) -> None:
    if made.frame.height > 10:
        pytest.skip(f"{made.frame.height} rows are too many to try everything")
    assert optimum_by_subsets(Problem.of(made.frame, made.schema)) == made.optimum


@pytest.mark.slow
@HARD
@pytest.mark.parametrize("name", ["exact", "milp"])
def test_optimal_methods_solve_the_hard_instances(name: str, made: Instance) -> None:
    method = find(name)
    if not is_for(method, made.schema):
        pytest.skip(f"'{name}' does not take this schema")
    assert made.optimum is not None
    try:
        check_optimal(method, made.frame, made.schema, Fraction(made.optimum))
    except SizeError:
        assert made.frame.height > 12
        pytest.skip(f"'{name}' finds {made.frame.height} rows too many")
