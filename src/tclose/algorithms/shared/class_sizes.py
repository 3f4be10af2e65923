"""Redistribution: how many rows of each bucket every class takes (004 section 4.3)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.control import Watch

Integers = NDArray[np.int64]
SOON, LATE = 0.05, 0.2  # seconds: classes formed between two looks at the clock become more, or fewer


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


def halve(counts: Integers, holds: Callable[[Integers], bool], watch: Watch | None = None) -> ClassSizes:
    """Function ECSize: halve the table while both halves hold; `counts` are the rows of each bucket.

    When the time is over, what is not yet halved stays whole.

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
            over = watch is not None and watch.stop
            first = (sizes + 1) // 2
            second = sizes - first
            if not over and second.any() and holds(first) and holds(second):
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


def _pieces(sizes: ClassSizes, rows: int) -> Iterator[tuple[int, int]]:
    """The same, but few classes at first, and fewer again if they take long: in many dimensions each asks for all rows.

    It goes on when it is asked for more, and so knows how long the last took.
    """
    most = 1
    for begin, end in looks(sizes, rows):
        first = begin
        while first < end:
            last, began = min(first + most, end), time.monotonic()
            yield first, last
            seconds, first = time.monotonic() - began, last
            most = 2 * most if seconds < SOON else max(most // 2, 1) if seconds > LATE else most


def take_in_pieces(
    take_out: Callable[[int, int], None], sizes: ClassSizes, rows: int, labels: Integers, seeds: Integers, watch: Watch
) -> tuple[Integers, Integers]:
    """Form all classes, `first` to `last - 1` at a time; `take_out` fills in labels and seeds.

    When the time is over, the rows not yet taken, whose labels are -1, are one class, and there
    are fewer seeds than classes were asked for.
    """
    for first, last in _pieces(sizes, rows):
        take_out(first, last)
        watch.report(done=last / len(sizes))
        if watch.stop and last < len(sizes) - 1:  # the last class takes all that is left anyway
            labels[labels < 0] = last
            return labels, seeds[:last]
    return labels, seeds
