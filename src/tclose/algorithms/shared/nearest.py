"""Taking the nearest rows out: SABRE-KNN's exact neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.control import Watch
from tclose.algorithms.packing import costs_of
from tclose.algorithms.shared.class_sizes import ClassSizes, take_in_pieces
from tclose.algorithms.shared.curve import hilbert_keys, key_bits
from tclose.table.encode import EncodedTable

if TYPE_CHECKING:
    from tclose.algorithms.shared.nearest_loops import Index

Integers = NDArray[np.int64]
ROWS = 30_000  # taken between two looks at the clock, about 0.1 s


def take_nearest(
    table: EncodedTable,
    owners: NDArray[np.int32],
    sizes: ClassSizes,
    seed: int,
    watch: Watch,
    by_loss: bool = False,
) -> tuple[Integers, Integers]:
    """The class of each row and the seed of each class: around a random row, the nearest of each bucket.

    Rows are as far apart as points in a plane are; or, by loss, as much as a class of these two would lose.
    """
    from tclose.algorithms.shared import nearest_loops as kernels
    from tclose.algorithms.shared.along_loops import TakenClasses

    index = index_of(table, owners, sizes.kinds.shape[1], by_loss)
    labels, seeds = np.full(len(table), -1, np.int64), np.empty(len(sizes), np.int64)
    classes = TakenClasses(kinds=sizes.kinds, sequence=sizes.sequence, labels=labels, seeds=seeds)
    most = int(sizes.kinds.max())
    random, found, apart = np.array([seed], np.uint64), np.empty(most, np.int64), np.empty(most)

    def take_out(first: int, last: int) -> None:
        kernels.take_out(index, classes, first, last, random, found, apart)

    return take_in_pieces(take_out, sizes, ROWS, labels, seeds, watch)


def index_of(table: EncodedTable, owners: NDArray[np.int32], n_buckets: int, by_loss: bool = False) -> Index:
    """The rows as points, every quasi-identifier scaled to its range times its weight, with a tree over each bucket.

    By loss, points are the places on all axes.
    """
    from tclose.algorithms.shared import nearest_loops as kernels

    order = np.lexsort((hilbert_keys(table, key_bits(table, 63)), owners))
    points = np.stack(
        [
            places[order].astype(np.float64) if by_loss else axis.coordinates[places[order]] * float(axis.column_weight)
            for axis, places in zip(table.axes, table.places, strict=True)
        ],
        axis=1,
    )
    counts = np.bincount(owners, minlength=n_buckets)
    stops = np.cumsum(counts)
    widths = np.array([1 << max((int(count) - 1) // kernels.LEAF, 0).bit_length() for count in counts])
    ends = np.cumsum(2 * widths)
    index = kernels.Index(
        points=points,
        rows=order,
        alive=np.ones(len(table), np.bool_),
        starts=stops - counts,
        stops=stops,
        living=counts,
        roots=ends - 2 * widths,
        widths=widths,
        boxes=np.empty((ends[-1], 2 * len(table.axes))),
        inside=np.zeros(ends[-1], np.int64),
        measure=kernels.LossMeasure(costs_of(table), np.array([axis.weight for axis in table.axes]))
        if by_loss
        else None,
    )
    for bucket in range(len(counts)):
        kernels.build(index, bucket)
    return index
