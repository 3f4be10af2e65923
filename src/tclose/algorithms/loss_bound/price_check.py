"""The check of a bound: prices in, a loss out that no release falls below. It trusts nothing that chose the prices.

Let every row have a price, of any sign. A class C that loses L(C) a row has the excess e(C): the mean price of its rows
less L(C). Let E(r) be a number that no class with row r exceeds. Then in any release

    sum over rows of (price(r) - E(r)) <= sum over classes C of |C| (mean price of C - e(C)) = sum over C of |C| L(C),

so the mean of price(r) - E(r) is a lower bound of the loss. E(r) is the same for all rows of a cell, and found by
branch and bound over all boxes around it (`price_check_loops`), where a class is relaxed to parts of rows
(`price_value_loops`). All numbers are whole: losses are rounded downwards, worths and distances such that E is too high
rather than too low.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.control import Control
from tclose.algorithms.loss_bound.closeness_terms import CloseTerms, close_terms, joined_values, smallest_class
from tclose.algorithms.loss_bound.price_check_loops import SearchLimits, excesses, worth_of_all
from tclose.algorithms.loss_bound.price_value_loops import PricedKinds
from tclose.algorithms.loss_bound.rounded_losses import UNIT, SpanLosses, span_losses
from tclose.algorithms.loss_bound.row_kinds import RowKinds
from tclose.algorithms.requirement import Requirement
from tclose.table.encode import EncodedTable

Integers = NDArray[np.int64]
HIGHEST = 2.0  # no price is farther from 0: a loss is at most 1
AT_A_TIME = 32  # cells between two looks at the clock


@dataclass(frozen=True, eq=False)
class PriceProblem:
    """A table and a requirement as whole numbers.

    Attributes
    ----------
    kinds
        The different rows.
    losses
        What spans lose.
    terms
        What closeness asks.
    ignored
        The attributes whose distance has too many values for it: they are left out, which keeps a bound valid.
    """

    kinds: RowKinds
    losses: SpanLosses
    terms: CloseTerms
    ignored: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: EncodedTable, requirement: Requirement) -> PriceProblem:
        """Read from a table; l and caps are left out but for the rows they need, which keeps a bound valid."""
        asked = [place for place, attribute in enumerate(requirement.attributes) if attribute.t is not None]
        joined = {place: joined_values(requirement.attributes[place]) for place in asked}
        found = {place: each for place, each in joined.items() if each is not None}
        codes = tuple(
            found[place].group[column] if place in found else column for place, column in enumerate(table.codes)
        )
        grouped = EncodedTable(table.axes, table.places, table.domains, codes, table.rows)
        kinds = RowKinds.of(grouped, list(found))
        if not found:
            kinds = RowKinds(**{**vars(kinds), "codes": np.zeros((len(kinds.counts), 1), np.int32)})
        terms = close_terms(list(found.values()), len(table), smallest_class(requirement))
        ignored = tuple(requirement.attributes[place].domain.column for place in asked if place not in found)
        return cls(kinds, span_losses(table.axes), terms, ignored)


@dataclass(frozen=True, eq=False)
class PriceCheck:
    """Prices in line by falling price, with what all searches need.

    Attributes
    ----------
    problem
        What the prices are for.
    prices
        One a kind of row, in whole parts of a loss of 1.
    order
        The kinds by falling price.
    floor, whole
        No excess of a class is below the one or above the other.
    lined
        The kinds in that order, for loops.
    """

    problem: PriceProblem
    prices: Integers
    order: Integers
    floor: int
    whole: int
    lined: PricedKinds = field(repr=False)

    @classmethod
    def of(cls, problem: PriceProblem, prices: NDArray[np.float64]) -> PriceCheck:
        """Any prices will do; they are rounded to whole parts, and what is not a number counts as 0."""
        limited = np.clip(np.nan_to_num(prices, nan=0.0), -HIGHEST, HIGHEST)
        whole_prices = np.rint(limited * UNIT).astype(np.int64)
        order = np.argsort(-whole_prices, kind="stable")
        kinds = problem.kinds
        lined = PricedKinds(
            places=np.ascontiguousarray(kinds.places[order].T),
            prices=whole_prices[order],
            counts=kinds.counts[order],
            codes=np.ascontiguousarray(kinds.codes[order].T),
        )
        whole = worth_of_all(lined, problem.terms)
        floor = int(whole_prices.min()) - 2 * UNIT
        return cls(problem, whole_prices, order, floor, int(whole), lined)

    @property
    def mean_price(self) -> Fraction:
        """Of all rows."""
        counts = self.problem.kinds.counts
        total = int(self.prices @ counts)  # of at most 2^33 each, so that 64 bits hold the sum of 2^29 rows
        return Fraction(total, int(counts.sum()))

    def limits(self, tolerance: float, most_nodes: int) -> SearchLimits:
        """How far searches go that may leave an excess larger by `tolerance`."""
        return SearchLimits(tolerance=int(tolerance * UNIT), most_nodes=most_nodes, floor=self.floor, whole=self.whole)

    def excesses_of(self, cells: Integers, tolerance: float = 0.0, most_nodes: int = 1 << 20) -> Integers:
        """Of each cell of these numbers what no class which holds one of its rows exceeds."""
        found = np.empty(len(cells), np.int64)
        problem, limits = self.problem, self.limits(tolerance, most_nodes)
        excesses(problem.kinds.cells[cells], self.lined, problem.losses, problem.terms, limits, found)
        return found

    def in_pieces(
        self, cells: Integers, control: Control, tolerance: float, most_nodes: int
    ) -> Iterator[tuple[Integers, Integers]]:
        """Some cells after the others, on all cores, in order, until all are done or the time is up."""
        pieces = [cells[first : first + AT_A_TIME] for first in range(0, len(cells), AT_A_TIME)]
        threads = max(os.cpu_count() or 1, 1)
        with ThreadPoolExecutor(threads) as pool:
            for first in range(0, len(pieces), threads):
                if control.stop:
                    return
                some = pieces[first : first + threads]
                yield from zip(
                    some, pool.map(lambda piece: self.excesses_of(piece, tolerance, most_nodes), some), strict=True
                )


def proven_bound(check: PriceCheck, excess: Integers) -> Fraction:
    """The bound of the loss from the excesses of all cells; never below 0, which always holds.

    Examples
    --------
    >>> import tclose
    >>> from tclose.table.encode import encode
    >>> from tclose.table.source import read
    >>> frame, schema = tclose.datasets.census(200, seed=1)
    >>> table = encode(read(frame), schema)
    >>> problem = PriceProblem.of(table, Requirement.of(schema, table))
    >>> check = PriceCheck.of(problem, np.zeros(len(problem.kinds.counts)))
    >>> 0 < proven_bound(check, check.excesses_of(np.arange(len(problem.kinds.cells)))) < 1
    True
    """
    counts = check.problem.kinds.cell_counts
    assert len(excess) == len(counts), "a proof looks at every cell"
    total = sum(int(each) * int(count) for each, count in zip(excess, counts, strict=True))
    return max((check.mean_price - Fraction(total, int(counts.sum()))) / UNIT, Fraction(0))
