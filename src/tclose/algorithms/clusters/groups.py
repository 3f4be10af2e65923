"""Groups of rows, and how many of each every class takes (GenerateEquivalenceClasses of 003)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.shared.class_sizes import ClassSizes

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Groups:
    """Which rows are alike, and what classes take of them.

    Attributes
    ----------
    owners
        The group of each row.
    sizes
        The rows of each group that every class takes.
    """

    owners: NDArray[np.int32]
    sizes: ClassSizes

    @classmethod
    def of(cls, owners: NDArray[np.int32], n_classes: int) -> Groups:
        """So many classes, each with its share of every group."""
        return cls(owners, spread(np.bincount(owners), n_classes))


def spread(counts: Integers, n_classes: int) -> ClassSizes:
    """The rows of each group for each class: the whole part of its share, and what is left over is dealt in turn.

    No row is left over, no class has two rows of a group more than another, and no two classes
    differ by more than one row.

    Examples
    --------
    >>> sizes = spread(np.array([3, 5, 4]), 3)
    >>> sizes.kinds[sizes.sequence].tolist()
    [[1, 2, 1], [1, 2, 1], [1, 1, 2]]
    """
    taken = np.tile(counts // n_classes, (n_classes, 1))
    groups = np.repeat(np.arange(len(counts)), counts % n_classes)
    taken[np.arange(len(groups)) % n_classes, groups] += 1
    kinds, sequence = np.unique(taken, axis=0, return_inverse=True)
    return ClassSizes(kinds, sequence.reshape(-1).astype(np.int32))


def adjusted(n: int, k: int) -> int:
    """How many groups instead of k, so that fewer rows are left over than there are classes (003 section 4.2).

    Examples
    --------
    >>> adjusted(11, 4), adjusted(45222, 20)
    (5, 20)
    """
    return k + n % k // (n // k)


def in_order(order: Integers, n_groups: int) -> NDArray[np.int32]:
    """The group of each row, if so many are cut off along an order: all as large, and what is left over in the middle.

    Of an even number of groups the two in the middle share it.

    Examples
    --------
    >>> in_order(np.array([4, 3, 2, 1, 0]), 2)
    array([1, 1, 0, 0, 0], dtype=int32)
    """
    sizes = np.full(n_groups, len(order) // n_groups)
    rest = len(order) % n_groups
    sizes[(n_groups - 1) // 2] += rest - rest // 2
    sizes[n_groups // 2] += rest // 2
    owners = np.empty(len(order), np.int32)
    owners[order] = np.repeat(np.arange(n_groups, dtype=np.int32), sizes)
    return owners
