"""Redistribution: how many rows of each bucket every class takes (004 section 4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tclose.sabre.buckets import Buckets

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


def class_sizes(buckets: Buckets, t: Fraction, k: int) -> ClassSizes:
    """Function ECSize: halve the table while both halves have k rows and stay within t by theorem 4.

    Halves are rounded half up for the first. So after d halvings a class has the whole part of
    N_i / 2^d rows of bucket i, or one more, and which of the two it is depends for all buckets
    on the same number, the way taken: there are at most one more kinds at a depth than buckets,
    and each is looked at once.

    Examples
    --------
    >>> from tclose.distances import Line
    >>> from tclose.sabre.buckets import bucketize
    >>> salary = bucketize(Line(np.arange(4), 3), np.array([2, 3, 3, 2]), Fraction("0.25"))
    >>> sizes = class_sizes(salary, Fraction("0.4"), k=3)
    >>> sizes.kinds[sizes.sequence].tolist()
    [[3, 3], [2, 2]]
    """
    slack = t - buckets.bound
    kinds: list[Integers] = []
    known: dict[bytes, NDArray[np.int32]] = {}

    def holds(sizes: Integers) -> bool:
        return bool(sizes.sum() >= k) and buckets.distance(sizes) <= slack

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

    sequence = leaves(buckets.counts)
    return ClassSizes(np.array(kinds), sequence)


def looks(sizes: ClassSizes, rows: int) -> list[tuple[int, int]]:
    """The classes in pieces of about so many rows: the first of each and the one after its last."""
    ends = np.cumsum(sizes.kinds.sum(axis=1)[sizes.sequence])
    cuts = np.searchsorted(ends, np.arange(rows, int(ends[-1]), rows)) + 1
    return list(pairwise(np.unique([0, *cuts, len(ends)]).tolist()))
