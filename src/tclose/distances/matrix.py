"""An arbitrary metric, given as a matrix; the one distance that is not exact."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tclose.errors import MissingExtraError, SchemaError, TcloseError

TOLERANCE = 1e-12
GAP = 1e-9


@dataclass(frozen=True, eq=False)
class Matrix:
    """Ground distances between all pairs of values, normalized so that the largest is 1.

    The distance of two distributions is found by a network simplex (POT) and its optimality
    checked against the dual. What `emd` returns is the work of a plan that exists plus all
    that rounding may have hidden, so it is never below the true distance: doubt rejects.

    Parameters
    ----------
    costs
        Square and symmetric, zero on the diagonal only, obeying the triangle inequality.
    values
        The values of the rows, in order.

    Examples
    --------
    >>> Matrix([[0, 1], [1, 0]]).size
    2
    """

    name: ClassVar[str] = "matrix"
    costs: Any
    values: Sequence[str] | None = None
    source: str | None = None
    _costs: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        try:
            costs = np.array(self.costs, np.float64)
        except (TypeError, ValueError, OverflowError):
            raise SchemaError("A distance matrix must be rows of numbers, all of the same length.") from None
        _check_metric(costs)
        if self.values is not None and (len(self.values) != len(costs) or len(set(self.values)) != len(costs)):
            raise SchemaError("A distance matrix needs exactly one distinct value for each of its rows.")
        object.__setattr__(self, "_costs", costs)

    @classmethod
    def read(cls, path: Path | str, source: str | None = None) -> Matrix:
        """Read a comma-separated file: first line and first column hold the values."""
        path = Path(path)
        try:
            lines = [line for line in csv.reader(io.StringIO(path.read_text("utf-8-sig"))) if line]
        except (OSError, ValueError, csv.Error):
            raise SchemaError(f"Matrix file '{path}' cannot be read as UTF-8 text.") from None
        if len(lines) < 2 or [line[0] for line in lines[1:]] != lines[0][1:]:
            raise SchemaError(f"Matrix file '{path.name}': the first line and the first column must name the values.")
        try:
            return cls([line[1:] for line in lines[1:]], tuple(lines[0][1:]), source or str(path))
        except SchemaError as error:
            raise SchemaError(f"Matrix file '{path.name}': {error}") from None

    @property
    def domain(self) -> Sequence[str] | None:
        """The values, if they are named."""
        return self.values

    @property
    def distances(self) -> NDArray[np.float64]:
        """The distance of each value from each other."""
        return self._costs

    @property
    def size(self) -> int:
        """The number of values in the domain."""
        return len(self._costs)

    def form(self, size: int) -> Matrix:
        """The matrix itself: it has no integer form."""
        if size != self.size:
            raise ValueError("Both distributions must have one mass for each row of the matrix.")
        return self

    def emd(self, p: Sequence[Fraction], q: Sequence[Fraction]) -> float:
        """Not below the distance of two normalized distributions, and at most 1e-9 above it."""
        left, right = np.array([float(x) for x in p]), np.array([float(x) for x in q])
        plan, lower = self._solve(left, right)
        # Mass that the plan misplaces by rounding travels at most distance 1.
        stray = np.abs(plan.sum(1) - left).sum() + np.abs(plan.sum(0) - right).sum()
        work = float((plan * self._costs).sum())
        upper = work + float(stray) + TOLERANCE
        if not math.isfinite(upper) or upper - lower > GAP:
            raise TcloseError("The transport solver did not reach the optimum; the distance is not known.")
        return 0.0 if list(p) == list(q) else min(upper, 1.0)

    def moves(self, p: Sequence[Fraction], q: Sequence[Fraction]) -> list[tuple[int, int, Fraction]]:
        """The plan behind `emd`, without what stays where it is."""
        plan, _ = self._solve(np.array([float(x) for x in p]), np.array([float(x) for x in q]))
        pairs = zip(*np.nonzero(plan), strict=True)
        return [(int(i), int(j), Fraction(float(plan[i, j]))) for i, j in pairs if i != j]

    def _solve(self, p: NDArray[np.float64], q: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """An optimal plan, and a lower bound on its work from a feasible dual."""
        try:
            import ot
        except ImportError:
            raise MissingExtraError("POT", "matrix", "A distance given as a matrix") from None
        p, q = p / p.sum(), q / q.sum()
        plan, log = ot.emd(p, q, self._costs, log=True, numItermax=10_000_000)
        # For a metric, u_j = min_i (c_ij - v_i) repairs any infeasibility of the reported dual.
        left = np.asarray(log["u"], np.float64)
        right = (self._costs - left[:, None]).min(axis=0)
        return np.asarray(plan, np.float64), float(left @ p + right @ q)


def _check_metric(costs: NDArray[np.float64]) -> None:
    problem = None
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or not len(costs):
        problem = "is not square"
    elif not np.isfinite(costs).all():
        problem = "has entries that are not finite"
    elif np.diagonal(costs).any() or (costs + np.eye(len(costs)) <= 0).any():
        problem = "must be zero on the diagonal and positive elsewhere"
    elif (costs != costs.T).any():
        problem = "is not symmetric"
    elif len(costs) > 1 and abs(costs.max() - 1) > TOLERANCE:
        problem = "is not normalized: its largest entry must be 1, so divide all by it"
    else:
        for middle in range(len(costs)):
            if (costs[:, middle, None] + costs[None, middle, :] < costs - TOLERANCE).any():
                problem = f"breaks the triangle inequality by a detour over row {middle + 1}"
                break
    if problem:
        raise SchemaError(f"A distance matrix must be a normalized metric; this one {problem}.")
