"""One sort for all kernels: the compiler takes long over those of numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.compile import inner

Integers = NDArray[np.int64]


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
