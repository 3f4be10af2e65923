"""Branch and bound with proved bounds: points are parted at a column that is not whole, until none is better."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.milp.incumbent import Incumbent
from tclose.algorithms.milp.program import Floats
from tclose.algorithms.milp.solver import Relaxation, SolvedProgram

WHOLE = 1e-6  # what is nearer to an integer counts as one
MANY = 2**62
RELIABLE = 4  # times that a column was parted before what it gained is believed
LOOKS = 8  # columns in a row that promise less than the best so far, before that is taken
LEAST_GAIN = 1e-6


class BranchStep(NamedTuple):
    """One side of a column, and the steps before: at most this value (side 0), or at least (side 1)."""

    column: int
    side: int
    value: int
    before: BranchStep | None


@dataclass(order=True)
class BranchNode:
    """A part of all points. Fewest stars first, then the newest.

    Attributes
    ----------
    stars
        So many every point of it has at least.
    age
        Less for the newer.
    bound
        What its relaxation came to.
    path
        How it was parted from all points; None for all.
    columns, values
        Where it can be parted: columns that are not whole in its relaxation, and what they are there.
    """

    stars: int
    age: int
    bound: float = field(compare=False)
    path: BranchStep | None = field(compare=False)
    columns: NDArray[np.intp] = field(compare=False)
    values: Floats = field(compare=False)


@dataclass(eq=False)
class BranchTree:
    """One search.

    Attributes
    ----------
    relaxation, incumbent
        The program, and the best found.
    prove
        Is told what every partition has at least.
    stop
        Whether to end.
    """

    relaxation: Relaxation
    incumbent: Incumbent
    prove: Callable[[float], None]
    stop: Callable[[], bool]

    def __post_init__(self) -> None:
        self.program = self.relaxation.program
        self.gains = BranchGains.of(len(self.program.cost))
        self.newest = 0

    def search(self, solved: SolvedProgram) -> None:
        """The part of least bound is parted, from all points on, of which the relaxation is this."""
        whole = self._node(None, solved, 0, -math.inf)
        open_ = [] if whole is None else [whole]
        while open_:
            node = heapq.heappop(open_)
            self.prove(node.stars)
            if self.stop():
                return
            if node.stars >= self.incumbent.stars:
                break
            for child in self._part(node):
                heapq.heappush(open_, child)
        self.prove(math.inf)

    def _limits(self, path: BranchStep | None) -> tuple[Floats, Floats]:
        """The bounds of all columns after these steps."""
        lower, upper = np.zeros(len(self.program.cost)), self.program.upper.copy()
        while path is not None:
            if path.side:
                lower[path.column] = max(lower[path.column], path.value)
            else:
                upper[path.column] = min(upper[path.column], path.value)
            path = path.before
        return lower, upper

    def _node(self, path: BranchStep | None, solved: SolvedProgram, stars: int, bound: float) -> BranchNode | None:
        """A part with this relaxation; None if it has nothing better, or is a single point, which is then offered."""
        bound = max(bound, solved.bound)
        stars = max(stars, up(bound))
        if stars >= self.incumbent.stars:
            return None
        if solved.point is not None:
            away = np.where(self.program.whole, abs(solved.point - np.rint(solved.point)), 0.0)
            columns = np.flatnonzero(away > WHOLE)
            values = solved.point[columns]
        if solved.point is None or not len(columns):
            # The solver has no point, or one that is whole within its tolerance, and may not hold: part anywhere.
            lower, upper = self._limits(path)
            point = (lower + upper) / 2 if solved.point is None else solved.point
            free = np.flatnonzero(self.program.whole & (lower < upper))[:1]
            if solved.point is not None or not len(free):
                self.incumbent.offer(self.program, point)
            if not len(free) or stars >= self.incumbent.stars:
                return None
            columns, values = free, np.minimum(np.floor(point[free]), upper[free] - 1) + 0.5
        self.newest -= 1
        return BranchNode(stars, self.newest, bound, path, columns, values)

    def _part(self, node: BranchNode) -> list[BranchNode]:
        """The two parts of a node, at the column that promises most; without those that have nothing better.

        Of columns that were rarely parted before, both parts are solved to see what they gain. If
        it is stopped, the node comes back.
        """
        promises = self.gains.promises(node.columns, node.values)
        best, parts, at, worse = -1.0, None, 0, 0
        for place in np.argsort(-promises, kind="stable").tolist():
            promise, tried = float(promises[place]), None
            if not self.gains.known(int(node.columns[place])):
                tried = self._solve(node, place)
                if tried is None:
                    return [node]
                promise = math.prod(max(self._gain(node, each), LEAST_GAIN) for _, each in tried)
            worse += 1
            if promise > best:
                best, parts, at, worse = promise, tried, place, 0
            if worse > LOOKS:
                break
        parts = parts or self._solve(node, at)
        if parts is None:
            return [node]
        found = (self._node(path, solved, node.stars, node.bound) for path, solved in parts)
        return [child for child in found if child is not None]

    def _gain(self, node: BranchNode, solved: SolvedProgram) -> float:
        return min(solved.bound, float(self.incumbent.stars)) - node.bound if math.isfinite(node.bound) else 0.0

    def _solve(self, node: BranchNode, place: int) -> list[tuple[BranchStep, SolvedProgram]] | None:
        """Both parts at a column, solved; None if it was stopped."""
        column, value = int(node.columns[place]), float(node.values[place])
        down, parts = math.floor(value), []
        for side, end in enumerate((down, down + 1)):
            if self.stop():
                return None
            step = BranchStep(column, side, end, node.path)
            solved = self.relaxation.solve(*self._limits(step))
            self.gains.learn(column, side, abs(end - value), solved.bound - node.bound)
            parts.append((step, solved))
        return parts


@dataclass(frozen=True, eq=False)
class BranchGains:
    """How much the bound rose for every unit by which a column was moved, down and up: summed, and how often."""

    sums: Floats
    times: Floats

    @classmethod
    def of(cls, n_columns: int) -> BranchGains:
        """Nothing is known yet."""
        return cls(np.zeros((2, n_columns)), np.zeros((2, n_columns)))

    def learn(self, column: int, side: int, step: float, gain: float) -> None:
        """Remember what a bound gained."""
        if math.isfinite(gain):
            self.sums[side, column] += max(gain, 0.0) / step
            self.times[side, column] += 1

    def known(self, column: int) -> bool:
        """Whether it was parted often enough."""
        return bool(self.times[:, column].min() >= RELIABLE)

    def promises(self, columns: NDArray[np.intp], values: Floats) -> Floats:
        """What parting these columns promises: the gain of both sides, multiplied. Those never parted are average."""
        mean = self.sums.sum(axis=1) / np.maximum(self.times.sum(axis=1), 1.0)
        times = self.times[:, columns]
        each = np.where(times > 0, self.sums[:, columns] / np.maximum(times, 1.0), mean[:, None])
        part = values - np.floor(values)
        both: Floats = np.maximum(each * np.stack([part, 1 - part]), LEAST_GAIN).prod(axis=0)
        return both


def up(bound: float) -> int:
    """Stars are counted: what is not below a bound is not below the next integer."""
    if math.isinf(bound):
        return MANY if bound > 0 else 0
    return max(math.ceil(bound), 0)
