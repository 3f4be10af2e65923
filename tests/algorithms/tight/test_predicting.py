"""Partitions from which a target can be predicted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import tclose
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.tight.predicting import labelled, rows_mixed
from tclose.algorithms.tight.tight import Tight
from tclose.evaluation.utility.classification import classification_metric
from tclose.evaluation.utility.utility import beside
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.objective import LOSS, label_rows
from tclose.table.source import read
from tclose.testing import run
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


@for_seeds(20)
def test_rows_are_mixed_as_a_loop_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    target, labels = rng.integers(0, 4, 50).astype(np.int32), np.unique(rng.integers(0, 9, 50), return_inverse=True)[1]
    expected = 0
    for own in set(labels.tolist()):
        members = [int(target[row]) for row in range(50) if labels[row] == own]
        expected += len(members) - max(members.count(label) for label in members)
    assert rows_mixed(target, labels) == expected


def test_a_target_as_an_axis_costs_where_labels_are_mixed() -> None:
    table = encode(read(small(1)[0]), small(1)[1])
    with_axis, pure = labelled(table, target_of(table), 0.3), target_of(table).astype(np.int64)
    assert with_axis.loss(pure) == pytest.approx(table.loss(pure))
    whole = np.zeros(len(table), np.int64)
    assert with_axis.loss(whole) == pytest.approx(table.loss(whole) + 0.3)


@for_seeds(6, everyday=2)
def test_no_more_labels_are_mixed_than_by_loss(seed: int) -> None:
    frame, schema = small(seed, 120)
    table = encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    target = target_of(table)
    by_loss = run(Tight("fast"), replace(table, objective=LOSS), requirement, seed=seed)
    found = run(Tight("fast"), table, requirement, seed=seed)
    assert 2 * rows_mixed(target, found.labels) <= rows_mixed(target, by_loss.labels)
    assert requirement.holds_in_all(table, found.labels)
    again = run(Tight("fast"), table, requirement, found)
    assert rows_mixed(target, again.labels) <= rows_mixed(target, found.labels)


def test_what_is_optimized_is_what_utility_measures() -> None:
    frame, schema = small(3, 60)
    release = tclose.anonymize(frame, schema, method=Tight("fast"), seed=1)
    table, labels = encode(read(frame), schema), np.unique(release.classes, return_inverse=True)[1]
    found = classification_metric(beside(frame, release), "buys")
    assert found == pytest.approx(rows_mixed(target_of(table), labels) / 60)


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
