"""The least work between a class and the whole table, where no tree has the distance: proved in integers.

The distance is a transport problem (see `distances/transport_form.py`). Solving one takes a compiled loop,
but proving a solution takes little: a plan shows that the distance is at most its work, and heights
h with h(x) - h(y) <= cost(x, y) show that it is at least the sum of h times what the class has too
much, for no unit of mass can go down more than it travels. So a solver only proposes both. If they
do not fit together to the last unit, the slow solver of this file is asked, which needs no proposal.
Proofs are made here, by numpy and integers alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.table.classes import Tally

Integers = NDArray[np.int64]
ExactIntegers = NDArray[Any]  # of int64, or of Python's integers where those may not do


def least_works(costs: Integers, tally: Tally, n: int) -> ExactIntegers:
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
    endless = ways.sum() + 1
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
