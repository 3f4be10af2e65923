"""An arbitrary metric, given as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from tclose.distances.transport_form import Transport
from tclose.schema.cost_matrix import CostMatrix


@dataclass(frozen=True, eq=False)
class Matrix:
    """Ground distances between all pairs of values, normalized so that the largest is 1.

    Parameters
    ----------
    costs
        Square and symmetric, zero on the diagonal only, obeying the triangle inequality. Entries
        are exact: integers, fractions, decimals, texts such as "1/3", and a float is the decimal
        it prints as.
    values
        The values of the rows, in order.

    Examples
    --------
    >>> import tclose
    >>> near = Matrix([[0, 0.1, 1], [0.1, 0, 1], [1, 1, 0]], ("cold", "flu", "rash"))
    >>> tclose.emd({"cold": 1}, {"cold": 1, "flu": 1, "rash": 1}, near)
    Fraction(11, 30)
    """

    name: ClassVar[str] = "matrix"
    costs: Any
    values: Sequence[str] | None = None
    _checked: CostMatrix = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_checked", CostMatrix.of(self.costs, self.values))

    @classmethod
    def read(cls, path: Path | str) -> Matrix:
        """Read a comma-separated file: first line and first column hold the values."""
        found = CostMatrix.read(path)
        return cls(found.costs, found.values)

    @property
    def domain(self) -> Sequence[str] | None:
        """The values, if they are named."""
        return self.values

    @property
    def size(self) -> int:
        """The number of values in the domain."""
        return len(self._checked.costs)

    def form(self, size: int) -> Transport:
        """The integer form over the rows of the matrix."""
        if size != self.size:
            raise ValueError("Both distributions must have one mass for each row of the matrix.")
        return Transport(*self._checked.whole)
