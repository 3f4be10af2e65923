"""Skewness: how far seeing the class raises the belief in a sensitive value (004 section 1).

Before, a person has value v with the share p(v) of the whole table; who knows the class believes in
the share q(v) of the class. The rise is q(v) - p(v). Under the equal distance a class at distance t
has sum over v of max(q(v) - p(v), 0) = t, so that no belief rises by more than t. The ratio q / p has no
such bound: a value of one row in a thousand may become a hundred times as likely within t = 0.1.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.table.classes import Tally

Floats = NDArray[np.float64]
NEAR = 1e-12  # far above the rounding of a quotient of two integers below 1


@dataclass(frozen=True)
class Skewness:
    """What classes add to the belief in one sensitive attribute.

    Attributes
    ----------
    worst_rise, worst_ratio
        The largest q - p and q / p of any value in any class.
    average_rise, average_ratio
        The mean over all rows, of the row's own value.
    average_worst_rise
        The mean over all rows of the largest rise in the row's class.
    certain
        The share of rows whose class has one value only.
    """

    worst_rise: float
    worst_ratio: float
    average_rise: float
    average_ratio: float
    average_worst_rise: float
    certain: float

    def as_dict(self) -> dict[str, float]:
        """As JSON has it."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class ClassRises:
    """The same by class: the largest over its values, and the mean over its rows."""

    worst_rise: Floats
    worst_ratio: Floats
    average_rise: Floats
    average_ratio: Floats


def class_rises(tally: Tally) -> ClassRises:
    """Rises and ratios in each class.

    Values that a class lacks only fall, and some value it has does not, so that entries suffice.
    """
    n = int(tally.reference.sum())
    return ClassRises(*tally.by_class(lambda piece: _rises(piece, n)))


def skewness(tally: Tally) -> Skewness:
    """From how often each value occurs in each class.

    Examples
    --------
    >>> tally = Tally.of(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1], np.int32), 2)
    >>> found = skewness(tally)
    >>> found.worst_rise, found.worst_ratio, found.certain
    (0.25, 2.0, 0.5)
    """
    classes = class_rises(tally)
    share = tally.sizes / tally.sizes.sum()
    lone = np.diff(tally.start, append=len(tally.code)) == 1
    return Skewness(
        float(classes.worst_rise.max()),
        float(classes.worst_ratio.max()),
        float(share @ classes.average_rise),
        float(share @ classes.average_ratio),
        float(share @ classes.worst_rise),
        float(tally.sizes[lone].sum() / tally.sizes.sum()),
    )


def largest_rise(tally: Tally) -> Fraction:
    """The largest rise in any class, exactly.

    In a class of s rows of n the rise of a value with c of N rows is (n c - s N) / (n s). The numerators are
    integers; of the classes next to the largest quotient the fractions are compared.

    Examples
    --------
    >>> largest_rise(Tally.of(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1], np.int32), 2))
    Fraction(1, 4)
    """
    n = int(tally.reference.sum())
    surplus = tally.by_class(
        lambda piece: np.maximum.reduceat(
            n * piece.count - piece.sizes[piece.owner] * piece.reference[piece.code], piece.start
        )
    )
    shares = surplus / tally.sizes
    near = shares >= shares.max() - NEAR * n
    pairs = np.unique(np.stack([surplus[near], tally.sizes[near]]), axis=1)
    return max(Fraction(int(one), int(size) * n) for one, size in pairs.T)


def _rises(tally: Tally, n: int) -> Floats:
    prior = tally.reference[tally.code] / n
    posterior = tally.count / tally.sizes[tally.owner]
    rise, ratio = posterior - prior, posterior / prior
    by_class = [np.maximum.reduceat(each, tally.start) for each in (rise, ratio)]
    by_class += [np.add.reduceat(posterior * each, tally.start) for each in (rise, ratio)]
    found: Floats = np.stack(by_class)
    return found
