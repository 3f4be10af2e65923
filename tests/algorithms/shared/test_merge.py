"""Merging, replayed step by step with all pairs looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from tclose.algorithms.control import Control
from tclose.algorithms.packing import costs_of, rules_of, scratch_of
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared import merge_loops as kernels
from tclose.algorithms.shared.curve import hilbert_keys, key_bits
from tclose.algorithms.shared.merge import _classes, _planted, _tally, merge
from tclose.datasets import census, hospital
from tclose.errors import InfeasibleError
from tclose.kernels.closeness import ASK
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.partition import Partition
from tclose.table.source import read
from tests.algorithms.mondrian.test_mondrian import random_case
from tests.seeds import for_seeds

Labels = NDArray[np.int64]


def random_start(seed: int) -> tuple[EncodedTable, Requirement, Labels]:
    """A table with two sensitive attributes and classes of a few neighbouring rows."""
    table, requirement = random_case(seed)
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 6))
    order = np.lexsort(np.stack([*table.places]))
    labels = np.empty(len(table), np.int64)
    labels[order] = np.arange(len(table)) // size
    return table, requirement, Partition.of(rng.permutation(labels.max() + 1)[labels]).labels


def some_census(n: int) -> tuple[EncodedTable, Requirement]:
    frame, schema = census(n, seed=2)
    table = encode(read(frame), schema)
    return table, Requirement.of(schema, table)


def is_whole_diverse(table: EncodedTable, requirement: Requirement) -> bool:
    return requirement.holds(list(table.codes))


def chains(table: EncodedTable, requirement: Requirement, labels: Labels) -> NDArray[np.int64]:
    """The table of classes after a run: which followed which."""
    order = np.argsort(labels, kind="stable")
    codes = np.stack([column[order] for column in table.codes], axis=1)
    classes = _classes(table, labels)
    state = np.array([0, 0, ASK])
    room = (
        kernels.MergeTask(k=requirement.k, rules=rules_of(requirement), scratch=scratch_of(requirement)),
        costs_of(table),
        np.array([axis.weight for axis in table.axes]),
    )
    tally = _tally(requirement)
    while (status := kernels.advance(classes, codes, tally, state, *room, 10**9)) != kernels.DONE:
        if status == kernels.PAUSED:
            classes = _planted(table, classes)
            continue
        counted = zip(requirement.attributes, tally.counts, strict=True)
        state[kernels.VERDICT] = all(each.holds(counts[: each.domain.size]) for each, counts in counted)
    return classes.table


@for_seeds(150)
def test_every_step_adds_least(seed: int) -> None:
    table, requirement, labels = random_start(seed)
    if len(table) < requirement.k or not is_whole_diverse(table, requirement):
        return
    follows = chains(table, requirement, labels)[:, kernels.NEXT]
    members = {number: [number] for number in range(labels.max() + 1)}

    def rows(numbers: Sequence[int]) -> NDArray[np.int64]:
        return np.flatnonzero(np.isin(labels, numbers))

    @cache
    def cost(*numbers: int) -> float:
        taken = rows(numbers)
        return len(taken) * table.take(taken).loss(np.zeros(len(taken), np.int64))

    def holds(numbers: list[int]) -> bool:
        taken = rows(numbers)
        return len(taken) >= requirement.k and requirement.holds([codes[taken] for codes in table.codes])

    for number in range(labels.max() + 1):
        while number in members and not holds(members[number]):
            taken = int(follows[members[number][-1]])
            others = {other: cost(*members[number], *them) - cost(*them) for other, them in members.items()}
            del others[number]
            assert others[taken] <= min(others.values()) + 1e-9
            members[number] += members.pop(taken)
    merged, _ = merge(table, requirement, labels, Control())
    assert {frozenset(rows(numbers)) for numbers in members.values()} == {
        frozenset(np.flatnonzero(merged == label)) for label in range(merged.max() + 1)
    }


@for_seeds(60)
def test_stopped_early_all_classes_hold_nevertheless(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose.algorithms.shared.merge.BUDGET", 1)
    table, requirement, labels = random_start(seed)
    if not is_whole_diverse(table, requirement):
        return
    looks: list[Any] = []

    def listen(loss: float | None, done: float | None) -> None:
        looks.append(done)
        if len(looks) > seed % 4:
            control.end()

    control = Control(listener=listen)
    merged, _ = merge(table, requirement, labels, control)
    for label in range(merged.max() + 1):
        assert requirement.holds([codes[merged == label] for codes in table.codes])


def test_when_the_time_is_over_the_classes_not_yet_settled_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the third look, with the fourth class under way, and all t large enough for every class."""
    monkeypatch.setattr("tclose.algorithms.shared.merge.BUDGET", 1)
    table, requirement = some_census(60)
    loose = replace(requirement, attributes=(replace(requirement.attributes[0], t=Fraction(1)),))
    looks: list[Any] = []

    def listen(loss: float | None, done: float | None) -> None:
        looks.append(done)
        if len(looks) == 3:
            control.end()

    control = Control(listener=listen)
    labels = np.arange(60) // 6
    assert merge(table, loose, labels, Control())[0].tolist() == labels.tolist()
    merged, complete = merge(table, loose, labels, control)
    assert not complete
    assert merged.tolist() == np.minimum(labels, 3).tolist()


