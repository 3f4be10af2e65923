"""Taking rows out around those farthest away: microaggregation by maximum distance to the average (MDAV)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.control import Watch
from tclose.algorithms.shared.class_sizes import ClassSizes, take_in_pieces
from tclose.algorithms.shared.nearest import index_of
from tclose.table.encode import EncodedTable

Integers = NDArray[np.int64]
ROWS = 4_000  # taken between two looks at the clock, about 0.1 s


def take_farthest(
    table: EncodedTable, owners: NDArray[np.int32], sizes: ClassSizes, seed: int, watch: Watch
) -> tuple[Integers, Integers]:
    """The class of each row and the seed of each class: around a row far out, the nearest of each bucket.

    Nothing is left to chance: `seed` is not looked at. The seed of a class that takes nothing of
    its bucket is a row of another class.
    """
    from tclose.algorithms.shared import farthest_loops as kernels
    from tclose.algorithms.shared.along_loops import TakenClasses

    index = index_of(table, owners, sizes.kinds.shape[1])
    labels, seeds = np.full(len(table), -1, np.int64), np.empty(len(sizes), np.int64)
    classes = TakenClasses(kinds=sizes.kinds, sequence=sizes.sequence, labels=labels, seeds=seeds)
    total, before = index.points.sum(axis=0), np.zeros(len(table.axes))
    most = int(sizes.kinds.max())
    found, apart = np.empty(most, np.int64), np.empty(most)

    def take_out(first: int, last: int) -> None:
        kernels.take_out(index, classes, first, last, total, before, found, apart)

    return take_in_pieces(take_out, sizes, ROWS, labels, seeds, watch)
