"""Microaggregation: classes around the rows farthest from the mean of what is left, and from the seed before.

Rows, buckets and their trees are those of `take_nearest`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.shared.along_loops import TakenClasses
from tclose.algorithms.shared.nearest_loops import LEAF, Index, all_living, compact, nearest, remove
from tclose.kernels.compile import inner, kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@inner
def reach(index: Index, node: int, point: Floats) -> float:
    """The square of the distance from a point to the farthest corner of a node's box; negative if it is empty."""
    if index.inside[node] == 0:
        return -1.0
    total, n_axes = 0.0, len(point)
    for axis in range(n_axes):
        gap = max(point[axis] - index.boxes[node, axis], index.boxes[node, n_axes + axis] - point[axis])
        total += gap * gap
    return total


@kernel
def farthest(index: Index, point: Floats) -> tuple[int, int]:
    """The bucket and the place of a row still there than which none is farther from this point.

    The farther of two nodes first; none whose box is no farther than the farthest row found.
    """
    stack, reaches = np.empty(64, np.int64), np.empty(64, np.float64)
    found_in, found, most = -1, -1, -1.0
    for bucket in range(len(index.living)):
        root, width = index.roots[bucket], index.widths[bucket]
        top = 1
        stack[0], reaches[0] = 1, reach(index, root + 1, point)
        while top > 0:
            top -= 1
            node = stack[top]
            if reaches[top] <= most:
                continue
            if node < width:
                left, right = reach(index, root + 2 * node, point), reach(index, root + 2 * node + 1, point)
                stack[top], reaches[top] = 2 * node + (left >= right), min(left, right)
                stack[top + 1], reaches[top + 1] = 2 * node + (left < right), max(left, right)
                top += 2
                continue
            first = index.starts[bucket] + (node - width) * LEAF
            for place in range(first, min(first + LEAF, index.stops[bucket])):
                if not index.alive[place]:
                    continue
                distance = 0.0
                for axis in range(len(point)):
                    distance += (index.points[place, axis] - point[axis]) ** 2
                if distance > most:
                    found_in, found, most = bucket, place, distance
    return found_in, found


@inner
def next_seed(index: Index, number: int, total: Floats, before: Floats) -> tuple[int, int]:
    """The seed of a class: farthest from the mean of the rows still there, every other time from the seed before.

    `total` is the sum of the rows still there, and `before` the seed before.
    """
    if number % 2 == 0:
        n_living = index.living.sum()
        for axis in range(len(total)):
            before[axis] = total[axis] / n_living
    bucket, seed = farthest(index, before)
    for axis in range(len(before)):
        before[axis] = index.points[seed, axis]
    return bucket, seed


@inner
def give(index: Index, bucket: int, place: int, number: int, total: Floats, labels: Integers) -> None:
    """Give a row to a class."""
    labels[index.rows[place]] = number
    for axis in range(len(total)):
        total[axis] -= index.points[place, axis]
    remove(index, bucket, place)


@kernel
def take_out(
    index: Index,
    classes: TakenClasses,
    first: int,
    last: int,
    total: Floats,
    before: Floats,
    found: Integers,
    apart: Floats,
) -> None:
    """Form the classes first to last - 1: around each seed, the nearest of each bucket.

    `total` and `before` are those of `next_seed`; `found` and `apart` are room for the rows of a class.
    """
    kinds, sequence, labels, seeds = classes
    stack, gaps = np.empty(64, np.int64), np.empty(64, np.float64)
    for number in range(first, last):
        sizes = kinds[sequence[number]]
        seed_bucket, seed = next_seed(index, number, total, before)
        seeds[number] = index.rows[seed]
        if sizes[seed_bucket] > 0:  # a bucket may have nothing left to give to this class
            give(index, seed_bucket, seed, number, total, labels)
        else:
            seed_bucket = -1
        for bucket in range(len(sizes)):
            size = sizes[bucket] - (bucket == seed_bucket)
            if size == index.living[bucket]:
                all_living(index, bucket, found)
            elif size > 0:
                nearest(index, bucket, before, size, found, apart, stack, gaps)
            for each in range(size):
                give(index, bucket, found[each], number, total, labels)
            if 2 * index.living[bucket] < index.stops[bucket] - index.starts[bucket]:
                compact(index, bucket)