@pytest.mark.parametrize("t", ["0", "0.05", "0.2"])
def test_out_of_time_it_ends_after_few_steps(t: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly every class has to be merged, which takes a step each."""
    from tclose.algorithms.shared import merge_loops as kernels

    monkeypatch.setattr("tclose.algorithms.shared.merge.BUDGET", 1)
    table, requirement = some_census(600)
    asked = replace(requirement, attributes=(replace(requirement.attributes[0], t=Fraction(t)),))
    n_steps, advance = 0, kernels.advance

    def counted(*given: Any) -> int:
        nonlocal n_steps
        n_steps += 1
        return advance(*given)

    monkeypatch.setattr(kernels, "advance", counted)
    control = Control()
    control.end()
    merged, complete = merge(table, asked, np.arange(600) // 3, control)
    assert not complete
    assert n_steps <= 8
    for label in range(merged.max() + 1):
        assert asked.holds([codes[merged == label] for codes in table.codes])


def test_nothing_is_left_out_where_one_class_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose.algorithms.shared.merge.BUDGET", 1)
    table, requirement = some_census(60)
    control = Control()
    control.end()
    merged, complete = merge(table, requirement, np.zeros(60, np.int64), control)
    assert complete
    assert not merged.any()


def test_the_nearest_of_many_classes_against_all_pairs() -> None:
    table, _ = some_census(3000)
    keys = hilbert_keys(table, key_bits(table, 63))
    labels = np.argsort(np.argsort(keys, kind="stable"), kind="stable") // 5
    classes, costs = _classes(table, labels), costs_of(table)
    weights = np.array([axis.weight for axis in table.axes])
    sizes, n_axes = np.full(600, 5.0), len(weights)
    there = np.ones(600, bool)
    for number in np.random.default_rng(1).permutation(600)[:300]:
        if not there[number]:
            continue
        spans = classes.spans
        lows = np.minimum(spans[:, :n_axes], spans[number, :n_axes])
        highs = np.maximum(spans[:, n_axes:], spans[number, n_axes:])
        joint = sum(axis.weight * axis.cost(lows[:, at], highs[:, at]) for at, axis in enumerate(table.axes))
        added = (sizes + sizes[number]) * joint - sizes * classes.loss
        added[~there] = np.inf
        added[number] = np.inf
        found, _ = kernels.nearest(classes, int(number), costs, weights)
        assert there[found]
        assert added[found] == pytest.approx(added.min(), abs=1e-9), number
        kernels.join(classes, int(number), found, costs, weights)
        sizes[number] += sizes[found]
        there[found] = False


@pytest.mark.parametrize("asked", [{"t": 0.1}, {"l": 2}])
def test_rows_that_cannot_hold(asked: dict[str, Any]) -> None:
    """Against another reference, in the second attribute, by t or by l."""
    frame = pl.DataFrame({"age": range(40), "pay": [0, 1] * 20, "ill": ["a"] * 20 + ["b"] * 20})
    sensitive = {"pay": {"distance": "ordered", "t": 0.9}, "ill": {"distance": "equal", **asked}}
    schema = Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": sensitive})
    table = encode(read(frame), schema)
    part = table.take(np.arange(20))
    said = "farther than t from the reference in 'ill'" if "t" in asked else "not as diverse in 'ill' as its l"
    with pytest.raises(InfeasibleError, match=said):
        merge(part, Requirement.of(schema, table), np.arange(20) // 4, Control())


def test_classes_that_hold_stay_as_they_are() -> None:
    frame, schema = hospital(600, seed=2)
    table = encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    once, _ = merge(table, requirement, np.arange(600) // 5, Control())
    assert 1 < once.max() + 1 < 120
    assert (merge(table, requirement, once, Control())[0] == once).all()


def test_a_single_class_has_nothing_to_merge_with() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "ill": ["a", "b", "a", "b"]})
    keys = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 0}}}
    schema = Schema.from_dict(keys)
    table = encode(read(frame), schema)
    assert merge(table, Requirement.of(schema, table), np.zeros(4, np.int64), Control())[0].tolist() == [0] * 4


def test_without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    table, requirement, labels = random_start(7)
    compiled, _ = merge(table, requirement, labels, Control())
    for name, value in list(vars(kernels).items()):
        if hasattr(value, "py_func") and value.__module__ == kernels.__name__:
            monkeypatch.setattr(kernels, name, value.py_func)
    assert (merge(table, requirement, labels, Control())[0] == compiled).all()


@for_seeds(30)
def test_classes_of_too_few_rows_are_merged_too(seed: int) -> None:
    """Any partition will do: here one class a row, and nothing is asked but k rows."""
    table, requirement, _ = random_start(seed)
    k = seed % 7 + 1
    if len(table) < k:
        return
    asked = replace(
        requirement, k=k, attributes=tuple(replace(each, t=Fraction(1), l=None) for each in requirement.attributes)
    )
    merged, complete = merge(table, asked, np.arange(len(table)), Control())
    assert complete
    assert np.bincount(merged).min() >= k
    if k == 1:
        assert merged.tolist() == list(range(len(table)))


def test_what_a_node_knows_is_kept_up() -> None:
    """After any merges the tree is as if built anew, and no bound of a node is above what its classes add."""
    table, _ = some_census(800)
    keys = hilbert_keys(table, key_bits(table, 63))
    classes = _classes(table, np.argsort(np.argsort(keys, kind="stable"), kind="stable") // 4)
    costs, weights = costs_of(table), np.array([axis.weight for axis in table.axes])
    for number in range(0, 60):
        if classes.table[number, kernels.OWNER] == number:
            kernels.join(classes, number, kernels.nearest(classes, number, costs, weights)[0], costs, weights)
    ends, rises, inside = classes.ends.copy(), classes.rises.copy(), classes.inside.copy()
    kernels.build(classes)
    assert (ends[1:] == classes.ends[1:]).all()
    assert (inside[1:] == classes.inside[1:]).all()
    assert (rises[1:] == classes.rises[1:]).all()
    there = np.flatnonzero(classes.table[:, kernels.OWNER] == np.arange(len(classes.table)))
    rows, n_axes = classes.table[:, kernels.ROWS], len(weights)
    width = len(classes.ends) // 2
    joint_loss: Any = kernels.joint_loss
    least_rise: Any = kernels.least_rise
    for number in there[::29]:
        lows = np.minimum(classes.spans[:, :n_axes], classes.spans[number, :n_axes])
        highs = np.maximum(classes.spans[:, n_axes:], classes.spans[number, n_axes:])
        joint = sum(axis.weight * axis.cost(lows[:, at], highs[:, at]) for at, axis in enumerate(table.axes))
        added = (rows + rows[number]) * joint - rows * classes.loss
        for other in there[there != number]:
            node = width + int(classes.table[other, kernels.PLACE]) // kernels.LEAF
            while node:
                union = joint_loss.py_func(classes.spans, number, classes.ends, node, costs, weights)
                bound = rows[number] * union + least_rise.py_func(classes.rises, node, union)
                assert bound <= added[other] + 1e-9
                node //= 2


def test_the_tree_is_planted_anew_when_half_empty() -> None:
    table, requirement = some_census(3000)
    strict = replace(requirement, attributes=(replace(requirement.attributes[0], t=Fraction(1, 10)),))
    merged, _ = merge(table, strict, np.arange(3000) // 2, None)
    assert merged.max() + 1 < 300  # of 1,500: the tree was halved more than twice
    for label in range(merged.max() + 1):
        assert strict.holds([codes[merged == label] for codes in table.codes])
