"""One sort for all kernels: the compiler takes long over those of numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.compile import inner

Integers = NDArray[np.int64]
STEPS = 4096
LEAST_RANGE = 1e-300  # a smaller one would make the scale infinite, and so steps that are none


@inner
def zeros(n: int) -> Integers:
    """So many zeros: the compiler takes long over those of numpy."""
    made = np.empty(n, np.int64)
    for place in range(n):
        made[place] = 0
    return made


@inner
def sort_by(keys: NDArray[np.float64], order: Integers, room: Integers, n: int) -> None:
    """Make order[:n] the places of keys[:n] from the least on, equal ones as they were (a merge sort)."""
    run = 8
    for place in range(n):
        order[place] = place
    for start in range(0, n, run):
        for place in range(start + 1, min(start + run, n)):
            moved, hole = order[place], place
            while hole > start and keys[order[hole - 1]] > keys[moved]:
                order[hole] = order[hole - 1]
                hole -= 1
            order[hole] = moved
    while run < n:
        for start in range(0, n, 2 * run):
            middle, stop = min(start + run, n), min(start + 2 * run, n)
            left, right = start, middle
            for place in range(start, stop):
                if right >= stop or (left < middle and keys[order[left]] <= keys[order[right]]):
                    room[place] = order[left]
                    left += 1
                else:
                    room[place] = order[right]
                    right += 1
        for place in range(n):
            order[place] = room[place]
        run *= 2


@inner
def sort_roughly(keys: NDArray[np.float64], order: Integers, n: int) -> None:
    """The same in one pass over many rows, but keys within 1 / STEPS of their range count as equal."""
    low, high = keys[0], keys[0]
    for place in range(n):
        low, high = min(low, keys[place]), max(high, keys[place])
    scale = (STEPS - 1) / (high - low) if high - low > LEAST_RANGE else 0.0
    starts = zeros(STEPS + 1)
    for place in range(n):
        starts[int((keys[place] - low) * scale) + 1] += 1
    for step in range(STEPS):
        starts[step + 1] += starts[step]
    for place in range(n):
        step = int((keys[place] - low) * scale)
        order[starts[step]] = place
        starts[step] += 1


@inner
def sort_codes(codes: NDArray[np.int32], n: int) -> None:
    """Bring codes[:n] in order, least first (Shell's sort, each step 4 / 9 of the one before)."""
    step = 1
    while step < n // 3:
        step = step * 9 // 4 + 1
    while step >= 1:
        for place in range(step, n):
            moved, hole = codes[place], place
            while hole >= step and codes[hole - step] > moved:
                codes[hole] = codes[hole - step]
                hole -= step
            codes[hole] = moved
        step = step * 4 // 9
