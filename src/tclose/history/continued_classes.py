"""The classes of a release that continues a history: atoms stay whole, and new persons are classes among themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms import ROUNDING, Algorithm, parameters_of, run_method
from tclose.algorithms.capabilities import Capabilities
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.in_blocks import in_blocks
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

Integers = NDArray[np.int64]
MOST_SEARCHES = 4  # of classes of new rows: together no more rows than the table has


class ContinuedClasses:
    """A method that forms classes of new rows by another one, and merges blocks that are too far from the whole.

    It bears the name and the parameters of the other one.

    Parameters
    ----------
    inner
        The method for new rows.
    blocks
        What stays together, a number for each row; below 0 for new rows.
    """

    def __init__(self, inner: Algorithm, blocks: Integers) -> None:
        vars(self).update(parameters_of(inner))
        self._inner, self._blocks = inner, blocks
        self._atoms = blocks

    @property
    def name(self) -> str:
        """That of the method for new rows."""
        return self._inner.name

    @property
    def capabilities(self) -> Capabilities:
        """Those of the method for new rows: merging keeps all that is promised."""
        return self._inner.capabilities

    @property
    def atoms(self) -> Integers:
        """Of the last partition: the atom of each row, numbered on from the blocks where it is new."""
        return self._atoms

    def partition(
        self,
        table: EncodedTable,
        requirement: Requirement,
        *,
        rng: np.random.Generator,
        control: Control,
        start: Partition | None = None,
    ) -> Partition:
        """Form classes of the new rows, then merge whatever does not hold against the whole.

        Raises
        ------
        InfeasibleError
            `coarsest` keeps rows apart that do not hold by themselves.
        """
        self._atoms = self._blocks.copy()
        return in_blocks(self._within, table, requirement, rng=rng, control=control, start=None)

    def _searched(
        self, rows: EncodedTable, requirement: Requirement, times: int, rng: np.random.Generator, control: Control
    ) -> Partition:
        """Classes of new rows, which stay for good: if they are few, they are searched again from what was found."""
        found = run_method(self._inner, rows, requirement, rng=rng, control=control)
        for _ in range(min(times, MOST_SEARCHES) - 1):
            if control.stop or found.facts.get("optimal") or not requirement.holds_in_all(rows, found.labels):
                break
            better = run_method(self._inner, rows, requirement, rng=rng, control=control, start=found)
            gained = rows.loss(found.labels) - rows.loss(better.labels)
            found = better
            if gained <= ROUNDING:
                break
        return found

    def _within(
        self,
        table: EncodedTable,
        requirement: Requirement,
        *,
        rng: np.random.Generator,
        control: Control,
        start: Partition | None,
    ) -> Partition:
        """The same of rows that may all be mixed; none of them has lost its number."""
        from tclose.algorithms.shared.merge import merge

        fresh = np.flatnonzero(self._blocks[table.rows] < 0)
        found = None
        if len(fresh):
            rows = table.take(fresh)
            found = self._searched(rows, requirement, len(table) // len(rows), rng, control)
            labels = found.labels
            if not requirement.holds_in_all(rows, labels):  # a method may take its rows for the whole
                labels = merge(rows, requirement, labels, None)[0]
            self._atoms[table.rows[fresh]] = int(self._atoms.max(initial=-1)) + 1 + labels
            if len(fresh) == len(table):  # as in the first release: all that was said of it holds
                return found if labels is found.labels else Partition.of(labels)
        labels = Partition.of(self._atoms[table.rows]).labels
        if not requirement.holds_in_all(table, labels):
            labels = merge(table, requirement, labels, None)[0]
        stopped = {} if found is None else {key: found.facts[key] for key in ("stopped_early",) if key in found.facts}
        return Partition.of(labels, facts=stopped)
