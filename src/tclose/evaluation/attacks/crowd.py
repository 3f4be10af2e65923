"""How many people of a population look like each class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.evaluation.attacks.shown_boxes import Boxes
from tclose.table.encode import EncodedTable

Integers = NDArray[np.int64]


def crowd_alike(keys: Integers, n: int, labels: Integers) -> Integers:
    """Rows of the population that have the same key as each class.

    Parameters
    ----------
    keys
        Of the rows of the table, then of those of the population; one key a class.
    n
        The number of rows of the table.
    labels
        The class of each of its rows: 0, 1, 2, ...

    Examples
    --------
    >>> crowd_alike(np.array([7, 7, 9, 7, 9, 9, 8]), 3, np.array([0, 0, 1])).tolist()
    [1, 2]
    """
    distinct, counts = np.unique(keys[n:], return_counts=True)
    key_of = np.zeros(int(labels.max()) + 1, np.int64)
    key_of[labels] = keys[:n]
    place = np.minimum(np.searchsorted(distinct, key_of), len(distinct) - 1)
    found: Integers = np.where(distinct[place] == key_of, counts[place], 0)
    return found


def crowd_inside(everyone: EncodedTable, n: int, labels: Integers) -> Integers:
    """Rows of the population that fit what a release shows of each class.

    `everyone` has the n rows of the table first, then the population.

    Cost
    ----
    Classes times distinct combinations of quasi-identifiers in the population.
    """
    from tclose.evaluation.attacks.inside_loops import count_inside

    boxes = Boxes.of(everyone.take(np.arange(n)), labels)
    places = np.stack([column[n:] for column in everyone.places], axis=1)
    distinct, weights = np.unique(places, axis=0, return_counts=True)
    counts = np.zeros(len(boxes.lows), np.int64)
    count_inside(distinct, weights.astype(np.int64), boxes.lows, boxes.highs, counts)
    return counts
