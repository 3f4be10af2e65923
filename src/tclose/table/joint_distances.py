"""How far the combinations of several attributes are from those of the whole table: proved in integers.

The distance is a transport problem (see `distances/product.py`). Solving one takes a compiled loop,
but proving a solution takes little: a plan shows that the distance is at most its work, and heights
h with h(x) - h(y) <= cost(x, y) show that it is at least the sum of h times what the class has too
much, for no unit of mass can go down more than it travels. So a solver only proposes both. If they
do not fit together to the last unit, the slow solver of this file is asked, which needs no proposal.
Combinations, ground distances and proofs are made here, by numpy and integers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.distances import Form, Line, Tree
from tclose.schema.columns import Joint
from tclose.table.class_distances import Distances
from tclose.table.classes import Tally
from tclose.table.encode import Domain
from tclose.table.joint_codes import MOST, too_fine, too_many

Integers = NDArray[np.int64]
Exact = NDArray[Any]  # of int64, or of Python's integers where those may not do
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
    n = int(tally.reference.sum())
    works = tally.by_class(lambda piece: _works(costs, piece, n))
    scale = n * common * len(grounds)
    floats = np.array([int(work) / (int(size) * scale) for work, size in zip(works, tally.sizes, strict=True)])
    return Distances(works, np.zeros_like(works), tally.sizes, 1, scale, floats)


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
    assert isinstance(form, Tree)
    # Two leaves are as far apart as the edges above the one or the other, but not both, are long.
    above = np.zeros((len(codes), len(form.parents)), np.int64)
    for level in form.paths[codes].T:
        above[np.flatnonzero(level >= 0), level[level >= 0]] = 1
    shared = (above * form.weights) @ above.T
    alone = np.diagonal(shared)
    return alone[:, None] + alone - 2 * shared, form.denominator


def _works(costs: Integers, tally: Tally, n: int) -> Exact:
    """The least work of each class: its distance times n, its rows and the denominator."""
    ends = np.append(tally.start[1:], len(tally.code))
    works = np.empty(len(tally.sizes), object)
    for place, (start, stop, s) in enumerate(zip(tally.start, ends, tally.sizes, strict=True)):
        surplus = -s * tally.reference
        surplus[tally.code[start:stop]] += n * tally.count[start:stop]
        works[place] = least_work(costs, surplus)
    return works


@dataclass(frozen=True, eq=False)
class Proposal:
    """A plan, mass `flows[i, j]` from place `origins[i]` to `targets[j]`, and heights of these places."""

    origins: Integers
    targets: Integers
    flows: Integers
    heights: Integers
    depths: Integers


def least_work(costs: Integers, surplus: Integers) -> int:
    """The least work that takes what is too much (positive) to where it lacks (negative), exactly."""
    origins, targets = np.flatnonzero(surplus > 0), np.flatnonzero(surplus < 0)
    if not len(origins):
        return 0
    proposal = propose(costs, surplus, origins, targets)
    work = _proved(costs, surplus, proposal)
    return _solved(costs, surplus, origins, targets) if work is None else work


def _proved(costs: Integers, surplus: Integers, proposal: Proposal) -> int | None:
    """The work of a plan, if it and the heights prove each other; None if not."""
    given, lacking = surplus[proposal.origins], -surplus[proposal.targets]
    between = costs[np.ix_(proposal.origins, proposal.targets)]
    flows, heights, depths = proposal.flows, proposal.heights, proposal.depths
    used = np.nonzero(flows)
    if (flows < 0).any() or int(flows.max()) * len(used[0]) >= 2**62:  # else no sum of them is too long
        return None
    if (flows.sum(axis=1) != given).any() or (flows.sum(axis=0) != lacking).any():
        return None
    if abs(heights).max() >= 2**61 or abs(depths).max() >= 2**61 or (heights[:, None] - depths > between).any():
        return None
    work = _total(flows[used], between[used])
    return work if work == _total(given, heights) - _total(lacking, depths) else None


def _total(left: Integers, right: Integers) -> int:
    """The sum of products, in integers of any length."""
    return sum(map(int.__mul__, left.tolist(), right.tolist()))


def propose(costs: Integers, surplus: Integers, origins: Integers, targets: Integers) -> Proposal:
    """What a compiled solver takes to be best; nothing here relies on it."""
    from tclose.kernels.transport import carry

    turned = len(targets) < len(origins)
    few, many = (targets, origins) if turned else (origins, targets)
    flows = np.zeros((len(few), len(many)), np.int64)
    rises, falls = np.zeros(len(few), np.int64), np.zeros(len(many), np.int64)
    ways = np.ascontiguousarray(costs[np.ix_(many, few)])
    carry(ways, abs(surplus[few]), abs(surplus[many]), 0, -1, flows, rises, falls)
    return (
        Proposal(origins, targets, flows.T, falls, -rises)
        if turned
        else Proposal(origins, targets, flows, rises, -falls)
    )


def _solved(costs: Integers, surplus: Integers, origins: Integers, targets: Integers) -> int:
    """By the way that costs least, again and again: along the plan so far mass may also be taken back."""
    ways = costs[np.ix_(origins, targets)].astype(object)
    left, lacking = surplus[origins].astype(object), -surplus[targets].astype(object)
    flows = np.zeros(ways.shape, object)
    endless = int(costs.sum()) + 1
    while left.any():
        there, back = np.full(len(targets), endless, object), np.where(left > 0, 0, endless)
        through, over = np.full(len(targets), -1), np.full(len(origins), -1)
        while True:  # Bellman and Ford: out to targets, and back along what flows
            ahead = back[:, None] + ways
            shorter = ahead.min(axis=0) < there
            through[shorter], there[shorter] = ahead.argmin(axis=0)[shorter], ahead.min(axis=0)[shorter]
            returned = np.where(flows > 0, there - ways, endless)
            shorter = returned.min(axis=1) < back
            if not shorter.any():
                break
            over[shorter], back[shorter] = returned.argmin(axis=1)[shorter], returned.min(axis=1)[shorter]
        target = int(np.where(lacking > 0, there, endless).argmin())
        steps, place = [], target
        while True:
            steps.append((int(through[place]), place))
            if over[through[place]] < 0:
                break
            steps.append((int(through[place]), place := int(over[through[place]])))
        taken = [flows[step] for step in steps[1::2]]
        mass = min(left[steps[-1][0]], lacking[target], *taken)
        for number, step in enumerate(steps):
            flows[step] += -mass if number % 2 else mass
        left[steps[-1][0]] -= mass
        lacking[target] -= mass
    return int((flows * ways).sum())
