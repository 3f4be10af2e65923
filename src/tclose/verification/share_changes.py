"""How far the share of a value in a class is from its share in the table: what t bounds only in sum."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.verification.released_classes import ClassCounts

NEAR = 1e-12  # floats that differ by less are compared as fractions


@dataclass(frozen=True)
class ShareChange:
    """The share of one value in the whole table and in one class."""

    table: Fraction
    in_class: Fraction

    @property
    def points(self) -> float:
        """By how many percentage points it is higher in the class."""
        return float(100 * (self.in_class - self.table))


def share_changes(reference: NDArray[np.int64], blocks: Iterable[ClassCounts]) -> tuple[ShareChange, ShareChange]:
    """The largest rise and the largest fall of the share of a value, over all classes.

    Parameters
    ----------
    reference
        How often each value occurs in the table.
    blocks
        The same of each class, some classes at a time.

    Examples
    --------
    >>> import polars as pl
    >>> from tclose.table.source import Source
    >>> from tclose.verification.released_classes import count_values, group_rows
    >>> groups = group_rows(Source.of(pl.DataFrame({"age": [20, 20, 30, 30]})), ["age"])
    >>> rise, fall = share_changes(np.array([1, 3]), count_values(groups, np.array([0, 1, 1, 1], np.int32), 2))
    >>> rise.points, fall.points
    (25.0, -25.0)
    """
    n = int(reference.sum())
    none = ShareChange(Fraction(0), Fraction(0))
    rises, falls = [none], [none]
    n_classes, seen_in = 0, np.zeros(len(reference), np.int64)
    for block in blocks:
        n_classes += len(block.sizes)
        seen_in += np.bincount(block.codes, minlength=len(reference))
        changes = block.counts / np.repeat(block.sizes, block.kinds) - reference[block.codes] / n
        rises = [_largest([*rises, *_changes(block, changes >= changes.max() - NEAR, reference, n)])]
        falls = [_least([*falls, *_changes(block, changes <= changes.min() + NEAR, reference, n)])]
    lacking = reference[seen_in < n_classes]  # a class without a value has none of its share
    if lacking.max(initial=0):
        falls.append(ShareChange(Fraction(int(lacking.max()), n), Fraction(0)))
    return rises[0], _least(falls)


def _changes(block: ClassCounts, chosen: NDArray[np.bool_], reference: NDArray[np.int64], n: int) -> list[ShareChange]:
    """Some values of some classes, each kind of change once."""
    sizes = np.repeat(block.sizes, block.kinds)[chosen]
    found = np.unique(np.stack([reference[block.codes[chosen]], block.counts[chosen], sizes]), axis=1)
    return [ShareChange(Fraction(whole, n), Fraction(count, size)) for whole, count, size in found.T.tolist()]


def _largest(changes: list[ShareChange]) -> ShareChange:
    """The largest rise; of equal ones that of the most frequent value, so that the order of values does not matter."""
    return max(changes, key=lambda each: (each.in_class - each.table, each.table))


def _least(changes: list[ShareChange]) -> ShareChange:
    return min(changes, key=lambda each: (each.in_class - each.table, -each.table))
