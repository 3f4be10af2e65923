"""Classes as a reader of the release sees them: rows that agree on all released quasi-identifiers as they stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.table.source import Source
from tclose.verification.sensitive_domains import factored_column

BLOCK = 1 << 21  # rows or counts looked at together: what bounds the memory beside one key a row


@dataclass(frozen=True)
class Grouping:
    """The class of each row.

    Attributes
    ----------
    labels
        From 0 up, one a row.
    sizes
        The rows of each class.
    """

    labels: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @property
    def n_alone(self) -> int:
        """How many rows are alone in their class."""
        return int((self.sizes == 1).sum())

    @property
    def smallest(self) -> int:
        """The rows of the smallest class, which is k; 0 if there is none."""
        return int(self.sizes.min()) if len(self.sizes) else 0


class GroupSizes(NamedTuple):
    """Of groups of rows: how many there are, the rows of the smallest, and how many rows are alone in theirs."""

    n_groups: int
    smallest: int
    n_alone: int


@dataclass(frozen=True)
class ClassCounts:
    """How often each value occurs in some neighbouring classes.

    Attributes
    ----------
    first
        The number of the first of these classes.
    sizes
        The rows of each class.
    starts
        Where the counts of each class begin.
    codes, counts
        The values of each class in ascending order, and how often each occurs: never 0.
    """

    first: int
    sizes: NDArray[np.int64]
    starts: NDArray[np.int64]
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def kinds(self) -> NDArray[np.int64]:
        """How many distinct values each class has."""
        return np.diff(self.starts, append=len(self.codes))

    def of(self, place: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The values and counts of the class at a place in this block."""
        stop = self.starts[place + 1] if place + 1 < len(self.starts) else len(self.codes)
        inside = slice(int(self.starts[place]), int(stop))
        return self.codes[inside], self.counts[inside]


def group_rows(source: Source, names: Iterable[str]) -> Grouping:
    """Group the rows of a table by columns, read one at a time.

    Examples
    --------
    >>> group_rows(Source.of(pl.DataFrame({"a": [1, 1, 2], "b": ["x", "x", None]})), ["a", "b"])
    Grouping(labels=array([0, 0, 1]), sizes=array([2, 1]))
    """
    return refine(np.zeros(source.n_rows, np.int64), 1, source, names)


def refine(keys: NDArray[np.int64], bound: int, source: Source, names: Iterable[str]) -> Grouping:
    """Divide groups, given by keys from 0 to below a bound, by further columns; the keys are not kept."""
    columns = (factored_column(source.column(name)) for name in names)
    return divide(keys, bound, ((found.codes, len(found.values)) for found in columns))


def divide(
    keys: NDArray[np.int64], bound: int, columns: Iterable[tuple[NDArray[np.int32] | NDArray[np.int64], int]]
) -> Grouping:
    """The same by columns that are numbered already, from -1 (none) to below a size each.

    Keys are numbers in mixed radix, one digit a column. Before one could pass 2^62 they are numbered anew.

    Examples
    --------
    >>> divide(np.zeros(3, np.int64), 1, [(np.array([0, 0, -1]), 1)])
    Grouping(labels=array([1, 1, 0]), sizes=array([1, 2]))
    """
    for codes, size in columns:
        base = size + 1
        if bound * base >= 2**62:
            keys, bound = _number_anew(keys, bound)
        keys = keys * base
        keys += codes
        keys += 1
        bound *= base
    labels, n_groups = _number_anew(keys, bound)
    return Grouping(labels, np.bincount(labels, minlength=n_groups).astype(np.int64))


def _number_anew(keys: NDArray[np.int64], bound: int) -> tuple[NDArray[np.int64], int]:
    """The rank of each key among those that occur, and how many do."""
    if bound <= 4 * len(keys) + BLOCK:
        occurs = np.zeros(bound, bool)
        occurs[keys] = True
        places = np.cumsum(occurs, dtype=np.int64) - 1
        return places[keys], int(places[-1]) + 1 if len(places) else 0
    ranks = pl.Series(keys).rank("dense").to_numpy().astype(np.int64) - 1
    return ranks, int(ranks.max(initial=-1)) + 1


def count_values(groups: Grouping, codes: NDArray[np.int32], size: int) -> Iterator[ClassCounts]:
    """Count the values of each class, some classes at a time.

    Where a table of all classes by all values is no longer than the rows, it is filled; else the pairs
    of class and value are sorted.

    Examples
    --------
    >>> block, = count_values(group_rows(Source.of(pl.DataFrame({"a": [1, 1, 2]})), ["a"]), np.array([3, 3, 0]), 4)
    >>> block.sizes.tolist(), block.codes.tolist(), block.counts.tolist()
    ([2, 1], [3, 0], [2, 1])
    """
    n_classes = len(groups.sizes)
    if not n_classes:
        return
    keys = groups.labels * size
    keys += codes
    if n_classes * size <= len(keys):
        table = np.bincount(keys, minlength=n_classes * size)
        del keys
        step = max(1, BLOCK // size)
        for first in range(0, n_classes, step):
            part = table[first * size : (first + step) * size]
            filled = np.flatnonzero(part)
            yield _counts(groups, first, filled + first * size, part[filled], size)
        return
    keys.sort()
    ends = np.cumsum(groups.sizes)
    first = 0
    while first < n_classes:
        begin = int(ends[first - 1]) if first else 0
        after = max(first + 1, int(np.searchsorted(ends, begin + BLOCK, "right")))
        part = keys[begin : int(ends[after - 1])]
        runs = np.flatnonzero(np.concatenate([[True], part[1:] != part[:-1]]))
        yield _counts(groups, first, part[runs], np.diff(runs, append=len(part)), size)
        first = after


def _counts(groups: Grouping, first: int, keys: NDArray[np.int64], counts: NDArray[np.int64], size: int) -> ClassCounts:
    classes, codes = np.divmod(keys, size)
    starts = np.flatnonzero(np.diff(classes, prepend=-1))
    return ClassCounts(first, groups.sizes[first : first + len(starts)], starts, codes, counts)
