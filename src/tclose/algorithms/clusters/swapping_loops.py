"""Microaggregation that has closeness in mind: rows of a class are swapped for others while it is formed.

Rows and their tree are those of `take_nearest`, in one bucket; seeds those of `take_farthest`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.shared.farthest_loops import give, next_seed
from tclose.algorithms.shared.nearest_loops import Index, all_living, compact, nearest
from tclose.kernels.compile import inner, kernel
from tclose.kernels.soft import Gauge, Soft, measure

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class SwappedValues(NamedTuple):
    """What decides about a swap: values numbered through all attributes, as `soft` has them."""

    soft: Soft
    values: NDArray[np.int32]  # of each row and attribute
    cells: Integers  # of each row: rows with the same values are one cell
    counts: Integers  # of the class under way
    gauge: Gauge
    tried: Integers  # of each cell: when last in vain


@inner
def count(sensitive: SwappedValues, row: int, by: int) -> None:
    """Count a row in, or out."""
    for attribute in range(sensitive.values.shape[1]):
        sensitive.counts[sensitive.values[row, attribute]] += by


@inner
def best_swap(sensitive: SwappedValues, index: Index, found: Integers, size: int, row: int) -> tuple[int, float]:
    """The member without which, and with this row instead, the class is nearest; and how far it is then, over t."""
    best, least = -1, np.inf
    count(sensitive, row, 1)
    for member in range(size):
        other = index.rows[found[member]]
        count(sensitive, other, -1)
        far = measure(sensitive.soft, sensitive.counts, size, sensitive.gauge)
        count(sensitive, other, 1)
        if far < least:
            best, least = member, far
    count(sensitive, row, -1)
    return best, least


@inner
def swap(sensitive: SwappedValues, index: Index, found: Integers, size: int, n_found: int, clock: int) -> int:
    """Take each further row, the nearest first, for the member that brings the class nearest to t, if that helps.

    Whether it helps depends on the row's cell alone, so of a cell tried in vain none is tried
    again before the class has changed. Returns the time, which each change takes forward.
    """
    far = measure(sensitive.soft, sensitive.counts, size, sensitive.gauge)
    for further in range(size, n_found):
        if far <= 1.0:
            break
        row = index.rows[found[further]]
        if sensitive.tried[sensitive.cells[row]] == clock:
            continue
        member, then = best_swap(sensitive, index, found, size, row)
        if then < far - 1e-12:
            count(sensitive, row, 1)
            count(sensitive, index.rows[found[member]], -1)
            found[member] = found[further]
            far = then
            clock += 1
        else:
            sensitive.tried[sensitive.cells[row]] = clock
    return clock


class SwappedClasses(NamedTuple):
    """What each class takes and what it got so far, and how the next seed is found."""

    sizes: Integers  # rows of each class
    labels: Integers  # the class of each row, -1 while it has none
    seeds: Integers  # the row that each class is formed around
    total: Floats  # the sum of the rows still there
    before: Floats  # the seed before


@kernel
def take_out(
    index: Index, classes: SwappedClasses, first: int, last: int, within: int, sensitive: SwappedValues, clock: int
) -> int:
    """Form the classes first to last - 1: around each seed the nearest rows, swapped for others `within` so many more.

    The last class takes all that is left. Returns the time of `swap`.
    """
    sizes, labels, seeds, total, before = classes
    stack, gaps = np.empty(64, np.int64), np.empty(64, np.float64)
    found, apart = np.empty(index.stops[0], np.int64), np.empty(index.stops[0])
    for number in range(first, last):
        size = sizes[number]
        _, seed = next_seed(index, number, total, before)
        seeds[number] = index.rows[seed]
        if size == index.living[0]:
            all_living(index, 0, found)
        else:
            n_found = min(size + within, index.living[0])
            nearest(index, 0, before, n_found, found, apart, stack, gaps)
            found[:n_found] = found[:n_found][np.argsort(apart[:n_found], kind="mergesort")]
            for member in range(size):
                count(sensitive, index.rows[found[member]], 1)
            clock = swap(sensitive, index, found, size, n_found, clock + 1)
            for member in range(size):
                count(sensitive, index.rows[found[member]], -1)
        for member in range(size):
            give(index, 0, found[member], number, total, labels)
        if 2 * index.living[0] < index.stops[0] - index.starts[0]:
            compact(index, 0)
    return clock
