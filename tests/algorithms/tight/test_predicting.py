"""Partitions from which a target can be predicted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.tight.predicting import labelled, rows_told, telling, weighted
from tclose.algorithms.tight.tight import Tight
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.objective import LOSS, label_rows
from tclose.table.source import read
from tclose.testing import run
from tests.oracles import predicting as oracle
from tests.seeds import for_seeds


def small(seed: int, n: int = 40, recode: str = "generalize", **keys: Any) -> tuple[pl.DataFrame, Schema]:
    """`buys` follows from `job`; `town` and `age` say nothing of it."""
    rng = np.random.default_rng(seed)
    job = rng.integers(0, 4, n)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 32, n),
            "town": rng.choice(list("abcde"), n),
            "job": [f"j{each}" for each in job],
            "buys": np.where(rng.random(n) < 0.9, job // 2, 1 - job // 2),
            "ill": rng.choice(["flu", "cold"], n),
        }
    )
    tree = {"north": ["a", "b"], "south": ["c", "d", "e"]}
    quasi = {
        "age": {"kind": "numeric"},
        "town": {"kind": "categorical", "hierarchy": tree},
        "job": {"kind": "categorical"},
    }
    asked = {"k": 2, "quasi": quasi, "sensitive": {"ill": {"distance": "equal", "t": 0.5}}, "recode": recode}
    kept = {"keep": ["buys"], "keep_unchecked": True, "objective": "classify", "target": "buys"}
    return frame, Schema.from_dict(asked | kept | keys)


def target_of(table: EncodedTable) -> Any:
    assert table.objective.target is not None
    return table.objective.target


@for_seeds(10)
def test_what_a_column_tells_is_its_information(seed: int) -> None:
    table = encode(read(small(seed)[0]), small(seed)[1])
    target = target_of(table)
    found = telling(table, target)
    for place in range(1, 3):  # those that are not binned
        assert found[place] == pytest.approx(
            oracle.information(table.places[place].tolist(), target.tolist()), abs=1e-9
        )
    assert found.argmax() == 2


@for_seeds(15)
def test_rows_are_told_as_the_oracle_says(seed: int) -> None:
    frame, schema = small(seed, 24, ("generalize", "suppress")[seed % 2])
    table = encode(read(frame), schema)
    labels = np.random.default_rng(seed).permutation(np.arange(24) // 3)
    shown = []
    for own in labels:
        members = np.flatnonzero(labels == own)
        spans = []
        for axis, places in zip(table.axes, table.places, strict=True):
            low, high = int(places[members].min()), int(places[members].max())
            if axis.column != "age" or seed % 2:
                text = axis.labels(np.array([low], np.int32), np.array([high], np.int32))[0]
                covered = [place for place in range(axis.size) if _is_below(axis, place, text)]
                low, high = min(covered), max(covered)
            spans.append((low, high))
        shown.append(spans)
    rows = np.stack(table.places, axis=1).tolist()
    sizes = [axis.size for axis in table.axes]
    expected = oracle.share_told(rows, target_of(table).tolist(), shown, sizes)
    assert rows_told(table, target_of(table), labels) == pytest.approx(expected, abs=1e-9)


def _is_below(axis: Any, place: int, text: str | None) -> bool:
    names, node = [], int(axis.leaves[place])
    while node >= 0:
        names.append(axis.hierarchy.labels[node])
        node = int(axis.hierarchy.parents[node])
    return text in names


def test_columns_that_tell_more_weigh_more_and_the_sum_stays() -> None:
    table = encode(read(small(1)[0]), small(1)[1])
    told = telling(table, target_of(table))
    weights = [axis.weight for axis in weighted(table, told, 1.0).axes]
    assert sum(weights) == pytest.approx(sum(axis.weight for axis in table.axes))
    assert weights[2] == max(weights)
    assert min(weights) > 0
    assert weighted(table, told, 0.0) is table
    assert weighted(table, np.zeros(3), 2.0) is table


def test_a_target_as_an_axis_costs_where_labels_are_mixed() -> None:
    table = encode(read(small(1)[0]), small(1)[1])
    with_axis, pure = labelled(table, target_of(table), 0.3), target_of(table).astype(np.int64)
    assert with_axis.loss(pure) == pytest.approx(table.loss(pure))
    whole = np.zeros(len(table), np.int64)
    assert with_axis.loss(whole) == pytest.approx(table.loss(whole) + 0.3)


@for_seeds(6, everyday=2)
def test_no_fewer_rows_are_told_than_by_loss(seed: int) -> None:
    frame, schema = small(seed, 120)
    table = encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    target = target_of(table)
    by_loss = run(Tight("fast"), replace(table, objective=LOSS), requirement, seed=seed)
    found = run(Tight("fast"), table, requirement, seed=seed)
    assert rows_told(table, target, found.labels) >= rows_told(table, target, by_loss.labels)
    assert requirement.holds_in_all(table, found.labels)


def test_labels_do_not_depend_on_the_form_of_the_table() -> None:
    given = np.array([3, 3, 1, 2, 1])
    for other in (given, 9 - given, given * 100):
        assert label_rows("buys", other).target is not None
        assert np.asarray(label_rows("buys", other).target).tolist() == [0, 0, 1, 2, 1]


def test_a_sensitive_target_counts_by_its_bins() -> None:
    n = 300
    frame = pl.DataFrame({"age": np.arange(n) % 40, "cost": np.arange(n)})
    keys: dict[str, Any] = {"k": 5, "quasi": {"age": {"kind": "numeric"}}, "objective": "classify", "target": "cost"}
    binned = {"cost": {"distance": "ordered", "bins": 4, "t": 0.3}}
    release = tclose.anonymize(frame, {**keys, "sensitive": binned}, seed=1)
    assert release.record.objective == "classify"
    with pytest.raises(tclose.TableError, match="300 distinct values"):
        tclose.anonymize(frame, {**keys, "sensitive": {"cost": {"distance": "ordered", "t": 0.3}}})
