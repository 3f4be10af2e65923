"""Partitions that answer a workload of COUNT queries well: their error, and a search that lowers it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.control import Control
from tclose.algorithms.tight.pieces import Piece
from tclose.table.axes import Axis, TreeAxis
from tclose.table.count_queries import draw_queries, own_domains
from tclose.table.encode import EncodedTable
from tclose.table.line_cells import cells
from tclose.table.partition import Partition
from tclose.table.workload import Workload

if TYPE_CHECKING:
    from tclose.algorithms.tight.answering_loops import AskedParts, ShownCells

Labels = NDArray[np.int64]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
QUERIES, ATTRIBUTES, SELECTIVITY = 1000, 3, 0.1  # that are drawn where the user gives none
BUDGET = 4_000_000  # parts of queries that are looked at between two looks at the clock
FIRST = 4  # one of so many of the drawn queries are looked at first: what makes these worse is not tried on the others
LEAST_UNIT = 0.005  # a relative error below which answers need not come nearer
REST = 0.1  # of all weight stays where it was, so that axes which no query asks about are still kept apart
REACH, PATHS = 3, 5  # places on either side of a row, on so many curves, where another to swap with is looked for


def draw_workload(table: EncodedTable, rng: np.random.Generator, n: int = QUERIES) -> Workload:
    """Random queries, drawn as those that a release is measured by, from numbers of their own."""
    domains = own_domains(table)
    queries = draw_queries(table, n, min(ATTRIBUTES, len(table.axes)), SELECTIVITY, rng)
    codes = np.empty((len(table), len(domains)), np.int32)
    for place, column in enumerate(table.codes[: len(domains)]):
        codes[:, place] = column
    return Workload.drawn(queries, len(table.axes), codes, [domain.size for domain in domains])


def weighted(table: EncodedTable, worth: Floats, power: float) -> EncodedTable:
    """The table with axes that weigh by a power of what each is worth; a power of 0 leaves them as they are."""
    before = np.array([axis.weight for axis in table.axes])
    pull = worth**power * before
    if power == 0 or not pull.sum() > 0:
        return table
    weights = REST * before + (1 - REST) * before.sum() * pull / pull.sum()
    axes = tuple(replace(axis, share=Fraction(float(weight))) for axis, weight in zip(table.axes, weights, strict=True))
    return replace(table, axes=axes)


@dataclass(eq=False)
class AnswerSearch:
    """Lowers the error of the answers to a workload.

    The error of an answer is e = |estimate - precise| / precise, over `unit`. It counts e^2 / (1 + e^2), so that what
    lies far beyond the unit hardly matters; a query whose precise answer is 0 does not count.

    Attributes
    ----------
    table, workload
        The rows, and what is asked of them.
    """

    table: EncodedTable
    workload: Workload

    @cached_property
    def precise(self) -> Integers:
        """The answer of the table to each query."""
        from tclose.algorithms.tight.answering_loops import count_inside

        counts, asked = np.zeros(self.workload.n_parts, np.int64), self._asked(np.zeros(0), np.zeros(0))
        lines = [cells(axis) for axis in self.table.axes]
        for rows in self._in_pieces(len(self.table)):
            inside = np.empty((rows.stop - rows.start, len(lines)), np.int64)
            for axis, (line, places) in enumerate(zip(lines, self.table.places, strict=True)):
                inside[:, axis] = line[places[rows]]
            count_inside(asked, self._wanted(np.arange(rows.start, rows.stop)), inside, counts)
        return np.diff(np.append(0, np.cumsum(counts))[self.workload.first])

    @cached_property
    def shown(self) -> ShownCells:
        """The axes, as kernels take them."""
        from tclose.algorithms.tight import answering_loops as loops

        table, data = np.zeros((len(self.table.axes), 5), np.int64), [np.zeros(0, np.int64)]
        for row, axis in zip(table, self.table.axes, strict=True):
            row[loops.IS_TREE], row[loops.LAST] = isinstance(axis, TreeAxis), axis.size - axis.missing
            row[loops.LAST_CELL] = cells(axis)[-1] if axis.size else 0
            for column, part in zip((loops.STARTS, loops.STOPS), _covered(axis), strict=True):
                row[column] = sum(map(len, data))
                data.append(part)
        return loops.ShownCells(table, np.concatenate(data, dtype=np.int64))

    def bias(self) -> Floats:
        """What it costs the queries, on average, if an axis alone is not shown at all: rows then lie evenly on it."""
        found, asked = np.zeros(len(self.table.axes)), self.workload
        for place, (axis, places) in enumerate(zip(self.table.axes, self.table.places, strict=True)):
            own, line = asked.axes == place, cells(axis)
            below = np.append(0, np.cumsum(np.bincount(places, minlength=axis.size))) / len(self.table)
            lows, highs = (below[np.searchsorted(line, ends[own])] for ends in (asked.lows, asked.highs))
            rows, even = highs - lows, (asked.highs - asked.lows)[own] / (line[-1] + 1)
            off = np.abs(rows - even)
            found[place] = np.sum(off / np.maximum(off + rows, 1e-300))
        return found / max(asked.n_parts, 1)

    def excess(self, labels: Labels) -> Floats:
        """How far each answer of a partition is above the truth."""
        return self.estimates(labels) - self.precise

    def weights(self, excess: Floats) -> Floats:
        """The error of an answer that is off by one row, the unit being the relative error of half of the queries."""
        asked = self.precise > 0
        if not asked.any():
            return np.zeros(len(asked))
        unit = float(np.median(np.abs(excess[asked]) / self.precise[asked]))
        return np.where(asked, 1 / (max(unit, LEAST_UNIT) * np.maximum(self.precise, 1)), 0.0)

    def median_error(self, labels: Labels) -> float:
        """The median relative error of the answers of a partition, as a release is measured; 0 if none counts."""
        asked = self.precise > 0
        return float(np.median(np.abs(self.excess(labels)[asked]) / self.precise[asked])) if asked.any() else 0.0

    def estimates(self, labels: Labels) -> Floats:
        """The answers of a partition, whose rows are taken to lie evenly in what their class covers."""
        from tclose.algorithms.tight.answering_loops import estimate

        n_classes = int(labels.max()) + 1
        spans = self.table.spans(labels, n_classes)
        lows, highs = (np.stack([span[end] for span in spans], axis=1) for end in range(2))
        order = np.argsort(labels, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
        found = np.zeros(self.workload.n_queries)
        asked = self._asked(np.zeros(0), np.zeros(0))
        for some in self._in_pieces(n_classes):
            rows = order[starts[some.start] : starts[some.stop]]
            begins = starts[some.start : some.stop + 1] - starts[some.start]
            estimate(self.shown, asked, lows[some], highs[some], begins, self._wanted(rows), found)
        return found

    def improve(
        self, piece: Piece, labels: Labels, rows: Integers, excess: Floats, n_trials: int, seed: int, control: Control
    ) -> Labels:
        """Move and swap rows of a piece, where that brings the answers of the whole nearer the truth.

        Parameters
        ----------
        piece, labels, rows
            Some rows of the table, their classes, and which rows they are.
        excess
            How far the answers of the whole are off; it goes along.
        n_trials, seed
            How many random moves and swaps are tried.
        control
            Ends it early.
        """
        from tclose.algorithms.tight import answering_loops as loops
        from tclose.algorithms.tight.moving_loops import CLASS

        n_classes, n_parts, n_axes = int(labels.max()) + 1, self.workload.n_parts, len(self.table.axes)
        classes, asked = piece.movable(labels), self._asked(self.weights(excess), excess)
        answers = loops.Answers(
            self._wanted(rows), np.zeros((n_classes, n_parts), np.int32), np.zeros((n_classes, n_parts), np.float32)
        )
        loops.take_stock(classes, n_classes, self.shown, asked, answers)
        trial = loops.AnswerTrial(
            lows=np.zeros((2, n_axes), np.int32),
            highs=np.zeros((2, n_axes), np.int32),
            starts=np.zeros((2, n_axes)),
            stops=np.zeros((2, n_axes)),
            shares=np.zeros((2, n_parts), np.float32),
            change=np.zeros(len(excess)),
            members=np.empty(len(labels), np.int64),
        )
        paths, tools = piece.paths(PATHS, seed), piece.tools()
        random = np.array([seed], np.uint64)
        step, n_queries = max(BUDGET // (n_parts + 1), 1), self.workload.n_queries
        n_first = n_queries // FIRST if self.workload.is_drawn else n_queries
        for done in range(0, n_trials, step):
            turn = loops.AnswerTurn(
                n_trials=min(step, n_trials - done), paths=paths, reach=REACH, n_first=n_first, random=random
            )
            loops.answer(piece.task, classes, self.shown, asked, answers, turn, trial, tools)
            if piece.ends(control):
                break
        return Partition.of(classes.rows[:, CLASS]).labels

    def _asked(self, weights: Floats, excess: Floats) -> AskedParts:
        """The queries, as kernels take them."""
        from tclose.algorithms.tight.answering_loops import AskedParts

        asked = self.workload
        return AskedParts(
            first=asked.first,
            begins=asked.begins,
            axes=asked.axes,
            lows=asked.lows,
            highs=asked.highs,
            weights=weights,
            excess=excess,
        )

    def _wanted(self, rows: Integers) -> NDArray[np.uint8]:
        """For each of these rows and each part, whether it has the sensitive values that the part asks for."""
        from tclose.algorithms.tight.answering_loops import Masks, rows_wanted

        asked = self.workload
        masks = Masks(asked.mask_begins, asked.columns, asked.starts, asked.allowed)
        return rows_wanted(masks, asked.codes[rows])

    def _in_pieces(self, n: int) -> Iterator[slice]:
        """Stretches of rows or classes, few enough that a kernel soon comes back."""
        size = max(BUDGET // (self.workload.n_parts + 1), 1)
        for first in range(0, n, size):
            yield slice(first, min(first + size, n))


def _covered(axis: Axis) -> tuple[Integers, Integers]:
    """For kernels: of a line, the cell where a released span begins or ends; of a tree, its leaves and its nodes."""
    if isinstance(axis, TreeAxis):
        first, last = axis.below
        nodes = np.stack([axis.hierarchy.parents, first, last], axis=1)
        if axis.missing and axis.hierarchy.labels[0] == "*":  # which a reader must take for missing values, too
            nodes[0, 2] = len(axis.leaves)
        return axis.leaves.astype(np.int64), nodes.ravel().astype(np.int64)
    inner = cells(axis)[: len(axis.lows)]
    starts = inner[np.searchsorted(axis.lows, axis.lows, "left")]
    stops = inner[np.searchsorted(axis.highs, axis.highs, "right") - 1] + 1
    return starts.astype(np.int64), stops.astype(np.int64)
