"""The error of answers to COUNT queries, from the definitions: loops over raw rows, nothing shared with the package.

A row maps columns to values, None if missing. A query maps columns to the values that it wants. Whoever has the release
takes the rows of a class to lie evenly over the cells that it shows.
"""

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from statistics import median

Value = Hashable
Row = Mapping[str, Value]
Query = Mapping[str, frozenset[Value]]
Cells = Mapping[str, frozenset[Value]]


def precise(rows: Sequence[Row], query: Query) -> int:
    """COUNT(*) of the table."""
    return sum(all(row[column] in wanted for column, wanted in query.items()) for row in rows)


def estimate(classes: Sequence[Sequence[Row]], shown: Sequence[Cells], query: Query) -> Fraction:
    """COUNT(*) of the release: `shown` are the cells of each class; a column without any is released as it is."""
    total = Fraction(0)
    for members, cells in zip(classes, shown, strict=True):
        for row in members:
            share = Fraction(1)
            for column, wanted in query.items():
                if column in cells:
                    share *= Fraction(len(cells[column] & wanted), len(cells[column]))
                else:
                    share *= row[column] in wanted
            total += share
    return total


def median_error(
    rows: Sequence[Row], classes: Sequence[Sequence[Row]], shown: Sequence[Cells], queries: Sequence[Query]
) -> Fraction:
    """The median of |estimate - precise| / precise, without those that are precisely 0."""
    answers = [(precise(rows, query), estimate(classes, shown, query)) for query in queries]
    return median(abs(told - truth) / truth for truth, told in answers if truth)


def felt(excess: Sequence[float], truth: Sequence[int], unit: float) -> float:
    """The sum of e^2 / (1 + e^2), e being the relative error over a unit, without those that are precisely 0."""
    errors = [abs(off) / true / unit for off, true in zip(excess, truth, strict=True) if true]
    return sum(error**2 / (1 + error**2) for error in errors)
