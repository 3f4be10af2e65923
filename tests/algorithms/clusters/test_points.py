"""Sensitive values as points, and their principal component."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from tclose.algorithms import find
from tclose.algorithms.clusters import points as module
from tclose.algorithms.clusters.points import (
    ValueCells,
    ValuePoints,
    as_columns,
    as_points,
    first_component,
    forms_of,
)
from tclose.datasets import hospital
from tclose.distances import Equal, Form, Line, Matrix, Tree
from tclose.table.encode import encode
from tclose.table.source import read
from tclose.testing import AWKWARD
from tests.algorithms.mondrian.test_mondrian import random_case
from tests.algorithms.shared.random_domains import hierarchy_of, random_tree
from tests.oracles import sabre as oracle
from tests.seeds import for_seeds


def dense(points: ValuePoints) -> np.ndarray:
    rows = np.zeros((len(points.places), points.size))
    for value, (places, coordinates) in enumerate(zip(points.places, points.coordinates, strict=True)):
        for place, coordinate in zip(places, coordinates, strict=True):
            rows[value, place] += coordinate
    return rows


def distances(points: ValuePoints) -> np.ndarray:
    rows = dense(points)
    return np.asarray(np.sqrt(((rows[:, None] - rows[None]) ** 2).sum(axis=2)))


@for_seeds(40)
def test_points_are_as_far_apart_as_the_hierarchy_says(seed: int) -> None:
    random = Random(seed)
    m = random.randint(1, 9)
    tree = random_tree(list(range(m)), random)
    form = Tree.of(hierarchy_of(tree))
    if oracle.height(tree) == 0:
        return
    far = oracle.tree_distance(tree)
    codes = [int(leaf[1:]) for leaf in hierarchy_of(tree).leaves]
    expected = [[float(far(i, j)) for j in codes] for i in codes]
    assert distances(as_points(form)) == pytest.approx(np.array(expected), abs=1e-9)


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (Line(np.array([0, 1, 4]), 4), [[0, 0.25, 1], [0.25, 0, 0.75], [1, 0.75, 0]]),
        (Equal().form(3), [[0, 1, 1], [1, 0, 1], [1, 1, 0]]),
        (Equal().form(2).with_missing(), [[0, 1, 1], [1, 0, 1], [1, 1, 0]]),
        (Matrix([[0, 0.5, 1], [0.5, 0, 0.5], [1, 0.5, 0]]).form(3), [[0, 0.5, 1], [0.5, 0, 0.5], [1, 0.5, 0]]),
    ],
)
def test_points_are_as_far_apart_as_the_distance_says(form: Form, expected: list[list[float]]) -> None:
    assert distances(as_points(form)) == pytest.approx(np.array(expected), abs=1e-7)


def test_products_and_sums_are_those_of_the_whole_points() -> None:
    rng = np.random.default_rng(3)
    for form in (Equal().form(4), Line(np.array([0, 2, 3]), 3), Tree.of(hierarchy_of(((0, 1), (2, (3, 4)))))):
        points = as_points(form)
        others, weights = rng.random((points.size, 3)), rng.random((form.size, 2))
        assert points.dot(others) == pytest.approx(dense(points) @ others)
        assert points.total(weights) == pytest.approx(dense(points).T @ weights)
        assert points.squares == pytest.approx((dense(points) ** 2).sum(axis=1))


@for_seeds(40)
def test_cells_are_the_distinct_combinations(seed: int) -> None:
    table, _ = random_case(seed)
    cells = ValueCells.of(table)
    rows = list(zip(*(codes.tolist() for codes in table.codes), strict=True))
    assert [tuple(cells.codes[cell].tolist()) for cell in cells.of_row] == rows
    assert len(cells) == len(set(rows))
    assert cells.rows.sum() == len(table)


@for_seeds(40)
def test_the_component_has_the_largest_variance(seed: int) -> None:
    table, _ = random_case(seed)
    cells = ValueCells.of(table)
    columns = np.concatenate(
        [dense(as_columns(form))[codes] for form, codes in zip(forms_of(table.domains), table.codes, strict=True)],
        axis=1,
    )
    centred = columns - columns.mean(axis=0)
    found = first_component(table, cells)[cells.of_row]
    variance = np.linalg.eigvalsh(centred.T @ centred / len(table))[-1]
    assert found.var() == pytest.approx(variance, abs=1e-9)


def test_of_many_columns_those_of_largest_variance_count(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, schema = hospital(300, seed=2)
    table = encode(read(frame), schema)
    cells = ValueCells.of(table)
    whole = first_component(table, cells)[cells.of_row]
    monkeypatch.setattr(module, "MOST_COLUMNS", 12)
    some = first_component(table, cells)[cells.of_row]
    assert 0 < np.corrcoef(whole, some)[0, 1] < 1
    assert some.var() <= whole.var() + 1e-12


def test_a_joint_adds_nothing() -> None:
    """Its columns are there already, and its combinations are no points."""
    case = next(case for case in AWKWARD if case.name == "a joint")
    frame, schema = case.make(find("clusters").capabilities)
    table = encode(read(frame), schema)
    without = replace(table, domains=table.domains[:-1], codes=table.codes[:-1])
    joint, single = ValueCells.of(table), ValueCells.of(without)
    assert (joint.of_row == single.of_row).all()
    assert (joint.codes == single.codes).all()
    assert first_component(table, joint).tolist() == first_component(without, single).tolist()
