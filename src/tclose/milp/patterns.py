"""Rows that are alike in all that counts, and the patterns of stars they can be released under."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.errors import SizeError

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

MOST_VECTORS = 4_000  # every two are compared
MOST_CELLS = 62  # stars are bits of a number
MOST_LOOKS = 2_000_000  # vectors looked at, for all sets of starred cells together


@dataclass(frozen=True, eq=False)
class Types:
    """Rows that have the same quasi-identifiers and the same sensitive values are one type.

    Attributes
    ----------
    of_row
        The type of each row.
    vectors
        The different combinations of quasi-identifiers, by their places.
    vector, codes, counts
        Of each type: its combination, its code in each attribute asked, and how many rows it has.

    Examples
    --------
    >>> places, codes = [np.array([0, 0, 1])], [np.array([1, 1, 0])]
    >>> Types.of(places, codes).counts
    array([2, 1])
    """

    of_row: Integers
    vectors: Integers
    vector: Integers
    codes: Integers
    counts: Integers

    @classmethod
    def of(cls, places: Sequence[NDArray[np.int32]], codes: Sequence[NDArray[np.int32]]) -> Types:
        """The types of rows with these places, and these codes in the attributes asked."""
        vectors, vector = np.unique(np.stack(places, axis=1), axis=0, return_inverse=True)
        keys = np.stack([vector.reshape(-1), *codes], axis=1)
        types, of_row, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
        types = types.astype(np.int64)
        return cls(of_row.reshape(-1), vectors.astype(np.int64), types[:, 0], types[:, 1:], counts)

    def __len__(self) -> int:
        return len(self.counts)


@dataclass(frozen=True, eq=False)
class Patterns:
    """Which cells are starred, and what stands in the others: only patterns that some class can have.

    A class is released under the pattern that stars the columns in which its rows differ. So a
    pattern is needed only if, among the rows it covers, every starred column differs: else one
    with fewer stars covers the same rows.

    Attributes
    ----------
    stars
        Which columns each pattern stars.
    starts, covered
        The vectors that pattern p covers are covered[starts[p] : starts[p + 1]].
    """

    stars: Flags
    starts: Integers
    covered: Integers

    @classmethod
    def of(cls, vectors: Integers) -> Patterns:
        """All patterns of these vectors.

        Raises
        ------
        SizeError
            There are too many.

        Examples
        --------
        >>> Patterns.of(np.array([[0, 0], [0, 1]])).stars.astype(int).tolist()
        [[0, 0], [0, 0], [0, 1]]
        """
        stars, sizes, covered = [], [np.zeros(1, np.int64)], []
        for mask in _masks(vectors):
            order, begins, closed = _grouped(vectors, mask)
            ends = np.append(begins[1:], len(order))
            for begin, end in zip(begins[closed].tolist(), ends[closed].tolist(), strict=True):
                covered.append(np.sort(order[begin:end]))
            sizes.append((ends - begins)[closed])
            stars.append(np.repeat(mask[None, :], int(closed.sum()), axis=0))
        return cls(np.concatenate(stars), np.cumsum(np.concatenate(sizes)), np.concatenate(covered))

    def __len__(self) -> int:
        return len(self.stars)

    @cached_property
    def costs(self) -> Integers:
        """The stars of each."""
        return np.asarray(self.stars.sum(axis=1), np.int64)

    def take(self, chosen: Integers) -> Patterns:
        """Some of them."""
        parts = [self.covered[self.starts[each] : self.starts[each + 1]] for each in chosen]
        return Patterns(
            self.stars[chosen], np.cumsum([0, *map(len, parts)]), np.concatenate([np.zeros(0, np.int64), *parts])
        )


def _masks(vectors: Integers) -> NDArray[np.bool_]:
    """Every set of columns in which some vectors differ: unions of those in which two do; fewest first."""
    differs = np.flatnonzero((vectors != vectors[0]).any(axis=0))
    if len(vectors) > MOST_VECTORS or len(differs) > MOST_CELLS:
        raise _too_large(f"{len(vectors):,} combinations of {len(differs)} quasi-identifiers")
    bits = np.int64(1) << np.arange(len(differs))
    pairs = np.unique(
        np.concatenate([np.unique((vectors[:, differs] != vector[differs]) @ bits) for vector in vectors])
    )
    masks = frontier = pairs
    while len(frontier):
        if len(masks) * len(vectors) > MOST_LOOKS:
            raise _too_large(f"more than {len(masks):,} ways to star cells of {len(vectors):,} combinations")
        found = np.unique(np.concatenate([np.unique(frontier | pair) for pair in pairs]))
        frontier = np.setdiff1d(found, masks, assume_unique=True)
        masks = np.union1d(masks, frontier)
    flags = np.zeros((len(masks), vectors.shape[1]), np.bool_)
    flags[:, differs] = masks[:, None] & bits[None, :]
    return flags[np.argsort(flags.sum(axis=1), kind="stable")]


def _grouped(vectors: Integers, mask: Flags) -> tuple[Integers, Integers, Flags]:
    """The vectors that agree in all columns without star: in groups, where these begin, and if all starred differ."""
    kept = vectors[:, ~mask]
    order = np.lexsort(kept.T) if kept.shape[1] else np.arange(len(vectors))
    first = np.ones(len(order), np.bool_)
    first[1:] = (kept[order[1:]] != kept[order[:-1]]).any(axis=1)
    begins = np.flatnonzero(first)
    starred = vectors[order][:, mask]
    closed = (np.maximum.reduceat(starred, begins) > np.minimum.reduceat(starred, begins)).all(axis=1)
    return order.astype(np.int64), begins.astype(np.int64), np.asarray(closed)


def _too_large(what: str) -> SizeError:
    return SizeError(
        f"'milp' would have to weigh {what}, which is too many. Use fewer or coarser quasi-identifiers, or use 'tight'."
    )
