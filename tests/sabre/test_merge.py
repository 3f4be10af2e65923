"""Merging, replayed step by step with all pairs looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from tclose.datasets import hospital
from tclose.encode import EncodedTable, encode
from tclose.frames import read
from tclose.kernels import merging as kernels
from tclose.kernels.closeness import ASK
from tclose.partition import Control, Partition
from tclose.requirement import Requirement
from tclose.sabre.merge import _classes, merge
from tests.algorithms.test_mondrian import random_case
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


def is_whole_diverse(table: EncodedTable, requirement: Requirement) -> bool:
    return requirement.holds(list(table.codes))


def chains(table: EncodedTable, requirement: Requirement, labels: Labels) -> NDArray[np.int64]:
    """The table of classes after a run: which followed which."""
    order = np.argsort(labels, kind="stable")
    codes = np.stack([column[order] for column in table.codes], axis=1)
    classes = _classes(table, labels)
    state = np.array([0, 0, ASK])
    room = requirement.rules(), requirement.scratch(), table.costs(), np.array([axis.weight for axis in table.axes])
    buffer = np.empty_like(codes)
    while (status := kernels.advance(classes, codes, buffer, state, *room, 10**9)) != kernels.DONE:
        assert status == kernels.ASKED
        held = requirement.holds(list(buffer[: state[kernels.SIZE]].T))
        state[kernels.VERDICT] = int(held)
    return classes.table


@for_seeds(150)
def test_every_step_adds_least(seed: int) -> None:
    table, requirement, labels = random_start(seed)
    if not is_whole_diverse(table, requirement):
        return
    follows = chains(table, requirement, labels)[:, kernels.NEXT]
    members = {number: [number] for number in range(labels.max() + 1)}

    def rows(numbers: list[int]) -> NDArray[np.int64]:
        return np.flatnonzero(np.isin(labels, numbers))

    def cost(numbers: list[int]) -> float:
        taken = rows(numbers)
        return len(taken) * table.take(taken).loss(np.zeros(len(taken), np.int64))

    def holds(numbers: list[int]) -> bool:
        return requirement.holds([codes[rows(numbers)] for codes in table.codes])

    for number in range(labels.max() + 1):
        while number in members and not holds(members[number]):
            taken = int(follows[members[number][-1]])
            others = {other: cost(members[number] + members[other]) - cost(members[other]) for other in members}
            del others[number]
            assert others[taken] <= min(others.values()) + 1e-9
            members[number] += members.pop(taken)
    merged = merge(table, requirement, labels, Control())
    assert {frozenset(rows(numbers)) for numbers in members.values()} == {
        frozenset(np.flatnonzero(merged == label)) for label in range(merged.max() + 1)
    }


@for_seeds(60)
def test_stopped_early_all_classes_hold_nevertheless(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose.sabre.merge.BUDGET", 1)
    table, requirement, labels = random_start(seed)
    if not is_whole_diverse(table, requirement):
        return
    looks: list[Any] = []

    def listen(loss: float | None, done: float | None) -> None:
        looks.append(done)
        if len(looks) > seed % 4:
            control.end()

    control = Control(listener=listen)
    merged = merge(table, requirement, labels, control)
    for label in range(merged.max() + 1):
        assert requirement.holds([codes[merged == label] for codes in table.codes])


def test_classes_that_hold_stay_as_they_are() -> None:
    frame, schema = hospital(600, seed=2)
    table = encode(read(frame), schema)
    requirement = Requirement.of(schema, table)
    once = merge(table, requirement, np.arange(600) // 5, Control())
    assert 1 < once.max() + 1 < 120
    assert (merge(table, requirement, once, Control()) == once).all()


def test_a_single_class_has_nothing_to_merge_with() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "ill": ["a", "b", "a", "b"]})
    from tclose.schema import Schema

    keys = {"k": 2, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"ill": {"distance": "equal", "t": 0}}}
    schema = Schema.from_dict(keys)
    table = encode(read(frame), schema)
    assert merge(table, Requirement.of(schema, table), np.zeros(4, np.int64), Control()).tolist() == [0] * 4


def test_without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    table, requirement, labels = random_start(7)
    compiled = merge(table, requirement, labels, Control())
    for name, value in list(vars(kernels).items()):
        if hasattr(value, "py_func") and value.__module__ == kernels.__name__:
            monkeypatch.setattr(kernels, name, value.py_func)
    assert (merge(table, requirement, labels, Control()) == compiled).all()
