"""A loss that no release of a table can fall below: prices are learnt, then checked."""

from __future__ import annotations

import math
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.control import Control
from tclose.algorithms.loss_bound.price_check import PriceCheck, PriceProblem, proven_bound
from tclose.algorithms.loss_bound.price_learning import PriceLearner
from tclose.algorithms.loss_bound.rounded_losses import UNIT, rounded_down
from tclose.algorithms.loss_bound.row_kinds import RowKinds
from tclose.algorithms.requirement import Requirement
from tclose.errors import SchemaError
from tclose.kernels.compile import compiling_timed
from tclose.table.encode import EncodedTable

Integers = NDArray[np.int64]
CONFIDENCE = 0.95
LEARNING = 0.6  # share of the time that is spent on learning
FIRST_ROWS = 256  # of the sample that shows how long a row takes
FEW_ROWS = 64  # by which prices are chosen
MOST_SAMPLED = 100_000
MOST_STEPS = 200  # of learning, where neither a time nor a number is given
TOLERANCE = 0.01  # of the size of prices: what a search may leave
MOST_NODES = 4000  # of a search for one cell
ROUNDING = 1e-12


@dataclass(frozen=True)
class LossBound:
    """What any release loses at least.

    Attributes
    ----------
    loss_at_least
        No release under the requirement loses less.
    confidence
        None if that is proven. Else it was estimated from a sample of rows, and this is the probability with which such
        an estimate is right.
    cells, cells_checked
        Distinct combinations of quasi-identifiers in the table, and how many of them were looked at.
    smallest_class
        No class can have fewer rows.
    ignored
        Attributes that were left out because they have too many values: the bound is valid all the same.
    steps
        Of learning.
    seconds
        In all.
    """

    loss_at_least: float
    confidence: float | None
    cells: int
    cells_checked: int
    smallest_class: int
    ignored: tuple[str, ...]
    steps: int
    seconds: float

    @property
    def is_proven(self) -> bool:
        """Whether it holds for certain."""
        return self.confidence is None

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {**vars(self), "ignored": list(self.ignored), "is_proven": self.is_proven}


def bound_loss(
    table: EncodedTable,
    requirement: Requirement,
    *,
    seed: int = 0,
    control: Control | None = None,
    steps: int | None = None,
    loss: float | None = None,
) -> LossBound:
    """A lower bound of the loss of any partition of a table into classes that meet a requirement.

    Every class is asked to be close in each attribute, to have k rows, and as many as a close class needs. Diversity
    and caps are left out otherwise: a bound for fewer demands holds for more. Weights and `coarsest` are part of the
    loss.

    Parameters
    ----------
    table, requirement
        What is released, and what every class must meet.
    seed
        Draws rows.
    control
        How long it may take: some of the time is left for the check, which makes the bound of what was learnt.
    steps
        Of learning, instead of a time.
    loss
        Of a release that is known, which says how large prices are about.

    Raises
    ------
    SchemaError
        Rows may be left out: then a release is measured by the rows it holds, and no reference is known before.

    Examples
    --------
    >>> import tclose
    >>> from tclose.table.encode import encode
    >>> from tclose.table.source import read
    >>> frame, schema = tclose.datasets.census(60, seed=1)
    >>> table = encode(read(frame), schema)
    >>> bound = bound_loss(table, Requirement.of(schema, table), steps=20)
    >>> release = tclose.anonymize(frame, schema, seed=1, allow_single_class=True)
    >>> bound.is_proven, 0 < bound.loss_at_least <= release.loss
    (True, True)
    """
    if requirement.left_out is not None:
        raise SchemaError("No bound is known where rows may be left out. Take suppress_rows out.")
    control = control or Control()
    with compiling_timed() as compiling:  # which does not count as time spent
        control.uncounted = control.uncounted or (lambda: compiling.elapsed)
        return _bound_in_time(table, requirement, seed, control, steps, loss)


def _bound_in_time(
    table: EncodedTable, requirement: Requirement, seed: int, control: Control, steps: int | None, loss: float | None
) -> LossBound:
    """Learn, choose among what was learnt, and evaluate it, each within its share of the time."""
    began = time.monotonic()
    problem = PriceProblem.of(table, requirement)
    rng = np.random.default_rng(seed)
    scale = _scale(problem, rng, loss)
    learner = PriceLearner(problem, scale, rng)
    done = _learn(learner, control.part(0.0, LEARNING), steps)
    rest = control.part(LEARNING, 1.0)
    check, lowest = _best_prices(learner, rng, scale * TOLERANCE)
    found = evaluate(check, rng, rest, scale * TOLERANCE, lowest)
    return LossBound(
        rounded_down(found.bound),
        found.confidence,
        len(problem.kinds.cells),
        found.n_cells,
        problem.terms.smallest,
        problem.ignored,
        done,
        round(time.monotonic() - began, 3),
    )


@dataclass(frozen=True)
class EvaluatedBound:
    """What a check found: the bound, whether it is proven, and how many cells were looked at."""

    bound: Fraction
    confidence: float | None
    n_cells: int


