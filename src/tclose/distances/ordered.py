"""The ordered distance: steps between ranks (001 section 2.1, 004 section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tclose.distances.line import Line


@dataclass(frozen=True)
class Ordered:
    """Values are apart by steps of rank: |i - j| / (m - 1) for the i-th and the j-th of m values.

    Parameters
    ----------
    order
        The values from lowest to highest; None takes positions as they come.

    Examples
    --------
    >>> Ordered(["low", "middle", "high"]).form(3).span
    2
    """

    name: ClassVar[str] = "ordered"
    order: Sequence[Any] | None = None

    @property
    def domain(self) -> Sequence[Any] | None:
        """The values, if an order names them."""
        return self.order

    def form(self, size: int) -> Line:
        """The integer form over a domain of `size` values."""
        return Line(np.arange(size, dtype=np.int64), max(size - 1, 1))
