"""Bucketization: sensitive values in buckets, so that a class with each bucket's share is close (004 section 4.2)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from tclose.distances import Form, Line, Transport, Tree
from tclose.distances.linkage import groups_of, linkage

Integers = NDArray[np.int64]
BoundRule = Literal["printed", "largest"]
Node = TypeVar("Node")
UNITS = 2**30  # the distances of a matrix or a joint have no more: finer ones are rounded up


@dataclass(frozen=True, eq=False)
class Buckets:
    """Values that may stand for each other, and what that costs.

    A class that takes each bucket's share of its rows is within `bound` of the table, whatever
    rows it takes (theorem 3). One that takes other shares is within `bound + distance(sizes)`
    (theorem 4), where D is the transport between the shares under the largest ground distance
    between two buckets. That distance is one along a tree, so D needs no solver:

    On a line, buckets are stretches [a, b] with middle m and half width r. The farthest values
    of two of them are |m_i - m_j| + r_i + r_j apart, whether they overlap or not: the way from
    bucket i to the line, along it, and out to bucket j. On a hierarchy buckets are nodes with
    disjoint leaves, and the farthest values of two are as far apart as their lowest common
    ancestor is high: the way up the tree, each bucket being a leaf of height 0. Every edge has
    the buckets `low` to `high` - 1 on its far side, and what these lack or have too much must
    cross it:

        D = sum over edges of weight |q_low + ... - p_low - ...| / denominator

    The distance of a matrix or of a joint is none along a tree. Its values are joined into one whose distances
    are nowhere below those of the matrix, so that what the formula gives is an upper bound of D.

    Attributes
    ----------
    of_code
        The bucket of each value; -1 where it does not occur.
    counts
        The rows of each bucket.
    bound
        U: the sum of what theorem 2 allows each bucket.
    low, high, weights, denominator
        The edges of the tree that D is measured along.

    Examples
    --------
    >>> salary = bucketize(Line(np.arange(4), 3), np.array([2, 3, 3, 2]), Fraction("0.25"))
    >>> salary.of_code.tolist(), salary.bound, salary.distance(np.array([2, 1]))
    ([0, 0, 1, 1], Fraction(1, 5), Fraction(1, 6))
    """

    of_code: NDArray[np.int32]
    counts: Integers
    bound: Fraction
    low: Integers
    high: Integers
    weights: NDArray[Any]  # of int64, or of Python's integers where those may not do
    denominator: int

    def __len__(self) -> int:
        return len(self.counts)

    def distance(self, sizes: Integers) -> Fraction:
        """D of a class with so many rows of each bucket."""
        n, s = int(self.counts.sum()), int(sizes.sum())
        # |sum| <= n s, and no weight is above the denominator.
        exact = np.int64 if 2 * n * s * self.denominator * len(self) < 2**62 else object
        surplus = np.concatenate([[0], np.cumsum(n * sizes.astype(exact) - s * self.counts.astype(exact))])
        work = (self.weights.astype(exact) * abs(surplus[self.high] - surplus[self.low])).sum()
        return Fraction(int(work), n * s * self.denominator)


def bucketize(form: Form, counts: Integers, t: Fraction, bound: BoundRule = "printed") -> Buckets:
    """Functions bucketCat and bucketNum: buckets with U < t, or one a value where there are none.

    Parameters
    ----------
    form
        The ground distance.
    counts
        The rows of each value.
    t
        What the bound must stay below.
    bound
        How much a bucket may cost by itself: `printed` is theorem 2; `largest` takes, also on a
        hierarchy, the largest over l of the sum over i of d_li p_i. That holds for any metric:
        the cost is convex in the rows taken, so it is largest if all have one value.
    """
    occurring = np.flatnonzero(counts)
    if isinstance(form, Line):
        return _on_line(form, counts, occurring, t)
    nodes = _nodes_of_tree(form, counts, bound) if isinstance(form, Tree) else join_values(form, counts)
    return _on_tree(nodes, counts, t)


def _grow(
    root: Node, bound: Callable[[Node], int], children: Callable[[Node], Sequence[Node]], enough: Callable[[int], bool]
) -> tuple[list[Node], int]:
    """Split the bucket that lowers U most, the oldest of several, until U is low enough or none can be split.

    Splitting a node of a matrix may raise U, and is done nevertheless where nothing lowers it: its
    parts may be split in turn, down to single values, which cost nothing.
    """
    number, total = count(), bound(root)
    buckets: list[tuple[bool, int, int, Node, Sequence[Node]]] = []  # those that cannot be split come last

    def add(node: Node) -> None:
        parts = children(node)
        decrease = bound(node) - sum(map(bound, parts)) if parts else 0
        heapq.heappush(buckets, (not parts, -decrease, next(number), node, parts))

    add(root)
    while not enough(total) and buckets[0][-1]:
        _, change, _, _, parts = heapq.heappop(buckets)
        total += change
        for part in parts:
            add(part)
    return [node for _, _, _, node, _ in buckets], total


def _on_line(line: Line, counts: Integers, occurring: Integers, t: Fraction) -> Buckets:
    """Stretches of the values that occur.

    From one value, the cost of filling all others of a stretch is convex in its position, so
    the largest of theorem 2 is that from one of the two ends. With prefix sums of rows and of
    rows times position, every split of a stretch is judged at once.
    """
    x, rows = line.positions[occurring] - line.positions[occurring[0]], counts[occurring]
    n = int(rows.sum())
    exact = np.int64 if 2 * n * line.span < 2**62 else object
    x, rows = x.astype(exact), rows.astype(exact)
    below, moment = (np.concatenate([[0], np.cumsum(each)]) for each in (rows, rows * x))

    def bound(first: Any, last: Any) -> Any:
        """Of the values first to last - 1; at least one is an array, of stretches side by side."""
        mass, sum_of = below[last] - below[first], moment[last] - moment[first]
        return np.maximum(sum_of - x[first] * mass, x[last - 1] * mass - sum_of)

    def halves(stretch: range) -> Sequence[range]:
        cuts = np.arange(stretch.start + 1, stretch.stop)
        if not len(cuts):
            return ()
        best = int(cuts[np.argmin(bound(stretch.start, cuts) + bound(cuts, stretch.stop))])
        return range(stretch.start, best), range(best, stretch.stop)

    def own(stretch: range) -> int:
        return int(bound(stretch.start, np.array([stretch.stop]))[0])

    scale = n * line.span
    if t == 0:
        stretches, total = [range(place, place + 1) for place in range(len(x))], 0
    else:
        stretches, total = _grow(range(len(x)), own, halves, lambda total: total < t * scale)
    stretches.sort(key=lambda each: each.start)
    starts = np.array([each.start for each in stretches])
    ends = np.append(starts[1:], len(x)) - 1
    middles, places = x[starts] + x[ends], np.arange(len(starts))  # twice the middle, and below twice the half width
    return Buckets(
        _of_code(counts, occurring, starts),
        np.add.reduceat(rows, starts).astype(np.int64),
        Fraction(total, scale),
        np.concatenate([np.zeros(len(starts) - 1, np.int64), places]),
        np.concatenate([places[1:], places + 1]),
        np.concatenate([np.diff(middles), x[ends] - x[starts]]),
        2 * line.span,
    )


def _of_code(counts: Integers, values: Integers, starts: Integers) -> NDArray[np.int32]:
    """The bucket of each value, where bucket i begins at starts[i] of the values given."""
    of_code = np.full(len(counts), -1, np.int32)
    of_code[values] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(values))))
    return of_code


@dataclass(frozen=True, eq=False)
class _Nodes:
    """A tree over the values that occur, numbered from the root down, a subtree at a time; no node has a single child.

    Attributes
    ----------
    parents
        Of each node; -1 of the root, which comes first.
    heights
        Of each node; leaves have height 0.
    values
        The code of each leaf; -1 of inner nodes.
    bounds
        What each node may cost as a bucket, by theorem 2 or more closely: in rows of the table
        times the unit of heights.
    height
        Of the whole hierarchy.
    """

    parents: Integers
    heights: Integers
    values: Integers
    bounds: list[int]
    height: int


def _on_tree(nodes: _Nodes, counts: Integers, t: Fraction) -> Buckets:
    """Nodes of the tree as buckets."""
    scale, size = int(counts.sum()) * nodes.height, len(nodes.parents)
    children: list[list[int]] = [[] for _ in range(size)]
    ends = np.arange(1, size + 1)  # after each node's subtree
    for node in range(1, size):
        children[nodes.parents[node]].append(node)
    for node in range(size - 1, 0, -1):
        ends[nodes.parents[node]] = max(ends[nodes.parents[node]], ends[node])
    found, total = _grow(0, nodes.bounds.__getitem__, children.__getitem__, lambda total: total < t * scale)
    buckets = np.sort(np.array(found))
    leaves = np.flatnonzero(nodes.values >= 0)
    starts = np.searchsorted(leaves, buckets)
    inner = np.arange(1, size)  # the edge above each node but the root
    holder = buckets[np.maximum(np.searchsorted(buckets, inner, side="right") - 1, 0)]
    inside = (holder < inner) & (inner < ends[holder])
    heights = np.where(np.isin(np.arange(size), buckets), 0, nodes.heights)
    edges = inner[~inside]
    return Buckets(
        _of_code(counts, nodes.values[leaves], starts),
        np.add.reduceat(counts[nodes.values[leaves]], starts),
        Fraction(total, scale),
        np.searchsorted(buckets, edges),
        np.searchsorted(buckets, ends[edges]),
        heights[nodes.parents[edges]] - heights[edges],
        2 * nodes.height,
    )


def _nodes_of_tree(tree: Tree, counts: Integers, bound: BoundRule) -> _Nodes:
    """The hierarchy without what does not occur; heights stay those of the whole."""
    heights = np.full(len(tree.parents), tree.denominator // 2)
    occupied, branches = np.zeros((2, len(tree.parents)), np.int64)
    for value in np.flatnonzero(counts):
        path = tree.paths[value]
        occupied[path[path >= 0]] += 1
    occupied[0] = 1
    values = np.full(len(tree.parents), -1)
    values[tree.paths[:, 0]] = np.arange(len(tree.paths))
    for node in range(1, len(tree.parents)):
        heights[node] = heights[tree.parents[node]] - tree.weights[node]
        branches[tree.parents[node]] += occupied[node] > 0
    kept = (occupied > 0) & ((branches > 1) | (values >= 0))
    number = np.cumsum(kept) - 1
    nearest = np.where(kept, number, -1)  # the nearest kept node, itself or above
    above = np.full(len(number), -1)
    for node in range(1, len(number)):
        above[node] = nearest[tree.parents[node]]
        nearest[node] = nearest[node] if kept[node] else above[node]
    parents, heights, values = above[kept], heights[kept], values[kept]
    return _Nodes(parents, heights, values, _bounds(parents, heights, values, counts, bound), tree.denominator // 2)


def _bounds(parents: Integers, heights: Integers, values: Integers, counts: Integers, bound: BoundRule) -> list[int]:
    """Theorem 2, height (rows - least rows of a value); or the largest cost from one value, level by level."""
    rows = [int(counts[value]) if value >= 0 else 0 for value in values]
    least = [row if row else int(counts.sum()) for row in rows]
    for node in range(len(rows) - 1, 0, -1):
        parent = parents[node]
        rows[parent] += rows[node]
        least[parent] = min(least[parent], least[node])
    if bound == "printed":
        return [int(height) * (all_ - few) for height, all_, few in zip(heights, rows, least, strict=True)]
    largest = [0] * len(rows)
    for node in range(len(rows) - 1, 0, -1):
        parent = parents[node]
        step = int(heights[parent]) * (rows[parent] - rows[node])  # to all that lies below the parent, but not here
        largest[parent] = max(largest[parent], largest[node] + step)
    return largest


def join_values(form: Transport, counts: Integers) -> _Nodes:
    """Values joined by complete linkage: a node is as high as its farthest values are apart.

    Distances finer than `UNITS` are rounded up, so that none becomes smaller.
    """
    codes, form = np.flatnonzero(counts), form.coarser(UNITS)
    costs = form.costs[np.ix_(codes, codes)]
    joined = groups_of(linkage(costs))
    members, apart = [[place] for place in range(len(codes))], [0] * len(codes)
    within = [np.zeros(1, object) for _ in codes]  # the cost of filling all others of a node from each of its values
    for left, right in joined:
        between = costs[np.ix_(members[left], members[right])]
        apart.append(max(apart[left], apart[right], int(between.max())))
        sides = ((left, between @ counts[codes[members[right]]]), (right, counts[codes[members[left]]] @ between))
        within.append(np.concatenate([within[side] + more.astype(object) for side, more in sides]))
        members.append(members[left] + members[right])
    parents: list[int] = []
    order: list[int] = []
    waiting = [(len(members) - 1, -1)]
    while waiting:
        node, parent = waiting.pop()
        parents.append(parent)
        if node >= len(codes):
            waiting += [(int(child), len(order)) for child in joined[node - len(codes)][::-1]]
        order.append(node)
    values = [int(codes[node]) if node < len(codes) else -1 for node in order]
    bounds = [int(within[node].max()) for node in order]
    return _Nodes(np.array(parents), np.array(apart)[order], np.array(values), bounds, form.denominator)
