"""What `fragments` tries: how t is shared between fragments and class sizes, and how bold to be."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.control import Control, Stage
from tclose.algorithms.fragments.shares import FragmentShares, class_sizes
from tclose.algorithms.fragments.space import SensitiveSpace
from tclose.algorithms.fragments.split import fragment
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.class_sizes import ClassSizes, halve
from tclose.algorithms.shared.merge import merge
from tclose.algorithms.shared.nearest import take_nearest
from tclose.table.encode import EncodedTable

Labels = NDArray[np.int64]
SLACKS = (6.0, 4.5, 3.5, 2.5, 2.0, 1.5, 1.0)  # from bold to safe; the bolder, the quicker
PARTS = (Fraction("0.7"), Fraction("0.55"), Fraction("0.85"))
PATIENCE = 2  # slacks in a row that lose more than the best, before no more are tried
MOST = 1000  # fragments; with more hardly any row has a neighbour in its own


class FragmentsSearch:
    """A run of `fragments`: the best partition so far, and how to try another plan."""

    def __init__(self, table: EncodedTable, requirement: Requirement, seed: int, control: Control) -> None:
        self.table, self.requirement, self.seed, self.control = table, requirement, seed, control
        self.space = SensitiveSpace.of_table(table, requirement)
        self.best, self.least = np.zeros(len(table), np.int64), np.inf
        self.known: dict[bytes, float] = {}
        self.complete = True

    def run(self, bold: bool) -> None:
        """Try plans until none gets better, or the time is over: first how bold to be, then how t is shared."""
        if self.space is None:
            self._carry_out(np.zeros(len(self.table), np.int32), self._by_k(), True, 0.0, 1.0)
            return
        slacks = SLACKS if bold else SLACKS[-1:]
        steps, worse = len(slacks) + len(PARTS) - 1, 0
        best, least = slacks[0], np.inf
        for step, slack in enumerate(slacks):
            loss = self._try(self.space, slack, PARTS[0], step / steps, (step + 1) / steps)
            best, worse = (slack, 0) if loss < least else (best, worse + (loss > least))
            least = min(least, loss)
            if worse == PATIENCE:
                break
        for step, part in enumerate(PARTS[1:], len(slacks)):
            self._try(self.space, best, part, step / steps, (step + 1) / steps)

    def _try(self, space: SensitiveSpace, slack: float, part: Fraction, begin: float, end: float) -> float:
        """Fragments with bounds within a part of slack times t, and classes within slack times t; returns the loss."""
        if self.control.stop:
            self.complete = False
            return np.inf
        targets = [limit * part * Fraction(slack) for limit in space.limits]
        weights = [1 / max(float(limit), 1e-3) for limit in space.limits]
        found = fragment(space, targets, self.control, weights=weights, most=MOST)
        if found is None:
            self.complete &= not self.control.stop
            return np.inf
        sizes = class_sizes(FragmentShares.of(found), self.requirement.k, slack, self.control)
        self.complete &= not self.control.stop
        plan = sha256(found.of_cell.tobytes() + sizes.kinds.tobytes()).digest()
        if plan not in self.known:
            asks_more = slack > 1 or any(attribute.asks_beyond_t for attribute in self.requirement.attributes)
            self.known[plan] = self._carry_out(found.of_cell[space.of_row], sizes, asks_more, begin, end)
        return self.known[plan]

    def _carry_out(
        self, owners: NDArray[np.int32], sizes: ClassSizes, asks_more: bool, begin: float, end: float
    ) -> float:
        """Take rows out, merge what does not hold, and keep it if it loses less than all before."""
        stage = Stage(self.control, begin, (begin + end) / 2 if asks_more else end)
        labels, seeds = take_nearest(self.table, owners, sizes, self.seed, stage)
        self.complete &= len(seeds) == len(sizes)
        if asks_more and self.requirement.attributes:
            labels, is_whole = merge(self.table, self.requirement, labels, replace(stage, begin=stage.end, end=end))
            self.complete &= is_whole
        loss = self.table.loss(labels)
        if loss < self.least:
            self.best, self.least = labels, loss
        self.control.report(loss=self.least, done=end)
        return loss

    def _by_k(self) -> ClassSizes:
        """Classes of k rows, where no attribute has a t."""
        return halve(np.array([len(self.table)]), lambda sizes: bool(sizes.sum() >= self.requirement.k))
