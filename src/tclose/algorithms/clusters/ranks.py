"""Groups by rank, so many that a class with one row of each is close (Soria-Comas et al. 2015)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.clusters.groups import in_order
from tclose.algorithms.control import Watch
from tclose.algorithms.requirement import Attribute, Requirement
from tclose.algorithms.shared.buckets import join_values
from tclose.distances import Form, Line, Transport, Tree
from tclose.table.encode import EncodedTable

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST_GROUPS = 4096  # of one attribute


def value_order(form: Form, counts: Integers) -> Integers:
    """The values that occur in an order that has near ones side by side."""
    if isinstance(form, Line):
        return np.flatnonzero(counts)
    if isinstance(form, Tree):
        order = np.argsort(form.paths[:, 0], kind="stable")  # so that the leaves of every node are a run
    else:
        order = np.array([value for value in join_values(form, counts).values if value >= 0], np.int64)
    return order[counts[order] > 0]


def far_at_most(form: Form, counts: Integers, n_groups: int) -> float:
    """How far a class can be that has one row of each of so many groups along the order of the values.

    Each row stands for its group. All of a group at one of its values costs at most their largest
    distance, times the share of the others; along a line the sum of the distances from one of its
    ends. With n rows of different values at equal distances, and k groups, that is
    (n - k) / (2 (n - 1) k), the bound of Soria-Comas et al. (proposition 2).

    Examples
    --------
    >>> far_at_most(Line(np.arange(12), 11), np.ones(12, np.int64), 3)  # (12 - 3) / (2 * 11 * 3)
    0.13636363636363635
    """
    order = value_order(form, counts)
    stops = np.cumsum(counts[order])
    n = int(stops[-1])
    owners = in_order(np.arange(n), n_groups)
    ends = np.searchsorted(owners, np.arange(n_groups), side="right")
    starts = np.concatenate([[0], ends[:-1]])
    first, last = np.searchsorted(stops, starts, side="right"), np.searchsorted(stops, ends - 1, side="right")
    if isinstance(form, Line):
        costs = _from_ends(form.positions[order] / form.span, stops, starts, ends, first, last)
    else:
        costs = _across(form, order, stops, starts, ends, first, last)
    return float(costs.sum()) / n


def _from_ends(x: Floats, stops: Integers, starts: Integers, ends: Integers, first: Integers, last: Integers) -> Floats:
    """The sum of the distances of a group's rows from its first or from its last value, whichever is larger."""
    rows = np.diff(stops, prepend=0)
    moments = np.concatenate([[0.0], np.cumsum(rows * x)])
    below = np.concatenate([[0], stops])

    def moment(row: Integers, value: Integers) -> Floats:
        """The sum of the positions of the rows before this one, which has this value."""
        return np.asarray(moments[value] + (row - below[value]) * x[value], np.float64)

    within = moment(ends - 1, last) + x[last] - moment(starts, first)
    sizes = ends - starts
    return np.maximum(within - sizes * x[first], sizes * x[last] - within)


def _across(
    form: Tree | Transport, order: Integers, stops: Integers, starts: Integers, ends: Integers, first: Integers,
    last: Integers,
) -> Floats:  # fmt: skip
    """The largest distance within a group times its rows but for those of its rarest value."""
    costs = np.zeros(len(starts))
    for group in np.flatnonzero(first < last):
        values = np.arange(first[group], last[group] + 1)
        begins = np.maximum(np.concatenate([[0], stops])[values], starts[group])
        fewest = int((np.minimum(stops[values], ends[group]) - begins).min())
        costs[group] = _apart(form, order[values]) * (ends[group] - starts[group] - fewest)
    return costs


def _apart(form: Tree | Transport, values: Integers) -> float:
    """The largest distance between two of these values; those of a tree are in the order of its leaves."""
    if isinstance(form, Transport):
        return float(form.distances[np.ix_(values, values)].max())
    ways = [form.paths[value][form.paths[value] >= 0] for value in (values[0], values[-1])]
    return float(form.weights[np.setxor1d(*ways)].sum() / form.denominator)


def groups_asked(attribute: Attribute, counts: Integers, watch: Watch | None = None) -> int:
    """The fewest groups, by doubling and then halving the step, with which a class is surely close; 1 if none are.

    When the time is over, every number is taken to do.
    """
    form = attribute.domain.form
    assert attribute.t is not None
    t = float(attribute.t)
    most = min(int(counts.sum()) // 2, MOST_GROUPS)

    def close(n_groups: int) -> bool:
        return (watch is not None and watch.stop) or far_at_most(form, counts, n_groups) <= t + 1e-12

    high = 1
    while high < most and not close(high):
        high = min(2 * high, most)
    if most < 1 or not close(high):
        return 1  # merging has to do it
    return _first(close, high // 2, high)


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least number above `low`, up to `high`, from which on it holds; it does at `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def least_groups(n: int, t: Fraction) -> int:
    """The same for n rows of different values, in closed form: the least k with (n - k) / (2 (n - 1) k) <= t.

    Examples
    --------
    >>> least_groups(1080, Fraction("0.1"))
    5
    """
    return int(-(-n // (2 * (n - 1) * t + 1)))


def nested(table: EncodedTable, requirement: Requirement, asked: Sequence[tuple[int, int]]) -> NDArray[np.int32]:
    """Groups by the rank in the first attribute, each cut in turn by the rank in the next.

    `asked` has the attributes and the number of groups by each. Rows of the same values stay in
    the order of the table.
    """
    owners = np.zeros(len(table), np.int32)
    for attribute, n_groups in asked:
        codes = table.codes[attribute]
        counts = np.bincount(codes, minlength=table.domains[attribute].size)
        ranks = np.zeros(len(counts), np.int64)
        order = value_order(table.domains[attribute].form, counts)
        ranks[order] = np.arange(len(order))
        along = np.lexsort((ranks[codes], owners))
        sizes = np.bincount(owners)
        finer = np.empty(len(table), np.int32)
        for group, rows in enumerate(np.split(along, np.cumsum(sizes)[:-1])):
            finer[rows] = in_order(np.arange(len(rows)), n_groups) + group * n_groups
        owners = finer
    return owners
