"""Rows that no bound tells apart: counted once, with how often they occur."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.table.encode import EncodedTable

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RowKinds:
    """The different rows of a table: all with the same places and codes are of one kind.

    Attributes
    ----------
    places
        One row a kind: its place on each axis.
    codes
        One row a kind: its code in each domain.
    counts
        How many rows are of each kind.
    of_row
        The kind of each row.
    cells
        One row a cell, that is a combination of places which occurs.
    cell_counts
        How many rows lie in each cell.
    cell_of
        The cell of each kind.
    """

    places: NDArray[np.int32]
    codes: NDArray[np.int32]
    counts: Integers
    of_row: Integers
    cells: NDArray[np.int32]
    cell_counts: Integers
    cell_of: Integers

    @classmethod
    def of(cls, table: EncodedTable, domains: list[int]) -> RowKinds:
        """Those of a table; only the domains of these numbers tell rows apart.

        Examples
        --------
        >>> import tclose
        >>> from tclose.table.encode import encode
        >>> from tclose.table.source import read
        >>> frame, schema = tclose.datasets.census(50, seed=1)
        >>> kinds = RowKinds.of(encode(read(frame), schema), [0])
        >>> int(kinds.counts.sum()), bool((kinds.cells[kinds.cell_of] == kinds.places).all())
        (50, True)
        """
        n_axes = len(table.axes)
        columns = [*table.places, *(table.codes[domain] for domain in domains)]
        rows = np.stack(columns, axis=1).astype(np.int32) if columns else np.zeros((len(table), 0), np.int32)
        order = np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))
        lined = rows[order]
        new = _changes(lined)
        of_row = np.empty(len(rows), np.int64)
        of_row[order] = np.cumsum(new) - 1
        kinds = lined[new]
        counts = np.bincount(of_row, minlength=len(kinds)).astype(np.int64)
        other = _changes(kinds[:, :n_axes])  # in line by places first, so that a cell is a stretch
        cell_of = np.cumsum(other) - 1
        cell_counts = np.bincount(cell_of, weights=counts, minlength=int(other.sum())).astype(np.int64)
        places, codes = np.ascontiguousarray(kinds[:, :n_axes]), np.ascontiguousarray(kinds[:, n_axes:])
        return cls(places, codes, counts, of_row, np.ascontiguousarray(places[other]), cell_counts, cell_of)


def _changes(lined: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which rows differ from the one before; the first does."""
    new = np.ones(len(lined), bool)
    new[1:] = (lined[1:] != lined[:-1]).any(axis=1)
    return new
