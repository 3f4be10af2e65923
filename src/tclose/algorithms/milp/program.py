"""The mixed integer program of 002, theorem 9: closed patterns only, and a tree's edges where a distance has one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.milp.grounds import ProgramGround
from tclose.algorithms.milp.patterns import Integers, Patterns, RowTypes

Floats = NDArray[np.float64]
Terms = Sequence[tuple[Integers, Floats | float]]

LARGEST_SCALE = 1e4  # solvers take 1e-6 for nothing


@dataclass(frozen=True, eq=False)
class AskedOfClasses:
    """What a class must meet, in the numbers of a solver.

    Attributes
    ----------
    k
        The least number of rows.
    t
        Of each demand; exact, and 1 where it is one on shares.
    grounds
        What each demand is in linear terms.
    places
        The attribute of each demand, among those asked.
    """

    k: int
    t: tuple[Fraction, ...]
    grounds: tuple[ProgramGround, ...]
    places: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Program:
    """Minimize cost x, where 0 <= x <= upper and row_lower <= A x <= row_upper.

    The first columns are x(p, type), how many rows of a type are released under pattern p, pattern
    by pattern. The others are the size of each class, whether there is one (if k > 1), and what its
    distance needs. All that closeness asks is homogeneous in the class, so an empty one is close.

    Attributes
    ----------
    pattern, type
        Of each of the first columns.
    sizes
        The column with the size of each pattern's class.
    cost, upper, whole
        Of every column: its cost, its largest value, and whether it is an integer.
    starts, columns, values, row_lower, row_upper
        The rows of A, one after the other.
    exact
        Which rows are as they stand; those of others are exact numbers rounded once.
    """

    pattern: Integers
    type: Integers
    sizes: Integers
    cost: Floats
    upper: Floats
    whole: NDArray[np.bool_]
    starts: Integers
    columns: Integers
    values: Floats
    row_lower: Floats
    row_upper: Floats
    exact: NDArray[np.bool_]

    @classmethod
    def of(
        cls, types: RowTypes, patterns: Patterns, asked: AskedOfClasses, shaved: Sequence[Fraction] | None = None
    ) -> Program:
        """The whole program.

        Parameters
        ----------
        types, patterns, asked
            The rows, how they may be released, and what each class must meet.
        shaved
            By how much every t of each pattern is made smaller.
        """
        draft = _Draft(types, patterns, asked)
        draft.share_out()
        for each in range(len(patterns)):
            draft.size_up(each)
            draft.bring_near(each, Fraction(0) if shaved is None else shaved[each])
        return draft.program()

    @cached_property
    def row_of(self) -> Integers:
        """The row of each value."""
        return np.repeat(np.arange(len(self.row_lower)), np.diff(self.starts))

    def sums(self, point: Floats) -> Floats:
        """A x at a point."""
        found: Floats = np.bincount(self.row_of, self.values * point[self.columns], len(self.row_lower)).astype(float)
        return found

    def with_rows(self, rows: Sequence[tuple[Integers, Floats, float]]) -> Program:
        """The same with more rows, which are exact: columns, values, and the largest sum."""
        none = np.full(len(rows), -np.inf)
        return replace(
            self,
            starts=np.concatenate([self.starts, self.starts[-1] + np.cumsum([len(row[0]) for row in rows])]),
            columns=np.concatenate([self.columns, *(row[0] for row in rows)]),
            values=np.concatenate([self.values, *(row[1] for row in rows)]),
            row_lower=np.concatenate([self.row_lower, none]),
            row_upper=np.concatenate([self.row_upper, [row[2] for row in rows]]),
            exact=np.concatenate([self.exact, np.ones(len(rows), np.bool_)]),
        )

    def take_rows(self, rows: Integers) -> Program:
        """The same with some of its rows only."""
        lengths = np.diff(self.starts)
        kept = np.repeat(np.isin(np.arange(len(lengths)), rows), lengths)
        return replace(
            self,
            starts=np.concatenate([[0], np.cumsum(lengths[rows])]),
            columns=self.columns[kept],
            values=self.values[kept],
            row_lower=self.row_lower[rows],
            row_upper=self.row_upper[rows],
            exact=self.exact[rows],
        )

    def scaled(self) -> Program:
        """The same with smaller values: a solver that takes what is nearly met for met then finds more.

        A whole unit by which an exact row is broken must stay more than what a solver takes for nothing.
        """
        largest = np.ones(len(self.row_lower))
        np.maximum.at(largest, self.row_of, np.minimum(abs(self.values), LARGEST_SCALE))
        return replace(
            self,
            values=self.values / largest[self.row_of],
            row_lower=self.row_lower / largest,
            row_upper=self.row_upper / largest,
        )


@dataclass(eq=False)
class _Draft:
    """A program while it is written."""

    types: RowTypes
    patterns: Patterns
    asked: AskedOfClasses
    upper: list[Floats] = field(default_factory=list)
    whole: list[NDArray[np.bool_]] = field(default_factory=list)
    terms: list[tuple[Integers, Floats]] = field(default_factory=list)
    bounds: list[tuple[float, float]] = field(default_factory=list)
    exact: list[bool] = field(default_factory=list)
    n_columns: int = 0

    def __post_init__(self) -> None:
        firsts = np.searchsorted(self.types.vector, np.arange(len(self.types.vectors) + 1))
        lengths = np.diff(firsts)[self.patterns.covered]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        self.type = np.repeat(firsts[self.patterns.covered], lengths) + within
        owners = np.repeat(np.arange(len(self.patterns)), np.diff(self.patterns.starts))
        self.pattern = np.repeat(owners, lengths)
        self.begins = np.searchsorted(self.pattern, np.arange(len(self.patterns) + 1))
        counts = self.types.counts[self.type].astype(np.float64)
        self.covered = np.bincount(self.pattern, counts, len(self.patterns)).astype(np.int64)
        self.add_columns(counts, whole=True)
        self.sizes = self.add_columns(self.covered.astype(np.float64), whole=True)
        for each in range(len(self.patterns)):
            self.add_row([(self.own(each), 1.0), (self.sizes[each : each + 1], -1.0)], 0.0, 0.0)

    def own(self, each: int) -> Integers:
        """The first columns of a pattern."""
        return np.arange(self.begins[each], self.begins[each + 1])

    def add_columns(self, upper: Floats, whole: bool) -> Integers:
        self.upper.append(upper)
        self.whole.append(np.full(len(upper), whole))
        self.n_columns += len(upper)
        return np.arange(self.n_columns - len(upper), self.n_columns)

    def add_row(self, terms: Terms, lower: float, upper: float, exact: bool = True) -> None:
        columns = np.concatenate([columns for columns, _ in terms])
        values = np.concatenate([np.broadcast_to(value, columns.shape) for columns, value in terms])
        self.terms.append((columns, values))
        self.bounds.append((lower, upper))
        self.exact.append(exact)

    def share_out(self) -> None:
        """Every row is released once (6)."""
        order = np.argsort(self.type, kind="stable")
        for columns, count in zip(
            np.split(order, np.cumsum(np.bincount(self.type))[:-1]), self.types.counts.tolist(), strict=True
        ):
            self.add_row([(columns, 1.0)], count, count)

    def size_up(self, each: int) -> None:
        """k y <= size <= covered y, where y says whether there is a class at all.

        A type of r rows has x <= r y besides, and so have all types of one vector together. Where
        r >= k that says nothing new: y = x / r meets k y <= x.
        """
        k, size = self.asked.k, self.sizes[each : each + 1]
        if k == 1:
            return
        there = self.add_columns(np.ones(1), whole=True)
        self.add_row([(size, 1.0), (there, -float(k))], 0.0, np.inf)
        self.add_row([(size, 1.0), (there, -float(self.covered[each]))], -np.inf, 0.0)
        own = self.own(each)
        counts, vectors = self.types.counts[self.type[own]], self.types.vector[self.type[own]]
        for column, count in zip(own[counts < k], counts[counts < k].tolist(), strict=True):
            self.add_row([(np.array([column]), 1.0), (there, -float(count))], -np.inf, 0.0)
        several, n_types = np.unique(vectors, return_counts=True)
        for vector in several[n_types > 1].tolist():
            together = vectors == vector
            if (count := int(counts[together].sum())) < k:
                self.add_row([(own[together], 1.0), (there, -float(count))], -np.inf, 0.0)

    def bring_near(self, each: int, shaved: Fraction) -> None:
        """Every attribute of the class is within t, and the shares of its values are within their caps."""
        own, size = self.own(each), self.sizes[each : each + 1]
        for place, t, ground in zip(self.asked.places, self.asked.t, self.asked.grounds, strict=True):
            codes = self.types.codes[self.type[own], place]
            aids = self.add_columns(np.full(ground.n_columns(codes), float(self.covered[each])), whole=False)
            less = Fraction(0) if ground.exact else shaved  # what is exact leaves nothing to doubt
            for terms, lower, upper in ground.rows(codes, own, size, aids, t - less):
                self.add_row(terms, lower, upper, ground.exact)

    def program(self) -> Program:
        cost = self.patterns.costs[self.pattern].astype(np.float64)
        lengths = [len(columns) for columns, _ in self.terms]
        bounds = np.array(self.bounds, np.float64).reshape(-1, 2)
        return Program(
            self.pattern,
            self.type,
            self.sizes,
            np.concatenate([cost, np.zeros(self.n_columns - len(cost))]),
            np.concatenate(self.upper),
            np.concatenate(self.whole),
            np.cumsum([0, *lengths]),
            np.concatenate([columns for columns, _ in self.terms]),
            np.concatenate([values for _, values in self.terms]),
            bounds[:, 0],
            bounds[:, 1],
            np.array(self.exact),
        )
