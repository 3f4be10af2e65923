"""t-Mondrian as one would explain it, ours and that of the papers: recursion over lists of rows, and fractions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

Row = tuple[int, ...]
Holds = Callable[[Sequence[int]], bool]
STEPS = 2**30  # numbers that are nearer than that count as equal


def mondrian(
    rows: Sequence[Row],
    cost: Callable[[int, int, int], Fraction],
    spreads: Sequence[Fraction],
    weights: Sequence[Fraction],
    k: int,
    holds: Holds,
) -> set[frozenset[int]]:
    """The classes as sets of row numbers: of all cuts the one that saves most, then the one nearest the median.

    Parameters
    ----------
    rows
        The place of each row on every axis.
    cost
        cost(axis, low, high): the loss of a span.
    spreads
        What one place more counts on an axis with a hierarchy, 0 on others.
    weights
        The share of each axis in the loss.
    k, holds
        What each side of a cut must meet; `holds` takes row numbers.
    """

    def cuts(members: list[int]) -> list[tuple[list[int], list[int]]]:
        """Both sides of every cut that may be tried, in this order."""
        found = []
        for axis in range(len(weights)):
            for place in sorted({rows[row][axis] for row in members}):
                left, right = _sides(members, rows, axis, place)
                if min(len(left), len(right)) < k:
                    continue
                saved = worth(members) - (len(left) * worth(left) + len(right) * worth(right)) / len(members)
                found.append((-round(saved * STEPS), -min(len(left), len(right)), axis, -place, left, right))
        return [(left, right) for *_, left, right in sorted(found)]

    def worth(members: list[int]) -> Fraction:
        """What a row of the class loses; of a hierarchy half of that, and half of how far its leaves are apart."""
        total = Fraction(0)
        for axis, weight in enumerate(weights):
            low, high = min(rows[row][axis] for row in members), max(rows[row][axis] for row in members)
            lost = cost(axis, low, high)
            total += weight * ((lost + spreads[axis] * (high - low)) / 2 if spreads[axis] else lost)
        return total

    return _cut_down(list(range(len(rows))), cuts, holds)


def textbook_mondrian(
    points: Sequence[Sequence[Fraction]], weights: Sequence[Fraction], k: int, holds: Holds
) -> set[frozenset[int]]:
    """The same as in the papers: at the median of the widest axis, or of the next.

    Parameters
    ----------
    points
        The value of each row on every axis, as a share of the range of the table.
    weights
        Of each axis; its width counts that much.
    """

    def cuts(members: list[int]) -> list[tuple[list[int], list[int]]]:
        found = []
        for axis, weight in enumerate(weights):
            values = sorted(points[row][axis] for row in members)
            median = values[(len(values) + 1) // 2 - 1]
            left, right = _sides(members, points, axis, median)
            if len(left) >= k and len(right) >= k:
                found.append((-round(weight * (values[-1] - values[0]) * STEPS), axis, left, right))
        return [(left, right) for *_, left, right in sorted(found)]

    return _cut_down(list(range(len(points))), cuts, holds)


def _sides(
    members: list[int], values: Sequence[Sequence[int | Fraction]], axis: int, cut: int | Fraction
) -> tuple[list[int], list[int]]:
    return [row for row in members if values[row][axis] <= cut], [row for row in members if values[row][axis] > cut]


def _cut_down(
    members: list[int], cuts: Callable[[list[int]], list[tuple[list[int], list[int]]]], holds: Holds
) -> set[frozenset[int]]:
    for left, right in cuts(members):
        if holds(left) and holds(right):
            return _cut_down(left, cuts, holds) | _cut_down(right, cuts, holds)
    return {frozenset(members)}
