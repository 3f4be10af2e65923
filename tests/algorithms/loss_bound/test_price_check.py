"""The check of a bound: never above the optimum, whatever the prices; and mistakes in it are noticed."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tclose.algorithms.loss_bound import closeness_terms
from tclose.algorithms.loss_bound.nearest_rows import nearest_bound
from tclose.algorithms.loss_bound.price_check import PriceCheck, PriceProblem, proven_bound
from tclose.algorithms.loss_bound.rounded_losses import UNIT
from tests.algorithms.loss_bound.mutants import MUTANTS, bounds_of, coded, made, mutated, optimum
from tests.oracles.optimal_partition import Problem
from tests.seeds import for_seeds


@for_seeds(240, everyday=42, tested=240)
def test_no_bound_is_above_the_optimum(seed: int) -> None:
    frame, schema = made(seed)
    least = optimum(frame, schema)
    if least is None:
        return
    assert max(bounds_of(frame, schema, seed)) <= least
    assert nearest_bound(*coded(frame, schema)) <= least


@for_seeds(120, everyday=14, tested=120)
def test_no_class_exceeds_what_the_check_says(seed: int) -> None:
    """Every allowed class, of all subsets of rows, beside the excess of each cell it lies in."""
    frame, schema = made(seed)
    problem = Problem.of(frame, schema)
    found = PriceProblem.of(*coded(frame, schema))
    prices = np.random.default_rng(seed).normal(size=len(found.kinds.counts)) * 0.3
    check = PriceCheck.of(found, prices)
    excess = check.excesses_of(np.arange(len(found.kinds.cells)))
    for size in range(1, problem.n + 1):
        for members in combinations(range(problem.n), size):
            if problem.allowed(members):
                lost = problem.cost(members) / problem.whole / size
                kinds = found.kinds.of_row[list(members)]
                worth = sum(int(check.prices[kind]) for kind in kinds) / size / UNIT
                assert worth - float(lost) <= excess[found.kinds.cell_of[kinds]].min() / UNIT + 1e-9
                assert size >= found.terms.smallest


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mistake_puts_some_bound_above_the_optimum(name: str) -> None:
    for seed in range(400):
        frame, schema = made(seed)
        with mutated(name):
            bounds = bounds_of(frame, schema, seed)
        least = optimum(frame, schema)
        if least is not None and max(bounds) > least:
            return
    pytest.fail(f"nothing showed that {name}")


def test_a_search_that_is_cut_short_is_too_high_rather_than_too_low() -> None:
    frame, schema = made(5)
    problem = PriceProblem.of(*coded(frame, schema))
    cells = np.arange(len(problem.kinds.cells))
    check = PriceCheck.of(problem, np.random.default_rng(1).random(len(problem.kinds.counts)))
    whole = check.excesses_of(cells)
    assert (check.excesses_of(cells, most_nodes=1) >= whole).all()
    rough = check.excesses_of(cells, tolerance=0.05)
    assert (rough >= whole).all()
    assert (rough <= whole + 0.05 * UNIT + 1).all()


@for_seeds(20, everyday=3, tested=20)
def test_joined_values_keep_bounds_below_the_optimum(seed: int) -> None:
    frame, schema = made(7 * seed + 5)
    least = optimum(frame, schema)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(closeness_terms, "MOST_VALUES", 2)
        problem = PriceProblem.of(*coded(frame, schema))
        assert max(problem.terms.attributes[:, 0]) <= 3
        if least is not None:
            assert max(bounds_of(frame, schema, seed)) <= least


def test_prices_that_are_no_numbers_do_no_harm() -> None:
    frame, schema = made(5)
    problem = PriceProblem.of(*coded(frame, schema))
    wild = np.array([np.nan, np.inf, -np.inf, 1e300] * len(problem.kinds.counts))[: len(problem.kinds.counts)]
    check = PriceCheck.of(problem, wild)
    least = optimum(frame, schema)
    assert least is not None
    assert proven_bound(check, check.excesses_of(np.arange(len(problem.kinds.cells)))) <= least


def test_a_proof_needs_every_cell() -> None:
    frame, schema = made(5)
    problem = PriceProblem.of(*coded(frame, schema))
    check = PriceCheck.of(problem, np.zeros(len(problem.kinds.counts)))
    with pytest.raises(AssertionError, match="every cell"):
        proven_bound(check, check.excesses_of(np.arange(len(problem.kinds.cells) - 1)))
