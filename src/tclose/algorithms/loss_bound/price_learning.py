"""Learning prices: those that make the bound high. Whatever comes out is valid, since `price_check` trusts none of it.

The bound is concave in the prices. For a row r with the class of largest excess around it, which takes parts q of rows,
it rises with the price of r and falls with those of q. Prices are sums of weights of features that a row has: its
sensitive value, a place with it, two places with it, its cell, and all of it. So a step for a few rows moves the prices
of all that are like them.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.loss_bound.price_check import PriceCheck, PriceProblem
from tclose.algorithms.loss_bound.price_learning_loops import FoundParts, spread_steps, steps_of_rows, sum_features
from tclose.algorithms.loss_bound.rounded_losses import UNIT

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
STRETCHES = 12  # of an axis with more places
MOST_PAIRS = 45
WINDOW = 150  # steps over which what they found is averaged


def features_of(problem: PriceProblem) -> NDArray[np.int32]:
    """The features of each kind of row, numbered from 0 over all."""
    kinds = problem.kinds
    coarse = [_stretches(column, kinds.counts) for column in kinds.places.T]
    found = [kinds.cell_of, np.arange(len(kinds.counts))]
    pairs = list(combinations(range(len(coarse)), 2))[:MOST_PAIRS]
    for codes in kinds.codes.T:
        found.append(codes.astype(np.int64))
        found += [_numbered(column, codes) for column in coarse]
        found += [_numbered(coarse[one], coarse[other], codes) for one, other in pairs]
    found += [_numbered(column) for column in kinds.places.T]
    starts = np.concatenate([[0], np.cumsum([int(each.max()) + 1 for each in found])[:-1]])
    return np.ascontiguousarray(np.stack(found, axis=1) + starts, np.int32)


def _stretches(places: NDArray[np.int32], counts: Integers) -> Integers:
    """Places in few stretches of about like many rows."""
    by_place = np.bincount(places, weights=counts)
    if (by_place > 0).sum() <= 4 * STRETCHES:
        return places.astype(np.int64)
    before = np.cumsum(by_place) - by_place
    found: Integers = (before * STRETCHES / by_place.sum()).astype(np.int64)[places]
    return found


def _numbered(*columns: NDArray[Any]) -> Integers:
    """Combinations of columns, numbered."""
    combined = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        combined = combined * (int(column.max()) + 1) + column
    return np.unique(combined, return_inverse=True)[1].astype(np.int64)


@dataclass(eq=False)
class PriceLearner:
    """Prices on their way up.

    Attributes
    ----------
    problem
        What they are for.
    scale
        About how large prices are.
    rng
        Draws rows.
    batch
        Rows of a step.
    rate
        The length of steps, in `scale`.
    """

    problem: PriceProblem
    scale: float
    rng: np.random.Generator
    batch: int = 64
    rate: float = 0.05
    tolerance: float = 0.01
    most_nodes: int = 600
    history: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ids = features_of(self.problem)
        self.batch = min(self.batch, max(len(self.problem.kinds.cells) // 2, 4))
        n_features = int(self.ids.max()) + 1
        self.weights, self.mean_weights = np.zeros(n_features), np.zeros(n_features)
        self.squares = np.full(n_features, 1e-2)
        self.n_means = 0
        self.shares = np.cumsum(self.problem.kinds.counts) / self.problem.kinds.counts.sum()

    @property
    def prices(self) -> Floats:
        """As they are now."""
        return self._prices(self.weights)

    @property
    def mean_prices(self) -> Floats:
        """The mean over the later steps, which is often better than the last."""
        return self._prices(self.mean_weights / max(self.n_means, 1))

    def _prices(self, weights: Floats) -> Floats:
        found = np.empty(len(self.ids))
        sum_features(self.ids, weights, found)
        return found

    @property
    def is_settled(self) -> bool:
        """Whether the mean of what steps found no longer rises, over twice as many as a mean needs."""
        if len(self.history) < 2 * WINDOW:
            return False
        before, after = np.mean(self.history[-2 * WINDOW : -WINDOW]), np.mean(self.history[-WINDOW:])
        return bool(after - before < self.scale / 200)

    def step(self, done: float, pool: ThreadPoolExecutor) -> None:
        """One step; `done` is the share of all steps that are done, which makes them shorter."""
        check = PriceCheck.of(self.problem, self.prices)
        drawn = np.minimum(np.searchsorted(self.shares, self.rng.random(self.batch)), len(self.shares) - 1)
        cells = self.problem.kinds.cell_of[drawn]
        pieces = np.array_split(np.argsort(cells, kind="stable"), max(os.cpu_count() or 1, 1))
        results = list(pool.map(lambda piece: self._search(check, cells[piece]), pieces))
        steps = np.zeros(len(self.problem.kinds.counts))
        for piece, found in zip(pieces, results, strict=True):
            known = found.taken > 0
            np.add.at(steps, drawn[piece][known], 1.0)
            inside = np.arange(found.kinds.shape[1]) < found.taken[:, None]
            np.add.at(steps, check.order[found.kinds[inside]], -found.parts[inside])
        bounds = np.concatenate([found.bounds for found in results])
        self.history.append(float(check.mean_price) / UNIT - float(bounds.mean()) / UNIT)
        moved = np.flatnonzero(steps)
        gradient = np.zeros(len(self.weights))
        spread_steps(self.ids, moved, steps[moved], gradient)
        some = np.flatnonzero(gradient)
        self.squares[some] += gradient[some] ** 2
        self.weights[some] += self.rate * self.scale * (1 - 0.9 * done) * gradient[some] / np.sqrt(self.squares[some])
        if done > 0.5:
            self.mean_weights += self.weights
            self.n_means += 1

    def _search(self, check: PriceCheck, cells: Integers) -> FoundParts:
        """The best class around each of some cells."""
        problem, n = self.problem, len(cells)
        wide = min(len(check.prices), 4096) + int(problem.terms.attributes[:, 0].max()) + 2
        found = FoundParts(
            bounds=np.empty(n, np.int64),
            kinds=np.zeros((n, wide), np.int64),
            parts=np.zeros((n, wide)),
            taken=np.zeros(n, np.int64),
        )
        limits = check.limits(self.tolerance * self.scale, self.most_nodes)
        steps_of_rows(problem.kinds.cells[cells], check.lined, problem.losses, problem.terms, limits, found)
        return found
