"""Linkage: someone knows the quasi-identifiers of a person and looks for the row (004 section 1)."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Linkage:
    """How often a row is singled out by its quasi-identifiers.

    Attributes
    ----------
    unique
        The share of rows that are alone in their class.
    small
        The share of rows in classes of fewer than k.
    expected
        The share of rows found on average by whoever picks, for each person, a row of the person's class by chance.
    """

    unique: float
    small: float
    expected: float

    def as_dict(self) -> dict[str, float]:
        """As JSON has it."""
        return asdict(self)


def linkage(sizes: NDArray[np.int64], k: int) -> Linkage:
    """From the rows of each class.

    A class of s rows gives s persons a chance of 1 / s each, so it adds one row to those found.

    Examples
    --------
    >>> linkage(np.array([1, 1, 2, 4]), k=3)
    Linkage(unique=0.25, small=0.5, expected=0.5)
    """
    n = int(sizes.sum())
    return Linkage(int((sizes == 1).sum()) / n, int(sizes[sizes < k].sum()) / n, len(sizes) / n)
