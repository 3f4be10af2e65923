"""Classes of a table as it stands: rows that agree on some columns, and how often each value occurs in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.table.coded import CodedColumn, places_in

Integers = NDArray[np.int64]
MOST = 2**62
ENTRIES = 1 << 20  # of a tally at a time, so that what is derived from them takes little memory


@dataclass(frozen=True, eq=False)
class Classes:
    """Rows by what they have in some columns.

    Attributes
    ----------
    keys
        A number for each row: rows that agree on all columns have the same.
    distinct
        The key of each class, ascending.
    sizes
        The rows of each class.

    Examples
    --------
    >>> import polars as pl
    >>> columns = [pl.Series(["x", None, "x"]), pl.Series([1, 1, 1])]
    >>> Classes.of(3, map(CodedColumn.of, columns)).labels.tolist()
    [0, 1, 0]
    """

    keys: Integers
    distinct: Integers
    sizes: Integers

    @classmethod
    def of(cls, n_rows: int, columns: Iterable[CodedColumn]) -> Classes:
        """Group the rows of a table: one column after the other is folded into the key."""
        keys, bound = np.zeros(n_rows, np.int64), 1
        for column in columns:
            if bound * len(column.values) >= MOST:
                distinct = np.unique(keys)
                keys, bound = places_in(distinct, keys).astype(np.int64), len(distinct)
            keys *= len(column.values)
            keys += column.codes
            bound *= len(column.values)
        return cls(keys, *np.unique(keys, return_counts=True))

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def labels(self) -> Integers:
        """The class of each row, numbered from 0."""
        return places_in(self.distinct, self.keys).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Tally:
    """How often each value occurs in each class; only pairs that occur, by class and value.

    Attributes
    ----------
    code, count
        One entry a pair of class and value: as many as rows there may be, so they are narrow.
        `by_class` gives them wide enough to be multiplied.
    start
        The first entry of each class.
    sizes
        The rows of each class.
    reference
        The rows with each value in the whole table.
    """

    code: NDArray[Any]
    count: NDArray[Any]
    start: Integers
    sizes: Integers
    reference: Integers

    @classmethod
    def of(cls, keys: Integers, codes: NDArray[np.int32], size: int) -> Tally:
        """Count the codes (0 to size - 1) of the rows of each key; the classes are the keys, ascending."""
        if int(keys.max()) >= MOST // size:
            keys = places_in(np.unique(keys), keys).astype(np.int64)
        pairs = keys * size
        pairs += codes
        pairs.sort()
        first = _first_of_each(pairs)
        count = np.diff(first, append=len(pairs)).astype(np.int32)
        pairs = pairs[first]
        code = (pairs % size).astype(np.int32)
        pairs //= size
        start = _first_of_each(pairs)
        sizes = np.add.reduceat(count, start, dtype=np.int64)
        return cls(code, count, start, sizes, np.bincount(codes, minlength=size).astype(np.int64))

    @property
    def owner(self) -> Integers:
        """The class of each entry."""
        return np.repeat(np.arange(len(self.start)), np.diff(self.start, append=len(self.code)))

    def by_class(self, measure: Callable[[Tally], NDArray[Any]]) -> NDArray[Any]:
        """What is measured of each class, its last axis; some classes at a time, counted in wide integers."""
        return np.concatenate([measure(piece) for piece in self._pieces()], axis=-1)

    def _pieces(self) -> Iterator[Tally]:
        first = 0
        while first < len(self.start):
            begin = int(self.start[first])
            last = max(first + 1, int(np.searchsorted(self.start, begin + ENTRIES)))
            end = int(self.start[last]) if last < len(self.start) else len(self.code)
            yield Tally(
                self.code[begin:end].astype(np.int64),
                self.count[begin:end].astype(np.int64),
                self.start[first:last] - begin,
                self.sizes[first:last],
                self.reference,
            )
            first = last


def _first_of_each(ascending: Integers) -> Integers:
    """Where each value of a sorted array begins."""
    return np.flatnonzero(np.concatenate([[True], ascending[1:] != ascending[:-1]]))
