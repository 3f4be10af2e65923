"""Distances along a line: the ordered and the numeric one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Line:
    """Values at integer positions on a line; |x - y| / span is the ground distance.

    Between positions i and i + 1 exactly the surplus of the prefix has to pass
    (001 equation 2, 004 section 3.1):

        EMD(P, Q) = sum over i of (x[i+1] - x[i]) |P_0 + ... + P_i - Q_0 - ... - Q_i| / span

    Attributes
    ----------
    positions
        Ascending, one a value.
    span
        The largest distance; 1 where there is only one value.

    Examples
    --------
    >>> line = Line(np.array([0, 1, 3]), 3)
    >>> line.emd([Fraction(1), Fraction(0), Fraction(0)], [Fraction(0), Fraction(0), Fraction(1)])
    Fraction(1, 1)
    >>> line.emd([Fraction(1), Fraction(0), Fraction(0)], [Fraction(0), Fraction(1), Fraction(0)])
    Fraction(1, 3)
    """

    positions: NDArray[np.int64]
    span: int

    @property
    def size(self) -> int:
        """The number of values in the domain."""
        return len(self.positions)

    def emd(self, p: Sequence[Fraction], q: Sequence[Fraction]) -> Fraction:
        """The distance between two normalized distributions."""
        surplus = accumulate(left - right for left, right in zip(p, q, strict=True))
        gaps = np.diff(self.positions).tolist()
        return sum((gap * abs(rest) for gap, rest in zip(gaps, surplus, strict=False)), Fraction()) / self.span

    def moves(self, p: Sequence[Fraction], q: Sequence[Fraction]) -> list[tuple[int, int, Fraction]]:
        """Match surplus and need from left to right, which is optimal on a line."""
        surplus = [[i, p[i] - q[i]] for i in range(len(p)) if p[i] > q[i]]
        need = [[i, q[i] - p[i]] for i in range(len(p)) if q[i] > p[i]]
        return match(surplus, need)


def match(surplus: list[list], need: list[list]) -> list[tuple[int, int, Fraction]]:  # type: ignore[type-arg]
    """Pair off [place, mass] entries in the order given; what is left over stays in the lists."""
    plan = []
    while surplus and need:
        mass = min(surplus[0][1], need[0][1])
        plan.append((surplus[0][0], need[0][0], mass))
        for side in (surplus, need):
            side[0][1] -= mass
            if not side[0][1]:
                side.pop(0)
    return plan
