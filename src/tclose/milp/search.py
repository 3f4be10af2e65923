"""The search for the optimum: cuts, the solver's own search nearby, then branch and bound with proved bounds."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from tclose.milp.classes import Book
from tclose.milp.cuts import Lid, Separator
from tclose.milp.patterns import Flags, Patterns, Types
from tclose.milp.program import Asked, Floats, Program
from tclose.milp.solver import Limits, Relaxation, Solved, search_near

WHOLE = 1e-6  # what is nearer to an integer counts as one
ROUNDS, ROUNDS_LATER = 60, 4  # of cuts: for all points, and for a part of them
# Rows by which the solver's own search may leave the optimum of the relaxation, and its most nodes.
WINDOWS = ((1, 1_000), (3, 1_000), (8, 1_000), (3, 30_000), (8, 30_000))
TRIES = 3  # with a smaller t each, where its points are not close
SHAVE = Fraction(1, 4 * 10**9)
MANY = 2**62


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be solved."""

    types: Types
    patterns: Patterns
    asked: Asked
    lids: list[Lid]


@dataclass(frozen=True)
class Watch:
    """Whether to stop, how many seconds are left, and who is told of stars: fewest found, and proved bound."""

    stop: Callable[[], bool]
    left: Callable[[], float]
    tell: Callable[[float, float], None]


@dataclass(order=True)
class Node:
    """A part of all points: those between bounds. Fewest stars first, then the newest.

    Attributes
    ----------
    stars
        So many every point of it has at least.
    age
        Less for the newer.
    lower, upper
        Of the columns.
    bound, column, side, step
        What its parent's relaxation came to, and where it was parted from it: up or down, and how far.
    """

    stars: int
    age: int
    lower: Floats = field(compare=False)
    upper: Floats = field(compare=False)
    bound: float = field(default=0.0, compare=False)
    column: int = field(default=0, compare=False)
    side: int = field(default=0, compare=False)
    step: float = field(default=math.inf, compare=False)


