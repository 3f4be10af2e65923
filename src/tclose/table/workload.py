"""A workload of COUNT queries on a table, as a method takes it that is to answer them well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tclose.table.count_queries import Queries

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Bound = tuple[int, float, float]  # axis, first cell, the one after the last
Mask = tuple[int, NDArray[np.bool_]]  # column of the codes, and which of them are wanted
Part = tuple[Sequence[Bound], Sequence[Mask]]


@dataclass(frozen=True, eq=False)
class Workload:
    """Queries, each the sum of parts; a part is an interval of cells on some lines, and values of sensitive attributes.

    Attributes
    ----------
    first
        Of each query its first part, and at the end the number of parts.
    begins
        Of each part its first bound, and at the end the number of bounds.
    axes, lows, highs
        Of each bound the axis, the first cell and the one after the last (see `line_cells.py`).
    mask_begins
        Of each part its first mask, and at the end the number of masks.
    columns, starts
        Of each mask the column of `codes` that it is about, and where in `allowed` it begins.
    allowed
        For each code whether it is wanted, one mask after the other.
    codes
        A row for every row of the table: its codes of sensitive attributes.
    is_drawn
        Whether they come in random order, so that some of them stand for all.
    """

    first: Integers
    begins: Integers
    axes: Integers
    lows: Floats
    highs: Floats
    mask_begins: Integers
    columns: Integers
    starts: Integers
    allowed: NDArray[np.bool_]
    codes: Codes
    is_drawn: bool = False

    @classmethod
    def of(cls, queries: Sequence[Sequence[Part]], codes: Codes) -> Workload:
        """Lay the parts of all queries side by side.

        Examples
        --------
        >>> asked = Workload.of([[([(0, 3.0, 5.0)], [])], [([], [(0, np.array([True, False]))])]], np.zeros((9, 1)))
        >>> asked.n_queries, asked.n_parts, asked.axes.tolist(), asked.columns.tolist()
        (2, 2, [0], [0])
        """
        parts = [part for query in queries for part in query]
        bounds = [bound for of_axes, _ in parts for bound in of_axes]
        masks = [mask for _, of_codes in parts for mask in of_codes]
        wanted = [np.zeros(0, bool), *(allowed for _, allowed in masks)]
        return cls(
            first=np.cumsum([0, *map(len, queries)]),
            begins=np.cumsum([0, *(len(of_axes) for of_axes, _ in parts)]),
            axes=np.array([axis for axis, _, _ in bounds], np.int64),
            lows=np.array([low for _, low, _ in bounds], np.float64),
            highs=np.array([high for _, _, high in bounds], np.float64),
            mask_begins=np.cumsum([0, *(len(of_codes) for _, of_codes in parts)]),
            columns=np.array([column for column, _ in masks], np.int64),
            starts=np.cumsum([0, *map(len, wanted)])[1:-1],
            allowed=np.concatenate(wanted),
            codes=codes,
        )

    @classmethod
    def drawn(cls, queries: Queries, n_axes: int, codes: Codes, sizes: Sequence[int]) -> Workload:
        """Random queries, each one part; `codes` are those of the sensitive attributes, whose domains have `sizes`."""
        asked: list[list[Part]] = []
        for lines, lows, highs in zip(*(each.tolist() for each in vars(queries).values()), strict=True):
            bounds = [*zip(lines[:-1], map(float, lows[:-1]), map(float, highs[:-1]), strict=True)]
            masks: list[Mask] = []
            if sizes:
                of_codes = np.arange(sizes[lines[-1] - n_axes])
                masks.append((lines[-1] - n_axes, (of_codes >= lows[-1]) & (of_codes < highs[-1])))
            asked.append([(bounds, masks)])
        return replace(cls.of(asked, codes), is_drawn=True)

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.first) - 1

    @property
    def n_parts(self) -> int:
        """The number of parts of all queries."""
        return len(self.begins) - 1

    def take(self, rows: Integers) -> Workload:
        """The same queries, asked of some of the rows."""
        return replace(self, codes=self.codes[rows])
