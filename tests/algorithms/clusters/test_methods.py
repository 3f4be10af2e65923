"""clusters, pca and microaggregation as a whole."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.algorithms.clusters import grouping as grouping
from tclose.algorithms.clusters.clusters import Clusters
from tclose.algorithms.clusters.microaggregation import Microaggregation
from tclose.algorithms.clusters.pca import PCA
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.nearest import take_nearest
from tclose.datasets import census, hospital
from tclose.errors import InfeasibleError, SchemaError
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.partition import Partition
from tclose.table.source import read
from tclose.testing import AWKWARD, Case, check_method, run, why_not
from tests.algorithms.mondrian.test_mondrian import random_case
from tests.seeds import for_seeds, one_in

VARIANTS = (Microaggregation(), Microaggregation("k-first"), Microaggregation("merge"))
METHODS = pytest.mark.parametrize("method", [Clusters(), PCA(), *VARIANTS], ids=lambda each: f"{each}"[:28])


def encoded(frame: pl.DataFrame, schema: Schema) -> tuple[EncodedTable, Requirement]:
    table = encode(read(frame), schema)
    return table, Requirement.of(schema, table)


def loose(requirement: Requirement, k: int) -> Requirement:
    """Only k is asked."""
    attributes = (replace(each, t=Fraction(1), l=None) for each in requirement.attributes)
    return replace(requirement, k=k, attributes=tuple(attributes))


def check(table: EncodedTable, requirement: Requirement, partition: Partition) -> None:
    """Every class holds, straight from the definition."""
    assert np.bincount(partition.labels).min() >= requirement.k
    assert len(partition.labels) == len(table)
    for label in range(partition.n_classes):
        assert requirement.holds([codes[partition.labels == label] for codes in table.codes])


@METHODS
@for_seeds(60, everyday=1)
def test_random_tables(method: Any, seed: int) -> None:
    table, requirement = random_case(seed)
    try:
        requirement.check_whole(table)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            run(method, table, requirement)
        return
    check(table, requirement, run(method, table, requirement))


@pytest.mark.parametrize("method", VARIANTS[1:], ids=lambda each: each.variant)
@pytest.mark.parametrize("case", one_in(4, AWKWARD), ids=lambda case: str(case.name))
def test_the_other_variants_keep_the_contract(method: Any, case: Case) -> None:
    if reason := why_not(method, case):
        pytest.skip(reason)
    check_method(method, case)


@METHODS
@pytest.mark.parametrize("k", [1, 4, 7, 149, 150, 299, 300])
def test_where_only_k_is_asked_classes_are_as_small_as_can_be(method: Any, k: int) -> None:
    table, requirement = encoded(*hospital(300, seed=2))
    sizes = np.bincount(run(method, table, loose(requirement, k)).labels)
    assert sizes.min() >= k
    assert sizes.max() < 2 * k + (k == 1)
    if not isinstance(method, Microaggregation):
        assert np.ptp(sizes) <= 1


@pytest.mark.parametrize("method", [Clusters(), PCA()])
def test_a_class_has_one_row_of_each_group(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table, requirement = encoded(*hospital(300, seed=2))
    seen: list[Any] = []
    take = take_nearest

    def watched(table: Any, owners: Any, *rest: Any) -> Any:
        labels, seeds = take(table, owners, *rest)
        seen.append((owners, labels))
        return labels, seeds

    monkeypatch.setattr(grouping.partition, "__defaults__", (watched,))
    run(method, table, replace(requirement, k=7))
    owners, labels = seen[0]
    taken = np.zeros((labels.max() + 1, owners.max() + 1), int)
    np.add.at(taken, (labels, owners), 1)
    assert set(np.unique(taken)) <= {1, 2}
    assert taken.shape == (42, 7)


def test_t_first_merges_nothing_where_values_differ() -> None:
    """300 values at equal distances, t = 0.1: five groups of 60 rows, and every class is close as it is formed."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"age": rng.integers(18, 90, 300), "pay": rng.permutation(300)})
    keys = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"pay": {"distance": "ordered", "t": 0.1}}}
    table, requirement = encoded(frame, Schema.from_dict(keys))
    found = run(Microaggregation(), table, requirement)
    assert np.bincount(found.labels).tolist() == [5] * 60
    check(table, requirement, found)


