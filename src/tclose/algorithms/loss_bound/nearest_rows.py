"""A bound of the loss that takes no learning and no compiled loops: how far each row is from the rows its class needs.

The class of a row has the fewest rows K that a close class can have, or more, so it loses at least what the row and
the (K - 1)-th nearest other one lose together. It also reaches out to values: whatever of the reference lies at a value
that the class does not have must be carried to one that it has. Let a(w) be what the row loses together with the
nearest row of value w. A class that loses less than x has no value with a(w) >= x, so unless

    sum over v of p(v) times the ground distance from v to the nearest w with a(w) < x

is within t, it loses x. The mean over all rows is a bound. With prices (`price_check`) it becomes higher.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.loss_bound.closeness_terms import JoinedValues, joined_values, smallest_class
from tclose.algorithms.loss_bound.rounded_losses import NEVER, UNIT
from tclose.algorithms.loss_bound.row_kinds import RowKinds
from tclose.algorithms.requirement import Requirement
from tclose.table.axes import Axis
from tclose.table.encode import EncodedTable

Integers = NDArray[np.int64]


def nearest_bound(table: EncodedTable, requirement: Requirement) -> Fraction:
    """A loss that no partition into classes which meet the requirement falls below.

    Examples
    --------
    >>> import tclose
    >>> from tclose.table.encode import encode
    >>> from tclose.table.source import read
    >>> frame, schema = tclose.datasets.census(60, seed=1)
    >>> table = encode(read(frame), schema)
    >>> release = tclose.anonymize(frame, schema, seed=1, allow_single_class=True)
    >>> 0 < nearest_bound(table, Requirement.of(schema, table)) <= release.loss
    True
    """
    assert requirement.left_out is None, "the reference is that of all rows"
    asked = {place: each.t for place, each in enumerate(requirement.attributes) if each.t is not None}
    kinds = RowKinds.of(table, list(asked))
    pairs = pair_losses(table, kinds)
    least = _of_size(pairs, kinds.cell_counts, smallest_class(requirement))
    for column, place in enumerate(asked):
        joined = joined_values(requirement.attributes[place])
        if joined is not None:
            least = np.maximum(least, _of_values(pairs, kinds.cell_of, joined.group[kinds.codes[:, column]], joined))
    total = sum(int(loss) * int(count) for loss, count in zip(np.minimum(least, UNIT), kinds.cell_counts, strict=True))
    return Fraction(total, UNIT * int(kinds.cell_counts.sum()))


def pair_losses(table: EncodedTable, kinds: RowKinds) -> Integers:
    """What each cell loses together with each other, in whole parts, rounded downwards."""
    n = len(kinds.cells)
    total = np.zeros((n, n), np.int64)
    for axis, places in zip(table.axes, kinds.cells.T, strict=True):
        used, of_cell = np.unique(places, return_inverse=True)
        total += _pairs_of_places(axis, used)[np.ix_(of_cell, of_cell)]
    return total


def _pairs_of_places(axis: Axis, used: NDArray[np.int32]) -> Integers:
    """The same for some places of one axis. A float of a loss is off by far less than the two parts taken off."""
    low, high = np.minimum.outer(used, used).ravel(), np.maximum.outer(used, used).ravel()
    parts = np.floor(np.minimum(axis.cost(low, high), 1.0) * axis.weight * UNIT).astype(np.int64) - 2
    found = np.maximum(parts, 0)
    if axis.blocks is not None:
        found[axis.blocks[low] != axis.blocks[high]] = NEVER
    return found.reshape(len(used), len(used))


def _of_size(pairs: Integers, counts: Integers, smallest: int) -> Integers:
    """What each cell loses at least in a class of so many rows."""
    order = np.argsort(pairs, axis=1, kind="stable")
    within = np.cumsum(counts[order], axis=1) >= smallest
    first = np.where(within.any(axis=1), within.argmax(axis=1), pairs.shape[1] - 1)
    rows = np.arange(len(pairs))
    found: Integers = pairs[rows, order[rows, first]]
    return found


def _of_values(pairs: Integers, cell_of: Integers, values: NDArray[np.int32], joined: JoinedValues) -> Integers:
    """What each cell loses at least in a class that is close in one attribute."""
    m = len(joined.reference)
    nearest = np.full((len(pairs), m), NEVER, np.int64)
    for value in range(m):
        with_value = np.unique(cell_of[values == value])
        nearest[:, value] = pairs[:, with_value].min(axis=1, initial=NEVER)
    order = np.argsort(nearest, axis=1, kind="stable")
    grounds = joined.grounds / joined.denominator
    shares = joined.reference / joined.reference.sum()
    allowed = float(joined.t) + 1e-9  # more than sums of floats are off
    way = np.full((len(pairs), m), np.inf)
    found = np.zeros(len(pairs), np.int64)
    is_open = np.ones(len(pairs), bool)
    for rank in range(m):
        way = np.minimum(way, grounds[:, order[:, rank]].T)
        found[is_open] = nearest[np.arange(len(pairs)), order[:, rank]][is_open]
        is_open &= way @ shares > allowed
        if not is_open.any():
            break
    return found
