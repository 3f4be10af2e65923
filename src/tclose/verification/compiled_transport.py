"""The transport solver in 64 bits, compiled; what it finds is only a proposal, which `exact_transport` proves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

WholeNumbers = NDArray[np.int64]


def _compiled(function: Any) -> Any:
    """Compile on first use; the machine code is kept where there is a place to write to."""
    compile_: Any = njit
    try:
        return compile_(cache=True, nogil=True)(function)
    except RuntimeError:  # there is none
        return compile_(nogil=True)(function)


@_compiled
def fill_rows(
    costs: WholeNumbers,
    free: WholeNumbers,
    wanted: WholeNumbers,
    flow: WholeNumbers,
    prices: WholeNumbers,
    row_prices: WholeNumbers,
) -> bool:
    """Fill one demand (row) after the other from the supplies (columns) along shortest ways.

    Reduced costs `costs[r, c] - row_prices[r] - prices[c]` are at least 0 throughout, and 0 where there is flow.
    The ways from a row are found by Dijkstra's algorithm over columns: a full column is left through the rows
    that it fills. No index is computed but from the loops, and none beyond the shape of `costs`.

    Returns
    -------
    :
        Whether every demand is met.
    """
    n_rows, n_columns = costs.shape
    reach = np.zeros(n_columns, np.int64)
    via = np.zeros(n_columns, np.int64)
    scanned = np.zeros(n_columns, np.bool_)
    origin = np.zeros(n_rows, np.int64)
    for row in range(n_rows):
        while wanted[row] > 0:
            for other in range(n_rows):
                origin[other] = -1
            for column in range(n_columns):
                reach[column] = costs[row, column] - row_prices[row] - prices[column]
                via[column] = row
                scanned[column] = False
            last = -1
            while True:
                last = -1
                for column in range(n_columns):
                    if not scanned[column] and (
                        last < 0
                        or reach[column] < reach[last]
                        or (reach[column] == reach[last] and free[last] == 0 and free[column] > 0)
                    ):
                        last = column
                if last < 0:
                    return False
                if free[last] > 0:
                    break
                scanned[last] = True
                for other in range(n_rows):
                    if other != row and origin[other] < 0 and flow[other, last] > 0:
                        origin[other] = last
                        for column in range(n_columns):
                            way = reach[last] + costs[other, column] - row_prices[other] - prices[column]
                            if not scanned[column] and way < reach[column]:
                                reach[column] = way
                                via[column] = other
            distance = reach[last]
            row_prices[row] += distance
            for other in range(n_rows):
                if origin[other] >= 0:
                    row_prices[other] += distance - reach[origin[other]]
            for column in range(n_columns):
                if scanned[column]:
                    prices[column] -= distance - reach[column]
            amount = min(free[last], wanted[row])
            column = last
            while via[column] != row:
                other = via[column]
                column = origin[other]
                amount = min(amount, flow[other, column])
            free[last] -= amount
            wanted[row] -= amount
            column = last
            while via[column] != row:
                other = via[column]
                flow[other, column] += amount
                column = origin[other]
                flow[other, column] -= amount
            flow[row, column] += amount
    return True


def propose(costs: WholeNumbers, supplies: WholeNumbers, demands: WholeNumbers) -> tuple[Any, Any, Any] | None:
    """A plan and prices for supplies and demands, of rows that are supplies; None if it does not come out.

    Examples
    --------
    >>> plan, one, other = propose(np.array([[0, 3], [3, 0]]), np.array([2, 1]), np.array([1, 2]))
    >>> plan.tolist()
    [[1, 1], [0, 1]]
    """
    turned = np.ascontiguousarray(costs.T)
    flow = np.zeros(turned.shape, np.int64)
    prices, row_prices = np.zeros(len(supplies), np.int64), turned.min(axis=1)
    done = fill_rows(turned, supplies.copy(), demands.copy(), flow, prices, row_prices)
    return (flow.T, prices, row_prices) if done else None
