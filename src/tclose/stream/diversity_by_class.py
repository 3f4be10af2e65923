"""How diverse each class is: what a certificate of a stream tells of `l`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.schema.columns import Diversity

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ReachedDiversity:
    """The diversity of each class in one attribute.

    Attributes
    ----------
    distinct
        How many distinct values.
    entropy
        e to the entropy.
    frequency
        Rows for each row with the most frequent value.
    recursive
        The l that is asked of recursive (c, l)-diversity, and what its c must be above, NaN where there is
        no such c; None if it is not asked.
    """

    distinct: Integers
    entropy: NDArray[np.float64]
    frequency: NDArray[np.float64]
    recursive: tuple[int, NDArray[np.float64]] | None = None

    def __getitem__(self, place: int) -> dict[str, Any]:
        told: dict[str, Any] = {
            "distinct": int(self.distinct[place]),
            "entropy": round(float(self.entropy[place]), 9),  # logarithms may differ in the last bit
            "frequency": float(self.frequency[place]),
        }
        if self.recursive is not None:
            above = float(self.recursive[1][place])
            told["recursive"] = {"l": self.recursive[0], "c_above": None if np.isnan(above) else above}
        return told


def diversity_by_class(codes: NDArray[Any], labels: Integers, asked: Diversity | None) -> ReachedDiversity:
    """The diversity of classes 0, 1, 2, ..., from the value and the class of each row.

    The counts of a class are added in ascending order, so that not even the last bit tells which value has which.

    Examples
    --------
    >>> diversity_by_class(np.array([5, 5, 5, 7]), np.array([0, 0, 0, 0]), None)[0]
    {'distinct': 2, 'entropy': 1.754765351, 'frequency': 1.3333333333333333}
    """
    keys, counts = np.unique(labels * (int(codes.max()) + 1) + codes, return_counts=True)
    owners = keys // (int(codes.max()) + 1)
    counts = counts[np.lexsort((counts, owners))].astype(np.int64)
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    kinds = np.diff(starts, append=len(owners))
    sizes, most = np.add.reduceat(counts, starts), counts[starts + kinds - 1]
    sums = np.add.reduceat(counts * np.log(counts), starts)
    entropy = np.exp(np.maximum(np.log(sizes) - sums / sizes, 0.0))
    recursive = None
    if asked is not None and asked.recursive is not None:
        recursive = asked.recursive[1], _recursive(counts, starts, kinds, asked.recursive[1])
    return ReachedDiversity(kinds, entropy, sizes / most, recursive)


def _recursive(counts: Integers, starts: Integers, kinds: Integers, first: int) -> NDArray[np.float64]:
    """r_1 / (r_l + ... + r_m) of each class, r its counts from the most frequent on; NaN if m is below l."""
    falling = np.repeat(starts + kinds, kinds) - np.arange(len(counts))  # the rank from the most frequent, from 1
    tails = np.add.reduceat(np.where(falling >= first, counts, 0), starts)
    found = np.full(len(starts), np.nan)
    np.divide(counts[starts + kinds - 1], tails, out=found, where=tails > 0)
    return found
