"""Naive Bayes from everyone's quasi-identifiers and the published values of each class.

Who has value v within a class is not known, so each row r has it with a weight w(r, v): at first
its share in the class. A round learns P_a(x | v) on every axis a from the weights (with ten
rows more of every value, placed as all rows are), and deals the values of each class out anew:

    w(r, v)  =  a(r) b(c, v) times the product over a of  P_a(x_a | v)

where a and b are such that the weights of a row sum to one, and those of a value to its rows in the
class. They are found by scaling one and the other in turn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tclose.evaluation.attacks.box_learner import ROWS_MORE, Stretches, largest, pairs
from tclose.table.classes import Tally

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
ROUNDS = 4
SCALINGS = 6
MOST_PAIRS = 1 << 22  # beyond, some rows stand for all


def guess(
    tally: Tally, labels: Integers, axes: Sequence[Stretches], rng: np.random.Generator
) -> tuple[Integers, NDArray[np.int32]]:
    """Some rows, all if they are not too many, and the most likely value of each, of equals the first of the tally."""
    distinct = np.diff(tally.start, append=len(tally.code))
    share = MOST_PAIRS / int((distinct * tally.sizes).sum())
    rows = np.arange(len(labels))
    if share < 1:
        rows = np.sort(rng.choice(rows, max(int(share * len(rows)), 1), replace=False))
    rows, row, entry = next(pairs(tally, labels, rows, int(distinct.max()) * len(rows)))
    code = tally.code.astype(np.int64)[entry]
    in_class = tally.count / tally.sizes[tally.owner]
    expected = in_class * np.bincount(labels[rows], minlength=len(tally.sizes))[tally.owner]
    weights = in_class[entry]
    for _ in range(ROUNDS):
        weights = _dealt(_chances(code, rows, row, weights, axes, len(tally.reference)), row, entry, expected)
    return rows, code[largest(weights, row)].astype(np.int32)


def _chances(
    code: Integers, rows: Integers, row: Integers, weights: Floats, axes: Sequence[Stretches], size: int
) -> Floats:
    """The product of P_a(x_a | v) of each pair, the largest of a row being 1."""
    score = np.zeros(len(code))
    for axis in axes:
        places = axis.places[rows].astype(np.int64)
        everyone = np.bincount(places, minlength=axis.size) / len(places)
        cell = code * axis.size + places[row]
        seen = np.bincount(cell, weights, size * axis.size).reshape(size, axis.size)
        share = (seen + ROWS_MORE * everyone) / (seen.sum(axis=1, keepdims=True) + ROWS_MORE)
        score += np.log(np.maximum(share, 1e-300)).ravel()[cell]
    best = np.maximum.reduceat(score, np.flatnonzero(np.diff(row, prepend=-1)))
    return np.exp(score - best[row])


def _dealt(chances: Floats, row: Integers, entry: Integers, expected: Floats) -> Floats:
    """Weights in proportion to `chances` within a row, scaled so that every entry gets what is expected of it."""
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    factor, weights = expected, chances
    for _ in range(SCALINGS):
        weights = chances * factor[entry]
        weights = weights / np.maximum(np.add.reduceat(weights, starts), 1e-300)[row]
        factor = factor * expected / np.maximum(np.bincount(entry, weights, len(expected)), 1e-300)
    return weights
