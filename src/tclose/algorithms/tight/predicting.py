"""Partitions whose classes tell a target: rows of one label are kept together."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.schema.hierarchy import Hierarchy
from tclose.table.axes import TreeAxis
from tclose.table.encode import EncodedTable

Integers = NDArray[np.int64]
Codes = NDArray[np.int32]


def labelled(table: EncodedTable, target: Codes, weight: float) -> EncodedTable:
    """The table with the target as one more axis: rows of several labels in a class lose its whole weight.

    So classes come to hold rows of one label, as far as the promise lets them; nothing of the axis is released.
    """
    tree = Hierarchy.flat([str(label) for label in range(int(target.max()) + 1)])
    axis = TreeAxis("target", Fraction(weight), tree, tree.leaf_nodes, False)
    return replace(table, axes=(*table.axes, axis), places=(*table.places, target))


def rows_mixed(target: Codes, labels: Integers) -> int:
    """The rows that do not have the most frequent label of their class (the classification metric of Iyengar, 2002).

    Examples
    --------
    >>> rows_mixed(np.array([0, 0, 1, 2, 2, 2]), np.array([0, 0, 0, 1, 1, 1]))
    1
    """
    size = int(target.max()) + 1
    pairs, counts = np.unique(labels * size + target, return_counts=True)
    most = np.zeros(int(labels.max()) + 1, np.int64)
    np.maximum.at(most, pairs // size, counts)
    return len(labels) - int(most.sum())