def test_of_several_ways_the_least_loss_is_kept() -> None:
    """By one attribute, by two, and so on; fewer sensitive attributes never have more ways."""
    from tclose.algorithms.clusters.microaggregation import _by_rank

    table, requirement = encoded(*hospital(2000, seed=2))
    generous = replace(requirement, attributes=tuple(replace(a, t=Fraction(2, 5)) for a in requirement.attributes))
    ways = _by_rank(table, generous, Control())
    assert len(ways) > 2
    losses = []
    for way in ways:
        control, rng = Control(), np.random.default_rng(7)
        found = grouping.partition([way], table, generous, rng, control, take_out=_farthest())
        losses.append(table.loss(found.labels))
    best = run(Microaggregation(), table, generous)
    assert table.loss(best.labels) == pytest.approx(min(losses))
    assert max(losses) > min(losses)


def _farthest() -> Any:
    from tclose.algorithms.shared.farthest import take_farthest

    return take_farthest


def test_k_above_the_clusters_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose.algorithms.clusters.clusters.MOST_CLUSTERS", 4)
    table, requirement = encoded(*hospital(300, seed=2))
    sizes = np.bincount(run(Clusters(), table, loose(requirement, 21)).labels)
    assert sizes.min() == 21
    assert sizes.max() == 22


@METHODS
def test_without_any_sensitive_attribute_k_rows_a_class(method: Any) -> None:
    table, requirement = encoded(*census(300, seed=2))
    bare = replace(table, domains=(), codes=())
    sizes = np.bincount(run(method, bare, replace(requirement, attributes=(), k=5)).labels)
    assert sizes.min() >= 5
    assert sizes.max() < 10


@METHODS
def test_another_reference(method: Any) -> None:
    frame, schema = census(2000, seed=2)
    table, requirement = encoded(frame, schema)
    some = table.take(np.arange(0, 1500))
    found = run(method, some, requirement)
    check(some, requirement, found)
    assert found.n_classes > 1
    far = table.take(np.flatnonzero(table.codes[0] == table.codes[0].max())[:10])
    with pytest.raises(InfeasibleError, match="reference"):
        run(method, far, requirement)


@METHODS
def test_stopped_at_once_it_is_still_valid(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("shared.nearest", "shared.farthest", "clusters.swapping"):
        monkeypatch.setattr(f"tclose.algorithms.{module}.ROWS", 50)
    table, requirement = encoded(*hospital(300, seed=2))
    control = Control()
    control.end()
    found = method.partition(table, requirement, rng=np.random.default_rng(1), control=control)
    assert found.facts == {"stopped_early": True}
    check(table, requirement, found)


@METHODS
def test_progress_never_goes_back(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose.algorithms.shared.merge.BUDGET", 2000)
    for module in ("shared.nearest", "shared.farthest", "clusters.swapping"):
        monkeypatch.setattr(f"tclose.algorithms.{module}.ROWS", 50)
    table, requirement = encoded(*hospital(300, seed=2))
    shares: list[Any] = []
    control = Control(listener=lambda loss, done: shares.append(done))
    method.partition(table, requirement, rng=np.random.default_rng(1), control=control)
    assert len(set(shares)) > 5
    assert all(0 < one <= after <= 1 for one, after in pairwise(shares))
    assert shares[-1] == 1


@METHODS
def test_a_better_start_comes_back_and_a_wrong_one_does_not(method: Any) -> None:
    table, requirement = encoded(*census(400, seed=2))
    plain = run(method, table, requirement)
    good = replace(plain, facts={"bound": 3}, notes={"seen": 4})
    back = run(method, table, requirement, start=good)
    assert (back.labels == good.labels).all()
    assert (back.facts, back.notes) == (good.facts, good.notes)
    assert run(method, table, requirement, start=Partition(np.zeros(400, np.int64))).n_classes > 1
    wrong = run(method, table, requirement, start=Partition(np.arange(400)))
    assert (wrong.labels == plain.labels).all()


@pytest.mark.parametrize("method", [Clusters(), PCA()])
def test_other_seeds_give_other_classes(method: Any) -> None:
    table, requirement = encoded(*census(400, seed=2))
    one, again, other = (run(method, table, requirement, seed=seed).labels for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()


def test_wrong_options() -> None:
    with pytest.raises(SchemaError, match="variant"):
        Microaggregation("mdav")  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="within"):
        Microaggregation(within=-1)


@pytest.mark.campaign
@pytest.mark.slow
@METHODS
def test_a_hundred_thousand_rows(method: Any) -> None:
    import time

    table, requirement = encoded(*census(100_000, seed=1))
    started = time.process_time()
    found = run(method, table, requirement)
    assert time.process_time() - started < 60
    assert np.bincount(found.labels).min() >= requirement.k
