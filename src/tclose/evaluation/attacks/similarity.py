"""Similarity: the values of a class differ, and yet all are of one sort (004 section 1).

A class reveals something if all its rows but a share (`outliers`) have values that are alike:

    by a hierarchy     below one node under the root
    along an order     in a stretch narrower than a share (`narrow`) of the whole range
    by the equal distance, which knows no other likeness, one value
    by a matrix        nearer than `narrow` of the largest distance to one value

A table as a whole may reveal as much already: then t-closeness cannot help, and `of_table` says so.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.distances import Form, Line, Transport, Tree
from tclose.table.classes import Tally

Integers = NDArray[np.int64]
AT_A_TIME = 1 << 22  # numbers of a dense table of classes and values


@dataclass(frozen=True)
class Similarity:
    """How often a class reveals a sort of values.

    Attributes
    ----------
    revealed
        The share of rows whose class does.
    of_table
        Whether the whole table does, which anyone may know.
    """

    revealed: float
    of_table: bool

    def as_dict(self) -> dict[str, float | bool]:
        """As JSON has it."""
        return asdict(self)


def similarity(form: Form, tally: Tally, outliers: float = 0.1, narrow: float = 0.2) -> Similarity:
    """From how often each value occurs in each class.

    Parameters
    ----------
    form
        The distance over the values.
    tally
        The counts.
    outliers
        The share of a class that may be otherwise.
    narrow
        The share of the range, or of the largest distance, below which values are alike.

    Examples
    --------
    >>> from tclose.distances import Ordered
    >>> tally = Tally.of(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 9], np.int32), 10)
    >>> similarity(Ordered().form(10), tally)
    Similarity(revealed=0.5, of_table=False)
    """
    reveals = class_reveals(form, tally, outliers, narrow)
    occurs = np.flatnonzero(tally.reference)
    whole = Tally(
        occurs, tally.reference[occurs], np.zeros(1, np.int64), tally.sizes.sum(keepdims=True), tally.reference
    )
    of_table = bool(class_reveals(form, whole, outliers, narrow)[0])
    return Similarity(float(tally.sizes[reveals].sum() / tally.sizes.sum()), of_table)


def class_reveals(form: Form, tally: Tally, outliers: float = 0.1, narrow: float = 0.2) -> NDArray[np.bool_]:
    """Whether each class reveals a sort of values; shares are taken as they are written, and compared exactly."""
    kept = 1 - Fraction(str(outliers))
    needed = -(-tally.sizes * kept.numerator // kept.denominator)  # rounded up
    below = Fraction(str(narrow))
    if isinstance(form, Line):
        width = _narrowest(form.positions, tally, needed)
        alike: NDArray[np.bool_] = (width * below.denominator < form.span * below.numerator) | (width == 0)
        return alike
    most = _most_in_one(branches(form), tally) if isinstance(form, Tree) else _most_near(form, tally, below)
    enough: NDArray[np.bool_] = most >= needed
    return enough


def branches(form: Tree) -> Integers:
    """The branch of each value: the nodes at which the domain first parts, from the root down."""
    paths = form.paths.astype(np.int64)
    depth = (paths >= 0).sum(axis=1)
    values = np.arange(len(paths))
    level = 0
    while True:
        node = np.where(level < depth, paths[values, np.maximum(depth - 1 - level, 0)], -1 - values)
        if (node != node[:1]).any() or (level >= depth).all():
            return np.unique(node, return_inverse=True)[1]
        level += 1


def _narrowest(positions: Integers, tally: Tally, needed: Integers) -> Integers:
    """The least width of a stretch that holds so many rows of each class: it begins and ends at one of them."""
    rows = positions[np.repeat(tally.code, tally.count)]
    owner = np.repeat(np.arange(len(tally.sizes)), tally.sizes)
    first = np.cumsum(tally.sizes) - tally.sizes
    reach = np.maximum(needed, 1)[owner] - 1
    ends = np.arange(len(rows)) + reach
    inside = ends < (first + tally.sizes)[owner]
    width = np.full(len(rows), np.iinfo(np.int64).max)
    width[inside] = rows[ends[inside]] - rows[inside]
    found: Integers = np.minimum.reduceat(width, first)
    return found


def _most_in_one(branch: Integers, tally: Tally) -> Integers:
    """The most rows of each class in one branch."""
    n_branches = int(branch.max()) + 1
    pairs, back = np.unique(tally.owner * n_branches + branch[tally.code], return_inverse=True)
    counts = np.bincount(back, weights=tally.count).astype(np.int64)
    most = np.zeros(len(tally.sizes), np.int64)
    np.maximum.at(most, pairs // n_branches, counts)
    return most


def _most_near(form: Transport, tally: Tally, below: Fraction) -> Integers:
    """The most rows of each class that are near to one value."""
    costs = form.costs
    near = (costs < math.ceil(below * int(costs.max()))) | np.eye(len(costs), dtype=bool)  # costs are whole
    owner, most = tally.owner, np.zeros(len(tally.sizes), np.int64)
    step = max(AT_A_TIME // len(costs), 1)
    for first in range(0, len(most), step):
        inside = (owner >= first) & (owner < first + step)
        dense = np.zeros((min(step, len(most) - first), len(costs)), np.int64)
        dense[owner[inside] - first, tally.code[inside]] = tally.count[inside]
        most[first : first + step] = (dense @ near.astype(np.int64)).max(axis=1)
    return most
