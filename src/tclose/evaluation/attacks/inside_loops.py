"""How many rows fit a box."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.compile import kernel

Places = NDArray[np.int32]


@kernel
def count_inside(
    rows: Places, weights: NDArray[np.int64], lows: Places, highs: Places, counts: NDArray[np.int64]
) -> None:
    """Count the rows in each box.

    counts[b] = sum of weights[r] over rows r with lows[b, a] <= rows[r, a] <= highs[b, a] for all axes a
    """
    for box in range(len(lows)):
        total = 0
        for row in range(len(rows)):
            inside = True
            for axis in range(rows.shape[1]):
                place = rows[row, axis]
                if place < lows[box, axis] or place > highs[box, axis]:
                    inside = False
                    break
            if inside:
                total += weights[row]
        counts[box] = total
