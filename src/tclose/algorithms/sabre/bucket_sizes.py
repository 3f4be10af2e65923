"""How many rows of each bucket every class takes (004 section 4.3)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.control import Watch
from tclose.algorithms.shared.buckets import Buckets
from tclose.algorithms.shared.class_sizes import ClassSizes, halve


def class_sizes(buckets: Buckets, t: Fraction, k: int, watch: Watch | None = None) -> ClassSizes:
    """Halve the table while both halves have k rows and stay within t by theorem 4, and while there is time.

    Examples
    --------
    >>> from tclose.distances import Line
    >>> from tclose.algorithms.shared.buckets import bucketize
    >>> salary = bucketize(Line(np.arange(4), 3), np.array([2, 3, 3, 2]), Fraction("0.25"))
    >>> sizes = class_sizes(salary, Fraction("0.4"), k=3)
    >>> sizes.kinds[sizes.sequence].tolist()
    [[3, 3], [2, 2]]
    """
    slack = t - buckets.bound

    def holds(sizes: NDArray[np.int64]) -> bool:
        return bool(sizes.sum() >= k) and buckets.distance(sizes) <= slack

    return halve(buckets.counts, holds, watch)
