"""The cheapest division of rows into pairs and triples of distinct values ("simplex matching").

A linear program gives every group a share. Its groups are those that were found to matter: a group
left out matters if it costs less than its rows and odd sets are worth. In symbols, y is the worth
of rows, p that of odd sets; with D(i, j) = sum of p over the sets that have i and j, E the same for
three rows, and r = y + D(i, i), a group misses its worth by

    gap(i, j)    = c(i, j) - r(i) - r(j) + 2 D(i, j)
    gap(i, j, k) = c(i, j, k) - r(i) - r(j) - r(k) + 2 (D(i, j) + D(i, k) + D(j, k)) - 4 E(i, j, k)

as M(i) xor M(j) is M(i) + M(j) - 2 M(i) M(j), and so on for three. For a triple let X be the sum of
p over the sets that have two of its rows: the sum of its D is X + 3 E, and so

    2 gap(i, j, k) = (2 c(i, j, k) - sum of c of its pairs) + sum of gap of its pairs + 2 X - 2 E

The first is not negative, for a row costs no less in a larger group (the simplex condition). So a
triple can have a gap below g only if the gaps of its pairs add up to less than 2 g + 2 min D.

Every division costs at least the worth of all rows and odd sets, minus what groups fall short of
theirs, and that much plus its gap if it has a certain group.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tclose.algorithms.control import Control
from tclose.algorithms.shared.whole_costs import WholeCosts
from tclose.algorithms.two_diversity.matching_program import MatchingProgram, Solution
from tclose.algorithms.two_diversity.parity import TINY, violated_sets
from tclose.algorithms.two_diversity.settling import settle
from tclose.algorithms.two_diversity.small_groups import Floats, GroupCosts, GroupRows, are_diverse, divide

NEAREST = 8  # neighbours of each row that the program begins with
AT_ONCE = 4  # groups added for each row at a time
SHORT = 1e-7  # how much a group may fall short of its worth
CLOSED = 1e-3  # units that a division may cost more than the bound, where costs are not whole
BLURRED = 1e-5  # units: more than rounding adds to the cost of a division
MOST_LOOKED_AT = 5_000_000  # triples, to find those that may be in a better division
WITHIN = 0.25  # the same of an integer program where they are: with what the lines cost, less than a unit


class Matching(NamedTuple):
    """A division, a cost (without the lines) that none is below, and how it ended.

    `trusts` says that the bound is the word of the solver of integer programs.
    """

    groups: GroupRows
    bound: float
    optimal: bool
    stopped: bool
    trusts: bool = False


@dataclass(eq=False)
class Gaps:
    """By how much groups miss the worth of their rows and sets."""

    costs: GroupCosts
    members: Floats  # one line a set that is worth something: 1 for its rows
    worth: Floats  # of each of these sets
    rows: Floats  # r
    both: Floats  # D
    total: float = 0.0  # what all rows and sets are worth
    pairs: Floats = field(init=False)

    @classmethod
    def of(cls, costs: GroupCosts, program: MatchingProgram, solution: Solution) -> Gaps:
        """Look at all groups with the worths of a solution."""
        counts = np.flatnonzero(solution.sets > 0)
        members = np.array([program.sets[each] for each in counts], np.float64).reshape(-1, len(solution.rows))
        worth = solution.sets[counts]
        both = (members * worth[:, None]).T @ members
        total = float(solution.rows.sum() + worth.sum())
        return cls(costs, members, worth, solution.rows + np.diag(both), both, total)

    def __post_init__(self) -> None:
        self.pairs = self.costs.pairs - self.rows[:, None] - self.rows + 2 * self.both

    def pairs_below(self, gap: float) -> tuple[GroupRows, Floats]:
        """All pairs with a gap below this, and their gaps."""
        first, second = np.nonzero(np.triu(self.pairs < gap, 1))
        return np.stack([first, second, second], axis=1), self.pairs[first, second]

    def n_looked_at(self, gap: float) -> int:
        """How many triples, at most, are looked at to find those with a gap below this."""
        near = np.triu(self.pairs < 2 * gap + 2 * self.both + 3 * SHORT, 1).sum(axis=1)
        return int((near * near).sum())

    def triples_below(self, gap: float) -> tuple[GroupRows, Floats]:
        """All triples with a gap below this, and their gaps, if no pair falls short by more than `SHORT`."""
        return self._missed(np.concatenate([np.zeros((0, 3), np.int64), *self._candidates(gap)]), gap)

    def _candidates(self, gap: float) -> Iterator[GroupRows]:
        """Triples by their first row: those whose pairs allow for such a gap."""
        both = self.both
        allowed = np.triu(self.pairs < 2 * gap + 2 * both + 3 * SHORT, 1)  # the other two may fall short
        for i in np.flatnonzero(allowed.sum(axis=1) > 1).tolist():
            near = np.flatnonzero(allowed[i])
            first, second = np.nonzero(allowed[np.ix_(near, near)])
            j, k = near[first], near[second]
            least = np.minimum(np.minimum(both[i, j], both[i, k]), both[j, k])
            fits = self.pairs[i, j] + self.pairs[i, k] + self.pairs[j, k] < 2 * gap + 2 * least + SHORT
            yield np.stack([np.full(int(fits.sum()), i), j[fits], k[fits]], axis=1)

    def _missed(self, triples: GroupRows, gap: float) -> tuple[GroupRows, Floats]:
        """Those whose gap is indeed below, and it."""
        i, j, k = triples.T
        gaps = self.costs.of_groups(triples) - self.rows[triples].sum(axis=1)
        gaps += 2 * (self.both[i, j] + self.both[i, k] + self.both[j, k])
        for members, worth in zip(self.members, self.worth, strict=True):
            gaps -= 4 * worth * members[triples].prod(axis=1)
        below = gaps < gap
        return triples[below], gaps[below]


class MatchingSearch:
    """A program that grows, the best division so far, and the bound."""

    def __init__(self, costs: GroupCosts, control: Control) -> None:
        self.costs, self.control, self.n = costs, control, len(costs.codes)
        self.best = divide(costs.pairs, costs.codes, np.arange(self.n))
        self.least = costs.in_all(self.best)
        self.bound = 0.0
        self.trusts = False
        self.program = MatchingProgram(self.n, control)
        self._add(self.best)
        near = np.argsort(costs.pairs, axis=1, kind="stable")[:, :NEAREST]
        row = np.repeat(np.arange(self.n), near.shape[1])
        pairs = np.unique(np.sort(np.stack([row, near.ravel()], axis=1), axis=1), axis=0)
        pairs = pairs[np.isfinite(costs.pairs[pairs[:, 0], pairs[:, 1]])]
        self._add(pairs[:, [0, 1, 1]])

    @property
    def is_closed(self) -> bool:
        """Whether the best division is proven to be the best of all."""
        if self.costs.is_whole:
            return self.costs.whole_part(self.bound) >= math.floor(self.least + TINY)
        return self.least - self.bound <= CLOSED

    def _add(self, groups: GroupRows) -> int:
        return self.program.add_groups(groups, self.costs.of_groups(groups))

    def _take(self, groups: GroupRows) -> None:
        """Keep a division if it costs less."""
        if (cost := self.costs.in_all(groups)) < self.least:
            self.best, self.least = groups, cost

    def advance(self) -> bool:
        """Solve the program, and add what matters to it; False if nothing was found, or it was stopped."""
        solution = self.program.solve()
        if solution is None:
            return False
        gaps = Gaps.of(self.costs, self.program, solution)
        if self._grow(*gaps.pairs_below(-SHORT)) or self._grow(*gaps.triples_below(-SHORT)):
            return True
        # No division has more than n / 2 groups, and none of them falls short by more.
        worth = float(solution.rows.sum() + solution.sets.sum()) - self.n / 2 * SHORT
        self.bound = max(self.bound, worth)
        self._round(solution.shares)
        self.control.report(loss=self.least / self.costs.units / self.n)
        if self.is_closed:
            return True
        sets = violated_sets(self.program.groups, solution.shares, self.n)
        self.program.add_sets(sets)
        return bool(sets)

    def _grow(self, groups: GroupRows, gaps: Floats) -> bool:
        """Add groups that fall short, a few for each row, those that do most."""
        order = np.argsort(gaps, kind="stable")
        taken, few = np.zeros(self.n, np.int64), []
        for place in order[: 20 * AT_ONCE * self.n].tolist():
            rows = groups[place]
            if taken[rows].min() < AT_ONCE:
                taken[rows] += 1
                few.append(place)
        return bool(few) and self._add(groups[few]) > 0

    def _round(self, shares: Floats) -> None:
        """Take the groups that are nearly whole, and divide what is left; if it is diverse still."""
        chosen = self.program.groups[shares > 0.99]
        left = np.ones(self.n, bool)
        left[chosen.ravel()] = False
        rows = np.flatnonzero(left)
        if are_diverse(self.costs.codes[rows]):
            self._take(np.concatenate([chosen, divide(self.costs.pairs, self.costs.codes, rows)]))

    def finish(self) -> None:
        """Ask for a division into whole groups where shares alone do not give one.

        First among the groups that are there. A group with a gap of more than the best costs above
        the bound is in no better division: with all others at hand the second answer is final.
        """
        margin = WITHIN if self.costs.is_whole else CLOSED / 2
        self._finish_once(margin)
        solution = None if self.control.stop else self.program.solve()
        if solution is None or self.is_closed:
            return
        gaps = Gaps.of(self.costs, self.program, solution)
        worth = float(solution.rows.sum() + solution.sets.sum()) - self.n / 2 * SHORT
        room, above = self.least - worth, self.least
        self._add(gaps.pairs_below(room)[0])
        self._add(gaps.triples_below(room)[0])
        bound = min(self._finish_once(margin), above)
        if bound > self.bound:
            self.bound, self.trusts = bound, True

    def settle(self) -> bool:
        """Choose in whole numbers among all divisions that may be the best; whether it came to an end.

        Costs are multiples of a step, however small: if the best is less than one above the bound, none is
        better. Else, as in `finish`, a group with a gap of more than that is in no better division.
        """
        whole, gaps = WholeCosts.of(self.costs.table), self._complete()
        if whole is None or gaps is None:
            return False
        room = self.least - gaps.total + self.n / 2 * SHORT + BLURRED
        if not self.costs.is_whole and room < self.costs.units / whole.unit:
            return True
        if gaps.n_looked_at(room) > MOST_LOOKED_AT:
            return False
        groups = np.concatenate([self.best, gaps.pairs_below(room)[0], gaps.triples_below(room)[0]])
        found = settle(whole, groups, self.n, self.control)
        if found is None:
            return False
        self.best, self.least = found, self.costs.in_all(found)
        return True

    def _complete(self) -> Gaps | None:
        """The gaps of a program in which no group falls short; None if it was stopped."""
        while (solution := self.program.solve()) is not None and not self.control.stop:
            gaps = Gaps.of(self.costs, self.program, solution)
            if not (self._grow(*gaps.pairs_below(-SHORT)) or self._grow(*gaps.triples_below(-SHORT))):
                return gaps
        return None

    def _finish_once(self, margin: float) -> float:
        groups, bound = self.program.solve_whole(margin)
        if groups is not None:
            self._take(groups)
        return bound


def match(costs: GroupCosts, control: Control) -> Matching:
    """The cheapest division of 2-diverse rows into pairs and triples of distinct values.

    Examples
    --------
    >>> from tclose.datasets import census
    >>> from tclose.table.encode import encode
    >>> from tclose.table.source import read
    >>> frame, schema = census(31, seed=1)
    >>> costs = GroupCosts.of(encode(read(frame), schema), np.arange(31, dtype=np.int32), np.random.default_rng(1))
    >>> found = match(costs, Control())
    >>> found.optimal, len(np.unique(found.groups))
    (True, 31)
    """
    search = MatchingSearch(costs, control)
    while not search.is_closed and not control.stop:
        if not search.advance():
            if not control.stop:
                search.finish()
            break
    closed = search.is_closed
    if not closed or (costs.is_whole and not search.trusts):
        return Matching(search.best, costs.whole_part(search.bound), closed, control.stop and not closed)
    if search.settle():
        return Matching(search.best, costs.whole_cost(search.best), True, False)
    # What is not settled is proven as far as floats can tell, or by the solver.
    return Matching(search.best, costs.whole_part(search.bound), costs.is_whole, control.stop, search.trusts)
