"""Rows as points and classes as boxes: analysts take the rows of a class to lie evenly in what it covers.

What the lines and their cells are is in `table/line_cells.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.evaluation.utility.reading_back import ReadBack
from tclose.table.classes import Tally
from tclose.table.line_cells import cells

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RowPoints:
    """The rows of the original, those that are alike once.

    Attributes
    ----------
    ranks
        On each line, quasi-identifiers before sensitive attributes, the place of each point in `values`.
    values
        The cells of each line that occur, ascending.
    weights
        How many rows each point is.
    """

    ranks: NDArray[np.int32]
    values: tuple[Integers, ...]
    weights: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class CellBoxes:
    """The classes of the release.

    Attributes
    ----------
    starts, stops
        On the line of each quasi-identifier the first cell of each class, and the one after its last.
    tallies
        By sensitive attribute, the codes in each class.
    """

    starts: Floats
    stops: Floats
    tallies: tuple[Tally, ...]


def points_of(released: ReadBack) -> RowPoints:
    """The rows of the original."""
    table = released.table
    columns = [cells(axis)[places] for axis, places in zip(table.axes, table.places, strict=True)]
    found, weights = _counted([*columns, *_or_one(table.codes[: len(released.codes)], len(table))])
    values, ranks = zip(*(np.unique(line, return_inverse=True) for line in found), strict=True)
    return RowPoints(np.array(ranks, np.int32), values, weights)


def boxes_of(released: ReadBack) -> CellBoxes:
    """The classes of the release."""
    axes, spans = released.table.axes, released.spans
    starts = [cells(axis)[low] for axis, (low, _) in zip(axes, spans, strict=True)]
    stops = [cells(axis)[high] + 1 for axis, (_, high) in zip(axes, spans, strict=True)]
    tallies = (
        Tally.of(released.labels, codes.astype(np.int32), int(codes.max()) + 1)
        for codes in _or_one(released.codes, len(released.labels))
    )
    return CellBoxes(np.array(starts, np.float64), np.array(stops, np.float64), tuple(tallies))


def _or_one(codes: Sequence[NDArray[np.int32]], n_rows: int) -> list[Integers]:
    return [each.astype(np.int64) for each in codes] or [np.zeros(n_rows, np.int64)]


def _counted(columns: Sequence[Integers]) -> tuple[Integers, NDArray[np.int32]]:
    """The distinct rows of some columns, and how often each occurs."""
    frame = pl.DataFrame({str(place): column for place, column in enumerate(columns)})
    counted = frame.group_by(pl.all(), maintain_order=True).agg(pl.len().alias("rows"))
    return counted.drop("rows").to_numpy().T.astype(np.int64), counted["rows"].to_numpy().astype(np.int32)
