"""What `tight` promises, and how near it comes to the best partition of tiny tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from tclose.algorithms import find
from tclose.algorithms.control import Control
from tclose.algorithms.mondrian.mondrian import Mondrian
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.tight.tight import SLACKS, Tight, left_to_classes
from tclose.datasets import census, hospital
from tclose.errors import InfeasibleError, SchemaError
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.partition import Partition
from tclose.table.source import read
from tclose.testing import run
from tests.algorithms.mondrian.test_mondrian import random_case
from tests.algorithms.tight.small_pieces import rows_of, stop_compiling
from tests.oracles.tight import least_cost

EFFORTS = ("fast", "balanced", "best")
MATRIX = {"values": ["cold", "flu", "rash"], "costs": [[0, 0.5, 1], [0.5, 0, 1], [1, 1, 0]]}


def method(effort: Any) -> Tight:
    return Tight(effort)


def prepare(frame: pl.DataFrame, schema: Schema) -> tuple[EncodedTable, Requirement]:
    table = encode(read(frame), schema)
    return table, Requirement.of(schema, table)


def ill_people(n: int, **asked: Any) -> tuple[EncodedTable, Requirement]:
    rng = np.random.default_rng(8)
    columns = {"age": rng.integers(0, 30, n), "job": rng.choice(list("abcd"), n)}
    ill = {"ill": rng.choice(["cold", "flu", "rash"], n)} if asked else {}
    quasi = {"age": {"kind": "numeric"}, "job": {"kind": "categorical"}}
    sensitive = {"ill": asked} if asked else {}
    return prepare(pl.DataFrame(columns | ill), Schema.from_dict({"k": 2, "quasi": quasi, "sensitive": sensitive}))


def check(table: EncodedTable, requirement: Requirement, partition: Partition) -> None:
    """Every row has a class, and every class meets what is asked, by the definition."""
    assert len(partition.labels) == len(table)
    sizes = np.bincount(partition.labels)
    assert sizes.min() >= requirement.k
    for label in range(partition.n_classes):
        assert requirement.holds([codes[partition.labels == label] for codes in table.codes])


def test_every_class_meets_what_is_asked() -> None:
    n_classes = 0
    for seed in range(36):
        table, requirement = random_case(seed)
        tight = method(EFFORTS[seed % 3])
        try:
            partition = run(tight, table, requirement, seed=seed)
        except InfeasibleError:
            assert len(table) < requirement.k or not requirement.holds(table.codes)
            continue
        check(table, requirement, partition)
        assert partition.facts == {}
        assert (run(tight, table, requirement, seed=seed).labels == partition.labels).all()
        n_classes += partition.n_classes
    assert n_classes > 120


@pytest.mark.parametrize("rare", [0.25, 0.0003])
def test_many_equal_rows_and_nothing_sensitive(rare: float) -> None:
    """Classes of a thousand rows and more that no cut divides; this once ended the process."""
    rng = np.random.default_rng(1)
    shares = [rare, 0.5 - rare, 0.25, 0.25]
    combination = rng.permutation(np.repeat(np.arange(4), (np.array(shares) * 8000).round().astype(int)))
    frame = pl.DataFrame({"a": combination // 2, "b": combination % 2}).cast(pl.String)
    quasi = {name: {"kind": "categorical"} for name in frame.columns}
    table, requirement = prepare(frame, Schema.from_dict({"k": 5, "quasi": quasi}))
    partition = run(method("balanced"), table, requirement)
    check(table, requirement, partition)
    n_rare = int((combination == 0).sum())
    assert table.loss(partition.labels) * len(table) <= (0 if n_rare >= 5 else 5 * 0.5)  # rare rows and a few others


def test_several_pieces_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose.algorithms.tight.tight.SMALLEST", 150)
    monkeypatch.setattr("tclose.algorithms.tight.tight.LARGEST", 200)
    monkeypatch.setattr("tclose.algorithms.tight.pieces.BUDGET", 3000)
    table, requirement = prepare(*census(1200, seed=4))
    found: list[NDArray[np.int64]] = []
    for processors in (1, 3, None):
        monkeypatch.setattr("os.cpu_count", lambda processors=processors: processors)
        partition = run(Tight(), table, requirement)
        check(table, requirement, partition)
        found.append(partition.labels)
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()


def test_a_start_is_not_made_worse() -> None:
    for seed in range(12):
        table, requirement = random_case(seed)
        try:
            starts = [run(Mondrian(), table, requirement), Partition(np.zeros(len(table), np.int64))]
        except InfeasibleError:
            continue
        for start in [*starts, run(Tight(), table, requirement)]:
            found = run(method(EFFORTS[seed % 2]), table, requirement, start)
            check(table, requirement, found)
            assert table.loss(found.labels) <= table.loss(start.labels) + 1e-12


def test_a_start_that_does_not_hold_is_none() -> None:
    table, requirement = prepare(*census(400, seed=2))
    along = np.argsort(np.argsort(table.places[0], kind="stable")) // requirement.k
    for labels in (np.arange(400), along):
        found = run(method("fast"), table, requirement, Partition(Partition.of(labels).labels))
        check(table, requirement, found)
        assert (found.labels == run(method("fast"), table, requirement).labels).all()


@pytest.mark.slow
def test_more_effort_loses_less() -> None:
    table, requirement = prepare(*census(2000, seed=1))
    partitions = [run(method(effort), table, requirement) for effort in EFFORTS]
    check(table, requirement, partitions[-1])
    fast, balanced, best = (table.loss(partition.labels) for partition in partitions)
    assert balanced < 0.95 * fast
    assert best < balanced
    assert fast < 0.9 * table.loss(run(Mondrian(), table, requirement).labels)


def ends_after(reports: int) -> Control:
    """A control that is ended at the i-th report, or before the first."""
    heard: list[float] = []

    def listen(loss: float | None, done: float | None) -> None:
        assert loss is not None
        assert done is None or 0 <= done <= 1
        heard.append(loss)
        if len(heard) == reports:
            control.end()

    control = Control(listener=listen)
    if reports == 0:
        control.end()
    return control


@pytest.mark.parametrize("effort", EFFORTS)
def test_stops_after_any_report(effort: str) -> None:
    table, requirement = prepare(*census(300, seed=2))
    losses: list[float] = []
    for reports in range(6):
        control = ends_after(reports)
        partition = method(effort).partition(table, requirement, rng=np.random.default_rng(7), control=control)
        check(table, requirement, partition)
        assert partition.facts == ({"stopped_early": True} if control.stop else {})
        assert control.stop or reports > (2 if effort == "fast" else 3)
        losses.append(table.loss(partition.labels))
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


def test_no_time_at_all() -> None:
    table, requirement = prepare(*hospital(400, seed=2))
    control = Control(seconds=0)
    partition = Tight().partition(table, requirement, rng=np.random.default_rng(7), control=control)
    check(table, requirement, partition)
    assert partition.facts == {"stopped_early": True}


def test_the_reference_may_be_a_larger_table() -> None:
    n_found = 0
    for seed in range(25):
        whole, requirement = random_case(seed)
        table = whole.take(np.flatnonzero(np.random.default_rng(seed).random(len(whole)) < 0.7))
        try:
            partition = run(method(EFFORTS[seed % 3]), table, requirement)
        except InfeasibleError:
            assert len(table) < requirement.k or not requirement.holds(table.codes)
            continue
        check(table, requirement, partition)
        n_found += 1
    assert n_found > 10


@pytest.mark.parametrize("asked", [{"t": 0.4}, {"rise": 0.4}, {"beta": 1.2}])
def test_slack_is_a_part_of_what_the_table_leaves(asked: dict[str, Any]) -> None:
    """A table at 0.75 of what is allowed can still be cut, with whatever slack a sample of it is best split with."""
    whole, requirement = ill_people(900, distance="equal", **asked)
    assert left_to_classes(whole, requirement) == 1
    reference = np.array([300, 300, 300])
    requirement = replace(requirement, attributes=(replace(requirement.attributes[0], reference=reference),))
    colds, others = (np.flatnonzero((whole.codes[0] == 0) == is_cold) for is_cold in (True, False))
    table = whole.take(np.sort(np.concatenate([colds[:190], others[:110]])))  # 0.3 more colds than in the reference
    left = left_to_classes(table, requirement)
    assert left == pytest.approx(0.25, abs=0.001)
    assert 1 - max(SLACKS) * left > 0.75
    assert run(method("fast"), table, requirement).n_classes > 10


def test_the_reference_may_lack_a_value_of_a_matrix() -> None:
    table, requirement = ill_people(60, distance="matrix", matrix=MATRIX, t=0.5)
    reference = np.array([40, 20, 0])
    requirement = replace(requirement, attributes=(replace(requirement.attributes[0], reference=reference),))
    check(table, requirement, run(Tight(), table, requirement))


@pytest.mark.parametrize(
    ("asked", "least"),
    [
        ({"distance": "matrix", "matrix": MATRIX, "t": 0.3}, 5),
        ({"distance": "matrix", "matrix": MATRIX, "t": "0.3000000000007", "l": 2}, 5),
        ({"distance": "equal", "t": "0.3000000000007"}, 5),
        ({"distance": "equal", "l": 2}, 20),
        ({"distance": "equal", "l": {"entropy": 2, "frequency": "1.5", "recursive": {"c": 3, "l": 2}}}, 5),
        ({"distance": "equal", "l": {"entropy": "2.000000000001"}}, 15),  # two rows miss it by less than floats tell
        ({}, 40),
        pytest.param(
            {"distance": "matrix", "matrix": MATRIX, "l": 2},
            20,
        ),
    ],
)
def test_whatever_is_asked(asked: dict[str, Any], least: int) -> None:
    table, requirement = ill_people(120, **asked)
    partition = run(Tight(), table, requirement)
    check(table, requirement, partition)
    assert partition.n_classes >= least


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_a_class_of_one_row_may_lose_and_is_not_swapped_out_of_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """By `step` one row alone loses; without compiling, a place beyond all arrays would be an IndexError."""
    stop_compiling(monkeypatch)
    quasi = {"age": {"kind": "numeric", "step": 5}, "day": {"kind": "numeric", "step": 2, "range": [-2, 20]}}
    columns = {"age": [7, 18, 3, 14, 25, 36, 22], "day": [2, 7, 1, 1, 6, 4, 2]}
    table, requirement = prepare(pl.DataFrame(columns), Schema.from_dict({"k": 1, "quasi": quasi}))
    for effort in EFFORTS:
        assert run(method(effort), table, requirement).n_classes == 7


def test_effort_is_an_option() -> None:
    assert find("tight", {"effort": "fast"}) == Tight("fast")
    assert find("tight") == Tight("balanced")
    with pytest.raises(SchemaError, match="effort must be one of fast, balanced, best"):
        find("tight", {"effort": "most"})


def tiny_case(seed: int) -> tuple[EncodedTable, Requirement]:
    """Up to nine rows."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 10))
    columns = {
        "age": rng.integers(0, 12, n),
        "size": rng.integers(0, 6, n),
        "sex": rng.choice(["f", "m"], n),
        "pay": rng.integers(0, 3, n),
    }
    keys: dict[str, Any] = {
        "k": int(rng.integers(1, 4)),
        "quasi": {"age": {"kind": "numeric"}, "size": {"kind": "numeric"}, "sex": {"kind": "categorical"}},
        "sensitive": {
            "pay": {"distance": str(rng.choice(["ordered", "equal"])), "t": float(rng.choice([0.2, 0.3, 0.5, 1]))}
        },
    }
    return prepare(pl.DataFrame(columns), Schema.from_dict(keys))


