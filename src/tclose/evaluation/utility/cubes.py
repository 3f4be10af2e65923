"""KL divergence of OLAP cubes: how far counts by group are from those of the original."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from tclose.errors import MeasureError
from tclose.evaluation.utility.even_boxes import CellBoxes, RowPoints, boxes_of, points_of
from tclose.evaluation.utility.queries import estimated_answers
from tclose.evaluation.utility.reading_back import ReadBack
from tclose.table.count_queries import Queries

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
MOST_CELLS = 1 << 23  # of a cube that is held as a whole
NEAR_NOTHING = 1e-6  # rows in a cell, below which sums over all rows are too coarse


def cube_divergence(released: ReadBack, level: int = 2) -> float:
    """The KL divergence of cubes over `level` quasi-identifiers each (004 section 6.2), their mean.

    A cube counts rows by every combination of values of its quasi-identifiers and of one sensitive
    attribute, if there is any. With a the share of the original's rows in a cell and b that of the
    release's, whose rows lie evenly in what their class covers, it is sum a ln(a / b). It is infinite
    if some rows of the original are nowhere in the release. (004 takes counts, and adds up all cubes:
    that is n times as much for each.)

    Parameters
    ----------
    released
        A release beside its original.
    level
        How many quasi-identifiers a cube has, from 0 on.

    Examples
    --------
    >>> import polars as pl
    >>> from tclose.evaluation.utility.reading_back import read_release
    >>> from tclose.schema.schema import Schema
    >>> schema = Schema.from_dict({"k": 2, "quasi": {"sex": {"kind": "categorical"}}})
    >>> table = pl.DataFrame({"sex": ["f", "f", "f", "m"]})
    >>> shown = pl.DataFrame({"sex": ["*", "*", "*", "*"]})
    >>> round(cube_divergence(read_release(table, shown, schema), 1), 6)  # 3/4 ln(3/2) + 1/4 ln(1/2)
    0.130812
    """
    n_quasi = len(released.table.axes)
    if not 0 <= level <= n_quasi:
        raise MeasureError(f"A cube can have 0 to {n_quasi} quasi-identifiers, not {level}.")
    points, boxes = points_of(released), boxes_of(released)
    sensitive = range(n_quasi, len(points.values))
    cubes = [(*quasi, last) for quasi in combinations(range(n_quasi), level) for last in sensitive]
    return float(np.mean([_divergence(points, boxes, lines) for lines in cubes]))


def _divergence(points: RowPoints, boxes: CellBoxes, lines: tuple[int, ...]) -> float:
    """The KL divergence of the cube over these lines; that of a sensitive attribute is the last."""
    shape = tuple(len(points.values[line]) for line in lines)
    if np.prod(shape, dtype=np.float64) > 2.0**62:
        raise MeasureError("A cube of so many cells cannot be counted. Take a lower level.")
    keys = np.ravel_multi_index(tuple(points.ranks[list(lines)]), shape)
    found, back = np.unique(keys, return_inverse=True)
    before = np.bincount(back, weights=points.weights)
    held = np.prod([size + 1.0 for size in shape]) <= MOST_CELLS
    after = (_filled if held else _asked)(points, boxes, lines, np.array(np.unravel_index(found, shape)))
    a, b = before / before.sum(), after / boxes.tallies[0].sizes.sum()
    with np.errstate(divide="ignore"):
        return max(float(np.sum(a * np.log(a / b))), 0.0)


def _asked(points: RowPoints, boxes: CellBoxes, lines: tuple[int, ...], cells: Integers) -> Floats:
    """What the release tells of each cell, a column of `cells`: a query each."""
    lows = np.stack([points.values[line][ranks] for line, ranks in zip(lines, cells, strict=True)], axis=1)
    return estimated_answers(boxes, Queries(np.tile(np.array(lines, np.int64), (len(lows), 1)), lows, lows + 1))


def _filled(points: RowPoints, boxes: CellBoxes, lines: tuple[int, ...], cells: Integers) -> Floats:
    """The same from the whole cube, into which all classes are filled at once."""
    tally, quasi = boxes.tallies[lines[-1] - len(boxes.starts)], lines[:-1]
    values = [points.values[line] for line in quasi]
    lows = [np.searchsorted(each, boxes.starts[line])[tally.owner] for each, line in zip(values, quasi, strict=True)]
    highs = [np.searchsorted(each, boxes.stops[line])[tally.owner] for each, line in zip(values, quasi, strict=True)]
    codes = np.searchsorted(points.values[lines[-1]], tally.code)
    density = tally.count.astype(np.float64)
    for line in quasi:
        density /= (boxes.stops[line] - boxes.starts[line])[tally.owner]
    shape = (*(len(each) + 1 for each in values), len(points.values[lines[-1]]))
    told: Floats = _sums(shape, lows, highs, codes, density)[tuple(cells)]
    doubtful = told < NEAR_NOTHING  # what sums of the rest have rounded off may be all of it
    if doubtful.any():
        told[doubtful] = _asked(points, boxes, lines, cells[:, doubtful])
    return told


def _sums(
    shape: tuple[int, ...], lows: list[Integers], highs: list[Integers], codes: Integers, heights: Floats
) -> Floats:
    """The sum of the heights of all boxes at each cell.

    Each box is added at its corners with alternating signs; summed up along all lines, these fill it.
    """
    grid = np.zeros(int(np.prod(shape)))
    for corner in product((False, True), repeat=len(lows)):
        ends = [high if far else low for far, low, high in zip(corner, lows, highs, strict=True)]
        sign = -1.0 if sum(corner) % 2 else 1.0
        grid += np.bincount(np.ravel_multi_index((*ends, codes), shape), weights=sign * heights, minlength=len(grid))
    filled = grid.reshape(shape)
    for line in range(len(lows)):
        np.cumsum(filled, axis=line, out=filled)
    return filled
