"""The methods of 003 and of Soria-Comas et al. as one would explain them: lists, all pairs, every sum taken anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog, minimize

Floats = NDArray[np.float64]
Point = tuple[int, ...]
Swap = Callable[[Sequence[int]], float]


def squared(a: Point, b: Point) -> int:
    """The distance of two rows, squared."""
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def best_memberships(squares: Floats) -> Floats:
    """Least sum of u^2 d with rows summing to 1 and columns to n / c, nothing negative: by a general solver."""
    n, c = squares.shape
    total = np.zeros((n + c, n * c))
    for row in range(n):
        total[row, row * c : (row + 1) * c] = 1
    for column in range(c):
        total[n + column, column::c] = 1
    asked = np.array([1.0] * n + [n / c] * c)
    found = minimize(
        lambda u: float((u**2 * squares.ravel()).sum()),
        linprog(np.zeros(n * c), A_eq=total, b_eq=asked, bounds=(0, 1)).x,
        jac=lambda u: 2 * u * squares.ravel(),
        bounds=[(0, 1)] * (n * c),
        constraints={"type": "eq", "fun": lambda u: total[:-1] @ u - asked[:-1], "jac": lambda u: total[:-1]},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return np.asarray(found.x.reshape(n, c))


def farthest_bound(n: int, k: int) -> Fraction:
    """The largest distance of a class with one row of each of k equal groups of n ranks, by trying the extremes.

    The cost is convex in each group's row, so it is largest with all at ends of their groups.
    """
    size = n // k
    worst = Fraction(0)
    for ends in range(2**k):
        ranks = [group * size + (size - 1 if ends >> group & 1 else 0) for group in range(k)]
        surplus, total = Fraction(0), Fraction(0)
        for rank in range(n):
            surplus += Fraction(ranks.count(rank), k) - Fraction(1, n)
            total += abs(surplus)
        worst = max(worst, total / (n - 1))
    return worst


def is_far_seed(points: Sequence[Point], living: set[int], number: int, before: int | None, seed: int) -> bool:
    """Whether a class's seed is farthest from the mean of the rows left, every other time from the seed before."""
    if number % 2 == 0:
        n = len(living)
        totals = tuple(sum(points[row][axis] for row in living) for axis in range(len(points[0])))
        gaps = {row: sum((n * x - total) ** 2 for x, total in zip(points[row], totals, strict=True)) for row in living}
    else:
        assert before is not None
        gaps = {row: squared(points[row], points[before]) for row in living}
    return gaps[seed] == max(gaps.values())


def swapped(
    nearest: Sequence[int], further: Sequence[int], far: Swap, close: float = 1.0, trifle: float = 1e-12
) -> list[int]:
    """Function GenerateCluster: rows in turn for the member whose leaving brings the class nearest, if that helps."""
    members = list(nearest)
    for row in further:
        if far(members) <= close:
            break
        tried = [[*members[:place], row, *members[place + 1 :]] for place in range(len(members))]
        distances = [far(each) for each in tried]
        best = distances.index(min(distances))
        if distances[best] < far(members) - trifle:
            members = tried[best]
    return members