@dataclass(eq=False)
class Search:
    """One run.

    Attributes
    ----------
    bound
        So many stars every partition has at least: proved.
    complete
        Whether it went on until the bound was as near as asked.
    """

    problem: Problem
    book: Book
    watch: Watch
    gap: float
    bound: int = 0
    complete: bool = False
    relaxation: Relaxation = field(init=False, repr=False)
    separator: Separator = field(init=False, repr=False)
    settled: set[tuple[bytes, ...]] = field(default_factory=set, repr=False)

    def run(self) -> None:
        """Search until bound and best are as near as asked, or until it is stopped."""
        problem = self.problem
        program = Program.of(problem.types, problem.patterns, problem.asked)
        self.relaxation = Relaxation(program, self.watch.stop)
        self.separator = Separator(program, problem.types, problem.patterns, problem.lids)
        whole = Node(0, 0, np.zeros(len(program.cost)), program.upper)
        solved = self._cut(whole, ROUNDS)
        self._prove(solved.bound)
        if solved.point is not None:
            self._look_near(self.relaxation.program, solved.point)
        self._branch(whole)
        self.book.mend()
        self.complete = self._near_enough()

    def _near_enough(self) -> bool:
        return self.book.stars - self.bound <= self.gap * self.book.stars

    def _prove(self, bound: float) -> None:
        """What is proved stays so; stars are counted, so a bound goes up to the next integer."""
        self.bound = max(self.bound, min(up(bound), int(self.book.stars)))
        self.watch.tell(self.book.stars, self.bound)

    def _cut(self, node: Node, rounds: int) -> Solved:
        """Solve the relaxation of a node, cut off what no partition does, and again."""
        solved = Solved(None, -math.inf)
        for _ in range(rounds):
            if self.watch.stop():
                break
            solved = self.relaxation.solve(node.lower, node.upper)
            if solved.point is None or up(solved.bound) >= self.book.stars:
                break
            rows = list(self.separator.cut_off(solved.point))
            if not rows:
                break
            self.relaxation.add(rows)
        return solved

    def _look_near(self, program: Program, point: Floats) -> None:
        """Let the solver search among points near this one and the best known, ever farther away."""
        self._offer(program, point)
        shaved: dict[int, Fraction] = {}
        for window, nodes in WINDOWS:
            for _ in range(TRIES):
                if self._near_enough() or self.watch.stop():
                    return
                failing = self._search_window(self._shave(program, shaved), point, window, nodes)
                if not failing:
                    break
                shaved |= {each: shaved.get(each, SHAVE) * 4 for each in failing}

    def _search_window(self, program: Program, point: Floats, window: int, nodes: int) -> list[int]:
        """Search so many rows around; the patterns come back that failed in the best point found, if it was better."""
        ends, start = [point], self.book.point(program, self.problem.patterns)
        if start is not None and self.book.stars <= 1.05 * self.bound:
            ends.append(np.concatenate([start, point[len(start) :]]))
        else:
            start = None
        low, high = np.floor(np.min(ends, axis=0) - window), np.ceil(np.max(ends, axis=0) + window)
        lower = np.where(program.whole, np.maximum(low, 0), 0)
        upper = np.where(program.whole, np.minimum(high, program.upper), program.upper)
        if (key := (lower.tobytes(), upper.tobytes(), program.values.tobytes())) in self.settled:
            return []
        failing: list[int] = []
        found, finished = search_near(
            program, lower, upper, start, Limits(nodes, self.watch.left() / 4, self.watch.stop)
        )
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
        failing = self.book.offer(program, point)
        self.watch.tell(self.book.stars, self.bound)
        return failing

    def _branch(self, whole: Node) -> None:
        """Branch and bound: the part of least bound is parted at a column that is not whole."""
        program, open_ = self.relaxation.program, [whole]
        gains = Gains.of(program)
        newest = 0
        while open_:
            node = heapq.heappop(open_)
            self._prove(node.stars)
            if self._near_enough() or self.watch.stop():
                return
            solved = self._cut(node, ROUNDS_LATER)
            gains.learn(node, solved.bound)
            if up(solved.bound) >= self.book.stars:
                continue
            for child in self._part(program, node, solved, gains):
                newest -= 1
                child.age = newest
                heapq.heappush(open_, child)
        self._prove(math.inf)

    def _part(self, program: Program, node: Node, solved: Solved, gains: Gains) -> list[Node]:
        """The two parts of a node; none if it is a single point, which has then been offered."""
        free = program.whole & (node.lower < node.upper)
        point = (node.lower + node.upper) / 2 if solved.point is None else solved.point
        away = np.where(free, abs(point - np.rint(point)), 0.0)
        if away.max(initial=0.0) > WHOLE:
            column = gains.choose(point, away > WHOLE)
            value = math.floor(point[column])
        else:
            if solved.point is not None or not free.any():
                self._offer(program, point)
            if not free.any() or max(node.stars, up(solved.bound)) >= self.book.stars:
                return []
            # The solver has no point, or one that is whole within its tolerance and still did not hold: part anywhere.
            column = int(np.flatnonzero(free)[0])
            value = min(round(point[column]), int(node.upper[column]) - 1)
        stars, bound = max(node.stars, up(solved.bound)), max(node.bound, solved.bound)
        down = Node(stars, 0, node.lower, node.upper.copy(), bound, column, 0, float(point[column] - value))
        above = Node(stars, 0, node.lower.copy(), node.upper, bound, column, 1, float(value + 1 - point[column]))
        down.upper[column], above.lower[column] = value, value + 1
        return [down, above]


@dataclass(frozen=True, eq=False)
class Gains:
    """How much the bound rose for every unit by which a column was moved, down and up: summed, and how often."""

    sums: Floats
    times: Floats

    @classmethod
    def of(cls, program: Program) -> Gains:
        """Nothing is known yet."""
        return cls(np.ones((2, len(program.cost))), np.ones((2, len(program.cost))))

    def learn(self, node: Node, bound: float) -> None:
        """Remember what a node's bound gained on its parent's."""
        if math.isfinite(bound) and math.isfinite(node.step) and node.step > WHOLE:
            self.sums[node.side, node.column] += max(bound - node.bound, 0.0) / node.step
            self.times[node.side, node.column] += 1

    def choose(self, point: Floats, open_: Flags) -> int:
        """The column, of those open, for which both sides promise most."""
        columns = np.flatnonzero(open_)
        part = point[columns] - np.floor(point[columns])
        down, above = self.sums[:, columns] / self.times[:, columns] * np.stack([part, 1 - part])
        return int(columns[np.argmax(np.maximum(down, 1e-6) * np.maximum(above, 1e-6))])


def up(bound: float) -> int:
    """Stars are counted: what is not below a bound is not below the next integer."""
    if math.isinf(bound):
        return MANY if bound > 0 else 0
    return max(math.ceil(bound), 0)
