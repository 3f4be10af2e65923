"""Give rows to clusters that have room for so many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.compile import kernel

Integers = NDArray[np.int64]


@kernel
def fill(order: Integers, left: Integers, room: Integers, given: Integers) -> None:
    """Go through pairs of a cell and a cluster, numbered cell * n_clusters + cluster: give as many rows as there are.

    given[cell, cluster] = min(rows of the cell still there, room of the cluster still there)
    """
    for pair in order:
        cell, cluster = pair // len(room), pair % len(room)
        rows = min(left[cell], room[cluster])
        given[cell, cluster] += rows
        left[cell] -= rows
        room[cluster] -= rows
