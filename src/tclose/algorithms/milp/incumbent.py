"""From the solver's floats to classes that hold, decided exactly; and the best of them so far."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from tclose.algorithms.milp.patterns import Integers, Patterns, RowTypes
from tclose.algorithms.milp.program import Floats, Program
from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.merge import merge
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

WORTHWHILE = 0.95


@dataclass(eq=False)
class Incumbent:
    """The best classes found so far; every entry holds.

    Attributes
    ----------
    table, requirement, types
        The rows, and what is asked of every class.
    labels, stars
        The best so far, and how many cells its release hides.
    """

    table: EncodedTable
    requirement: Requirement
    types: RowTypes
    labels: Integers = field(init=False)
    stars: float = math.inf
    _spare: tuple[float, Integers] = field(default=(math.inf, np.zeros(0, np.int64)), repr=False)

    def offer(self, program: Program, point: Floats) -> list[int]:
        """Enter what a point says if it holds; returns the patterns whose classes do not, and keeps it to be mended."""
        owners = spread(program, self.types, rounded(program, self.types, point))
        labels = joined(self.table, Partition.of(owners).labels)
        stars = self.table.hidden_cells(labels)
        if stars >= self.stars:
            return []
        failing = self._failing(labels)
        if not failing:
            self.labels, self.stars = labels, stars
        elif stars < self._spare[0]:
            self._spare = stars, labels
        return np.unique(owners[np.isin(labels, failing)]).tolist() if failing else []

    def enter(self, labels: Integers) -> None:
        """Enter classes if they hold and hide less; those released alike become one."""
        stars = self.table.hidden_cells(labels)
        if stars < self.stars and self.requirement.holds_in_all(self.table, labels := joined(self.table, labels)):
            self.labels, self.stars = labels, stars

    def mend(self) -> None:
        """If what does not hold would hide much less, merge its classes until they do, and enter that."""
        if self._spare[0] < WORTHWHILE * self.stars:
            self.enter(merge(self.table, self.requirement, self._spare[1], None)[0])

    def _failing(self, labels: Integers) -> list[int]:
        """The classes with fewer than k rows, or not close; exact."""
        sizes, failing = np.bincount(labels), []
        order = np.argsort(labels, kind="stable")
        for each, rows in enumerate(np.split(order, np.cumsum(sizes)[:-1])):
            codes = [column[rows] for column in self.table.codes]
            if len(rows) < self.requirement.k or not self.requirement.holds(codes):
                failing.append(each)
        return failing

    def point(self, program: Program, patterns: Patterns) -> Floats | None:
        """The best so far as the first columns of a point; None if the program has not all of its patterns."""
        return placed(self.table, self.types, patterns, program, self.labels)


def rounded(program: Program, types: RowTypes, point: Floats) -> Integers:
    """Whole rows: down, and what is then missing of a type goes to where most was cut off.

    Examples
    --------
    A type of 3 rows, of which two patterns are to have one and a half:

    >>> from types import SimpleNamespace as given
    >>> program = given(type=np.array([0, 0]), pattern=np.array([0, 1]))
    >>> rounded(program, given(counts=np.array([3])), np.array([1.5, 1.5]))
    array([2, 1])
    """
    taken = np.clip(point[: len(program.type)], 0, types.counts[program.type])
    counts = np.floor(taken + 1e-6).astype(np.int64)
    for each in np.flatnonzero(np.bincount(program.type, counts) != types.counts):
        columns = np.flatnonzero(program.type == each)
        order = columns[np.argsort(counts[columns] - taken[columns], kind="stable")]
        while (missing := int(types.counts[each] - counts[columns].sum())) > 0:
            counts[order[:missing]] += 1
        for column in order[::-1]:  # it cannot take more away than there is
            surplus = int(counts[columns].sum() - types.counts[each])
            counts[column] -= min(max(surplus, 0), counts[column])
    return counts


def spread(program: Program, types: RowTypes, counts: Integers) -> Integers:
    """The pattern of each row: those of a type are alike, so the first ones go to the first pattern."""
    order = np.lexsort((program.pattern, program.type))
    owners = np.empty(len(types.of_row), np.int64)
    owners[np.argsort(types.of_row, kind="stable")] = np.repeat(program.pattern[order], counts[order])
    return owners


def shown(table: EncodedTable, labels: Integers) -> Integers:
    """What the release of each class shows in each column, -1 for a star."""
    spans = table.spans(labels, int(labels.max()) + 1)
    return np.stack([np.where(low == high, low, -1) for low, high in spans], axis=1).astype(np.int64)


def joined(table: EncodedTable, labels: Integers) -> Integers:
    """Classes that are released alike are one: a union of close classes is close."""
    alike = np.unique(shown(table, labels), axis=0, return_inverse=True)[1].reshape(-1)
    return Partition.of(alike[labels]).labels


def placed(
    table: EncodedTable, types: RowTypes, patterns: Patterns, program: Program, labels: Integers
) -> Floats | None:
    """Classes as the first columns of a point; None if the program has not all of their patterns."""
    firsts = types.vectors[patterns.covered[patterns.starts[:-1]]]
    known = {row.tobytes(): each for each, row in enumerate(np.where(patterns.stars, -1, firsts))}
    of_class = np.array([known.get(row.tobytes(), -1) for row in shown(table, labels)])
    if (of_class < 0).any():
        return None
    keys, counts = np.unique(of_class[labels] * len(types) + types.of_row, return_counts=True)
    point = np.zeros(len(program.pattern))
    point[np.searchsorted(program.pattern * len(types) + program.type, keys)] = counts
    return point
