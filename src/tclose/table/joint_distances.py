"""How far the combinations of several attributes are from those of the whole table.

Combinations and ground distances are made here, by numpy and integers alone; `least_work` does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

import numpy as np
from numpy.typing import NDArray

from tclose.distances import Form, Line, Transport, Tree
from tclose.schema.columns import Joint
from tclose.table.class_distances import Distances, transport_distances
from tclose.table.classes import Tally
from tclose.table.encode import Domain
from tclose.table.joint_codes import MOST, too_fine, too_many

Integers = NDArray[np.int64]
LONGEST = 2**50


def joint_distances(joint: Joint, parts: Sequence[tuple[Domain, NDArray[np.int32]]], keys: Integers) -> Distances:
    """The distance of every class in a joint: `parts` are its columns, and classes are rows with the same key."""
    cells, codes = _combinations(parts)
    if len(cells) > MOST:
        raise too_many(joint, len(cells))
    grounds = [_ground(domain.form, cells[:, place]) for place, (domain, _) in enumerate(parts)]
    common = lcm(*(under for _, under in grounds))
    if common * len(grounds) >= LONGEST:
        raise too_fine(joint)
    costs = np.sum([over * (common // under) for over, under in grounds], axis=0)
    tally = Tally.of(keys, codes, len(cells))
    return transport_distances(costs, common * len(grounds), tally)


def _combinations(parts: Sequence[tuple[Domain, NDArray[np.int32]]]) -> tuple[Integers, NDArray[np.int32]]:
    """Those that occur, a row each, and which of them every row of the table has."""
    labels = np.zeros(len(parts[0][1]), np.int64)
    for domain, codes in parts:
        labels = np.unique(labels * domain.size + codes, return_inverse=True)[1].astype(np.int64)
    first = np.zeros(int(labels.max()) + 1, np.int64)
    first[labels] = np.arange(len(labels))
    return np.stack([codes[first] for _, codes in parts], axis=1).astype(np.int64), labels.astype(np.int32)


def _ground(form: Form, codes: Integers) -> tuple[Integers, int]:
    """Ground distances between values, and what to divide them by."""
    if isinstance(form, Line):
        x = form.positions[codes]
        return np.maximum(x[:, None], x) - np.minimum(x[:, None], x), form.span
    if isinstance(form, Transport):
        return form.costs[np.ix_(codes, codes)], form.denominator
    assert isinstance(form, Tree)
    # Two leaves are as far apart as the edges above the one or the other, but not both, are long.
    above = np.zeros((len(codes), len(form.parents)), np.int64)
    for level in form.paths[codes].T:
        above[np.flatnonzero(level >= 0), level[level >= 0]] = 1
    shared = (above * form.weights) @ above.T
    alone = np.diagonal(shared)
    return alone[:, None] + alone - 2 * shared, form.denominator
