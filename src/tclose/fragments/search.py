"""What `fragments` tries: how t is shared between fragments and class sizes, and how bold to be."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.encode import EncodedTable
from tclose.forming.merge import merge
from tclose.forming.nearest import take_nearest
from tclose.forming.sizes import ClassSizes, halve
from tclose.forming.stages import Stage
from tclose.fragments.shares import Shares, class_sizes
from tclose.fragments.space import Space
from tclose.fragments.split import fragment
from tclose.partition import Control
from tclose.requirement import Requirement

Labels = NDArray[np.int64]
SLACKS = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0)
PARTS = (Fraction("0.7"), Fraction("0.5"), Fraction("0.6"), Fraction("0.8"), Fraction("0.9"))
MOST = 1000  # fragments; with more hardly any row has a neighbour in its own


class Search:
    """A run of `fragments`: the best partition so far, and how to try another plan."""

    def __init__(self, table: EncodedTable, requirement: Requirement, seed: int, control: Control) -> None:
        self.table, self.requirement, self.seed, self.control = table, requirement, seed, control
        self.space = Space.of_table(table, requirement)
        self.best, self.least = np.zeros(len(table), np.int64), np.inf
        self.tried = 0
        self.complete = True

    def run(self, bold: bool) -> None:
        """Try all plans, until the time is over."""
        if self.space is None:
            self._carry_out(np.zeros(len(self.table), np.int32), self._by_k(), True, 0.0, 1.0)
            return
        slacks = SLACKS if bold else SLACKS[:1]
        steps = len(slacks) + len(PARTS) - 1
        losses = {slack: self._try(slack, PARTS[0], steps) for slack in slacks}
        slack = min(losses, key=losses.__getitem__)
        for part in PARTS[1:]:
            self._try(slack, part, steps)

    def _try(self, slack: float, part: Fraction, steps: int) -> float:
        """Fragments with bounds within a part of slack times t, and classes within slack times t; returns the loss."""
        assert self.space is not None
        begin, end = self.tried / steps, (self.tried + 1) / steps
        self.tried += 1
        if self.control.stop:
            self.complete = False
            return np.inf
        targets = [limit * part * Fraction(slack) for limit in self.space.limits]
        weights = [1 / max(float(limit), 1e-3) for limit in self.space.limits]
        found = fragment(self.space, targets, self.control, weights=weights, most=MOST)
        if found is None:
            self.complete &= not self.control.stop
            return np.inf
        sizes = class_sizes(Shares.of(found), self.requirement.k, slack)
        asks_more = slack > 1 or any(attribute.l is not None for attribute in self.requirement.attributes)
        return self._carry_out(found.of_cell[self.space.of_row], sizes, asks_more, begin, end)

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
