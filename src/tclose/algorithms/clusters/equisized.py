"""Equi-sized fuzzy c-means on sensitive attributes (Höppner, Klawonn: Clustering with size constraints, 2008).

Of n rows x, c clusters get centres v and memberships u with least

    J = sum over rows and clusters of u^2 |x - v|^2,   memberships of a row sum to 1, those of a cluster to n / c.

For given memberships the best centres are means with weights u^2. For given centres the optimum has
multipliers a of rows and b of clusters with u = (a + b) / (2 |x - v|^2) where that is positive, and 0
elsewhere. Without the sign this is a system of linear equations; Höppner and Klawonn solve it and
deal with negative memberships afterwards. Here it is solved over the memberships that are positive,
and again when these become others, until none does, which is Newton's method on the dual.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.clusters.points import ValueCells, ValuePoints, as_points, forms_of
from tclose.algorithms.control import Watch
from tclose.table.encode import EncodedTable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_ROUNDS, MOST_STEPS = 100, 50
MOST_CELLS = 4096  # that centres are sought with; memberships are those of all
LEAST = 1e-4  # of a square distance, so that a row at a centre is not infinitely near
SETTLED, EXACT = 1e-4, 1e-6  # J falls by a smaller part; sizes are off by a smaller part


@dataclass(frozen=True, eq=False)
class ClusterSpace:
    """Cells as points, attribute by attribute."""

    points: tuple[ValuePoints, ...]
    codes: NDArray[np.int32]
    rows: Floats

    @classmethod
    def of(cls, table: EncodedTable, cells: ValueCells) -> ClusterSpace:
        """Those of a table."""
        points = tuple(map(as_points, forms_of(table.domains)))
        return cls(points, cells.codes, cells.rows.astype(np.float64))

    def some(self, cells: Integers, rows: Floats) -> ClusterSpace:
        """Some of the cells, for so many rows."""
        return ClusterSpace(self.points, self.codes[cells], rows)

    def means(self, weights: Floats) -> tuple[Floats, ...]:
        """For each attribute the mean of the cells, with one column of weights a cluster."""
        total = weights.sum(axis=0)
        return tuple(self._by_value(points, place, weights) / total for place, points in enumerate(self.points))

    def _by_value(self, points: ValuePoints, place: int, weights: Floats) -> Floats:
        by_value = np.zeros((len(points.places), weights.shape[1]))
        np.add.at(by_value, self.codes[:, place], weights)
        return points.total(by_value)

    def squares(self, centres: tuple[Floats, ...]) -> Floats:
        """|x - v|^2 = |x|^2 - 2 x v + |v|^2 of each cell and centre, and a trifle more."""
        total = np.full((len(self.rows), 1), LEAST)
        for place, (points, centre) in enumerate(zip(self.points, centres, strict=True)):
            apart = points.squares[:, None] - 2 * points.dot(centre) + (centre**2).sum(axis=0)
            total = total + np.maximum(apart, 0)[self.codes[:, place]]
        return total


def cluster(
    table: EncodedTable, cells: ValueCells, n_clusters: int, rng: np.random.Generator, watch: Watch
) -> Integers:
    """How many rows of each cell every cluster gets; clusters differ by one row at most."""
    space = ClusterSpace.of(table, cells)
    centres = _centres(space, n_clusters, rng, watch)
    squares = space.squares(centres) if centres else np.full((len(cells), n_clusters), LEAST)
    shares, _ = memberships(squares, space.rows, np.zeros(n_clusters), watch)
    return crisp(shares, cells.rows)


def crisp(shares: Floats, rows: Integers) -> Integers:
    """Each row to one cluster: the largest memberships first, as long as a cell has rows and a cluster has room.

    Examples
    --------
    >>> crisp(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([3, 2])).tolist()
    [[3, 0], [0, 2]]
    """
    from tclose.algorithms.clusters.filling_loops import fill

    n_clusters = shares.shape[1]
    room = np.full(n_clusters, rows.sum() // n_clusters)
    room[: rows.sum() % n_clusters] += 1
    given = np.zeros(shares.shape, np.int64)
    fill(np.argsort(-shares, axis=None, kind="stable"), rows.copy(), room, given)
    return given


def _centres(space: ClusterSpace, n_clusters: int, rng: np.random.Generator, watch: Watch) -> tuple[Floats, ...]:
    """Where centres and memberships no longer change, found with some cells if there are many."""
    if len(space.rows) > MOST_CELLS:
        drawn, rows = np.unique(
            rng.choice(len(space.rows), MOST_CELLS, p=space.rows / space.rows.sum()), return_counts=True
        )
        space = space.some(drawn, rows.astype(np.float64))
    centres = _first_centres(space, n_clusters, rng, watch)
    multipliers, before = np.zeros(n_clusters), np.inf
    for number in range(MOST_ROUNDS if centres else 0):
        squares = space.squares(centres)
        shares, multipliers = memberships(squares, space.rows, multipliers, watch)
        weights = space.rows[:, None] * shares**2
        total = float((weights * squares).sum())
        watch.report(done=(number + 1) / MOST_ROUNDS)
        if before - total <= SETTLED * before or watch.stop:
            break
        centres, before = space.means(weights), total
    return centres


def _first_centres(space: ClusterSpace, n_clusters: int, rng: np.random.Generator, watch: Watch) -> tuple[Floats, ...]:
    """Cells drawn one by one, those far from all drawn before more likely (k-means++); none if the time is over."""
    chosen = np.zeros((len(space.rows), n_clusters))
    likely = space.rows
    nearest = np.full(len(space.rows), np.inf)
    for number in range(n_clusters):
        if watch.stop:
            return ()
        drawn = rng.choice(len(likely), p=likely / likely.sum())
        chosen[drawn, number] = 1.0
        one = space.means(chosen[:, number : number + 1])
        nearest = np.minimum(nearest, space.squares(one)[:, 0])
        likely = space.rows * nearest
    return space.means(chosen)


def memberships(
    squares: Floats, rows: Floats, multipliers: Floats, watch: Watch | None = None
) -> tuple[Floats, Floats]:
    """The best memberships for these distances, and the clusters' multipliers; `multipliers` are a first guess.

    For given b, a is where the memberships of a row sum to 1. The dual is concave in b, with the
    missing sizes n / c - sum u as its slope; a step that does not raise it is halved. When the
    time is over, those found so far will do.
    """
    sizes = np.full(squares.shape[1], rows.sum() / squares.shape[1])
    inverse = 0.5 / squares
    now = _for_multipliers(inverse, rows, sizes, multipliers)
    for _ in range(MOST_STEPS):
        shares, dual = now
        missing = sizes - rows @ shares
        if np.abs(missing).max() <= EXACT * sizes[0] or (watch is not None and watch.stop):
            break
        active = np.where(shares > 0, inverse, 0.0)
        drawn = active / active.sum(axis=1)[:, None] * rows[:, None]
        slopes = np.diag(rows @ active) - drawn.T @ active
        slopes += 1e-9 * np.trace(slopes) / len(slopes) * np.eye(len(slopes))  # all b may rise together
        step = np.linalg.solve(slopes, missing)
        part = 1.0
        while part > 1e-6:
            now = _for_multipliers(inverse, rows, sizes, multipliers + part * step)
            if now[1] > dual:
                break
            part /= 2
        else:
            return shares, multipliers
        multipliers = multipliers + part * step
    return now[0], multipliers


def _for_multipliers(inverse: Floats, rows: Floats, sizes: Floats, multipliers: Floats) -> tuple[Floats, float]:
    """Memberships max(0, a + b) / (2 |x - v|^2) with the a that makes them sum to 1, and the dual there.

    With b from the largest down, the first r of a row are positive for some r, and then
    a = (1 - sum of b / 2 |x - v|^2) / (sum of 1 / 2 |x - v|^2): the last r whose own a + b is positive.
    """
    order = np.argsort(-multipliers, kind="stable")
    sorted_inverse, b = inverse[:, order], multipliers[order]
    a = (1 - np.cumsum(sorted_inverse * b, axis=1)) / np.cumsum(sorted_inverse, axis=1)
    last = np.maximum((a + b > 0).sum(axis=1) - 1, 0)
    a_of_row = np.take_along_axis(a, last[:, None], axis=1)
    reach = np.maximum(a_of_row + multipliers, 0.0)
    shares = reach * inverse
    dual = float(rows @ a_of_row[:, 0] + sizes @ multipliers - (rows @ (shares * reach)).sum() / 2)
    return shares, dual
