"""The relative error of COUNT queries that are asked of the release."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.evaluation.utility.counting_loops import count_boxes, count_points
from tclose.evaluation.utility.even_boxes import CellBoxes, RowPoints, boxes_of, points_of
from tclose.evaluation.utility.reading_back import ReadBack
from tclose.table.count_queries import Queries, draw_queries

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
PIECE = 250  # queries at a time


@dataclass(frozen=True)
class QueryError:
    """How far the answers of a release are off.

    Attributes
    ----------
    median
        The median of |estimate - precise| / precise; NaN if no query was answered.
    asked, answered
        The queries, and those whose precise answer is not 0.
    attributes, selectivity
        lambda and theta of 004 section 6.2.
    """

    median: float
    asked: int
    answered: int
    attributes: int
    selectivity: float

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self) | {"median": self.median if self.answered else None}


def query_error(
    released: ReadBack, n: int = 10_000, *, attributes: int | None = None, selectivity: float = 0.1, seed: int = 0
) -> QueryError:
    """The median relative error of random COUNT queries (004 section 6.2).

    The precise answer is counted in the original. The estimate takes the rows of a class to lie
    evenly in what it covers. A query whose precise answer is 0 is dropped. Rows that are left out
    of the release are missing from its answers.

    Parameters
    ----------
    released
        A release beside its original.
    n
        How many queries are drawn.
    attributes
        lambda: how many quasi-identifiers a query asks about; 3 if there are so many.
    selectivity
        theta: the share of the whole space that a query covers.
    seed
        The same seed draws the same queries for every release of a table.

    Examples
    --------
    >>> import polars as pl
    >>> from tclose.evaluation.utility.reading_back import read_release
    >>> from tclose.schema.schema import Schema
    >>> schema = Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}}})
    >>> table = pl.DataFrame({"age": list(range(20, 60))})
    >>> query_error(read_release(table, table, schema), 100).median
    0.0
    >>> even = read_release(table, table.with_columns(age=pl.lit("[20, 59]")), schema)
    >>> query_error(even, 100).median < 1e-12
    True
    """
    attributes = min(3, len(released.table.axes)) if attributes is None else attributes
    queries = draw_queries(released.table, n, attributes, selectivity, np.random.default_rng(seed))
    precise, estimates = precise_answers(points_of(released), queries), estimated_answers(boxes_of(released), queries)
    some = precise > 0
    errors = np.abs(estimates[some] - precise[some]) / precise[some]
    median = float(np.median(errors)) if len(errors) else float("nan")
    return QueryError(median, n, len(errors), attributes, selectivity)


def precise_answers(points: RowPoints, queries: Queries) -> Integers:
    """The answer of the original to each query."""
    lows, highs = np.zeros((2, *queries.lines.shape), np.int32)
    for line, values in enumerate(points.values):
        asked = queries.lines == line
        lows[asked], highs[asked] = (np.searchsorted(values, ends[asked]) for ends in (queries.lows, queries.highs))

    def count(piece: slice) -> Integers:
        return count_points(points.ranks, points.weights, queries.lines[piece], lows[piece], highs[piece])

    return _in_pieces(len(lows), count).astype(np.int64)


def estimated_answers(boxes: CellBoxes, queries: Queries) -> Floats:
    """The answer of the release to each query, rows taken to lie evenly in what their class covers."""
    estimates = np.zeros(len(queries.lines))
    for place, tally in enumerate(boxes.tallies):
        asked = np.flatnonzero(queries.lines[:, -1] == len(boxes.starts) + place)
        first = np.append(tally.start, len(tally.code))
        below = np.append(0, np.cumsum(tally.count, dtype=np.int64))
        lines = queries.lines[asked]
        lows, highs = queries.lows[asked].astype(np.float64), queries.highs[asked].astype(np.float64)
        of_rows = (boxes.starts, boxes.stops, first, tally.code, below)

        def count(piece: slice, about: Any = (lines, lows, highs), of_rows: Any = of_rows) -> Floats:
            return count_boxes(*of_rows, *(each[piece] for each in about))

        estimates[asked] = _in_pieces(len(asked), count)
    return estimates


def _in_pieces(n: int, count: Callable[[slice], NDArray[Any]]) -> NDArray[Any]:
    """The counts of n queries, some at a time; the same on any number of threads."""
    pieces = [slice(first, first + PIECE) for first in range(0, n, PIECE)]
    with ThreadPoolExecutor() as threads:
        return np.concatenate([np.zeros(0), *threads.map(count, pieces)])
