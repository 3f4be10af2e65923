"""The greedy search, replayed cut by cut with all cuts looked at; and that it stays sparse and quick."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest

from tclose.algorithms.control import Control
from tclose.algorithms.fragments import fragments_loops as kernels
from tclose.algorithms.fragments import split
from tclose.algorithms.fragments.space import OnTree, SensitiveSpace, scale_of
from tclose.algorithms.fragments.split import Fragmentation, fragment
from tclose.distances import Line
from tests.algorithms.fragments.random_spaces import Case, random_space
from tests.oracles import fragments as oracle
from tests.seeds import for_seeds
from tests.shared_data import shared


def steps(space: SensitiveSpace, targets: list[float], weights: list[float], strict: bool) -> list[Fragmentation]:
    """The fragmentation before the first cut and after every one."""
    run = split._Splitting(space, strict, np.array(weights))
    found: list[Fragmentation] = []
    while len(found) < 2000:
        aim = kernels.FragmentAim(targets=np.array(targets), weights=run.weights, strict=strict)
        status = kernels.split(run.cells, run.ground, run.fragments, run.sides, run.state, aim, run.taken, len(found))
        if status == kernels.FULL:
            grown = [np.concatenate([part, np.zeros_like(part)]) for part in run.fragments]
            run.fragments = kernels.FragmentArrays(*grown)
            continue
        if status in (kernels.DONE, kernels.STUCK):
            return found
        if not found or run.found().n_fragments > found[-1].n_fragments:  # else it looks for the next cut still
            found.append(run.found())
    raise AssertionError("it does not end")


def boxes_of(found: Fragmentation) -> list[oracle.Box]:
    return [tuple((int(low), int(high)) for low, high in box.T) for box in found.boxes]


def as_sets(found: Fragmentation) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(found.of_cell == number).tolist()) for number in range(len(found))}


@for_seeds(60)
def test_strict_each_cut_leaves_least_psi(seed: int) -> None:
    case = random_space(seed, kinds="o", most=25)
    space, cells = case.space, case.cells
    targets = [float(limit) for limit in space.limits]
    n_attributes = len(targets)

    def bounds(boxes: Any) -> list[Fraction]:
        return [oracle.aggregate(cells, boxes, attribute) for attribute in range(n_attributes)]

    for one, next_ in pairwise(steps(space, targets, [1.0] * n_attributes, strict=True)):
        boxes = boxes_of(one)
        least = min(oracle.psi(bounds(after), space.limits) for _, after in oracle.cuts(boxes))
        found = oracle.psi(next_.bounds, space.limits)
        assert list(next_.bounds) == bounds(boxes_of(next_))
        assert abs(float(found - least)) < 1e-9


def allowed(case: Case, attribute: int, cells: list[int], cut: int) -> bool:
    """In a tree only between two children of the node that holds all: no subtree below it has both sides."""
    scale, places = case.space.scales[attribute], case.space.places[cells, attribute]
    if not isinstance(scale, OnTree):
        return True
    below = {place: {node for node in scale.paths[place].tolist() if node >= 0} for place in set(places.tolist())}
    joint = set.intersection(*below.values())
    left = set.union(*(nodes for place, nodes in below.items() if place <= cut))
    right = set.union(*(nodes for place, nodes in below.items() if place > cut))
    return left & right == joint


@for_seeds(60)
def test_over_the_domain_each_cut_leaves_least_psi(seed: int) -> None:
    case, random = random_space(seed, most=25), Random(seed)
    space = case.space
    targets, n_attributes = [float(limit) for limit in space.limits], len(space.limits)
    weights = [random.choice([1.0, 0.5, 3.0]) for _ in targets]
    distances = [case.distance(attribute) for attribute in range(n_attributes)]
    cells = [(tuple(cell), int(rows)) for cell, rows in zip(space.places.tolist(), space.counts, strict=True)]

    def bound(part: frozenset[int], attribute: int) -> Fraction:
        rows = {cells[cell][0]: cells[cell][1] for cell in part}
        box = tuple((0, 99) for _ in range(n_attributes))
        return oracle.over_domain(rows, [box], attribute, distances[attribute]) * sum(rows.values()) / space.n_rows

    def psi(parts: set[frozenset[int]]) -> float:
        bounds = [sum((bound(part, a) for part in parts), Fraction(0)) for a in range(n_attributes)]
        over = (max(b - t, Fraction(0)) for b, t in zip(bounds, space.limits, strict=True))
        return sum(weight * float(each) for weight, each in zip(weights, over, strict=True))

    for one, next_ in pairwise(steps(space, targets, weights, strict=False)):
        parts = as_sets(one)
        tried = []
        for part in parts:
            for attribute in range(n_attributes):
                for cut in sorted({cells[cell][0][attribute] for cell in part})[:-1]:
                    if allowed(case, attribute, sorted(part), cut):
                        left = frozenset(cell for cell in part if cells[cell][0][attribute] <= cut)
                        tried.append(psi(parts - {part} | {left, part - left}))
        assert abs(psi(as_sets(next_)) - min(tried)) < 1e-9
        for attribute in range(n_attributes):
            exact = sum((bound(part, attribute) for part in as_sets(next_)), Fraction(0))
            assert next_.bound(attribute) == exact


@pytest.mark.parametrize("strict", [True, False])
@for_seeds(40)
def test_bounds_are_within_their_targets(seed: int, strict: bool) -> None:
    space = random_space(seed, kinds="on" if strict else "onetm", most=60).space
    found = fragment(space, space.limits, Control(), strict=strict)
    assert found is not None
    assert all(bound <= limit for bound, limit in zip(found.bounds, space.limits, strict=True))
    assert sorted(np.unique(found.of_cell)) == list(range(len(found)))
    for number, box in enumerate(found.boxes):
        inside = space.places[found.of_cell == number]
        assert (inside >= box[0]).all()
        assert (inside <= box[1]).all()


def test_all_is_the_same_without_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [
        (random_space(seed, kinds="o" if seed % 2 else "onet", most=30).space, bool(seed % 2)) for seed in range(8)
    ]
    compiled = [fragment(space, space.limits, Control(), strict=strict) for space, strict in cases]
    for name, value in vars(kernels).items():
        if hasattr(value, "py_func"):
            monkeypatch.setattr(kernels, name, value.py_func)
    for (space, strict), known in zip(cases, compiled, strict=True):
        found = fragment(space, space.limits, Control(), strict=strict)
        assert found is not None
        assert known is not None
        assert (found.of_cell == known.of_cell).all()
        assert (found.boxes == known.boxes).all()


def test_five_attributes_of_100_values_stay_sparse() -> None:
    rng = np.random.default_rng(1)
    codes = [rng.integers(0, 100, 100).astype(np.int32) for _ in range(5)]
    line = Line(np.arange(100), 99)
    scales = [scale_of(line, np.bincount(column, minlength=100)) for column in codes]
    space = SensitiveSpace.of(scales, codes, [Fraction("0.45")] * 5)
    assert len(space) <= 100
    for strict in (True, False):
        found = fragment(space, space.limits, Control(), strict=strict)
        assert found is not None
        assert len(found) <= 100


def test_16_by_94_values_take_well_under_a_second() -> None:
    """Adult's education-num and hours-per-week: strict bounds ask for hundreds of fragments, others for few."""
    frame = pl.read_csv(shared("adult.csv.gz"), infer_schema=False).head(32_561)
    frame = frame.filter(pl.all_horizontal(pl.col("workclass", "occupation", "native-country") != "?"))
    columns = [frame[name].cast(pl.Int64).to_numpy() for name in ("education-num", "hours-per-week")]
    codes = [np.unique(column, return_inverse=True)[1].astype(np.int32) for column in columns]
    sizes = [int(column.max()) + 1 for column in codes]
    assert sizes == [16, 94]
    forms = [Line(np.arange(m), m - 1) for m in sizes]
    scales = [scale_of(form, np.bincount(column)) for form, column in zip(forms, codes, strict=True)]
    space = SensitiveSpace.of(scales, codes, [Fraction(1)] * 2)
    fragment(space, [Fraction("0.4")] * 2, Control(), strict=True)  # compiles
    started = time.process_time()
    strict = fragment(space, [Fraction("0.1")] * 2, Control(), strict=True)
    assert time.process_time() - started < 1
    wide = fragment(space, [Fraction("0.1")] * 2, Control())
    assert strict is not None
    assert wide is not None
    assert len(wide) < 20 < 500 < len(strict)


def test_it_comes_back_when_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split, "BUDGET", 1)
    control = Control()
    control.end()
    space = random_space(3, most=40).space
    assert fragment(space, [Fraction(0)] * len(space.limits), control) is None


def test_no_more_fragments_than_allowed() -> None:
    codes = [np.arange(200, dtype=np.int32)]
    space = SensitiveSpace.of([scale_of(Line(np.arange(200), 199), np.ones(200, np.int64))], codes, [Fraction(0)])
    for most in (5, 64, 100, 199):
        assert fragment(space, [Fraction(0)], Control(), most=most) is None
    found = fragment(space, [Fraction(0)], Control(), most=201)
    assert found is not None
    assert len(found) == 200
