"""The equal distance: any two different values are at distance 1 (001 equation 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tclose.distances.tree import Tree


@dataclass(frozen=True)
class Equal:
    """Any two values are 1 apart: the distance is half the sum of |p - q|.

    Examples
    --------
    >>> Equal().form(3).denominator
    2
    """

    name: ClassVar[str] = "equal"
    domain: ClassVar[None] = None

    def form(self, size: int) -> Tree:
        """The integer form over a domain of `size` values."""
        leaves = np.arange(1, size + 1, dtype=np.int32)
        parents = np.zeros(size + 1, np.int32)
        parents[0] = -1
        return Tree(leaves[:, None], parents, np.minimum(np.arange(size + 1), 1), 2)
