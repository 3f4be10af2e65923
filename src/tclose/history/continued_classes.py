"""The classes of a release that continues a history: atoms stay whole, and new persons are classes among themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms import Algorithm, parameters_of, run_method
from tclose.algorithms.capabilities import Capabilities
from tclose.algorithms.control import Control
from tclose.algorithms.requirement import Requirement
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

Integers = NDArray[np.int64]


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
        """Form classes of the new rows, then merge whatever does not hold against the whole."""
        from tclose.algorithms.shared.merge import merge

        fresh = np.flatnonzero(self._blocks < 0)
        atoms = self._blocks.copy()
        found = None
        if len(fresh):
            rows = table.take(fresh)
            found = run_method(self._inner, rows, requirement, rng=rng, control=control)
            labels = found.labels
            if not requirement.holds_in_all(rows, labels):  # a method may take its rows for the whole
                labels = merge(rows, requirement, labels, None)[0]
            atoms[fresh] = int(atoms.max(initial=-1)) + 1 + labels
        self._atoms = atoms
        if found is not None and len(fresh) == len(table):  # the first release: all that was said of it holds
            return found
        labels = Partition.of(atoms).labels
        if not requirement.holds_in_all(table, labels):
            labels = merge(table, requirement, labels, None)[0]
        stopped = {} if found is None else {key: found.facts[key] for key in ("stopped_early",) if key in found.facts}
        return Partition.of(labels, facts=stopped)
