"""Re-identification risks by who attacks: prosecutor, journalist, marketer.

The prosecutor knows that a certain person is in the table. The journalist knows a larger
population and wants to find anyone at all. The marketer wants as many as possible and does not mind
mistakes. With f_c rows of the table and F_c of the population in class c, n rows in all and C classes:

    prosecutor  of a row 1 / f_c;  on average C / n
    journalist  of a row 1 / F_c;  on average the larger of C / (sum of F_c) and (sum of f_c / F_c) / n
    marketer    (sum of f_c / F_c) / n

References: El Emam: Guide to the De-Identification of Personal Health Information (2013); Dankar
and El Emam: A method for evaluating marketer re-identification risk (2010). Words are ours.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Risk:
    """The chance that a row is given the right person.

    Attributes
    ----------
    largest, average
        Over all rows.
    above
        The share of rows whose chance is above the threshold.
    """

    largest: float
    average: float
    above: float


@dataclass(frozen=True)
class Reidentification:
    """The three risks.

    Attributes
    ----------
    prosecutor, journalist
        Of one person.
    marketer
        The share of rows that are given the right person, on average.
    """

    prosecutor: Risk
    journalist: Risk
    marketer: float

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def reidentification(sizes: Integers, population: Integers | None = None, threshold: float = 0.2) -> Reidentification:
    """The risks of a table.

    Parameters
    ----------
    sizes
        The rows of each class.
    population
        The rows of the population that have what is shown of each class, those of the table among
        them. Without it the table is the population, and the journalist is a prosecutor.
    threshold
        The chance that is too large.

    Examples
    --------
    >>> risks = reidentification(np.array([2, 4]), population=np.array([10, 4]))
    >>> risks.prosecutor
    Risk(largest=0.5, average=0.3333333333333333, above=1.0)
    >>> risks.journalist.largest, round(risks.marketer, 6)
    (0.25, 0.2)
    """
    population = sizes if population is None else population
    n = int(sizes.sum())
    marketer = float((sizes / population).sum()) / n
    journalist = max(len(sizes) / int(population.sum()), marketer)
    return Reidentification(
        Risk(1 / int(sizes.min()), len(sizes) / n, _above(sizes, sizes, threshold)),
        Risk(1 / int(population.min()), journalist, _above(sizes, population, threshold)),
        marketer,
    )


def _above(sizes: Integers, crowd: Integers, threshold: float) -> float:
    return int(sizes[1 / crowd > threshold].sum()) / int(sizes.sum())
