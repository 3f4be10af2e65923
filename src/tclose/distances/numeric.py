"""The numeric distance: |x - y| over the range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tclose.distances.line import Line
from tclose.schema.decimals import Decimals, as_decimal


@dataclass(frozen=True)
class Numeric:
    """Numbers are apart by their difference: |x - y| / (highest - lowest), with decimals taken as written.

    Parameters
    ----------
    values
        The domain, ascending.
    range
        Lowest and highest value, if they are not the first and last of `values`.

    Examples
    --------
    >>> Numeric([0.5, 1, 3]).form(3).positions.tolist()
    [5, 10, 30]
    """

    name: ClassVar[str] = "numeric"
    values: Sequence[Any]
    range: tuple[Any, Any] | None = None

    @property
    def domain(self) -> Sequence[Any]:
        """The values."""
        return self.values

    def form(self, size: int) -> Line:
        """The integer form; `size` is the number of values."""
        low, high = self.range if self.range is not None else (self.values[0], self.values[-1])
        # The range is scaled along with the values, so that all share one power of ten.
        numbers = Decimals.of([as_decimal(each) for each in (*self.values, low, high)]).integers
        positions = numbers[:-2]
        if (np.diff(positions) <= 0).any():
            raise ValueError("The values of a numeric distance must be ascending and distinct.")
        if size and (positions[0] < numbers[-2] or positions[-1] > numbers[-1]):
            raise ValueError("The values of a numeric distance must lie within its range.")
        return Line(positions, max(int(numbers[-1] - numbers[-2]), 1))
