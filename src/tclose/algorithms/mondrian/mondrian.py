"""t-Mondrian: cut classes at the median while both sides stay close."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.capabilities import EVERY_GUARANTEE, IN_PERSONS, Capabilities
from tclose.algorithms.control import Control
from tclose.algorithms.packing import costs_of, pace_of, rules_of, scratch_of
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.in_blocks import in_blocks
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

if TYPE_CHECKING:
    from tclose.algorithms.mondrian.mondrian_loops import Room
    from tclose.kernels.closeness import Rules, Scratch
    from tclose.kernels.costs import Costs

BUDGET = 20_000_000  # row visits between two looks at the clock, about 0.1 s


@dataclass(frozen=True)
class Mondrian:
    """Recursive median cuts in the space of all quasi-identifiers.

    From the whole table down, a class is cut at the median of its widest quasi-identifier (the
    one of largest loss) if both sides have at least k rows and every sensitive attribute within
    its t and l; else the next widest is tried. Rows with equal values stay together. On a
    categorical axis the cut between two subtrees nearest the median comes first, then that
    between any two leaves. The loss on a quasi-identifier counts as much as its weight says.

    Guarantee
    ---------
    Every class meets k, t, l and caps, decided in integers: a cut is made only if both sides do
    (`tests/contract`, `tests/algorithms/mondrian/test_mondrian.py`); so does what is asked in persons
    (`tests/algorithms/test_person_limits.py`). Loss is heuristic. It raises where
    the whole table already fails: by k or l, or by t if the reference is another table.

    Cost
    ----
    O(n log n) row visits times the number of quasi-identifiers and sensitive attributes.

    References
    ----------
    004 sections 2 and 6 (t-Mondrian); Li, Li, Venkatasubramanian: Closeness (2010).
    """

    name: ClassVar[str] = "mondrian"
    capabilities: ClassVar[Capabilities] = Capabilities(
        summary="median cuts, from the whole table down",
        paper="Cao et al. 2011 (004), sections 2 and 6; Li et al. 2010",
        guarantees=EVERY_GUARANTEE | IN_PERSONS,
        keeps=frozenset({"weight", "finest", "coarsest", "suppress_rows"}),
    )

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
        from tclose.kernels.closeness import NO, YES

        if start is None:
            requirement.check_whole(table)
        labels = np.zeros(len(table), np.int64) if start is None else start.labels
        work = _Work.of(table, requirement, labels)
        rules, scratch, costs = rules_of(requirement), scratch_of(requirement), costs_of(table)
        stopped = False
        while (status := work.advance(requirement, costs, rules, scratch)) != work.kernels.DONE:
            if status == work.kernels.ASKED:
                close = all(requirement.holds(side) for side in work.sides(len(table.axes)))
                work.state[work.kernels.VERDICT] = YES if close else NO
            control.report(done=work.share_done())
            if control.stop:
                work.put_back()
                stopped = True
                break
        return Partition(work.labels(), facts={"stopped_early": True} if stopped else {})


@dataclass(frozen=True, eq=False)
class _Work:
    """The arrays a run works on: rows are moved so that every class is a stretch of them."""

    kernels: ModuleType
    rows: NDArray[np.int32]  # places, then codes
    index: NDArray[np.int64]  # which row of the table each is
    stack: NDArray[np.int64]  # classes to be cut
    classes: NDArray[np.int64]  # where finished classes begin
    state: NDArray[np.int64]
    room: Room

    @classmethod
    def of(cls, table: EncodedTable, requirement: Requirement, labels: NDArray[np.int64]) -> _Work:
        from tclose.algorithms.mondrian import mondrian_loops as kernels
        from tclose.kernels import closeness

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
        state = np.zeros(8, np.int64)
        state[kernels.N_STACK], state[kernels.VERDICT] = len(begins), closeness.ASK
        widest = max(axis.size for axis in table.axes)
        room = kernels.Room(
            histogram=np.zeros(widest, np.int64),
            places=np.empty(widest, np.int32),
            counts=np.empty(widest, np.int64),
            rows=np.empty_like(rows),
            rows_from=np.empty_like(index),
            weights=np.array([float(axis.column_weight) for axis in table.axes]),
        )
        return cls(kernels, rows, index, stack, classes, state, room)

    def advance(self, requirement: Requirement, costs: Costs, rules: Rules, scratch: Scratch) -> int:
        stretches = self.kernels.RowStretches(
            rows=self.rows, numbers=self.index, stack=self.stack, classes=self.classes, state=self.state
        )
        budget = BUDGET // pace_of(requirement)
        status: int = self.kernels.advance(stretches, requirement.k, costs, rules, scratch, self.room, budget)
        return status

    def put_back(self) -> None:
        """A class whose cuts are being tried stays as it is."""
        from tclose.kernels.closeness import ASK

        if self.state[self.kernels.VERDICT] != ASK:
            top = self.state[self.kernels.N_STACK]
            self.stack[top] = self.state[self.kernels.START], self.state[self.kernels.STOP]
            self.state[self.kernels.N_STACK] += 1

    def sides(self, n_axes: int) -> list[list[NDArray[np.int32]]]:
        """The codes on both sides of the cut that waits for a verdict."""
        start, stop, axis, cut = (self.state[getattr(self.kernels, key)] for key in ("START", "STOP", "AXIS", "CUT"))
        members = self.rows[start:stop]
        left = members[:, axis] <= cut
        return [list(members[side, n_axes:].T) for side in (left, ~left)]

    def share_done(self) -> float:
        waiting = self.stack[: self.state[self.kernels.N_STACK]]
        return 1 - float((waiting[:, 1] - waiting[:, 0]).sum()) / len(self.rows)

    def labels(self) -> NDArray[np.int64]:
        """The class of each row of the table; classes not yet cut count as they are."""
        finished = self.classes[: self.state[self.kernels.N_CLASSES]]
        begins = np.sort(np.concatenate([finished, self.stack[: self.state[self.kernels.N_STACK], 0]]))
        labels = np.empty(len(self.rows), np.int64)
        labels[self.index] = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(self.rows))))
        return labels
