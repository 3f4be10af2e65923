"""Cuts by rounding: rows are added up, and what whole numbers cannot reach is cut off.

If all x are whole and not negative, a sum of rows that says a x + c s <= b, with s not negative, gives

    sum of G(a) x + sum of min(c, 0) / (1 - f) s <= floor(b),   G(a) = floor(a) + max(frac(a) - f, 0) / (1 - f)

where f = frac(b) (Nemhauser and Wolsey's mixed integer rounding). Which rows are added, and how often each,
is read off the solver's basis (Gomory), in floats. With any multipliers the cut holds, so these are
rounded first, and from then on all is done in whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tclose.algorithms.milp.patterns import Flags, Integers
from tclose.algorithms.milp.program import Floats, Program

Cut = tuple[Integers, Floats, float]

UNIT = 2**30  # the rows of a program are multiples of its inverse
SCALE = 2**60  # and so are multipliers of this one's
ONE = UNIT * SCALE
TIMES = (1, -1, 2, 3, 5)  # a sum is also tried turned round, and more than once
MOST_SUMS, MOST_CUTS = 100, 15  # at a time
SLIGHT = 1e-7  # coefficients that are left out, beside a largest of 1
FRACTION = (0.01, 0.99)  # of b; otherwise little is cut off
ALIKE = 0.9  # the cosine of two cuts of which one is enough
DEEP = 1e-4  # how far from the point a cut must be at least


@dataclass(frozen=True, eq=False)
class _Sum:
    """Rows added up, each so many times: which way the cut lies, and how far the point is from it."""

    multipliers: Floats
    times: int
    direction: Floats
    miss: float


@dataclass(frozen=True)
class Rounding:
    """The formula above in multiples of 1 / ONE, where all is multiplied by ONE - f.

    Examples
    --------
    Of 3/4 x - 1/2 y <= 5/2, with both whole, comes 1/2 x - y <= 2, here times 1/2:

    >>> from fractions import Fraction
    >>> half = Rounding.of(ONE * 5 // 2)
    >>> [Fraction(each, ONE) for each in (half.of_one(ONE * 3 // 4, True), half.of_one(-ONE // 2, True), half.largest)]
    [Fraction(1, 4), Fraction(-1, 2), Fraction(1, 1)]
    """

    f: int
    largest: int

    @classmethod
    def of(cls, b: int) -> Rounding:
        """For this right side."""
        down, f = divmod(b, ONE)
        return cls(f, down * (ONE - f))

    def of_one(self, a: int, is_whole: bool) -> int:
        """What a coefficient becomes."""
        return a // ONE * (ONE - self.f) + max(a % ONE - self.f, 0) if is_whole else min(a, 0)


@dataclass(frozen=True, eq=False)
class Rounder:
    """The rows of a program at a point of its relaxation.

    Attributes
    ----------
    program, point
        Where it is.
    lower
        Of each row: whether its lower bound is the nearer one.
    turned
        Of each column: whether it is counted down from its largest value.
    """

    program: Program
    point: Floats
    lower: Flags
    turned: Flags

    @classmethod
    def of(cls, program: Program, point: Floats) -> Rounder:
        """Rows and columns are counted from where the point is nearest."""
        sums = program.sums(point)
        lower = abs(sums - program.row_lower) < abs(sums - program.row_upper)
        return cls(program, point, lower, 2 * point > program.upper)

    def cuts(self, candidates: Sequence[Floats]) -> Iterator[Cut]:
        """The rows (columns, values, largest) that rounding gives of such sums, the deepest first."""
        sums = [made for multipliers in candidates for made in self._try(multipliers)]
        taken = np.zeros((0, len(self.point)))
        for each in sorted(sums, key=lambda made: -made.miss):
            if len(taken) == MOST_CUTS:
                return
            if (taken @ each.direction).max(initial=0.0) < ALIKE:
                taken = np.vstack([taken, each.direction])
                cut = self._rounded(each)
                if cut is not None and cut[1] @ self.point[cut[0]] > cut[2]:
                    yield cut

    @cached_property
    def _ends(self) -> Floats:
        return np.where(self.lower, self.program.row_lower, self.program.row_upper)

    @cached_property
    def _whole(self) -> Flags:
        """Which rows have whole values and columns only: then what is left of them is whole too."""
        program = self.program
        parted = (program.values != np.rint(program.values)) | ~program.whole[program.columns]
        n_parted = np.bincount(self.program.row_of, parted, len(self._ends))
        return np.asarray((n_parted == 0) & (self._ends == np.rint(self._ends)))

    @cached_property
    def _slack(self) -> Floats:
        """How far each row is from its nearer bound."""
        return abs(self._ends - self.program.sums(self.point))

    def _try(self, multipliers: Floats) -> Iterator[_Sum]:
        """How deep the cuts of a sum would be; in floats."""
        program = self.program
        used = np.flatnonzero(multipliers)
        a = np.bincount(program.columns, program.values * multipliers[self.program.row_of], len(program.cost))
        a, b = (
            np.where(self.turned, -a, a),
            multipliers[used] @ self._ends[used] - a[self.turned] @ program.upper[self.turned],
        )
        c = np.where(self.lower[used], -1.0, 1.0) * multipliers[used]
        c[program.row_lower[used] == program.row_upper[used]] = 0.0
        a, whole = np.concatenate([a, c]), np.concatenate([program.whole, self._whole[used]])
        x = np.concatenate([np.where(self.turned, program.upper - self.point, self.point), self._slack[used]])
        for times in TIMES:
            f = times * b - np.floor(times * b)
            if FRACTION[0] < f < FRACTION[1]:
                down = np.floor(times * a)
                g = np.where(
                    whole, down + np.maximum(times * a - down - f, 0) / (1 - f), np.minimum(times * a, 0) / (1 - f)
                )
                slacks = np.zeros(len(multipliers))
                slacks[used] = np.where(self.lower[used], -1.0, 1.0) * g[len(self.turned) :]
                direction = np.where(self.turned, -1.0, 1.0) * g[: len(self.turned)]
                direction -= np.bincount(program.columns, program.values * slacks[self.program.row_of], len(direction))
                miss, size = g @ x - np.floor(times * b), np.linalg.norm(direction)
                if miss > DEEP * size:
                    yield _Sum(multipliers, times, direction / size, float(miss / size))

    def _rounded(self, made: _Sum) -> Cut | None:
        """The cut itself, in whole numbers; None if a float cannot hold it.

        What is left of a row below its bound, or above, is then told by the row itself.
        """
        rows, sums, b = {}, dict[int, int](), 0
        for row in np.flatnonzero(made.multipliers).tolist():
            times = round(float(made.multipliers[row]) * SCALE) * made.times
            terms, end = self._row(row)
            rows[row] = times, terms, end
            b += times * end
            for column, value in terms:
                sums[column] = sums.get(column, 0) + times * value
        b -= sum(a * int(self.program.upper[column]) for column, a in sums.items() if self.turned[column])
        rounding = Rounding.of(b)
        cut, largest = dict[int, int](), rounding.largest * UNIT
        for column, a in sums.items():
            sign = -1 if self.turned[column] else 1
            g = rounding.of_one(sign * a, bool(self.program.whole[column])) * UNIT
            cut[column] = sign * g
            largest -= g * int(self.program.upper[column]) if self.turned[column] else 0
        for row, (times, terms, end) in rows.items():
            if self.program.row_lower[row] == self.program.row_upper[row]:
                continue
            sign = -1 if self.lower[row] else 1
            g = sign * rounding.of_one(sign * times * UNIT, bool(self._whole[row]))
            largest -= g * end
            for column, value in terms:
                cut[column] -= g * value
        return self._in_floats(cut, largest)

    def _in_floats(self, cut: dict[int, int], largest: int) -> Cut | None:
        """Values down, and the largest sum up; what is slight is left out as if it were at its least."""
        most = max(map(abs, cut.values()), default=0)
        columns, values = [], []
        for column, g in cut.items():
            value = g * UNIT // most if most else 0
            if abs(value) > SLIGHT * UNIT:
                columns.append(column)
                values.append(value)
            elif g < 0:
                largest -= g * int(self.program.upper[column])
        end = -(-largest * UNIT // most) if most else 0
        if not columns or abs(end) >= 2**53:
            return None
        order = np.argsort(columns)
        return np.array(columns, np.int64)[order], np.array(values)[order] / UNIT, end / UNIT

    def _row(self, row: int) -> tuple[list[tuple[int, int]], int]:
        """The terms of a row and its nearer bound, in multiples of 1 / UNIT."""
        place = slice(self.program.starts[row], self.program.starts[row + 1])
        values = [int(value * UNIT) for value in self.program.values[place].tolist()]
        return list(zip(self.program.columns[place].tolist(), values, strict=True)), int(self._ends[row] * UNIT)
