"""Least work between two distributions under any distance: a transport problem, solved and proved in integers."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.verification.compiled_transport import propose
from tclose.verification.exact_numbers import ExactIntegers


@dataclass(frozen=True)
class CertifiedTransport:
    """A plan, and prices that prove that none is better.

    Attributes
    ----------
    plan
        What goes from each place of supply to each of demand.
    supply_prices, demand_prices
        Their sum is nowhere above the cost of a way.
    work
        The plan's sum of mass times cost; the same sum of mass times price.
    """

    plan: ExactIntegers
    supply_prices: ExactIntegers
    demand_prices: ExactIntegers
    work: int


class NotProvedError(ArithmeticError):
    """A plan and its prices do not fit; there is a mistake in the solver."""


def least_work(supplies: ExactIntegers, demands: ExactIntegers, costs: ExactIntegers) -> CertifiedTransport:
    """Move all supplies to all demands (their sums are equal) with the least sum of mass times cost.

    One demand after the other is filled along shortest ways, under prices that keep all reduced costs at
    0 or above (the Hungarian method for masses). The result is checked: if the plan moves what it must and
    work by plan and by prices are equal, no plan is better, since any plan costs at least its prices.

    Examples
    --------
    >>> found = least_work(np.array([2, 1]), np.array([1, 2]), np.array([[0, 3], [3, 0]]))
    >>> found.work, found.plan.tolist()
    (3, [[1, 1], [0, 1]])
    """
    supplies, demands = np.asarray(supplies), np.asarray(demands)
    if len(supplies) > len(demands):  # the side that is scanned again and again is to be the shorter one
        turned = least_work(demands, supplies, costs.T)
        return CertifiedTransport(turned.plan.T, turned.demand_prices, turned.supply_prices, turned.work)
    if not costs.size:
        none = np.zeros(0, np.int64)
        return proved(supplies, demands, costs, np.zeros(costs.shape, np.int64), none, none)
    if _is_small(supplies, costs):
        small = costs.astype(np.int64), supplies.astype(np.int64), demands.astype(np.int64)
        proposal = propose(*small)
        if proposal is not None:
            with contextlib.suppress(NotProvedError):
                return proved(small[1], small[2], small[0], *proposal)
    return _by_python(supplies.astype(object), demands.astype(object), costs.astype(object))


def _is_small(supplies: ExactIntegers, costs: ExactIntegers) -> bool:
    """Whether no price (at most the costs of a way through all places) and no work passes 2^62."""
    largest = max(int(abs(costs).max()), 1) * 4 * sum(costs.shape)
    return largest * max(sum(map(int, supplies)), 1) < 2**62


def _by_python(supplies: ExactIntegers, demands: ExactIntegers, costs: ExactIntegers) -> CertifiedTransport:
    """The same in Python integers of any length."""
    solver = _Solver(np.ascontiguousarray(costs.T), supplies.copy(), demands.copy())
    for demand in range(len(demands)):
        while solver.wanted[demand]:
            solver.fill(demand)
    return proved(supplies, demands, costs, solver.flow.T, solver.prices, solver.row_prices)


def proved(
    supplies: ExactIntegers,
    demands: ExactIntegers,
    costs: ExactIntegers,
    plan: ExactIntegers,
    one: ExactIntegers,
    other: ExactIntegers,
) -> CertifiedTransport:
    """Check a plan against its prices, in integers that hold all sums.

    Raises
    ------
    NotProvedError
        The plan leaves something, or its work is not that of the prices, or these are above a cost.
    """
    if costs.size and not _is_small(supplies, costs):
        plan, one, other, costs = (each.astype(object) for each in (plan, one, other, costs))
    moves_all = (plan >= 0).all() and (plan <= sum(map(int, supplies))).all()  # so that no sum passes 64 bits
    moves_all = moves_all and (plan.sum(axis=1) == supplies).all() and (plan.sum(axis=0) == demands).all()
    work = int((plan * costs).sum())
    priced = int((one * supplies).sum() + (other * demands).sum())
    bounded = not costs.size or max(abs(one).max(), abs(other).max()) <= 4 * sum(costs.shape) * abs(costs).max()
    if not moves_all or not bounded or work != priced or (one[:, None] + other[None, :] > costs).any():
        raise NotProvedError("A transport plan could not be proved to be the best.")
    return CertifiedTransport(plan, one, other, work)


class _Solver:
    """Rows are demands, columns supplies; flow only where the reduced cost is 0, and none is below 0."""

    def __init__(self, costs: ExactIntegers, free: NDArray[Any], wanted: NDArray[Any]) -> None:
        self.costs, self.free, self.wanted = costs, free, wanted
        self.flow = np.zeros(costs.shape, free.dtype)
        self.prices = np.zeros(costs.shape[1], costs.dtype)
        self.row_prices = costs.min(axis=1) if costs.size else np.zeros(len(wanted), costs.dtype)
        self.outside = np.zeros(len(wanted), bool)

    def fill(self, row: int) -> None:
        """Bring some mass to a row along the shortest way from a column that has some left."""
        n_columns = len(self.free)
        reach = self.costs[row] - self.row_prices[row] - self.prices  # the shortest way from the row to each column
        via = np.full(n_columns, row)  # the row before each column on that way
        entered: dict[int, NDArray[np.int64]] = {}  # of each scanned column, the rows that are entered from it
        scanned = np.zeros(n_columns, bool)
        self.outside[:] = True
        self.outside[row] = False
        while True:
            open_columns = np.flatnonzero(~scanned)
            column = int(open_columns[np.argmin(reach[open_columns])])
            if self.free[column]:
                break
            scanned[column] = True
            others = np.flatnonzero((self.flow[:, column] > 0) & self.outside)
            entered[column] = others
            self.outside[others] = False
            if len(others):
                ways = self.costs[others] - self.row_prices[others, None]
                nearest = ways.argmin(axis=0)
                way = reach[column] + ways[nearest, np.arange(n_columns)] - self.prices
                shorter = (way < reach) & ~scanned
                reach[shorter], via[shorter] = way[shorter], others[nearest[shorter]]
        self._reprice(row, entered, scanned, reach, reach[column])
        self._push(row, column, via, entered)

    def _reprice(
        self,
        row: int,
        entered: dict[int, NDArray[np.int64]],
        scanned: NDArray[np.bool_],
        reach: ExactIntegers,
        last: Any,
    ) -> None:
        """Change prices so that the shortest way costs nothing, and nothing costs less."""
        self.row_prices[row] += last
        for column, others in entered.items():
            self.row_prices[others] += last - reach[column]
        self.prices[scanned] -= last - reach[scanned]

    def _push(self, row: int, column: int, via: NDArray[np.int64], entered: dict[int, NDArray[np.int64]]) -> None:
        """Move as much as the way allows: it alternates ways that gain mass and ways that give theirs back."""
        origin = {int(other): column for column, others in entered.items() for other in others}
        gains, gives = [], []
        while True:
            before = int(via[column])
            gains.append((before, column))
            if before == row:
                break
            column = origin[before]
            gives.append((before, column))
        amount = min(self.free[gains[0][1]], self.wanted[row], *(self.flow[way] for way in gives))
        for way in gains:
            self.flow[way] += amount
        for way in gives:
            self.flow[way] -= amount
        self.free[gains[0][1]] -= amount
        self.wanted[row] -= amount
