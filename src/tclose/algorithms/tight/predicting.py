"""Partitions from which a target can be predicted: which columns tell it, and how well a release still does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tclose.schema.hierarchy import Hierarchy
from tclose.table.axes import Axis, TreeAxis
from tclose.table.encode import EncodedTable, Spans

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
BINS = 16  # into which the values of a line are put, each with about as many rows
REST = 0.1  # of all weight stays where it was, so that what tells nothing of the target is still kept apart


def telling(table: EncodedTable, target: NDArray[np.int32]) -> Floats:
    """The information that each axis alone gives about a target, in nats.

    I(X; Y) = sum p(x, y) ln p(x, y) / (p(x) p(y)), less what as many values that tell nothing would seem to give,
    (r - 1)(c - 1) / 2n (Miller and Madow); never below 0.
    """
    n, labels = len(target), np.unique(target, return_inverse=True)[1]
    found = []
    for axis, places in zip(table.axes, table.places, strict=True):
        groups = _grouped(axis, places)
        shares = np.zeros((int(groups.max()) + 1, int(labels.max()) + 1))
        np.add.at(shares, (groups, labels), 1 / n)
        product = shares.sum(1, keepdims=True) * shares.sum(0, keepdims=True)
        inside = shares > 0
        seeming = (shares.shape[0] - 1) * (shares.shape[1] - 1) / (2 * n)
        found.append(max(float(np.sum(shares[inside] * np.log(shares[inside] / product[inside]))) - seeming, 0.0))
    return np.array(found)


def _grouped(axis: Axis, places: NDArray[np.int32]) -> Integers:
    """The places, those of a line in groups of about as many rows."""
    if isinstance(axis, TreeAxis):
        return np.unique(places, return_inverse=True)[1]
    below = np.cumsum(np.bincount(places, minlength=axis.size))
    return np.unique((BINS * (below - 1) // len(places))[places], return_inverse=True)[1]


def weighted(table: EncodedTable, told: Floats, power: float) -> EncodedTable:
    """The table with axes that weigh by what they tell; a power of 0 leaves them as they are."""
    before = np.array([axis.weight for axis in table.axes])
    pull = told**power * before
    if power == 0 or not pull.sum() > 0:
        return table
    weights = REST * before + (1 - REST) * before.sum() * pull / pull.sum()
    axes = tuple(replace(axis, weight=float(weight)) for axis, weight in zip(table.axes, weights, strict=True))
    return replace(table, axes=axes)


def labelled(table: EncodedTable, target: NDArray[np.int32], weight: float) -> EncodedTable:
    """The table with the target as one more axis: rows of several labels in a class lose its whole weight.

    So classes come to hold rows of one label, as far as the promise lets them; nothing of the axis is released.
    """
    tree = Hierarchy.flat([str(label) for label in range(int(target.max()) + 1)])
    axis = TreeAxis("target", weight, tree, tree.leaf_nodes, False)
    return replace(table, axes=(*table.axes, axis), places=(*table.places, target))


def rows_told(table: EncodedTable, target: NDArray[np.int32], labels: Integers) -> float:
    """The share of rows whose target a naive Bayes classifier finds that learned from the release of a partition.

    It takes the rows of a class to lie evenly in what it covers, as whoever has the release must, and is asked about
    the rows as they were: the label y of most p(y) times the product over axes of p(place | y).
    """
    n_labels, n_classes = int(target.max()) + 1, int(labels.max()) + 1
    counts = np.zeros((n_classes, n_labels))
    np.add.at(counts, (labels, target), 1)
    total = counts.sum(0)
    belief = np.tile(np.log(np.maximum(total, 1e-300)), (len(target), 1))
    for axis, places, (low, high) in zip(table.axes, table.places, _shown_spans(table, labels, n_classes), strict=True):
        density = counts / (high - low + 1)[:, None]
        steps = np.zeros((axis.size + 1, n_labels))
        np.add.at(steps, low, density)
        np.add.at(steps, high + 1, -density)
        lying = np.maximum(np.cumsum(steps, axis=0)[:-1], 0) + 1 / axis.size
        belief += np.log(lying / (total + 1))[places]
    return float(np.mean(np.argmax(belief, axis=1) == target))


def _shown_spans(table: EncodedTable, labels: Integers, n_classes: int) -> Spans:
    """The places that what is released of each class covers."""
    shown = []
    for axis, (low, high) in zip(table.axes, table.spans(labels, n_classes), strict=True):
        if isinstance(axis, TreeAxis):
            known = high < len(axis.leaves)
            first, last = axis.below
            nodes = axis.cover(low[known], high[known])
            low, high = low.copy(), high.copy()
            low[~known & (low != high)] = 0
            low[known], high[known] = first[nodes], last[nodes]
        shown.append((low, high))
    return shown
