"""t-Mondrian: cut classes in two while both sides stay close."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.capabilities import EVERY_GUARANTEE, IN_PERSONS, Capabilities
from tclose.algorithms.control import Control
from tclose.algorithms.packing import costs_of, pace_of, rules_of, scratch_of
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.in_blocks import in_blocks
from tclose.table.axes import Axis, SpanAxis, TreeAxis
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

if TYPE_CHECKING:
    from tclose.algorithms.mondrian.mondrian_loops import AxisScale, CutList, Room, RowStretches
    from tclose.kernels.closeness import Rules, Scratch

BUDGET = 20_000_000  # row visits between two looks at the clock, about 0.1 s


@dataclass(frozen=True)
class Mondrian:
    """Cut the table in two again and again, along quasi-identifiers.

    From the whole table down, classes are cut in two as long as both sides have k rows and keep all else that is asked.
    All cuts between two values of any quasi-identifier are candidates. They are tried in order of decreasing saving,
    and the first whose sides both keep the promise is made. What a cut saves is the loss of the class less that of both
    sides, over all quasi-identifiers with their weights. For this a category with a hierarchy of more than one level
    counts half by its loss and half by how far the leaves of the class are apart, siblings being ordered by frequency:
    otherwise a cut would count for nothing before it leaves a subtree. Of cuts that save the same the one nearest the
    median is tried first. Where so many cuts of a class fail that not all are tried, those at the medians are tried
    after them. Rows with equal values stay together.

    The first cuts may use up what t allows. So the classes of the textbook are cut on in the same way, too, and of
    both the one that loses less is returned: it never loses more than the textbook.

    Parameters
    ----------
    textbook
        The t-Mondrian of the papers instead: quasi-identifiers are tried in order of decreasing width, and each has one
        cut, at its median. The width is the range of the values in the class over the range in the table, times the
        weight of the column. Categories count as numbers: by their place in the hierarchy as it is given, or in the
        alphabet where there is none. The median is the least value that at least half of the rows do not exceed, and
        rows up to it are the left side.

    Guarantee
    ---------
    Every class meets k, t, l and caps, decided in integers: a cut is made only if both sides do
    (`tests/contract`, `tests/algorithms/mondrian/test_mondrian.py`); so does what is asked in persons
    (`tests/algorithms/test_person_limits.py`). Loss is heuristic, and at most that of the textbook. It raises where
    the whole table already fails: by k or l, or by t if the reference is another table.

    Cost
    ----
    O(n log n) row visits where classes are halved, times the square of the number of quasi-identifiers; and as many for
    each cut that is tried as there are sensitive attributes. Of a class of s rows at most 2^21 / s cuts are tried, but
    at least 24, and then one at the median of each quasi-identifier. In the textbook O(n log n) times the number of
    quasi-identifiers and sensitive attributes.

    References
    ----------
    004 sections 2 and 6 (t-Mondrian); Li, Li, Venkatasubramanian: Closeness (2010); LeFevre, DeWitt, Ramakrishnan:
    Mondrian multidimensional k-anonymity (2006).

    Examples
    --------
    >>> import polars as pl
    >>> import tclose
    >>> table = pl.DataFrame({"age": [21, 61, 22, 62, 23, 63, 24, 64], "illness": ["flu", "flu", "cold", "cold"] * 2})
    >>> illness = {"distance": "equal", "t": 0.2}
    >>> asked = {"k": 4, "quasi": {"age": {"kind": "numeric"}}, "sensitive": {"illness": illness}}
    >>> release = tclose.anonymize(table, asked, method=tclose.Mondrian(), seed=1)
    >>> sorted(release.table["age"].unique()), release.measured.t["illness"]
    (['[21, 24]', '[61, 64]'], Fraction(0, 1))
    """

    name: ClassVar[str] = "mondrian"
    capabilities: ClassVar[Capabilities] = Capabilities(
        summary="the cuts that save most, from the whole table down",
        paper="Cao et al. 2011 (004), sections 2 and 6; Li et al. 2010",
        guarantees=EVERY_GUARANTEE | IN_PERSONS,
        keeps=frozenset({"weight", "finest", "coarsest", "suppress_rows"}),
    )

    textbook: bool = False

    def partition(
        self,
        table: EncodedTable,
        requirement: Requirement,
        *,
        rng: np.random.Generator,
        control: Control,
        start: Partition | None = None,
    ) -> Partition:
        """Cut the classes of `start`, or the whole table; or each block of it, where columns keep rows apart."""
        return in_blocks(self._cut, table, requirement, rng=rng, control=control, start=start)

    def _cut(
        self,
        table: EncodedTable,
        requirement: Requirement,
        *,
        rng: np.random.Generator,
        control: Control,
        start: Partition | None,
    ) -> Partition:
        if start is None:
            requirement.check_whole(table)
        labels = np.zeros(len(table), np.int64) if start is None else start.labels
        if self.textbook:
            return _run(_as_given(table), requirement, labels, control, at_medians=True)
        found = _by_saving(table, requirement, labels, control)
        if control.stop:
            return found
        medians = _run(_as_given(table), requirement, labels, control, at_medians=True, is_first=False)
        other = _run(table, requirement, medians.labels, control, is_first=False)
        best = min(found, other, key=lambda each: table.loss(each.labels))
        return replace(best, facts={**found.facts, **medians.facts, **other.facts})


def _by_saving(table: EncodedTable, requirement: Requirement, labels: NDArray[np.int64], control: Control) -> Partition:
    """Cut where that saves most; a class of which not all cuts can be tried, at its medians when those are used up."""
    found = _run(table, requirement, labels, control)
    while (rows := _not_all_tried(table, found.labels)).size and not control.stop:
        part = table.take(rows)
        before = Partition.of(found.labels[rows])
        medians = _run(part, requirement, before.labels, control, at_medians=True, is_first=False)
        if medians.n_classes == before.n_classes:
            return replace(found, facts=medians.facts)
        again = _run(part, requirement, medians.labels, control, is_first=False)
        labels = found.labels.copy()
        labels[rows] = found.n_classes + again.labels
        found = replace(Partition.of(labels), facts=again.facts)
    return found


def _run(
    table: EncodedTable,
    requirement: Requirement,
    labels: NDArray[np.int64],
    control: Control,
    *,
    at_medians: bool = False,
    is_first: bool = True,
) -> Partition:
    """Cut the classes of these labels until no cut is found: those that save most, or those of the textbook.

    Only the first run tells what share is done, so that it never goes back.
    """
    from tclose.kernels.closeness import NO, YES

    work = _CutArrays.of(table, requirement, labels, at_medians)
    rules, scratch = rules_of(requirement), scratch_of(requirement)
    stopped = False
    while (status := work.advance(requirement, rules, scratch)) != work.kernels.DONE:
        if status == work.kernels.ASKED:
            close = all(requirement.holds(side) for side in work.sides(len(table.axes)))
            work.state[work.kernels.VERDICT] = YES if close else NO
        control.report(done=work.share_done() if is_first else None)
        if control.stop:
            work.put_back()
            stopped = True
            break
    return Partition(work.labels(), facts={"stopped_early": True} if stopped else {})


def _not_all_tried(table: EncodedTable, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows of classes so large that cuts of them may be left that were not tried.

    A class of s rows has fewer than s cuts on each axis, and 2^21 / s of all of them are tried.
    """
    from tclose.algorithms.mondrian.mondrian_loops import MOST_VISITED

    sizes = np.bincount(labels)
    return np.flatnonzero((len(table.axes) * sizes**2 > MOST_VISITED)[labels])


