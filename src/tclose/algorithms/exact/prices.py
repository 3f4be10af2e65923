"""What every row has to pay at least: prices whose sum no partition can undercut.

The linear program: the least sum of cost(C) x(C) over all classes C, with x >= 0 and every row covered
once. Its dual has a price for every row, so that no class costs less than its rows' prices together;
then neither does a partition. It is solved by the simplex method. Classes come in as they are
needed: one pass over all of them finds those that cost least beyond their prices.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.exact.subtables import Go, SubtableTypes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PASSES = 200
AT_A_TIME = 60  # classes that one pass brings in, at most
TRIFLE = 1e-9


@dataclass(frozen=True, eq=False)
class Prices:
    """A price for a row of each type, and what all rows pay: no partition costs less."""

    of_type: Floats
    total: float


def find_prices(types: SubtableTypes, costs: Floats, go: Go) -> tuple[Prices, bool]:
    """The highest prices, and whether it was not stopped.

    Whatever prices there are, those less the largest excess a row, over all classes, are valid, so
    that rounding and stopping do no harm.
    """
    from tclose.algorithms.exact.subsets_loops import price

    n = int(types.most.sum())
    program = _PriceProgram.of(types.most, float(np.max(costs, where=np.isfinite(costs), initial=0.0)) + 1.0)
    best = Prices(np.zeros(len(types.most)), 0.0)
    found, least = np.empty(len(types.sizes[0]), np.int64), np.empty(len(types.sizes[0]))
    for number in range(PASSES):
        prices = program.prices()
        price(costs, types.sums(prices), types.sizes, found, least)
        excess = max(-float(least.min()), 0.0)
        total = float(prices @ types.most) - n * excess
        if total > best.total:
            best = Prices(prices - excess, total)
        if excess <= TRIFLE:
            break
        if not go(0.3 + 0.3 * number / PASSES):
            return best, False
        order = np.argsort(least, kind="stable")[:AT_A_TIME]
        entering = found[order[least[order] < -TRIFLE / 2]]
        program.solve(types.counts(entering).astype(np.float64), costs[entering])
    return best, True


@dataclass(eq=False)
class _PriceProgram:
    """The linear program with the classes known so far: a basis, its inverse and how much of each is taken.

    At first every row pays a penalty by itself. Right-hand sides are shifted a little, each by
    another part, so that no step of the simplex method is without progress; prices do not depend on them.
    """

    inverse: Floats
    basis: Floats  # a column for every class in it
    costs: Floats
    amounts: Floats
    right: Floats
    columns: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # a row for every class known
    column_costs: Floats = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, most: Integers, penalty: float) -> _PriceProgram:
        n = len(most)
        right = most + 1e-4 * (np.arange(1, n + 1) * 0.6180339887498949 % 1.0)
        return cls(np.eye(n), np.eye(n), np.full(n, penalty), right.copy(), right, np.zeros((0, n)))

    def prices(self) -> Floats:
        return self.costs @ self.inverse

    def solve(self, columns: Floats, costs: Floats) -> None:
        """Take in some classes, and find the best prices for all that are known."""
        self.columns = np.concatenate([self.columns, columns])
        self.column_costs = np.concatenate([self.column_costs, costs])
        for number in range(40 * len(self.right)):
            reduced = self.column_costs - self.columns @ self.prices()
            entering = int(np.argmin(reduced))
            if reduced[entering] > -TRIFLE / 4 or not self._pivot(entering):
                return
            if number % 50 == 49:
                self._refresh()

    def _pivot(self, entering: int) -> bool:
        direction = self.inverse @ self.columns[entering]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(direction > TRIFLE, self.amounts / direction, np.inf)
        leaving = int(np.argmin(ratios))
        if not np.isfinite(ratios[leaving]):
            return False
        step = ratios[leaving]
        self.amounts -= step * direction
        self.amounts[leaving] = step
        row = self.inverse[leaving] / direction[leaving]
        self.inverse -= np.outer(direction, row)
        self.inverse[leaving] = row
        self.basis[:, leaving], self.costs[leaving] = self.columns[entering], self.column_costs[entering]
        return True

    def _refresh(self) -> None:
        """Rounding adds up: begin again from the basis."""
        self.inverse = np.linalg.inv(self.basis).astype(np.float64)
        self.amounts = np.maximum(self.inverse @ self.right, 0.0)
