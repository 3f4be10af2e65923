"""Hilbert keys: places along a curve that visits every cell of a grid, its next always a neighbour."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.compile import kernel


@kernel
def interleave(words: NDArray[np.int64], places: NDArray[np.int32], spread: NDArray[np.int64]) -> None:
    """words[row] |= spread[places[row]]: one axis after the other gives its bits."""
    for row in range(len(words)):
        words[row] |= spread[places[row]]


@kernel
def keys_by_table(words: NDArray[np.int64], n_axes: int, bits: int, steps: NDArray[np.int32]) -> None:
    """Replace each word by its key: cell by cell, steps[state, cell] is the next state and the cell's rank."""
    cells = np.int64(1) << n_axes
    for row in range(len(words)):
        word = words[row]
        key, state = np.int64(0), np.int64(0)
        for level in range(bits - 1, -1, -1):
            step = np.int64(steps[(state << n_axes) | ((word >> (level * n_axes)) & (cells - 1))])
            key = (key << n_axes) | (step & (cells - 1))
            state = step >> n_axes
        words[row] = key


@kernel
def keys_by_arithmetic(words: NDArray[np.int64], n_axes: int, bits: int) -> None:
    """The same without a table, for many axes.

    A state is the corner where the curve enters a cube and the axis along which it leaves. A
    cell's label, turned so that the curve enters at 0 and leaves along the first axis, is the
    Gray code of its rank w. In cell w the curve enters at gray(2 floor((w - 1) / 2)) and leaves
    along the axis that the rank changes next: as many as w (odd) or w - 1 (even) ends in ones.
    """
    mask = (np.int64(1) << n_axes) - 1
    for row in range(len(words)):
        word = words[row]
        key, entry, turn = np.int64(0), np.int64(0), np.int64(1)  # turn: the axis plus one
        for level in range(bits - 1, -1, -1):
            label = ((word >> (level * n_axes)) & mask) ^ entry
            rank = ((label >> turn) | (label << (n_axes - turn))) & mask
            shift = np.int64(1)
            while shift < n_axes:
                rank ^= rank >> shift
                shift *= 2
            key = (key << n_axes) | rank
            if rank:
                corner = (rank - 1) & ~np.int64(1)
                corner ^= corner >> 1
                entry ^= ((corner << turn) | (corner >> (n_axes - turn))) & mask
                ones = rank if rank & 1 else rank - 1
            else:
                ones = np.int64(0)
            turn += 1
            while ones & 1:
                turn += 1
                ones >>= 1
            turn = (turn - 1) % n_axes + 1
        words[row] = key