def _as_given(table: EncodedTable) -> EncodedTable:
    """The same rows, the leaves of every hierarchy in the order in which it is given instead of that of frequency."""
    axes: list[Axis] = []
    columns = []
    for axis, places in zip(table.axes, table.places, strict=True):
        if isinstance(axis, TreeAxis):
            order = np.argsort(axis.leaves, kind="stable")  # nodes are numbered in the order given
            rank = np.arange(axis.size, dtype=np.int32)  # missing values stay last
            rank[order] = np.arange(len(order), dtype=np.int32)
            axes.append(replace(axis, leaves=axis.leaves[order], blocks=None))
            columns.append(rank[places])
        else:
            axes.append(axis)
            columns.append(places)
    return replace(table, axes=tuple(axes), places=tuple(columns))


@dataclass(frozen=True, eq=False)
class _CutArrays:
    """The arrays a run works on: rows are moved so that every class is a stretch of them."""

    kernels: ModuleType
    stretches: RowStretches
    cuts: CutList
    scale: AxisScale
    room: Room

    @classmethod
    def of(cls, table: EncodedTable, requirement: Requirement, labels: NDArray[np.int64], textbook: bool) -> _CutArrays:
        from tclose.algorithms.mondrian import mondrian_loops as kernels

        index = np.argsort(labels, kind="stable")
        columns = (*table.places, *table.codes)
        rows = np.empty((len(table), len(columns)), np.int32)
        for place, column in enumerate(columns):
            rows[:, place] = column[index]
        begins = np.searchsorted(labels[index], np.arange(labels.max(initial=-1) + 1))
        most = max(len(table) // requirement.k, len(begins)) + 2
        stack, classes = np.empty((most, 2), np.int64), np.empty(most, np.int64)
        stack[: len(begins), 0] = begins
        stack[: len(begins), 1] = np.append(begins[1:], len(table))
        state = np.zeros(kernels.N_STATES, np.int64)
        state[kernels.N_STACK] = len(begins)
        n_axes, widest = len(table.axes), max(axis.size for axis in table.axes)
        most_places = 1 if textbook else min(widest, len(table))
        most_cuts = n_axes if textbook else sum(min(axis.size, len(table)) for axis in table.axes)
        return cls(
            kernels=kernels,
            stretches=kernels.RowStretches(rows=rows, numbers=index, stack=stack, classes=classes, state=state),
            cuts=kernels.CutList(
                ends=np.empty((2, n_axes), np.int32),
                keys=np.empty(most_cuts),
                where=np.empty((most_cuts, 2), np.int64),
                order=np.empty(most_cuts, np.int64),
                room=np.empty(most_cuts, np.int64),
            ),
            scale=_scale_of(table, textbook),
            room=kernels.Room(
                histogram=np.zeros(widest, np.int64),
                places=np.empty(widest, np.int32),
                counts=np.empty(widest, np.int64),
                lows=np.empty((most_places, n_axes), np.int32),
                highs=np.empty((most_places, n_axes), np.int32),
                left=np.empty(most_places),
                rows=np.empty_like(rows),
                rows_from=np.empty_like(index),
            ),
        )

    @property
    def state(self) -> NDArray[np.int64]:
        """What is under way, as `kernels` names it."""
        return self.stretches.state

    def advance(self, requirement: Requirement, rules: Rules, scratch: Scratch) -> int:
        status: int = self.kernels.advance(
            self.stretches,
            self.cuts,
            requirement.k,
            self.scale,
            rules,
            scratch,
            self.room,
            BUDGET // pace_of(requirement),
        )
        return status

    def put_back(self) -> None:
        """A class whose cuts are being tried stays as it is."""
        if self.state[self.kernels.UNDER_WAY]:
            top = self.state[self.kernels.N_STACK]
            self.stretches.stack[top] = self.state[self.kernels.START], self.state[self.kernels.STOP]
            self.state[self.kernels.N_STACK] += 1

    def sides(self, n_axes: int) -> list[list[NDArray[np.int32]]]:
        """The codes on both sides of the cut that waits for a verdict."""
        start, stop, axis, cut = (self.state[getattr(self.kernels, key)] for key in ("START", "STOP", "AXIS", "CUT"))
        members = self.stretches.rows[start:stop]
        left = members[:, axis] <= cut
        return [list(members[side, n_axes:].T) for side in (left, ~left)]

    def share_done(self) -> float:
        """The share of rows whose classes are finished."""
        waiting = self.stretches.stack[: self.state[self.kernels.N_STACK]]
        rows_left = int((waiting[:, 1] - waiting[:, 0]).sum())
        if self.state[self.kernels.UNDER_WAY]:
            rows_left += int(self.state[self.kernels.STOP] - self.state[self.kernels.START])
        return 1 - rows_left / len(self.stretches.rows)

    def labels(self) -> NDArray[np.int64]:
        """The class of each row of the table; classes not yet cut count as they are."""
        rows, index, stack, classes, state = self.stretches
        finished, waiting = classes[: state[self.kernels.N_CLASSES]], stack[: state[self.kernels.N_STACK], 0]
        begins = np.sort(np.concatenate([finished, waiting]))
        labels = np.empty(len(rows), np.int64)
        labels[index] = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(rows))))
        return labels


def _scale_of(table: EncodedTable, textbook: bool) -> AxisScale:
    """What spans lose, and how cuts of different axes are compared."""
    from tclose.algorithms.mondrian.mondrian_loops import AxisScale

    sizes = [axis.size if textbook else 0 for axis in table.axes]
    coordinates = [axis.coordinates for axis in table.axes] if textbook else [np.zeros(0)]
    return AxisScale(
        costs=costs_of(table),
        textbook=textbook,
        weights=np.array([float(axis.column_weight) if textbook else axis.weight for axis in table.axes]),
        spreads=np.array([_spread_of(axis) for axis in table.axes]),
        coordinates=np.concatenate(coordinates),
        begins=np.cumsum([0, *sizes[:-1]]),
    )


def _spread_of(axis: Axis) -> float:
    """What one place more counts in the order of a hierarchy's leaves, all of them together 1; 0 where none has nodes.

    The loss of a hierarchy falls only when a subtree is left; a cut on the way to that should count as well.
    """
    if isinstance(axis, SpanAxis) or axis.hierarchy.height < 2 or axis.size < 2:
        return 0.0
    return 1 / (axis.size - 1)
