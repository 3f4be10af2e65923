"""Microaggregation replayed: seeds far out, the nearest around them, and swaps that help."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tclose.algorithms.clusters import swapping_loops as swapping
from tclose.algorithms.clusters.swapping import TakeSwapping
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Attribute, Requirement
from tclose.algorithms.shared import farthest_loops as kernels
from tclose.algorithms.shared import nearest_loops as take_nearest
from tclose.algorithms.shared.class_sizes import ClassSizes
from tclose.algorithms.shared.farthest import take_farthest
from tclose.kernels import soft
from tclose.table.encode import EncodedTable
from tests.algorithms.shared.test_take_out import check_sizes, classes_of, random_run, sixteenths
from tests.oracles import clusters as oracle
from tests.oracles import sabre
from tests.seeds import for_seeds


@for_seeds(60)
def test_seeds_are_farthest_and_rows_nearest(seed: int) -> None:
    table, _, owners, sizes = random_run(seed, 150)
    if not sizes.kinds.all():  # a class that takes nothing of its seed's bucket is none of `take_out_is_nearest`'s
        return
    labels, seeds = take_farthest(table, owners, sizes, seed, Control())
    points = sixteenths(table)
    assert sabre.take_out_is_nearest(points, owners.tolist(), classes_of(labels, seeds), oracle.squared) is None
    check_sizes(labels, owners, sizes)
    living, before = set(range(len(table))), None
    for number, found in enumerate(seeds.tolist()):
        assert oracle.is_far_seed(points, living, number, before, found)
        living -= set(np.flatnonzero(labels == number).tolist())
        before = found


@for_seeds(40)
def test_every_class_has_its_rows_whatever_bucket_the_seed_is_in(seed: int) -> None:
    table, _, owners, sizes = random_run(seed, 150)
    labels, _ = take_farthest(table, owners, sizes, seed, Control())
    check_sizes(labels, owners, sizes)


def swapping_run(seed: int) -> tuple[EncodedTable, Requirement, ClassSizes]:
    """Classes of k rows and one of the rest, and some t."""
    table, _, _, _ = random_run(seed, 60)
    k = seed % 4 + 2
    n_classes = max(len(table) // k, 1)
    sizes = ClassSizes(np.array([[k], [len(table) - k * (n_classes - 1)]]), np.zeros(n_classes, np.int32))
    sizes.sequence[-1] = 1
    reference = np.bincount(table.codes[0], minlength=table.domains[0].size)
    attribute = Attribute(table.domains[0], reference, Fraction(seed % 5 + 1, 12), None)
    return table, Requirement(k, (attribute,), len(table)), sizes


@for_seeds(60)
def test_swaps_are_those_of_the_printed_function(seed: int) -> None:
    """Distances of rows are made different, so that the order in which they are tried is known."""
    table, requirement, sizes = swapping_run(seed)
    within = 7 if seed % 2 else 1000
    labels, seeds = TakeSwapping(requirement, within)(table, np.zeros(len(table), np.int32), sizes, 0, Control())
    points, attribute = sixteenths(table), requirement.attributes[0]

    def far(rows: Any) -> float:
        counts = np.bincount(table.codes[0][list(rows)], minlength=attribute.domain.size)
        return float(attribute.distance(counts) / attribute.t)  # type: ignore[operator]

    living = set(range(len(table)))
    for number, row in enumerate(seeds.tolist()[:-1]):
        members = set(np.flatnonzero(labels == number).tolist())
        gaps = {each: oracle.squared(points[row], points[each]) for each in living}
        order = sorted(living, key=gaps.__getitem__)
        if len(set(gaps.values())) == len(gaps):
            nearest, further = order[: requirement.k], order[requirement.k :][:within]
            assert members == set(oracle.swapped(nearest, further, far))
        assert far(members) <= far(order[: requirement.k]) + 1e-9 or len(set(gaps.values())) < len(gaps)
        living -= members
    assert (np.bincount(labels) == sizes.kinds[sizes.sequence].sum(axis=1)).all()


def test_swapping_brings_classes_nearer() -> None:
    """What is not close with the nearest rows is, with a few others, more often than not."""
    table, requirement, sizes = swapping_run(4)
    owners = np.zeros(len(table), np.int32)
    close = []
    for within in (0, 1000):
        labels, _ = TakeSwapping(requirement, within)(table, owners, sizes, 0, Control())
        close.append(sum(requirement.holds([table.codes[0][labels == label]]) for label in range(len(sizes))))
    plain, _ = take_farthest(table, owners, sizes, 0, Control())
    assert close[0] == sum(requirement.holds([table.codes[0][plain == label]]) for label in range(len(sizes)))
    assert close[1] > close[0]


def test_when_the_time_is_over_the_rest_is_one_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose.algorithms.shared.farthest.ROWS", 10)
    monkeypatch.setattr("tclose.algorithms.clusters.swapping.ROWS", 10)
    table, requirement, sizes = swapping_run(4)
    for take in (take_farthest, TakeSwapping(requirement, 5)):
        control = Control(listener=lambda loss, done: control.end())  # noqa: B023
        labels, seeds = take(table, np.zeros(len(table), np.int32), sizes, 1, control)
        assert 0 < len(seeds) < len(sizes)
        assert len(np.bincount(labels)) == len(seeds) + 1


@pytest.mark.parametrize("seed", [1, 4])
def test_without_compiling(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table, requirement, sizes = swapping_run(seed)
    owners = np.zeros(len(table), np.int32)
    takes = (take_farthest, TakeSwapping(requirement, 9))
    compiled = [take(table, owners, sizes, 0, Control())[0] for take in takes]
    for module in (take_nearest, soft, kernels, swapping):
        for name, value in list(vars(module).items()):
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, value.py_func)
    plain = [take(table, owners, sizes, 0, Control())[0] for take in takes]
    assert all((one == other).all() for one, other in zip(compiled, plain, strict=True))
