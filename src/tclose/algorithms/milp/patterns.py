"""Rows that are alike in all that counts, and the patterns of stars they can be released under."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
MOST_UNKNOWNS = 60_000


@dataclass(frozen=True, eq=False)
class RowTypes:
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
    >>> RowTypes.of(places, codes).counts
    array([2, 1])
    """

    of_row: Integers
    vectors: Integers
    vector: Integers
    codes: Integers
    counts: Integers

    @classmethod
    def of(cls, places: Sequence[NDArray[np.int32]], codes: Sequence[NDArray[np.int32]]) -> RowTypes:
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
    weights
        What a star of each column counts, in whole numbers.
    """

    stars: Flags
    starts: Integers
    covered: Integers
    weights: Integers

    @classmethod
    def of(
        cls,
        vectors: Integers,
        weigh: Callable[[Integers], int] = len,
        stop: Callable[[], bool] = lambda: False,
        weights: Sequence[int] | None = None,
    ) -> Patterns | None:
        """All patterns of these vectors; None where it was stopped.

        Parameters
        ----------
        vectors
            The combinations.
        weigh
            How many unknowns a pattern needs that covers these of them; 0 if no class can have it.
        stop
            Whether to end.
        weights
            What a star of each column counts; 1 if not given.

        Raises
        ------
        SizeError
            There are too many.

        Examples
        --------
        >>> Patterns.of(np.array([[0, 0], [0, 1]])).stars.astype(int).tolist()
        [[0, 0], [0, 0], [0, 1]]
        """
        stars, covered, needed = [], [np.zeros(0, np.int64)], 0
        for mask in _masks(vectors):
            if stop():
                return None
            for group in _groups(vectors, mask):
                if unknowns := weigh(group):
                    stars.append(mask)
                    covered.append(group)
                    needed += unknowns
            if needed > MOST_UNKNOWNS:
                raise _too_large(f"more than {MOST_UNKNOWNS:,} unknowns for {len(vectors):,} combinations")
        starts = np.cumsum([len(group) for group in covered])
        n_columns = vectors.shape[1]
        of_columns = np.ones(n_columns, np.int64) if weights is None else np.array(weights, np.int64)
        return cls(np.array(stars).reshape(-1, n_columns), starts, np.concatenate(covered), of_columns)

    def __len__(self) -> int:
        return len(self.stars)

    @cached_property
    def costs(self) -> Integers:
        """The stars of each, each as often as its column counts."""
        return np.asarray(self.stars @ self.weights, np.int64)


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


def _groups(vectors: Integers, mask: Flags) -> Iterator[Integers]:
    """The vectors that agree in all columns without star, in groups in which all starred differ."""
    kept = vectors[:, ~mask]
    order = np.lexsort(kept.T) if kept.shape[1] else np.arange(len(vectors))
    first = np.ones(len(order), np.bool_)
    first[1:] = (kept[order[1:]] != kept[order[:-1]]).any(axis=1)
    begins = np.flatnonzero(first)
    starred = vectors[order][:, mask]
    closed = (np.maximum.reduceat(starred, begins) > np.minimum.reduceat(starred, begins)).all(axis=1)
    ends = np.append(begins[1:], len(order))
    for begin, end in zip(begins[closed].tolist(), ends[closed].tolist(), strict=True):
        yield np.sort(order[begin:end]).astype(np.int64)


def _too_large(what: str) -> SizeError:
    return SizeError(
        f"'milp' would have to weigh {what}, which is too many. Use fewer or coarser quasi-identifiers, or use 'tight'."
    )
