"""Weights and limits of columns: the optimum beside an oracle that tries everything, and what methods keep of them."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import count
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms import REGISTRY, find
from tclose.algorithms.requirement import Requirement
from tclose.errors import InfeasibleError, SchemaError
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.partition import Partition
from tclose.table.source import read
from tclose.testing import run
from tests.algorithms.test_optimum import check_optimal, is_for
from tests.oracles.optimal_partition import Problem, optimum_by_subsets
from tests.seeds import for_seeds
from tests.small_tables import limited_table, paired_table, starred_table, weighted_table

TREE = {"u": ["a", "b"], "v": {"w": ["c", "d"], "e": []}}


@for_seeds(300, at_a_time=50, everyday=10, tested=100)
def test_exact_is_the_optimum_within_limits_and_by_weights(seed: int) -> None:
    frame, schema = limited_table(seed)
    check_optimal(find("exact"), frame, schema, optimum_by_subsets(Problem.of(frame, schema)))


@for_seeds(200, at_a_time=50, everyday=4, tested=50)
def test_weights_under_suppression(seed: int) -> None:
    frame, schema = weighted_table(starred_table(seed), seed)
    least = optimum_by_subsets(Problem.of(frame, schema))
    for name in ("exact", "milp"):
        if is_for(find(name), schema):
            check_optimal(find(name), frame, schema, least)


@for_seeds(100, at_a_time=50, everyday=4, tested=50)
def test_weights_in_pairs_and_triples(seed: int) -> None:
    frame, schema = weighted_table(paired_table(seed, ("suppress", "generalize")[seed % 2], bool(seed // 2 % 2)), seed)
    check_optimal(find("two-diversity"), frame, schema, optimum_by_subsets(Problem.of(frame, schema)))


@for_seeds(200, at_a_time=50, everyday=5, tested=50)
def test_the_package_prices_and_keeps_apart_as_the_oracle_does(seed: int) -> None:
    from tclose.algorithms.shared.in_blocks import columns_mixed

    frame, schema = limited_table(seed)
    problem, table = Problem.of(frame, schema), encode(read(frame), schema)
    tests = [test for test in problem.tests if "is_allowed" in test.__qualname__]
    for labels in (np.arange(len(table)), *np.random.default_rng(seed).integers(0, 3, (3, len(table)))):
        labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        classes = [tuple(np.flatnonzero(labels == one).tolist()) for one in range(int(labels.max()) + 1)]
        mixed = columns_mixed(table, labels)
        assert bool(mixed) != all(test(members) for members in classes for test in tests)
        if not mixed:
            whole = sum(map(problem.cost, classes), Fraction(0))
            assert table.loss(labels) == pytest.approx(float(problem.loss(whole)), abs=1e-12)


@pytest.mark.parametrize("name", ["tight", "mondrian"])
@for_seeds(200, at_a_time=50, everyday=5, tested=50)
def test_heuristics_keep_limits_or_say_which_column_forbids_it(seed: int, name: str) -> None:
    frame, schema = limited_table(seed)
    problem, table = Problem.of(frame, schema), encode(read(frame), schema)
    told, labels = "", []
    try:
        labels = run(find(name), table, Requirement.of(schema, table)).labels.tolist()
    except InfeasibleError as error:
        told = str(error)
    if not told:
        assert problem.total(labels) is not None
        return
    limited = [quasi.column for quasi in schema.quasi if quasi.coarsest is not None]
    widths = [quasi.column for quasi in schema.quasi if quasi.kind == "numeric" and quasi.coarsest is not None]
    could_be = optimum_by_subsets(problem) is not None  # then only intervals of some width were not found
    assert any(f"'{column}'" in told for column in (widths if could_be else limited)) or (
        not could_be and ("whole table" in told or "The table has" in told)
    )


def table_of(quasi: dict[str, Any], n: int = 12, **keys: Any) -> tuple[pl.DataFrame, dict[str, Any]]:
    frame = pl.DataFrame({
        "age": [20 + place for place in range(n)],
        "job": ["abcde"[place % 5] for place in range(n)],
        "ill": ["flu" if place % 2 else "cold" for place in range(n)],
    })  # fmt: skip
    sensitive = {"ill": {"distance": "equal", "t": 0.5}}
    return frame, {"k": 2, "quasi": quasi, "sensitive": sensitive, **keys}


@pytest.mark.filterwarnings("ignore::tclose.errors.HighLossWarning")
@pytest.mark.parametrize("method", ["tight", "mondrian", "exact"])
def test_a_width_is_kept_with_equality(method: str) -> None:
    quasi: dict[str, Any] = {"age": {"kind": "numeric", "coarsest": 2}, "job": {"kind": "categorical"}}
    frame, schema = table_of(quasi)
    release = tclose.anonymize(frame, schema, method=method, seed=1)
    widths = {text for text in release.table["age"].to_list() if text.startswith("[")}
    ends = [tuple(map(int, text.strip("[]").split(", "))) for text in widths]
    assert max(high - low for low, high in ends) <= 2
    assert tclose.verify(release.table, schema).holds
    if method != "mondrian":  # whose median cuts may leave three rows
        quasi["age"]["coarsest"] = 1  # pairs of neighbours, at exactly this width
        assert tclose.anonymize(frame, schema, method=method, seed=1).measured.classes == 6


@pytest.mark.parametrize("method", ["tight", "mondrian", "exact"])
def test_what_cannot_be_met_names_the_column(method: str) -> None:
    quasi = {"age": {"kind": "numeric", "coarsest": 0}, "job": {"kind": "categorical", "hierarchy": TREE}}
    frame, schema = table_of(quasi)
    with pytest.raises(InfeasibleError, match=r"`coarsest` of 'age' keeps some rows apart.*k = 2"):
        tclose.anonymize(frame, schema, method=method)
    quasi = {"age": {"kind": "numeric"}, "job": {"kind": "categorical", "hierarchy": TREE, "coarsest": 0}}
    frame, schema = table_of(quasi, k=3)
    with pytest.raises(InfeasibleError, match=r"`coarsest` of 'job' keeps some rows apart.*A group has 2 rows"):
        tclose.anonymize(frame, schema, method=method)


def test_an_interval_that_is_too_wide_for_k_names_its_column() -> None:
    frame = pl.DataFrame({"age": [0, 1, 2, 10, 11, 12, 13], "job": ["a"] * 7})
    schema = {"k": 4, "quasi": {"age": {"kind": "numeric", "coarsest": 9}, "job": {"kind": "categorical"}}}
    for method in ("tight", "mondrian", "exact"):  # 2 and 10 fit together, and 0 to 2 are three
        with pytest.raises(InfeasibleError, match="`coarsest` of 'age' asks"):
            tclose.anonymize(frame, schema, method=method)


def test_a_heavy_column_is_kept_narrow() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"x": rng.integers(0, 100, 400), "y": rng.integers(0, 100, 400)})
    kinds = {name: {"kind": "numeric"} for name in ("x", "y")}
    for method in ("tight", "mondrian", "sabre-knn"):
        widths = []
        for weight in ("1", "9"):
            schema = Schema.from_dict({"k": 5, "quasi": {**kinds, "x": {"kind": "numeric", "weight": weight}}})
            release = tclose.anonymize(frame, schema, method=method, seed=1)
            told = release.certificate["loss"]
            widths.append(told["columns"]["x"])
            expected = (int(weight) * told["columns"]["x"] + told["columns"]["y"]) / (int(weight) + 1)
            assert told["value"] == pytest.approx(expected)
            assert release.loss == pytest.approx(told["value"], rel=0.05)
        assert widths[1] < 0.8 * widths[0], method


@pytest.mark.parametrize("key", ["weight", "coarsest"])
def test_methods_that_do_not_keep_a_key_refuse_it(key: str) -> None:
    given = {"weight": 2, "coarsest": 1}[key]
    schema = Schema.from_dict({"k": 2, "quasi": {"job": {"kind": "categorical", key: given}}})
    for name, kind in REGISTRY.items():
        if key not in kind.capabilities.keeps and "generalize" in kind.capabilities.recodings:
            with pytest.raises(SchemaError, match=f"does not keep `{key}`, which .quasi.job. asks"):
                tclose.anonymize(pl.DataFrame({"job": ["a", "a"]}), schema, method=name)
    assert key in REGISTRY["tight"].capabilities.keeps


def test_a_finest_level_hides_the_type_of_the_column() -> None:
    """Numbers that name categories are released as text, even if every class is one of them."""
    frame = pl.DataFrame({"code": [1, 1, 2, 2], "ill": ["a", "b", "a", "b"]})
    tree = {"low": ["1"], "high": ["2"]}
    schema = {"k": 2, "quasi": {"code": {"kind": "categorical", "hierarchy": tree, "finest": 1}}}
    schema |= {"sensitive": {"ill": {"distance": "equal", "t": 0}}}
    assert sorted(set(tclose.anonymize(frame, schema).table["code"].to_list())) == ["high", "low"]


@cache
def solvable(place: int) -> tuple[int, EncodedTable, Requirement, Partition]:
    """A table with limits that can be kept, by its place among them: its seed, what is asked, and the optimum."""
    for seed in count(0 if place == 0 else solvable(place - 1)[0] + 1):
        frame, schema = limited_table(seed)
        table = encode(read(frame), schema)
        requirement = Requirement.of(schema, table)
        try:
            return seed, table, requirement, run(find("exact"), table, requirement)
        except InfeasibleError:
            continue
    raise AssertionError


@for_seeds(40, everyday=2)
def test_a_start_within_limits_is_not_made_worse(seed: int) -> None:
    table, requirement, best = solvable(seed)[1:]
    for name in ("tight", "mondrian"):
        assert table.loss(run(find(name), table, requirement, best).labels) == pytest.approx(table.loss(best.labels))
