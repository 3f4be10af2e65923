"""The search for the optimum: cuts, the solver's own search nearby, then branch and bound with proved bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from tclose.algorithms.milp.branching import BranchTree, up
from tclose.algorithms.milp.cuts import CountLimit, Separator
from tclose.algorithms.milp.incumbent import Incumbent
from tclose.algorithms.milp.patterns import Integers, Patterns, RowTypes
from tclose.algorithms.milp.program import AskedOfClasses, Floats, Program
from tclose.algorithms.milp.rounding import MOST_SUMS, Rounder
from tclose.algorithms.milp.solver import Relaxation, SolvedProgram, SolverLimits, search_near

CUTTING, NEAR, ANYWHERE = 0.05, 0.25, 0.2  # of the time: for cuts by rounding, and for the solver's own search
PATIENCE, GAIN = 8, 0.02  # rounds of cuts, and the stars that they must gain
TIGHT = 1e-6
# Rows by which the solver's own search may leave the optimum of the relaxation, and its most nodes.
WINDOWS = ((1, 1_000), (3, 1_000), (8, 1_000), (3, 30_000), (8, 30_000))
TRIES = 3  # with a smaller t each, where its points are not close
SHAVE = Fraction(1, 4 * 10**9)
MANY_NODES = 2**30


@dataclass(frozen=True, eq=False)
class BranchProblem:
    """What is to be solved."""

    types: RowTypes
    patterns: Patterns
    asked: AskedOfClasses
    limits: list[CountLimit]


@dataclass(frozen=True)
class SolverWatch:
    """Whether to stop, how many seconds are left, and who is told of stars: fewest found, and proved bound."""

    stop: Callable[[], bool]
    left: Callable[[], float]
    tell: Callable[[float, float], None]


@dataclass(eq=False)
class BranchAndBound:
    """One run.

    Attributes
    ----------
    bound
        So many stars every partition has at least: proved.
    complete
        Whether it went on until the bound was as near as asked.
    """

    problem: BranchProblem
    incumbent: Incumbent
    watch: SolverWatch
    gap: float
    bound: int = 0
    complete: bool = False
    relaxation: Relaxation = field(init=False, repr=False)
    separator: Separator = field(init=False, repr=False)
    settled: set[tuple[bytes, ...]] = field(default_factory=set, repr=False)

    def run(self) -> None:
        """Search until bound and best are as near as asked, or until it is stopped."""
        problem, seconds = self.problem, self.watch.left()
        program = Program.of(problem.types, problem.patterns, problem.asked)
        self.relaxation = Relaxation(program, self.watch.stop)
        self.separator = Separator(program, problem.types, problem.patterns, problem.limits)
        solved = self._cut(seconds * CUTTING)
        if solved.point is not None:
            self._look_near(self.relaxation.program, solved.point, seconds * NEAR)
            self._look_anywhere(program, seconds * ANYWHERE)
        self._branch(solved)
        self.incumbent.mend()
        self.complete = self._near_enough()

    def _near_enough(self) -> bool:
        return self.incumbent.stars - self.bound <= self.gap * self.incumbent.stars

    def _prove(self, bound: float) -> None:
        """What is proved stays so; stars are counted, so a bound goes up to the next integer."""
        self.bound = max(self.bound, min(up(bound), int(self.incumbent.stars)))
        self.watch.tell(self.incumbent.stars, self.bound)

    def _cut(self, seconds: float) -> SolvedProgram:
        """Solve the relaxation of all points, cut off what no partition does, and again, while that gains."""
        relaxation, until = self.relaxation, self.watch.left() - seconds
        given = known = len(relaxation.program.row_lower)
        best, bounds = SolvedProgram(None, -math.inf), [-math.inf] * PATIENCE
        while not self.watch.stop():
            solved = relaxation.solve(np.zeros(len(relaxation.program.cost)), relaxation.program.upper)
            if solved.point is None or solved.bound < best.bound - GAIN:  # these rows are more than the solver can bear
                relaxation.keep(np.arange(known))
                break
            best, known = solved, len(relaxation.program.row_lower)
            self._prove(solved.bound)
            bounds.append(solved.bound)
            if self._near_enough():
                break
            rows = list(self.separator.cut_off(solved.point))
            if not rows and self.watch.left() > until and bounds[-1] > bounds[-1 - PATIENCE] + GAIN:
                sums = relaxation.sums_of_rows(solved.point, MOST_SUMS)
                rows = list(Rounder.of(relaxation.program, solved.point).cuts(sums))
            if not rows:
                break
            relaxation.add(rows)
        if best.point is not None:
            relaxation.keep(self._tight_rows(given, best.point))
        return best

    def _tight_rows(self, given: int, point: Floats) -> Integers:
        """The first rows, and those after them that hold just so at a point: others only take time."""
        program = self.relaxation.program
        sums = program.sums(point)
        return np.flatnonzero((np.arange(len(sums)) < given) | (sums > program.row_upper - TIGHT))

    def _look_near(self, program: Program, point: Floats, seconds: float) -> None:
        """Let the solver search among points near this one and the best known, ever farther away."""
        self._offer(program, point)
        self.incumbent.mend()
        until = self.watch.left() - seconds
        shaved: dict[int, Fraction] = {}
        for window, nodes in WINDOWS:
            for _ in range(TRIES):
                if self._near_enough() or self.watch.stop() or self.watch.left() <= until:
                    return
                limits = SolverLimits(nodes, self.watch.left() - until, self.watch.stop)
                failing = self._search_window(self._shave(program, shaved), point, window, limits)
                if not failing:
                    break
                shaved |= {each: shaved.get(each, SHAVE) * 4 for each in failing}

    def _look_anywhere(self, program: Program, seconds: float) -> None:
        """Let the solver search among all points, in its own way."""
        if self._near_enough() or self.watch.stop():
            return
        until = self.watch.left() - seconds
        limits = SolverLimits(
            MANY_NODES, seconds, lambda: self.watch.stop() or self.watch.left() < until, presolve=True
        )
        start = self.incumbent.point(program, self.problem.patterns)
        found, _ = search_near(program, np.zeros(len(program.cost)), program.upper, start, limits)
        for each in found:
            self._offer(program, each)

    def _branch(self, solved: SolvedProgram) -> None:
        """Prove that nothing is better, or find it."""
        stop = self.watch.stop
        BranchTree(self.relaxation, self.incumbent, self._prove, lambda: self._near_enough() or stop()).search(solved)

    def _search_window(self, program: Program, point: Floats, window: int, limits: SolverLimits) -> list[int]:
        """Search so many rows around; the patterns come back that failed in the best point found, if it was better."""
        ends, start = [point], self.incumbent.point(program, self.problem.patterns)
        if start is not None and self.incumbent.stars <= 1.05 * self.bound:
            ends.append(np.concatenate([start, point[len(start) :]]))
        else:
            start = None
        low, high = np.floor(np.min(ends, axis=0) - window), np.ceil(np.max(ends, axis=0) + window)
        lower = np.where(program.whole, np.maximum(low, 0), 0)
        upper = np.where(program.whole, np.minimum(high, program.upper), program.upper)
        if (key := (lower.tobytes(), upper.tobytes(), program.values.tobytes())) in self.settled:
            return []
        failing: list[int] = []
        found, finished = search_near(program, lower, upper, start, limits)
        for each in found:
            failing = self._offer(program, each)
        if finished:
            self.settled.add(key)
        return failing

    def _shave(self, program: Program, shaved: dict[int, Fraction]) -> Program:
        """The same with a smaller t for some patterns: what the solver takes for close is then close."""
        if not shaved:
            return program
        problem = self.problem
        less = [shaved.get(each, Fraction(0)) for each in range(len(problem.patterns))]
        values = Program.of(problem.types, problem.patterns, problem.asked, less).values
        return replace(program, values=np.concatenate([values, program.values[len(values) :]]))

    def _offer(self, program: Program, point: Floats) -> list[int]:
        failing = self.incumbent.offer(program, point)
        self.watch.tell(self.incumbent.stars, self.bound)
        return failing
