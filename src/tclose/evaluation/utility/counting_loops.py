"""How many rows lie within queries: rows that are points, and rows that lie somewhere in a box."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.compile import inner, kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Small = NDArray[np.int32]

POINTS = 4096  # at a time, and so many boxes: what one query after the other reads stays in the processor's cache
BOXES = 512


@kernel
def count_points(points: Small, weights: Small, lines: Integers, lows: Small, highs: Small) -> Integers:
    """Of each query: sum of w over the points with low <= x < high on all its lines."""
    counts = np.zeros(len(lines), np.int64)
    inside = np.empty(POINTS, np.int32)
    for first in range(0, len(weights), POINTS):
        size = min(POINTS, len(weights) - first)
        for query in range(len(lines)):
            inside[:size] = weights[first : first + size]
            for place in range(lines.shape[1]):
                column = points[lines[query, place], first : first + size]
                low, high = lows[query, place], highs[query, place]
                for point in range(size):
                    within = (column[point] >= low) & (column[point] < high)
                    inside[point] = inside[point] if within else np.int32(0)
            total = 0
            for point in range(size):
                total += inside[point]
            counts[query] += total
    return counts


@inner
def find(codes: Small, begin: int, end: int, code: int) -> int:
    """The first of ascending codes from `begin` on that is not below `code`."""
    while begin < end:
        middle = (begin + end) // 2
        if codes[middle] < code:
            begin = middle + 1
        else:
            end = middle
    return begin


@kernel
def count_boxes(
    starts: Floats,
    stops: Floats,
    first: Integers,
    codes: Small,
    below: Integers,
    lines: Integers,
    lows: Floats,
    highs: Floats,
) -> Floats:
    """Of each query: sum over boxes of r prod over lines of |[low, high) and box| / |box|.

    r are the rows of a box whose code lies within the last line of the query. Box b has the codes
    from `first[b]` on, ascending; `below` adds up their rows.
    """
    counts = np.zeros(len(lines))
    share, inverse = np.empty(BOXES), 1.0 / (stops - starts)
    last = lines.shape[1] - 1
    for begin in range(0, starts.shape[1], BOXES):
        size = min(BOXES, starts.shape[1] - begin)
        for query in range(len(lines)):
            share[:] = 1.0
            for place in range(last):
                line, low, high = lines[query, place], lows[query, place], highs[query, place]
                left, right = starts[line, begin : begin + size], stops[line, begin : begin + size]
                part = inverse[line, begin : begin + size]
                for box in range(size):
                    both = min(right[box], high) - max(left[box], low)
                    share[box] *= max(both, 0.0) * part[box]
            for box in range(size):
                if share[box] > 0:
                    one, after = first[begin + box], first[begin + box + 1]
                    one = find(codes, one, after, lows[query, last])
                    after = find(codes, one, after, highs[query, last])
                    counts[query] += share[box] * (below[after] - below[one])
    return counts
