"""Ground distances between values, written down pair by pair: plain data, checked exactly to be a metric."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import lcm
from numbers import Rational
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.errors import SchemaError
from tclose.schema.guarding import guarded, read_small

CostRows = tuple[tuple[Fraction, ...], ...]
LARGEST = 2**50  # of the common denominator: sums of entries then fit 64 bits
LONGEST_EXPONENT = 1000
NOT_NUMBERS = (
    "A distance matrix must be rows of numbers, all of the same length: decimals such as 0.25, or fractions such as "
    '"1/3".'
)


@dataclass(frozen=True)
class CostMatrix:
    """How far each value is from each other, as fractions, the largest of them 1.

    It must be a metric: square and symmetric, zero on the diagonal only, and no way shorter by a
    detour. All of it is checked exactly, so decimals that were rounded may break it: rounding all
    entries up keeps a metric one, for ceil(a + b) <= ceil(a) + ceil(b).

    Attributes
    ----------
    values
        The values of the rows, in order.
    costs
        One row a value.
    source
        The file it was read from.

    Examples
    --------
    >>> CostMatrix.of([[0, 0.1], ["0.1", 0]], ("a", "b"))
    Traceback (most recent call last):
        ...
    tclose.errors.SchemaError: A distance matrix must be a normalized metric; this one is not normalized: its largest \
entry must be 1, so divide all by it.
    >>> CostMatrix.of([["0", "1/3", "1"], ["1/3", 0, 0.75], [1, 0.75, 0]], ("a", "b", "c")).costs[1]
    (Fraction(1, 3), Fraction(0, 1), Fraction(3, 4))
    """

    values: tuple[str, ...]
    costs: CostRows
    source: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        problem = _shape_problem(self.costs) or self._metric_problem()
        if problem:
            raise _refusal(problem)
        if len(self.values) != len(self.costs) or len(set(self.values)) != len(self.costs):
            raise SchemaError("A distance matrix needs exactly one distinct value for each of its rows.")

    @classmethod
    def of(cls, costs: Any, values: Iterable[str] | None = None, source: str | None = None) -> CostMatrix:
        """From rows of numbers of any type, each taken as the decimal or fraction it is written as.

        Without `values` the rows are numbered.
        """
        rows = _exact_rows(costs)
        names = map(str, range(1, len(rows) + 1)) if values is None else values
        return cls(tuple(names), rows, source)

    @classmethod
    def read(cls, path: Path | str, source: str | None = None) -> CostMatrix:
        """Read a comma-separated file: first line and first column hold the values."""
        path = Path(path)
        return cls.of_text(read_small(path, "Matrix file"), f"Matrix file '{path.name}'", source or str(path))

    @classmethod
    def of_text(cls, text: str, name: str = "Matrix", source: str | None = None) -> CostMatrix:
        """From comma-separated text: first line and first column hold the values. Messages call it `name`.

        Examples
        --------
        >>> CostMatrix.of_text(",flu,cold\\nflu,0,1\\ncold,1,0\\n").values
        ('flu', 'cold')
        """
        problem = f"{name} is not readable as comma-separated text"
        lines = guarded(problem, lambda: [line for line in csv.reader(io.StringIO(text)) if line], SchemaError)
        if len(lines) < 2 or [line[0] for line in lines[1:]] != lines[0][1:]:
            raise SchemaError(f"{name}: the first line and the first column must name the values.")
        try:
            return cls.of([line[1:] for line in lines[1:]], lines[0][1:], source)
        except SchemaError as error:
            raise SchemaError(f"{name}: {error}") from None

    @cached_property
    def whole(self) -> tuple[NDArray[np.int64], int]:
        """The same in whole numbers, and what to divide them by."""
        common = lcm(*{cost.denominator for row in self.costs for cost in row})
        over = [[cost.numerator * (common // cost.denominator) for cost in row] for row in self.costs]
        return np.array(over, np.int64), common

    def _metric_problem(self) -> str | None:
        """What keeps square rows from being a normalized metric."""
        if self._is_too_fine():
            return (
                f"has entries without a common denominator below {LARGEST:.1e}, as exact arithmetic needs. Round all "
                "of them up to, say, six decimals: rounded up alike, a metric stays one"
            )
        costs = self.whole[0]
        for middle in range(len(costs)):
            broken = np.argwhere(costs[:, middle, None] + costs[None, middle, :] < costs)
            if len(broken):
                start, end = (broken[0] + 1).tolist()
                return (
                    f"breaks the triangle inequality: row {start} is farther from row {end} than by a detour over row "
                    f"{middle + 1}. Make that entry smaller, or those of the detour larger. If only rounding broke it, "
                    "round all entries up, to the same number of decimals: then a metric stays one"
                )
        return None

    def _is_too_fine(self) -> bool:
        common = 1
        for under in {cost.denominator for row in self.costs for cost in row}:
            common = lcm(common, under)
            if common >= LARGEST:
                return True
        return False


def _shape_problem(costs: CostRows) -> str | None:
    """What is wrong before any detour is looked at."""
    size = len(costs)
    if not size or any(len(row) != size for row in costs):
        return "is not square"
    if any(row[i] != 0 or min(row[:i] + row[i + 1 :], default=1) <= 0 for i, row in enumerate(costs)):
        return "must be zero on the diagonal and positive elsewhere"
    if any(row[j] != costs[j][i] for i, row in enumerate(costs) for j in range(i)):
        return "is not symmetric"
    if size > 1 and max(map(max, costs)) != 1:
        return "is not normalized: its largest entry must be 1, so divide all by it"
    return None


def _exact_rows(given: Any) -> CostRows:
    """Rows of fractions."""
    try:
        rows = list(given if isinstance(given, list | tuple) else np.asarray(given))
        if not all(isinstance(row, Sequence | np.ndarray) and not isinstance(row, str) for row in rows):
            raise _refusal("is not square")
        found = tuple(tuple(map(_exact, row)) for row in rows)
    except (TypeError, ValueError, ArithmeticError):
        raise SchemaError(NOT_NUMBERS) from None
    if len({len(row) for row in found}) > 1:
        raise SchemaError(NOT_NUMBERS)
    return found


def _exact(given: Any) -> Fraction:
    """The number as it is written: a float is the decimal it prints as."""
    if isinstance(given, bool | np.bool_):
        raise ValueError
    if isinstance(given, Rational | np.integer):
        return Fraction(int(given)) if isinstance(given, np.integer) else Fraction(given)
    text = str(given)
    if "/" in text:
        return Fraction(text)
    number = Decimal(text)
    if not number.is_finite():
        raise _refusal("has entries that are not finite")
    if abs(number.adjusted()) > LONGEST_EXPONENT:
        raise ValueError
    return Fraction(number)


def _refusal(problem: str) -> SchemaError:
    return SchemaError(f"A distance matrix must be a normalized metric; this one {problem}.")
