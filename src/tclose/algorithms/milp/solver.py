"""HiGHS, which solves the linear programs; what it says is proved, or not believed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tclose.algorithms.highs import load
from tclose.algorithms.milp.patterns import Integers
from tclose.algorithms.milp.program import Floats, Program

UNIT = 2.0**-52
LONG = 2_000  # columns; fewer are solved before anyone could stop it
BELOW_ONE = 0.999  # costs are whole: what is nearer than 1 is optimal


@dataclass(frozen=True)
class SolverLimits:
    """When the solver's own search is to end: after so many nodes or seconds, or when `stop` says so.

    With `presolve` it finds better points where it has seconds, and fewer where it has not.
    """

    nodes: int
    seconds: float
    stop: Callable[[], bool]
    presolve: bool = False


@dataclass(frozen=True, eq=False)
class SolvedProgram:
    """What a linear program came to.

    Attributes
    ----------
    point
        Its optimum, as far as the solver can tell; None if it found none.
    bound
        No point costs less: infinite if there is none. This is proved.
    """

    point: Floats | None
    bound: float


@dataclass(eq=False)
class Relaxation:
    """A program without its integers, solved again and again within other bounds, each time from where it stood.

    The solver's multipliers y prove a bound whatever they are (weak duality): for every x within
    bounds and rows,

        cost x = y (A x) + (cost - y A) x >= sum over rows of min y_i b_i + sum over columns of min r_j x_j

    with r = cost - y A, b_i and x_j taken from their ranges. All are floats: coefficients are
    exact numbers rounded once, and a sum of so many terms is off by at most (terms + 8) 2^-52 times
    the sum of their sizes, which is taken off. The multipliers of infeasibility prove in the same
    way, without the cost, that there is no x at all.
    """

    program: Program
    stop: Callable[[], bool] = lambda: False
    _solver: Any = field(init=False, repr=False)
    _status: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        highspy = load("milp")
        self._status = highspy.HighsModelStatus
        self._solver = _loaded(highspy, self.program)
        if len(self.program.cost) > LONG:
            self._solver.cbSimplexInterrupt += _interrupting(self.stop)
        self._measure()

    def add(self, rows: Sequence[tuple[Integers, Floats, float]]) -> None:
        """More rows, which what was solved before need not meet."""
        begin = len(self.program.columns)
        self.program = self.program.with_rows(rows)
        starts = self.program.starts[-len(rows) - 1 : -1] - begin
        columns, values = self.program.columns[begin:], self.program.values[begin:]
        self._solver.addRows(
            len(rows), np.full(len(rows), -np.inf), self.program.row_upper[-len(rows) :], len(columns),
            starts.astype(np.int32), columns.astype(np.int32), values,
        )  # fmt: skip
        self._measure()

    def keep(self, rows: Integers) -> None:
        """These rows only, in the order they stand."""
        gone = np.setdiff1d(np.arange(len(self.program.row_lower)), rows)
        self.program = self.program.take_rows(rows)
        self._solver.deleteRows(len(gone), gone.astype(np.int32))
        self._measure()

    def sums_of_rows(self, point: Floats, most: int) -> list[Floats]:
        """How often each exact row is to be added for a sum in which a column that is not whole stands alone.

        They are read off the basis that the last program ended with, at this point; those of the
        columns farthest from whole.
        """
        _, basic = self._solver.getBasicVariables()
        places = np.flatnonzero(np.array(basic) >= 0)
        columns = np.array(basic)[places]
        away = np.where(self.program.whole[columns], abs(point[columns] - np.rint(point[columns])), 0.0)
        order = np.argsort(-away, kind="stable")[:most]
        sums = [np.array(self._solver.getBasisInverseRow(int(each))[1]) for each in places[order[away[order] > 1e-3]]]
        return [np.where(self.program.exact & (abs(each) > 1e-9), each, 0.0) for each in sums]

    def _measure(self) -> None:
        """How long the sums are."""
        longest = np.bincount(self.program.columns, minlength=1).max()
        terms = int(longest) + len(self.program.cost) + len(self.program.row_lower)
        self._doubt = (terms + 8) * UNIT

    def solve(self, lower: Floats, upper: Floats) -> SolvedProgram:
        """The optimum with the columns between these bounds."""
        solver, columns = self._solver, np.arange(len(lower), dtype=np.int32)
        solver.changeColsBounds(len(lower), columns, lower, upper)
        solver.run()
        status = solver.getModelStatus()
        if status == self._status.kOptimal:
            solution = solver.getSolution()
            bound = self.bound(np.array(solution.row_dual), self.program.cost, lower, upper)
            return SolvedProgram(np.array(solution.col_value), bound)
        if status == self._status.kInfeasible:
            _, has_ray, ray = solver.getDualRay()
            if has_ray:
                for y in (np.array(ray), -np.array(ray)):
                    if self.bound(y, np.zeros(len(lower)), lower, upper) > 0:
                        return SolvedProgram(None, math.inf)
        return SolvedProgram(None, -math.inf)

    def bound(self, y: Floats, cost: Floats, lower: Floats, upper: Floats) -> float:
        """What these multipliers prove of all points within these bounds."""
        program = self.program
        y = np.where((y > 0) & np.isneginf(program.row_lower) | (y < 0) & np.isposinf(program.row_upper), 0.0, y)
        ends = np.where(y > 0, program.row_lower, np.where(y < 0, program.row_upper, 0.0))
        products = program.values * y[program.row_of]
        reduced = cost - np.bincount(program.columns, products, minlength=len(cost))
        sizes = abs(cost) + np.bincount(program.columns, abs(products), minlength=len(cost))
        least = np.where(reduced > 0, reduced * lower, reduced * upper)
        total = float((y * ends).sum() + least.sum())
        spread = float((abs(y) * abs(ends)).sum() + (sizes * upper).sum())
        return total - self._doubt * spread


def search_near(
    program: Program, lower: Floats, upper: Floats, start: Floats | None, limits: SolverLimits
) -> tuple[list[Floats], bool]:
    """Whole points between these bounds, the best last, as its own search finds them; and whether it finished.

    Nothing it says of bounds or infeasibility is believed: version 1.15 was seen to call programs
    infeasible, and whole tables of stars optimal, of which better points are known.
    """
    highspy = load("milp")
    solver = _loaded(highspy, program.scaled())
    every, whole = np.arange(len(lower), dtype=np.int32), np.flatnonzero(program.whole).astype(np.int32)
    solver.changeColsBounds(len(lower), every, lower, upper)
    solver.changeColsIntegrality(len(whole), whole, [highspy.HighsVarType.kInteger] * len(whole))
    solver.setOptionValue("presolve", "on" if limits.presolve else "off")
    options = {"solver": "choose", "mip_abs_gap": BELOW_ONE, "mip_rel_gap": 0.0, "mip_max_nodes": limits.nodes}
    for name, value in (options | {"time_limit": max(limits.seconds, 0.0)}).items():
        solver.setOptionValue(name, value)
    found: list[Floats] = []

    def improved(event: Any) -> None:
        found.append(np.array(event.data_out.mip_solution))

    solver.cbMipImprovingSolution += improved
    solver.cbMipInterrupt += _interrupting(limits.stop)
    solver.cbSimplexInterrupt += _interrupting(limits.stop)
    if start is not None:
        solver.setSolution(len(start), every[: len(start)], start)
    solver.run()
    return found, solver.getModelStatus() in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInfeasible)


def _interrupting(stop: Callable[[], bool]) -> Callable[[Any], None]:
    """What the solver calls now and then."""

    def interrupt(event: Any) -> None:
        if stop():
            event.interrupt()

    return interrupt


def _loaded(highspy: Any, program: Program) -> Any:
    """A silent solver with the program in it, on one thread: the same program gives the same answer."""
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(program.cost), len(program.row_lower)
    model.col_cost_, model.col_lower_, model.col_upper_ = program.cost, np.zeros(len(program.cost)), program.upper
    model.row_lower_, model.row_upper_ = program.row_lower, program.row_upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = program.starts.astype(np.int32)
    model.a_matrix_.index_ = program.columns.astype(np.int32)
    model.a_matrix_.value_ = program.values
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("presolve", "off")
    solver.setOptionValue("solver", "simplex")
    solver.passModel(model)
    return solver
