"""SABRE-KNN: take the nearest rows out of buckets, found by an index.

The points of a bucket stand along a Hilbert curve, `LEAF` of them a leaf of a binary tree: node
1 is the root, nodes 2 i and 2 i + 1 are below node i, and the last `width` nodes are the leaves.
Every node knows the box around its points and how many of them are still there.

How far points are apart is the square of their Euclidean distance; or what a class of the two rows would lose, and
then a point is the places of its row. A span that goes farther costs no less, so the cost from a point to the near
side of a box is a lower bound for all points within it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numpy.typing import NDArray

from tclose.algorithms.shared.along_loops import TakenClasses, draw_bucket
from tclose.kernels.compile import by_types, inner, kernel
from tclose.kernels.costs import Costs, span_cost
from tclose.kernels.random import Random, draw

LEAF = 8

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class LossMeasure(NamedTuple):
    """What two rows lose as one class."""

    costs: Costs
    weights: Floats  # the share of each axis in the loss


class Index(NamedTuple):
    """The points of all buckets, bucket by bucket, with a tree for each."""

    points: Floats  # one row a point
    rows: Integers  # which row of the table it is
    alive: NDArray[np.bool_]
    starts: Integers  # of each bucket's points
    stops: Integers
    living: Integers
    roots: Integers  # where each bucket's nodes begin
    widths: Integers  # the leaves of its tree, a power of two
    boxes: Floats  # of each node: lowest coordinates, then highest
    inside: Integers  # of each node: points still there
    measure: LossMeasure | None  # how far points are apart; None: by the Euclidean distance


@kernel
def build(index: Index, bucket: int) -> None:
    """Boxes and counts of a bucket's tree, from the leaves up."""
    start, stop, root = index.starts[bucket], index.stops[bucket], index.roots[bucket]
    n_axes = index.points.shape[1]
    width = 1
    while width * LEAF < stop - start:
        width *= 2
    index.widths[bucket] = width
    for node in range(2 * width - 1, 0, -1):
        for axis in range(n_axes):
            low, high = np.inf, -np.inf
            if node >= width:
                first = start + (node - width) * LEAF
                for place in range(first, min(first + LEAF, stop)):
                    low = min(low, index.points[place, axis])
                    high = max(high, index.points[place, axis])
            else:
                for child in range(root + 2 * node, root + 2 * node + 2):
                    low = min(low, index.boxes[child, axis])
                    high = max(high, index.boxes[child, n_axes + axis])
            index.boxes[root + node, axis] = low
            index.boxes[root + node, n_axes + axis] = high
        if node >= width:
            index.inside[root + node] = max(min(LEAF, stop - start - (node - width) * LEAF), 0)
        else:
            index.inside[root + node] = index.inside[root + 2 * node] + index.inside[root + 2 * node + 1]


@inner
def remove(index: Index, bucket: int, place: int) -> None:
    """Take one point out of its bucket and of every node above it."""
    index.alive[place] = False
    index.living[bucket] -= 1
    node = index.widths[bucket] + (place - index.starts[bucket]) // LEAF
    while node > 0:
        index.inside[index.roots[bucket] + node] -= 1
        node >>= 1


@inner
def compact(index: Index, bucket: int) -> None:
    """Move the points still there together, and build their tree anew."""
    end = index.starts[bucket]
    for place in range(index.starts[bucket], index.stops[bucket]):
        if index.alive[place]:
            for axis in range(index.points.shape[1]):
                index.points[end, axis] = index.points[place, axis]
            index.rows[end] = index.rows[place]
            index.alive[end] = True
            end += 1
    index.stops[bucket] = end
    build(index, bucket)


@inner
def box_square(index: Index, node: int, point: Floats) -> float:
    """The square of the distance from a point to a node's box."""
    total, n_axes = 0.0, len(point)
    for axis in range(n_axes):
        gap = max(index.boxes[node, axis] - point[axis], point[axis] - index.boxes[node, n_axes + axis])
        if gap > 0:
            total += gap * gap
    return total


@inner
def box_loss(index: Index, measure: LossMeasure, node: int, point: Floats) -> float:
    """What a row and the nearest place of a node's box lose at least."""
    total, n_axes = 0.0, len(point)
    for axis in range(n_axes):
        place, low, high = int(point[axis]), int(index.boxes[node, axis]), int(index.boxes[node, n_axes + axis])
        if place < low:
            total += measure.weights[axis] * span_cost(measure.costs, axis, place, low)
        elif place > high:
            total += measure.weights[axis] * span_cost(measure.costs, axis, high, place)
    return total


@inner
def point_square(index: Index, place: int, point: Floats) -> float:
    """The square of the distance between two points."""
    total = 0.0
    for axis in range(len(point)):
        total += (index.points[place, axis] - point[axis]) ** 2
    return total


@inner
def point_loss(index: Index, measure: LossMeasure, place: int, point: Floats) -> float:
    """What two rows lose as one class."""
    total = 0.0
    for axis in range(len(point)):
        one, other = int(index.points[place, axis]), int(point[axis])
        total += measure.weights[axis] * span_cost(measure.costs, axis, min(one, other), max(one, other))
    return total