@pytest.mark.slow
def test_tiny_tables_against_all_partitions() -> None:
    """Never better than the best of all, and most often as good."""
    n_cases, n_best = 0, {"fast": 0, "best": 0}
    for seed in range(60):
        table, requirement = tiny_case(seed)
        if len(table) < requirement.k:
            continue
        least = least_cost(rows_of(table, requirement)) / len(table)
        whole = table.loss(np.zeros(len(table), np.int64))
        n_cases += least < whole - 1e-9
        for effort in n_best:
            partition = run(method(effort), table, requirement)
            check(table, requirement, partition)
            loss = table.loss(partition.labels)
            assert loss >= least - 1e-9
            n_best[effort] += bool(loss <= least + 1e-9 and least < whole - 1e-9)
    assert n_cases > 50
    assert n_best["fast"] > 0.65 * n_cases
    assert n_best["best"] > 0.9 * n_cases


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    table, requirement = prepare(*census(14, seed=3))
    requirement = replace(requirement, k=2)
    compiled = run(method("fast"), table, requirement), run(Tight(), table, requirement)
    assert compiled[1].n_classes > 2
    stop_compiling(monkeypatch)
    plain = run(method("fast"), table, requirement), run(Tight(), table, requirement)
    assert [each.labels.tolist() for each in plain] == [each.labels.tolist() for each in compiled]
