"""Rows along a Hilbert curve through the space of the quasi-identifiers (004 section 4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tclose.table.axes import Axis
from tclose.table.encode import EncodedTable

Words = NDArray[np.int64]
TABLE_AXES = 7  # up to so many, the table of steps fits into the processor's cache
BLOCK = 1 << 14  # rows whose words stay in the cache while one axis after the other adds its bits


def key_bits(table: EncodedTable, most: int) -> int:
    """How many bits of a key to use, of at most so many: the same for each axis, and no more than the longest needs.

    Of more axes than bits the first ones have a bit each.
    """
    longest = max((int(axis.size - 1).bit_length() for axis in table.axes), default=0)
    n_axes = min(len(table.axes), most)
    return n_axes * max(min(most // n_axes, longest), 1) if n_axes else 0


def hilbert_keys(table: EncodedTable, bits: int) -> Words:
    """The key of each row, of as many bits as `key_bits` tells; of more axes than bits the first ones count."""
    from tclose.algorithms.shared.curve_loops import interleave, keys_by_arithmetic, keys_by_table

    words = np.zeros(len(table), np.int64)
    axes = table.axes[:bits]
    by_axis = bits // max(len(axes), 1)
    spreads = [_spread(axis, by_axis, place, len(axes)) for place, axis in enumerate(axes)]
    steps = _steps(len(axes)) if len(axes) <= TABLE_AXES else None
    for start in range(0, len(table), BLOCK):
        block = words[start : start + BLOCK]
        for places, spread in zip(table.places, spreads, strict=False):
            interleave(block, places[start : start + BLOCK], spread)
        if steps is None:
            keys_by_arithmetic(block, len(axes), by_axis)
        else:
            keys_by_table(block, len(axes), by_axis, steps)
    return words


def order_along(table: EncodedTable, axes: Sequence[int] | None = None) -> NDArray[np.int64]:
    """The rows along the curve through these axes, in this order; through all as they come if None."""
    if axes is not None:
        table = replace(
            table, axes=tuple(table.axes[axis] for axis in axes), places=tuple(table.places[axis] for axis in axes)
        )
    return np.argsort(hilbert_keys(table, key_bits(table, 63)), kind="stable")


def _spread(axis: Axis, bits: int, place: int, n_axes: int) -> Words:
    """For each place of an axis the bits of its cell, `n_axes` apart."""
    scaled = axis.coordinates / max(float(axis.coordinates.max(initial=0.0)), 1.0)
    cells = np.rint(scaled * (2**bits - 1)).astype(np.int64)
    spread = np.zeros(len(cells), np.int64)
    for bit in range(bits):
        spread |= (cells >> bit & 1) << bit * n_axes + place
    return spread


@lru_cache(maxsize=TABLE_AXES)
def _steps(n_axes: int) -> NDArray[np.int32]:
    """At [state, cell] the next state times 2^n plus the rank of the cell; states are met from the first one on.

    The algebra is that of `keys_by_arithmetic`.
    """
    n_cells = 1 << n_axes
    cells = np.arange(n_cells)
    ranks = cells.copy()  # of a label that is turned already: Gray's code undone
    for shift in range(1, n_axes):
        ranks ^= cells >> shift
    corners = (np.maximum(cells - 1, 0) & ~1) ^ (np.maximum(cells - 1, 0) & ~1) >> 1
    odd = np.where(cells & 1, cells, cells - 1)
    leaves_by = np.where(cells == 0, 0, np.bitwise_count(odd & ~(odd + 1)))
    numbers, rows, waiting = {(0, 0): 0}, [], [(0, 0)]
    for entry, direction in waiting:
        turn = direction + 1
        labels = cells ^ entry
        rank = ranks[(labels >> turn | labels << n_axes - turn) & n_cells - 1]
        corner = corners[rank]
        entries = entry ^ (corner << turn | corner >> n_axes - turn) & n_cells - 1
        states = list(zip(entries.tolist(), ((direction + leaves_by[rank] + 1) % n_axes).tolist(), strict=True))
        for state in states:
            if state not in numbers:
                numbers[state] = len(numbers)
                waiting.append(state)
        rows.append(np.array([numbers[state] for state in states]) << n_axes | rank)
    return np.concatenate(rows).astype(np.int32)
