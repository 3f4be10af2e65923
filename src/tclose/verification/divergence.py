"""Other measures between distributions (004 section 7): told, never certified.

All three are metrics, but none knows how near two values are, and no bound like theorem 2 is
known for them here, so that no method can promise one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.verification.released_classes import ClassCounts


@dataclass(frozen=True)
class Divergence:
    """The largest distance of a class from the whole table, by three measures.

    Attributes
    ----------
    euclidean
        The root of the sum of squared differences of shares: from 0 to the root of 2.
    hamming
        How many values have another share than in the whole table.
    jensen_shannon
        The root of the Jensen-Shannon divergence in bits: from 0 to 1.
    """

    euclidean: float
    hamming: int
    jensen_shannon: float

    def as_dict(self) -> dict[str, float]:
        """As JSON has it."""
        return asdict(self)


def divergence(reference: NDArray[np.int64], blocks: Iterable[ClassCounts]) -> Divergence:
    """Each measure over all classes, from the values that occur in each.

    A value that a class lacks adds p^2 to the square of the Euclidean distance, 1 to Hamming's if
    p > 0, and p / 2 to the divergence. So each sum begins with that of all values and is mended
    where the class has some.

    Examples
    --------
    >>> from tclose.verification.released_classes import Grouping, count_values
    >>> groups = Grouping(np.array([0, 0, 1, 1]), np.array([2, 2]))
    >>> divergence(np.array([3, 1]), count_values(groups, np.array([0, 0, 0, 1], np.int32), 2)).hamming
    2
    """
    most = np.zeros(3)
    for block in blocks:
        most = np.maximum(most, _terms(reference, block).max(axis=1, initial=0.0))
    euclidean, hamming, jensen_shannon = most.tolist()
    return Divergence(max(euclidean, 0.0) ** 0.5, int(hamming), max(jensen_shannon, 0.0) ** 0.5)


def _terms(reference: NDArray[np.int64], block: ClassCounts) -> NDArray[np.float64]:
    """The three sums of each class."""
    n, sizes = int(reference.sum()), np.repeat(block.sizes, block.kinds)
    p, q = reference[block.codes] / n, block.counts / sizes
    same = n * block.counts == sizes * reference[block.codes]
    middle = (p + q) / 2
    shared = (p * np.log2(p / middle) + q * np.log2(q / middle)) / 2
    of_lacking = np.array([((reference / n) ** 2).sum(), np.count_nonzero(reference), 0.5])
    by_pair = np.stack([(q - p) ** 2 - p**2, -same.astype(np.float64), shared - p / 2])
    sums: NDArray[np.float64] = of_lacking[:, None] + np.add.reduceat(by_pair, block.starts, axis=1)
    sums[:, sums[1] == 0] = 0  # all shares are the same, and what remains is rounding
    return sums