def evaluate(
    check: PriceCheck, rng: np.random.Generator, control: Control, tolerance: float, lowest: int
) -> EvaluatedBound:
    """The bound of some prices: over all cells if there is time for that, else estimated from a sample of rows.

    Where the time is limited a sample of rows comes first, even if the time is over. It shows how long all cells will
    take, and is what is left if they take too long. For that excesses below `lowest` are raised to it.
    """
    began = time.monotonic()
    kinds = check.problem.kinds
    sample: list[Integers] = []
    if control.seconds is not None or control.stop:
        rows = draw_rows(kinds, rng, FIRST_ROWS)
        sample += [found for _, found in check.in_pieces(rows, Control(), tolerance, MOST_NODES)]
        per_cell = (time.monotonic() - began) / FIRST_ROWS
        left = 0.0 if control.seconds is None else control.seconds - (time.monotonic() - began)
        if control.stop or per_cell * len(kinds.cells) > left:
            more = draw_rows(kinds, rng, MOST_SAMPLED)
            sample += [found for _, found in check.in_pieces(more, control, tolerance, MOST_NODES)]
            return estimated(check, sample, lowest)
    found = np.zeros(len(kinds.cells), np.int64)
    n_done = 0
    for cells, excess in check.in_pieces(np.arange(len(kinds.cells)), control, tolerance, MOST_NODES):
        found[cells] = excess
        n_done += len(cells)
        control.report(done=n_done / len(kinds.cells))
    if n_done < len(kinds.cells):
        return estimated(check, sample, lowest)
    return EvaluatedBound(proven_bound(check, found), None, n_done)


def draw_rows(kinds: RowKinds, rng: np.random.Generator, n: int) -> Integers:
    """The cells of rows drawn evenly, one independent of the other."""
    ends = np.cumsum(kinds.cell_counts)
    return np.searchsorted(ends, rng.integers(0, ends[-1], n), side="right").astype(np.int64)


def estimated(check: PriceCheck, sample: list[Integers], lowest: int) -> EvaluatedBound:
    """A bound that is right with probability 0.95 or more, from the excesses of rows that were drawn evenly.

    Excesses lie within known ends, of width w: none is above what any class is worth, and those below `lowest`, which
    the sample must not have a say in, may be raised to it. By the empirical Bernstein inequality of Maurer and Pontil
    (2009, theorem 4), for any such variable, of whatever distribution, the mean exceeds, over n draws with variance V,

        mean of the sample + sqrt(2 V ln(2 / d) / n) + 7 w ln(2 / d) / (3 (n - 1))

    with probability d at most. Where few excesses are large, that is far better than Hoeffding's inequality, in which w
    stands in place of the root of V. With too few rows the bound is 0, which is proven.

    Examples
    --------
    >>> import tclose
    >>> from tclose.table.encode import encode
    >>> from tclose.table.source import read
    >>> frame, schema = tclose.datasets.census(200, seed=1)
    >>> table = encode(read(frame), schema)
    >>> problem = PriceProblem.of(table, Requirement.of(schema, table))
    >>> check = PriceCheck.of(problem, np.zeros(len(problem.kinds.counts)))
    >>> rows = draw_rows(problem.kinds, np.random.default_rng(1), 2000)
    >>> found = estimated(check, [check.excesses_of(np.sort(rows))], check.floor)
    >>> all_cells = proven_bound(check, check.excesses_of(np.arange(len(problem.kinds.cells))))
    >>> found.confidence, 0 < found.bound < all_cells
    (0.95, True)
    """
    drawn = np.concatenate([np.zeros(0, np.int64), *sample])
    n = len(drawn)
    if n < 2:
        return EvaluatedBound(Fraction(0), None, n)
    highest = max(check.whole, lowest)
    within = np.minimum(np.maximum(drawn, lowest), highest) / UNIT
    log = math.log(2 / (1 - CONFIDENCE))
    width = (highest - lowest) / UNIT
    most = float(within.mean()) + math.sqrt(2 * float(within.var(ddof=1)) * log / n) + 7 * width * log / (3 * (n - 1))
    bound = check.mean_price / UNIT - Fraction(most + ROUNDING)
    return EvaluatedBound(bound, CONFIDENCE, n) if bound > 0 else EvaluatedBound(Fraction(0), None, n)


def _scale(problem: PriceProblem, rng: np.random.Generator, loss: float | None) -> float:
    """About how large prices are: half of a loss that is known, else what rows lose without any prices."""
    if loss is not None and loss > 0:
        return loss / 2
    check = PriceCheck.of(problem, np.zeros(len(problem.kinds.counts)))
    cells = np.sort(draw_rows(problem.kinds, rng, 32))
    return max(-float(check.excesses_of(cells, 0.01, 64).mean()) / UNIT, 0.01)


def _learn(learner: PriceLearner, control: Control, steps: int | None) -> int:
    """Learn until the time or the steps are over; returns the steps taken."""
    steps = MOST_STEPS if steps is None and control.seconds is None else steps
    began, done = time.monotonic(), 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        while not control.stop and (steps is None or done < steps) and not learner.is_settled:
            gone = time.monotonic() - began - (0.0 if control.uncounted is None else control.uncounted())
            share = gone / (control.seconds or math.inf) if steps is None else done / steps
            learner.step(min(share, 1.0), pool)
            done += 1
            control.report(done=min(share, 1.0))
    return done


def _best_prices(learner: PriceLearner, rng: np.random.Generator, tolerance: float) -> tuple[PriceCheck, int]:
    """The prices that do best on a few rows: none, the last, or the mean of later ones; and a low excess of them."""
    rows = np.sort(draw_rows(learner.problem.kinds, rng, FEW_ROWS))
    given = [np.zeros(len(learner.ids)), learner.prices, learner.mean_prices]
    checks = [PriceCheck.of(learner.problem, prices) for prices in given]
    excesses = [check.excesses_of(rows, tolerance, MOST_NODES) for check in checks]
    bounds = [float(check.mean_price) - float(found.mean()) for check, found in zip(checks, excesses, strict=True)]
    best = int(np.argmax(bounds))
    return checks[best], int(np.quantile(excesses[best], 0.05))
