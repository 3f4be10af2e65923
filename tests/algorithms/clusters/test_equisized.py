"""Equi-sized fuzzy c-means: the memberships are the best ones, clusters as large as each other, and alike inside."""

from __future__ import annotations

import numpy as np
import pytest

from tclose.algorithms.clusters import equisized
from tclose.algorithms.clusters import filling_loops as filling
from tclose.algorithms.clusters.equisized import ClusterSpace, cluster, crisp, memberships
from tclose.algorithms.clusters.points import ValueCells
from tclose.algorithms.control import Control
from tclose.datasets import hospital
from tclose.table.encode import encode
from tclose.table.source import read
from tests.algorithms.mondrian.test_mondrian import random_case
from tests.oracles.clusters import best_memberships
from tests.seeds import for_seeds


@for_seeds(20)
def test_memberships_are_the_best_by_a_general_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, c = int(rng.integers(3, 9)), int(rng.integers(2, 5))
    squares = rng.random((n, c)) ** 2 + 0.01
    found, _ = memberships(squares, np.ones(n), np.zeros(c))
    assert found.min() >= 0
    assert found.sum(axis=1) == pytest.approx(np.ones(n))
    assert found.sum(axis=0) == pytest.approx(np.full(c, n / c), rel=1e-5)
    best = best_memberships(squares)
    assert (found**2 * squares).sum() <= (best**2 * squares).sum() * (1 + 1e-4)
    assert found == pytest.approx(best, abs=2e-3)


def test_many_rows_of_a_cell_are_as_many_cells() -> None:
    rng = np.random.default_rng(1)
    squares = rng.random((6, 3)) + 0.01
    rows = np.array([1, 4, 2, 3, 1, 1])
    together, _ = memberships(squares, rows.astype(float), np.zeros(3))
    apart, _ = memberships(np.repeat(squares, rows, axis=0), np.ones(12), np.zeros(3))
    assert np.repeat(together, rows, axis=0) == pytest.approx(apart, abs=1e-5)


@pytest.mark.parametrize("least", [1e-4, 1e-12])
def test_a_cell_far_larger_than_a_cluster(least: float) -> None:
    """All at one point but one row, and all centres there."""
    squares = np.array([[least] * 4, [1.0] * 4])
    found, _ = memberships(squares, np.array([39.0, 1.0]), np.zeros(4))
    assert np.array([39, 1]) @ found == pytest.approx(np.full(4, 10.0), rel=1e-5)


@for_seeds(40)
def test_clusters_differ_by_one_row_at_most(seed: int) -> None:
    table, _ = random_case(seed)
    rng = np.random.default_rng(seed)
    cells, n_clusters = ValueCells.of(table), int(rng.integers(1, min(len(table), 12) + 1))
    given = cluster(table, cells, n_clusters, rng, Control())
    assert (given >= 0).all()
    assert (given.sum(axis=1) == cells.rows).all()
    assert np.ptp(given.sum(axis=0)) <= 1


@for_seeds(40)
def test_largest_memberships_come_first(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares, rows = rng.random((int(rng.integers(1, 9)), int(rng.integers(1, 5)))), rng.integers(1, 9, 9)
    rows = rows[: len(shares)]
    expected, left = np.zeros(shares.shape, int), rows.tolist()
    n_clusters = shares.shape[1]
    room = [rows.sum() // n_clusters + (place < rows.sum() % n_clusters) for place in range(n_clusters)]
    for share, cell, number in sorted((-shares[i, j], i, j) for i in range(len(shares)) for j in range(n_clusters)):
        assert share <= 0
        expected[cell, number] = min(left[cell], room[number])
        left[cell] -= expected[cell, number]
        room[number] -= expected[cell, number]
    assert (crisp(shares, rows) == expected).all()


def test_blobs_are_found() -> None:
    """Three values of a third of the rows each are three clusters; of four clusters each is as pure as can be."""
    frame, schema = hospital(900, seed=2)
    table = encode(read(frame), schema).take(np.arange(900))
    cells = ValueCells(np.array([[0], [5], [20]], np.int32), np.arange(900) % 3, np.full(3, 300))
    one = type(table)(table.axes, table.places, table.domains[:1], (cells.codes[cells.of_row, 0],), table.rows)
    given = cluster(one, cells, 3, np.random.default_rng(1), Control())
    assert sorted(given.max(axis=0).tolist()) == [300, 300, 300]
    assert np.sort(cluster(one, cells, 4, np.random.default_rng(1), Control()).max(axis=0))[1:].tolist() == [225] * 3


def test_clustering_is_better_than_chance() -> None:
    """The spread inside of clusters is well below that of the table, also where centres come from a sample."""
    frame, schema = hospital(600, seed=2)
    table = encode(read(frame), schema)
    cells = ValueCells.of(table)
    space = ClusterSpace.of(table, cells)

    def inside(given: np.ndarray) -> float:
        return float((given * space.squares(space.means(given.astype(float)))).sum()) / len(table)

    whole = inside(cells.rows[:, None])
    given = cluster(table, cells, 8, np.random.default_rng(1), Control())
    assert inside(given) < 0.75 * whole
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(equisized, "MOST_CELLS", 100)
        assert inside(cluster(table, cells, 8, np.random.default_rng(1), Control())) < 0.8 * whole


def test_rounds_never_raise_the_sum() -> None:
    table, _ = random_case(3)
    cells = ValueCells.of(table)
    space = ClusterSpace.of(table, cells)
    rng = np.random.default_rng(1)
    centres = equisized._first_centres(space, 3, rng, Control())
    before = np.inf
    for _ in range(8):
        squares = space.squares(centres)
        shares, _ = memberships(squares, space.rows, np.zeros(3))
        weights = space.rows[:, None] * shares**2
        total = float((weights * squares).sum())
        assert total <= before * (1 + 1e-6)
        centres, before = space.means(weights), total


def test_filling_without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    shares, rows = rng.random((5, 3)), rng.integers(1, 9, 5)
    compiled = crisp(shares, rows)
    monkeypatch.setattr(filling, "fill", filling.fill.py_func)  # type: ignore[attr-defined]
    assert (crisp(shares, rows) == compiled).all()
