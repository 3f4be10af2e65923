"""The program of a division into groups, as HiGHS takes it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tclose.algorithms.control import Control
from tclose.algorithms.highs import load
from tclose.algorithms.two_diversity.parity import Members, is_odd
from tclose.algorithms.two_diversity.small_groups import Floats, GroupRows, Integers, sizes


class Solution(NamedTuple):
    """The best of a linear program: the share of each group, and what rows and odd sets are worth."""

    shares: Floats
    rows: Floats
    sets: Floats


class MatchingProgram:
    """Least sum of cost times share; every row has groups of share 1, every odd set at least 1.

    Groups and sets are added as they are found to matter.
    """

    def __init__(self, n: int, control: Control) -> None:
        self._highspy = load("two-diversity")
        self._n, self._control = n, control
        self._known: set[int] = set()
        self.groups: GroupRows = np.zeros((0, 3), np.int64)
        self.sets: list[Members] = []
        self._highs = self._fresh()
        none = np.zeros(0, np.int32)
        for _ in range(n):
            self._highs.addRow(1.0, 1.0, 0, none, np.zeros(0))

    def _fresh(self) -> Any:
        """A solver that prints nothing, comes back when it shall, and always does the same."""
        highs = self._highspy.Highs()
        highs.silent()
        highs.setOptionValue("parallel", "off")
        for event in (highs.cbSimplexInterrupt, highs.cbMipInterrupt):
            event.subscribe(lambda event: event.interrupt(self._control.stop))
        return highs

    def add_groups(self, groups: GroupRows, costs: Floats) -> int:
        """Add those that are not there yet, and tell how many."""
        keys = ((groups[:, 0] * self._n + groups[:, 1]) * self._n + groups[:, 2]).tolist()
        new = [place for place, key in enumerate(keys) if key not in self._known]
        self._known.update(keys)
        groups, costs = groups[new], costs[new]
        entries, starts = self._entries(groups)
        n = len(groups)
        self._highs.addCols(
            n, costs, np.zeros(n), np.full(n, self._highspy.kHighsInf), len(entries), starts, entries,
            np.ones(len(entries)),
        )  # fmt: skip
        self.groups = np.concatenate([self.groups, groups])
        return n

    def _entries(self, groups: GroupRows) -> tuple[Any, Any]:
        """The rows of the program in which each group occurs, and where those of each begin."""
        triples = np.flatnonzero(sizes(groups) == 3)
        odd = np.zeros((len(self.sets), len(groups)), bool)
        for line, members in zip(odd, self.sets, strict=True):
            line[:] = is_odd(groups, members)
        number, owner = np.nonzero(odd)
        everyone = np.arange(len(groups))
        owners: Integers = np.concatenate([everyone, everyone, triples, owner])
        places = np.concatenate([groups[:, 0], groups[:, 1], groups[triples, 2], self._n + number])
        order = np.argsort(owners, kind="stable")
        starts = np.searchsorted(owners[order], everyone)
        return places[order].astype(np.int32), starts.astype(np.int32)

    def add_sets(self, sets: list[Members]) -> None:
        """Ask of odd sets what holds for all."""
        for members in sets:
            places = np.flatnonzero(is_odd(self.groups, members)).astype(np.int32)
            self._highs.addRow(1.0, self._highspy.kHighsInf, len(places), places, np.ones(len(places)))
            self.sets.append(members)

    def solve(self) -> Solution | None:
        """The best shares; None if it was stopped."""
        self._highs.run()
        if self._highs.getModelStatus() != self._highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._highs.getSolution()
        worth = np.array(solution.row_dual)
        return Solution(np.array(solution.col_value), worth[: self._n], np.maximum(worth[self._n :], 0.0))

    def solve_whole(self, gap: float) -> tuple[GroupRows | None, float]:
        """The best division into the groups that are there, none if stopped before; and a bound on its cost.

        It may be worse than the best by `gap`.
        """
        whole, n = self._fresh(), len(self.groups)
        whole.passModel(self._highs.getModel())
        kinds = np.array([self._highspy.HighsVarType.kInteger] * n)
        whole.changeColsIntegrality(n, np.arange(n, dtype=np.int32), kinds)
        whole.setOptionValue("presolve", "off")  # with it HiGHS was seen to lose feasible points
        whole.setOptionValue("mip_abs_gap", gap)
        whole.setOptionValue("mip_rel_gap", 0.0)
        whole.run()
        taken = np.array(whole.getSolution().col_value) > 0.5
        found = self.groups[taken] if len(taken) == n else self.groups[:0]
        complete = np.array_equal(np.sort(found.ravel()[_own(found)]), np.arange(self._n))
        bound = float(whole.getInfo().mip_dual_bound)
        if not math.isfinite(bound):  # infeasible, it says: but the best division known is one of these
            bound = -math.inf
        return found if complete else None, bound


def _own(groups: GroupRows) -> Integers:
    """Where in the lines of groups a row stands, that which a pair repeats left out."""
    own = np.ones((len(groups), 3), bool)
    own[:, 2] = sizes(groups) == 3
    return np.flatnonzero(own)
