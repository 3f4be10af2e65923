"""Taking the nearest rows out, and swapping some for others so that classes come closer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.clusters.points import ValueCells
from tclose.algorithms.control import Watch
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.class_sizes import ClassSizes, take_in_pieces
from tclose.algorithms.shared.demand import decidable, soften
from tclose.algorithms.shared.nearest import index_of
from tclose.table.encode import EncodedTable

Integers = NDArray[np.int64]
ROWS = 250  # taken between two looks at the clock, about 0.1 s


@dataclass(frozen=True)
class TakeSwapping:
    """Around a row far out the nearest, of which some are swapped while the class is not close.

    Attributes
    ----------
    requirement
        What close means. A line of very many values is looked at in bins, and a matrix or a joint as a
        tree, for searching only.
    within
        How many rows beyond the nearest are tried.
    """

    requirement: Requirement
    within: int

    def __call__(
        self, table: EncodedTable, owners: NDArray[np.int32], sizes: ClassSizes, seed: int, watch: Watch
    ) -> tuple[Integers, Integers]:
        """As `take_farthest`, of one bucket."""
        from tclose.algorithms.clusters import swapping_loops as kernels
        from tclose.kernels.soft import Gauge

        softened = soften(decidable(self.requirement), watch)
        soft, cells = softened.soft, ValueCells.of(table)
        values = np.zeros((len(table), len(table.codes)), np.int32)
        for place, (of_code, codes) in enumerate(zip(softened.values, table.codes, strict=True)):
            values[:, place] = of_code[codes]
        gauge = Gauge(
            np.zeros(soft.n_values + 1, np.int64), np.zeros(soft.n_values + 1), np.zeros(max(len(table.codes), 1))
        )
        sensitive = kernels.SwappedValues(
            soft=soft,
            values=values,
            cells=cells.of_row,
            counts=np.zeros(soft.n_values, np.int64),
            gauge=gauge,
            tried=np.zeros(len(cells), np.int64),
        )
        index = index_of(table, owners, 1)
        labels, seeds = np.full(len(table), -1, np.int64), np.empty(len(sizes), np.int64)
        classes = kernels.SwappedClasses(
            sizes=sizes.kinds[sizes.sequence].sum(axis=1),
            labels=labels,
            seeds=seeds,
            total=index.points.sum(axis=0),
            before=np.zeros(len(table.axes)),
        )
        clock = 1

        def take_out(first: int, last: int) -> None:
            nonlocal clock
            clock = kernels.take_out(index, classes, first, last, self.within, sensitive, clock)

        return take_in_pieces(take_out, sizes, ROWS, labels, seeds, watch)
