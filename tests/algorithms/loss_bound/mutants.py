"""Small tables with their optimum, the bounds of several prices, and mistakes in a bound that must be noticed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.algorithms.loss_bound import price_check, price_learning
from tclose.algorithms.loss_bound.closeness_terms import smallest_class
from tclose.algorithms.loss_bound.price_check import PriceCheck, PriceProblem, proven_bound
from tclose.algorithms.loss_bound.rounded_losses import NEVER, UNIT, SpanLosses, span_losses
from tclose.algorithms.requirement import Requirement
from tclose.schema.schema import Schema
from tclose.table.encode import EncodedTable, encode
from tclose.table.source import read
from tests.oracles.optimal_partition import Problem, optimum_by_subsets
from tests.small_tables import capped_table, limited_table, matrix_table, reached_table, small_table, tiny_steps

Made = tuple[pl.DataFrame, Schema]
MAKERS: tuple[Callable[[int], Made], ...] = (
    small_table,
    limited_table,
    capped_table,
    matrix_table,
    tiny_steps,
    lambda seed: small_table(seed, 8, ("generalize",), ("t", "two"), ("equal", "ordered")),
    lambda seed: reached_table(seed, ("equal", "ordered", "hierarchical")[seed % 3], "generalize"),
)


def made(seed: int) -> Made:
    """A small table of any sort."""
    return MAKERS[seed % len(MAKERS)](seed // len(MAKERS))


def coded(frame: pl.DataFrame, schema: Schema) -> tuple[EncodedTable, Requirement]:
    """As the package reads it."""
    table = encode(read(frame), schema)
    return table, Requirement.of(schema, table)


def optimum(frame: pl.DataFrame, schema: Schema) -> Fraction | None:
    """The least loss of all partitions, by trying them all; None where nothing meets the requirement."""
    problem = Problem.of(frame, schema)
    least = optimum_by_subsets(problem)
    return None if least is None else problem.loss(least)


def some_prices(problem: PriceProblem, seed: int, steps: int = 12) -> Iterator[NDArray[np.float64]]:
    """None, random ones and learnt ones."""
    rng = np.random.default_rng(seed)
    n = len(problem.kinds.counts)
    yield np.zeros(n)
    yield rng.random(n) * rng.choice([0.1, 0.5, 2.0])
    yield rng.normal(size=n) * rng.choice([0.1, 0.5])
    learner = price_learning.PriceLearner(problem, 0.1, rng, batch=8)
    with ThreadPoolExecutor(1) as pool:
        for step in range(steps):
            learner.step(step / steps, pool)
    yield learner.prices
    yield learner.mean_prices


def bounds_of(frame: pl.DataFrame, schema: Schema, seed: int) -> list[Fraction]:
    """What the check makes of several prices."""
    problem = PriceProblem.of(*coded(frame, schema))
    cells = np.arange(len(problem.kinds.cells))
    checks = [PriceCheck.of(problem, prices) for prices in some_prices(problem, seed)]
    return [proven_bound(check, check.excesses_of(cells)) for check in checks]


def _one_row_more(requirement: Requirement) -> int:
    return smallest_class(requirement) + 1


def _rounded_up(axes: tuple[object, ...]) -> SpanLosses:
    """Losses a hundredth too high."""
    found = span_losses(axes)  # type: ignore[arg-type]
    points, groups = found.points.copy(), found.groups.copy()
    points[:, 1] += (points[:, 1] > 0) * (UNIT // 100)
    groups[:, 2] += (groups[:, 2] > 0) * (UNIT // 100)
    return SpanLosses(found.axes, points, groups)


def _without_wide_boxes(axes: tuple[object, ...]) -> SpanLosses:
    """The widest group of each chain, and intervals to the last place, are never looked at."""
    found = span_losses(axes)  # type: ignore[arg-type]
    points, groups = found.points.copy(), found.groups.copy()
    for axis in range(len(found.axes) - 1):
        first, last = found.axes[axis, 1], found.axes[axis + 1, 1] - 1
        points[first : last + 1, 2] = np.minimum(points[first : last + 1, 2], last - first - 1)
        points[last, 2] = last - first
    groups[groups[:, 2] == groups[:, 2].max(initial=0), 2] = NEVER
    return SpanLosses(found.axes, points, groups)


def _t_too_small(attribute: object) -> object:
    from tclose.algorithms.loss_bound.closeness_terms import joined_values

    found = joined_values(attribute)  # type: ignore[arg-type]
    return None if found is None else replace(found, t=found.t * Fraction(9, 10))


MUTANTS: dict[str, tuple[str, Callable[..., object]]] = {
    "the fewest rows are one more": ("smallest_class", _one_row_more),
    "losses are rounded upwards": ("span_losses", _rounded_up),
    "wide boxes are missed": ("span_losses", _without_wide_boxes),
    "t is a tenth smaller": ("joined_values", _t_too_small),
}


@contextmanager
def mutated(name: str) -> Iterator[None]:
    """The check with a mistake in it."""
    where, instead = MUTANTS[name]
    with patch.object(price_check, where, instead):
        yield
