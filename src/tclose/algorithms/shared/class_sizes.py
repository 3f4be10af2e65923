"""Redistribution: how many rows of each bucket every class takes (004 section 4.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.control import Watch

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClassSizes:
    """The leaves of the tree of 004 figure 6, from left to right.

    Attributes
    ----------
    kinds
        The different ones: one row each, its columns the rows of each bucket.
    sequence
        The kind of each class.
    """

    kinds: Integers
    sequence: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.sequence)


def halve(counts: Integers, holds: Callable[[Integers], bool]) -> ClassSizes:
    """Function ECSize: halve the table while both halves hold; `counts` are the rows of each bucket.

    Halves are rounded half up for the first. So after d halvings a class has the whole part of
    N_i / 2^d rows of bucket i, or one more, and which of the two it is depends for all buckets
    on the same number, the way taken: there are at most one more kinds at a depth than buckets,
    and each is looked at once.

    Examples
    --------
    >>> sizes = halve(np.array([5, 4]), lambda sizes: sizes.sum() >= 4)
    >>> sizes.kinds[sizes.sequence].tolist()
    [[3, 2], [2, 2]]
    """
    kinds: list[Integers] = []
    known: dict[bytes, NDArray[np.int32]] = {}

    def leaves(sizes: Integers) -> NDArray[np.int32]:
        key = sizes.tobytes()
        if key not in known:
            first = (sizes + 1) // 2
            second = sizes - first
            if second.any() and holds(first) and holds(second):
                known[key] = np.concatenate([leaves(first), leaves(second)])
            else:
                known[key] = np.array([len(kinds)], np.int32)
                kinds.append(sizes)
        return known[key]

    sequence = leaves(counts)
    return ClassSizes(np.array(kinds), sequence)


def looks(sizes: ClassSizes, rows: int) -> list[tuple[int, int]]:
    """The classes in pieces of about so many rows: the first of each and the one after its last."""
    ends = np.cumsum(sizes.kinds.sum(axis=1)[sizes.sequence])
    cuts = np.searchsorted(ends, np.arange(rows, int(ends[-1]), rows)) + 1
    return list(pairwise(np.unique([0, *cuts, len(ends)]).tolist()))


def take_in_pieces(
    take_out: Callable[[int, int], None], sizes: ClassSizes, rows: int, labels: Integers, seeds: Integers, watch: Watch
) -> tuple[Integers, Integers]:
    """Form all classes, `first` to `last - 1` at a time; `take_out` fills in labels and seeds.

    When the time is over, the rows not yet taken, whose labels are -1, are one class, and there
    are fewer seeds than classes were asked for.
    """
    for first, last in looks(sizes, rows):
        take_out(first, last)
        watch.report(done=last / len(sizes))
        if watch.stop and last < len(sizes) - 1:  # the last class takes all that is left anyway
            labels[labels < 0] = last
            return labels, seeds[:last]
    return labels, seeds
