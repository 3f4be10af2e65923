"""Truth of a release whose order of rows is not known: each released row is matched to a row of the original.

A released row can come from a row of the original that it covers and that has the same sensitive and kept values. The
release is true if all its rows can come from rows of the original at once, no two of them from the same one: a maximum
flow between the distinct rows of both decides that, one for each combination of sensitive and kept values. Where one
row of each person is kept, no two of them come from the same person: there the flow is between rows and persons.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.rows_to_release import PersonsToRelease, persons_to_release
from tclose.verification.truth import ColumnFit, fits_of, same_combinations

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
BLOCK = 1 << 22  # pairs of distinct rows looked at together
MOST_PAIRS = 1 << 29  # and in all: about a minute
MOST_EDGES = 1 << 25  # of one flow
MOST_ASKED = 1 << 25  # pairs of values of one column
LEARNT = 1 << 28  # pairs of values of one column of which there is room to keep whether one covers the other
UNKNOWN = -1


def unordered_problems(original: Source, released: Source, schema: Schema, rows: Integers) -> list[str] | None:
    """What a release says that no order of its rows bears out; None where that takes too long to find out.

    Means of classes are not looked at: which rows they are of is not known.

    Parameters
    ----------
    rows
        Those of the original that may have been released.

    Examples
    --------
    >>> import polars as pl
    >>> schema = Schema.from_dict({"k": 1, "quasi": {"age": {"kind": "numeric"}}})
    >>> original = Source.of(pl.DataFrame({"age": [20, 30, 40]}))
    >>> for ages in (["40", "[20, 30]", "[20, 40]"], ["30", "[30, 40]", "[30, 40]"]):
    ...     print(unordered_problems(original, Source.of(pl.DataFrame({"age": ages})), schema, np.arange(3)))
    []
    ['1 released row fits no row of the original that is left, in whatever order they stand.']
    """
    names = [*(each.column for each in schema.sensitive), *schema.keep]
    of_cells, of_boxes = same_combinations(original, released, schema, names, rows)
    fits = [fit for quasi in schema.quasi for fit in fits_of(original, released, schema, quasi, rows)]
    persons = persons_to_release(original, schema) if schema.unit_rows == "one" else None
    whose = [] if persons is None else [persons.of_rows[rows]]
    search = _RowMatching(
        [_LearntFit(fit) for fit in fits],
        _DistinctRows.of([of_cells, *(fit.originals.codes for fit in fits), *whose]),
        _DistinctRows.of([of_boxes, *(fit.released.codes for fit in fits)]),
    )
    if search.n_pairs > MOST_PAIRS:
        return None
    groups = np.unique(of_boxes).tolist()
    try:
        if persons is not None:
            return list(_wrong_persons(search, persons, groups))
        unmatched = sum(search.unmatched(group) for group in groups)
    except _TooLargeError:
        return None
    return [_unmatched_rows(unmatched, "row of the original")] if unmatched else []


def _unmatched_rows(unmatched: int, what: str) -> str:
    many = "1 released row fits" if unmatched == 1 else f"{unmatched} released rows fit"
    return f"{many} no {what} that is left, in whatever order they stand."


def _wrong_persons(search: _RowMatching, persons: PersonsToRelease, groups: list[int]) -> Iterator[str]:
    """Released rows without a person of their own, or persons without a row.

    If all rows can have a person each, and all persons who must have a row can have one each, then both can be at once.
    """
    boxes, people = search.fitting_persons(groups)
    counts = search.boxes.counts
    once = np.ones(len(persons.must), np.int64)
    unmatched = int(counts.sum()) - _flow(boxes, people, counts, once)
    if unmatched:
        yield _unmatched_rows(unmatched, "person of the original")
    needed = persons.must[people]
    absent = int(persons.must.sum()) - _flow(boxes[needed], people[needed], counts, once)
    if absent:
        yield f"Of {absent} of the persons no row is released, and one of each is to be kept."


def can_match() -> bool:
    """Whether SciPy is there, which finds maximum flows."""
    return find_spec("scipy") is not None


class _TooLargeError(Exception):
    """The rows are too many to be matched."""


@dataclass(frozen=True, eq=False)
class _DistinctRows:
    """The distinct rows of some columns of numbers, in the order of the first column.

    Attributes
    ----------
    codes
        Row by column.
    counts
        How often each occurs.
    """

    codes: Integers
    counts: Integers

    @classmethod
    def of(cls, columns: list[NDArray[np.int64] | NDArray[np.int32]]) -> _DistinctRows:
        keys = np.zeros(len(columns[0]), np.int64)
        for column in columns:
            keys = keys * (int(column.max(initial=-1)) + 2) + column + 1
            keys = np.unique(keys, return_inverse=True)[1]
        _, first, counts = np.unique(keys, return_index=True, return_counts=True)
        return cls(np.stack([column[first].astype(np.int64) for column in columns], axis=1), counts)

    def of_group(self, group: int) -> slice:
        """Those whose first number is this one."""
        low, high = np.searchsorted(self.codes[:, 0], [group, group + 1])
        return slice(int(low), int(high))


class _LearntFit:
    """Whether values of a column cover others, each pair asked once where there is room to keep the answer."""

    def __init__(self, fit: ColumnFit) -> None:
        self.fit = fit
        self.n_originals = len(fit.originals.values) + 1
        size = (len(fit.released.values) + 1) * self.n_originals
        self.known = np.full(size, UNKNOWN, np.int8) if size <= LEARNT else None
        self.n_asked = 0

    def ask(self, at: Integers, which: Integers) -> Flags:
        """Whether released value number `at` covers original number `which`, pair by pair, all of them distinct."""
        if self.known is None:
            return self._answer(at, which)
        keys = (at + 1) * self.n_originals + which + 1
        new = np.flatnonzero(self.known[keys] == UNKNOWN)
        self.known[keys[new]] = self._answer(at[new], which[new])
        answers: Flags = self.known[keys] == 1
        return answers

    def _answer(self, at: Integers, which: Integers) -> Flags:
        self.n_asked += len(at)
        if self.n_asked > MOST_ASKED:
            raise _TooLargeError
        return self.fit.rule(at, which)


@dataclass(eq=False)
class _RowMatching:
    """Distinct rows of an original (cells) and of its release (boxes), and which of them fit."""

    fits: list[_LearntFit]
    cells: _DistinctRows
    boxes: _DistinctRows

    @property
    def n_pairs(self) -> int:
        """How many pairs of a box and a cell have the same sensitive and kept values."""
        size = int(max(each.codes[:, 0].max(initial=0) for each in (self.cells, self.boxes))) + 1
        of_cells, of_boxes = (np.bincount(each.codes[:, 0], minlength=size) for each in (self.cells, self.boxes))
        return int(of_cells @ of_boxes)

    def unmatched(self, group: int) -> int:
        """The released rows of a combination of sensitive and kept values for which no row of the original is left."""
        boxes, cells = self.boxes.of_group(group), self.cells.of_group(group)
        rows = int(self.boxes.counts[boxes].sum())
        found = list(self._fitting(boxes, cells))
        one, other = (np.concatenate(each) for each in zip(*found, strict=True)) if found else _no_pairs()
        return rows - _flow(one, other, self.boxes.counts[boxes], self.cells.counts[cells])

    def fitting_persons(self, groups: list[int]) -> tuple[Integers, Integers]:
        """Places of boxes and persons, the last column of the cells, of whom a row fits."""
        found: list[Integers] = []
        n_edges = 0
        n_persons = int(self.cells.codes[:, -1].max(initial=-1)) + 1
        for group in groups:
            boxes, cells = self.boxes.of_group(group), self.cells.of_group(group)
            for one, other in self._fitting(boxes, cells):
                found.append(np.unique((boxes.start + one) * n_persons + self.cells.codes[cells, -1][other]))
                n_edges += len(found[-1])
                if n_edges > MOST_EDGES:
                    raise _TooLargeError
        pairs = np.concatenate(found) if found else np.zeros(0, np.int64)
        boxes_of, persons_of = np.divmod(pairs, max(n_persons, 1))
        return boxes_of, persons_of

    def _fitting(self, boxes: slice, cells: slice) -> Iterator[tuple[Integers, Integers]]:
        """Places of boxes and cells that fit, a block of boxes at a time."""
        own = self.cells.codes[cells, 1:]
        if not len(own):
            return
        n_edges = 0
        for start in range(boxes.start, boxes.stop, max(BLOCK // len(own), 1)):
            shown = self.boxes.codes[start : min(start + max(BLOCK // len(own), 1), boxes.stop), 1:]
            one, other = self._pairs_that_fit(shown, own)
            n_edges += len(one)
            if n_edges > MOST_EDGES:
                raise _TooLargeError
            yield one + (start - boxes.start), other

    def _pairs_that_fit(self, shown: Integers, own: Integers) -> tuple[Integers, Integers]:
        """Those of all pairs of boxes and cells; each column is asked of what fits in those before it."""
        fitting = np.ones((len(shown), len(own)), bool)
        for column, fit in enumerate(self.fits):
            values, place = np.unique(shown[:, column], return_inverse=True)
            wanted, other = np.unique(own[:, column], return_inverse=True)
            fitting &= _answers(fit, values, wanted, fitting, place, other)[place][:, other]
        one, other = np.nonzero(fitting)
        return one, other


def _answers(
    fit: _LearntFit, values: Integers, wanted: Integers, fitting: Flags, of_box: Integers, of_cell: Integers
) -> Flags:
    """Whether each of some released values covers each of some original ones, asked where a pair of rows needs it."""
    needed = np.zeros((len(values), len(wanted)), bool)
    boxes, cells = np.nonzero(fitting)
    needed[of_box[boxes], of_cell[cells]] = True
    one, other = np.nonzero(needed)
    needed[one, other] = fit.ask(values[one], wanted[other])
    return needed


def _no_pairs() -> tuple[Integers, Integers]:
    return np.zeros(0, np.int64), np.zeros(0, np.int64)


def _flow(one: Integers, other: Integers, boxes: Integers, cells: Integers) -> int:
    """How many rows of boxes can be given rows of cells, where they fit."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    if not len(one):
        return 0
    source, sink = len(boxes) + len(cells), len(boxes) + len(cells) + 1
    tails = np.concatenate([np.full(len(boxes), source), one, len(boxes) + np.arange(len(cells))])
    heads = np.concatenate([np.arange(len(boxes)), len(boxes) + other, np.full(len(cells), sink)])
    room = np.concatenate([boxes, np.minimum(boxes[one], cells[other]), cells]).astype(np.int32)
    graph = coo_array((room, (tails, heads)), shape=(sink + 1, sink + 1)).tocsr()
    return int(maximum_flow(graph, source, sink).flow_value)