def _is_euclidean(index: Any) -> bool:
    return isinstance(index.types[index.fields.index("measure")], types.NoneType)


def _box_apart(index: Any, node: Any, point: Any) -> Callable[..., float]:
    if _is_euclidean(index):
        return lambda index, node, point: box_square(index, node, point)
    return lambda index, node, point: box_loss(index, index.measure, node, point)


def _point_apart(index: Any, place: Any, point: Any) -> Callable[..., float]:
    if _is_euclidean(index):
        return lambda index, place, point: point_square(index, place, point)
    return lambda index, place, point: point_loss(index, index.measure, place, point)


@by_types(_box_apart)
def box_apart(index: Index, node: int, point: Floats) -> float:
    """How far a point is at least from all points in a node's box."""
    if index.measure is None:
        return box_square(index, node, point)
    return box_loss(index, index.measure, node, point)


@by_types(_point_apart)
def point_apart(index: Index, place: int, point: Floats) -> float:
    """How far two points are apart."""
    if index.measure is None:
        return point_square(index, place, point)
    return point_loss(index, index.measure, place, point)


@inner
def box_distance(index: Index, node: int, point: Floats) -> float:
    """How far a point is at least from all points in a node's box; infinite if nothing is left in it."""
    if index.inside[node] == 0:
        return np.inf
    return box_apart(index, node, point)


@inner
def push(found: Integers, apart: Floats, n_found: int, place: int, distance: float) -> None:
    """Add a point to a heap of `n_found`, none nearer than those below it: the farthest comes first."""
    node = n_found
    while node > 0 and apart[(node - 1) >> 1] < distance:
        above = (node - 1) >> 1
        found[node], apart[node] = found[above], apart[above]
        node = above
    found[node], apart[node] = place, distance


@inner
def replace_farthest(found: Integers, apart: Floats, n_found: int, place: int, distance: float) -> None:
    """Put a nearer point into the heap for the farthest."""
    node, below = 0, 1
    while below < n_found:
        if below + 1 < n_found and apart[below + 1] > apart[below]:
            below += 1
        if apart[below] <= distance:
            break
        found[node], apart[node] = found[below], apart[below]
        node, below = below, 2 * below + 1
    found[node], apart[node] = place, distance


@inner
def all_living(index: Index, bucket: int, found: Integers) -> None:
    """The places of all points still there."""
    n_found = 0
    for place in range(index.starts[bucket], index.stops[bucket]):
        if index.alive[place]:
            found[n_found] = place
            n_found += 1


@inner
def nearest(
    index: Index, bucket: int, point: Floats, size: int, found: Integers, apart: Floats, stack: Integers, gaps: Floats
) -> None:
    """The places of the `size` points nearest to this one; how far they are goes to `apart`.

    The nearer of two nodes first; none that is farther than the farthest found, which a heap
    keeps at hand.
    """
    root, width = index.roots[bucket], index.widths[bucket]
    n_found, top = 0, 1
    stack[0], gaps[0] = 1, 0.0
    while top > 0:
        top -= 1
        node = stack[top]
        if n_found == size and gaps[top] >= apart[0]:
            continue
        if node < width:
            left, right = box_distance(index, root + 2 * node, point), box_distance(index, root + 2 * node + 1, point)
            stack[top], gaps[top] = 2 * node + (left <= right), max(left, right)
            top += gaps[top] < np.inf
            stack[top], gaps[top] = 2 * node + (left > right), min(left, right)
            top += 1
            continue
        first = index.starts[bucket] + (node - width) * LEAF
        for place in range(first, min(first + LEAF, index.stops[bucket])):
            if not index.alive[place]:
                continue
            distance = point_apart(index, place, point)
            if n_found < size:
                push(found, apart, n_found, place, distance)
                n_found += 1
            elif distance < apart[0]:
                replace_farthest(found, apart, size, place, distance)


@kernel
def take_out(
    index: Index, classes: TakenClasses, first: int, last: int, random: Random, found: Integers, apart: Floats
) -> None:
    """Form the classes first to last - 1: around a random row, the nearest of each bucket."""
    kinds, sequence, labels, seeds = classes
    stack, gaps = np.empty(64, np.int64), np.empty(64, np.float64)
    for number in range(first, last):
        sizes = kinds[sequence[number]]
        seed_bucket = draw_bucket(random, sizes)
        start = index.starts[seed_bucket]
        seed = start + draw(random, index.stops[seed_bucket] - start)
        while not index.alive[seed]:
            seed = start + draw(random, index.stops[seed_bucket] - start)
        point = index.points[seed].copy()
        seeds[number] = index.rows[seed]
        labels[index.rows[seed]] = number
        remove(index, seed_bucket, seed)
        for bucket in range(len(sizes)):
            size = sizes[bucket] - (bucket == seed_bucket)
            if size == index.living[bucket]:
                all_living(index, bucket, found)
            elif size > 0:
                nearest(index, bucket, point, size, found, apart, stack, gaps)
            for each in range(size):
                labels[index.rows[found[each]]] = number
                remove(index, bucket, found[each])
            if 2 * index.living[bucket] < index.stops[bucket] - index.starts[bucket]:
                compact(index, bucket)
