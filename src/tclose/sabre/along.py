"""Taking rows out along a Hilbert curve: SABRE-AK's approximate neighbours."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tclose.encode import EncodedTable
from tclose.partition import Control
from tclose.sabre.curve import hilbert_keys, key_bits
from tclose.sabre.sizes import ClassSizes

Integers = NDArray[np.int64]
ROWS = 1_000_000  # taken between two looks at the clock, about 0.1 s


def take_along(
    table: EncodedTable, owners: NDArray[np.int32], sizes: ClassSizes, seed: int, control: Control
) -> tuple[Integers, Integers]:
    """The class of each row and the seed of each class: around a random row, the next of each bucket along the curve.

    Bucket, key and row number of a row are packed into one word, so that a plain sort of words
    does all. With 50 million rows and 7 quasi-identifiers that leaves 5 bits of the key to each,
    which costs nothing that could be measured (docs/benchmarks.md).
    """
    from tclose.kernels.take_along import pack, take_out

    n_buckets = sizes.kinds.shape[1]
    n_rows = max(int(len(table) - 1).bit_length(), 1)
    n_keys = key_bits(table, 63 - n_rows - int(n_buckets - 1).bit_length())
    words = hilbert_keys(table, n_keys)
    pack(words, owners, n_keys, n_rows)
    words.sort()
    links = np.arange(len(table) + 2, dtype=np.int32)
    counts = np.bincount(owners, minlength=n_buckets)
    stops = np.cumsum(counts)
    labels, seeds = np.full(len(table), -1, np.int64), np.empty(len(sizes), np.int64)
    work = (words, links, links.copy(), stops - counts, stops, counts, sizes.kinds, sizes.sequence)
    room = np.array([seed], np.uint64), np.empty(int(sizes.kinds.max()), np.int64), labels, seeds
    for first, last in looks(sizes, ROWS):
        take_out(*work, first, last, n_keys, n_rows, *room)
        control.report(done=last / len(sizes))
        if control.stop and last < len(sizes):
            labels[labels < 0] = last
            return labels, seeds[:last]
    return labels, seeds


def looks(sizes: ClassSizes, rows: int) -> list[tuple[int, int]]:
    """The classes in pieces of about so many rows."""
    ends = np.cumsum(sizes.kinds.sum(axis=1)[sizes.sequence])
    cuts = np.searchsorted(ends, np.arange(rows, int(ends[-1]), rows)) + 1
    return list(pairwise(np.unique([0, *cuts, len(ends)]).tolist()))
