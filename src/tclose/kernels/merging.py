"""Merge classes that do not hold with their nearest, until all hold (004 section 7).

Classes stand along a Hilbert curve, `LEAF` of them a leaf of a binary tree: node 1 is the root,
nodes 2 i and 2 i + 1 are below node i. Every class of a node begins at or before `ends[node, axis]`
and ends at or after `ends[node, n_axes + axis]`; classes only grow, so that stays true.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.closeness import ASK, NO, YES, Rules, Scratch, judge
from tclose.kernels.compile import inner, kernel, once
from tclose.kernels.costs import Costs, span_cost

DONE, PAUSED, ASKED = 0, 1, 2
LEAF = 8
# What `state` holds between calls: the class under way, how many rows of it are counted, and the verdict on it.
CLASS, SIZE, VERDICT = range(3)
# Columns of the table of classes: its rows, where its own begin in `codes`, the class it is merged into (or itself),
# the next and the last of the classes merged into it, and its place along the curve.
ROWS, START, OWNER, NEXT, LAST, PLACE = range(6)

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class Classes(NamedTuple):
    """Classes with the spans they cover, and the tree over them."""

    table: Integers  # one row a class, its columns named above
    spans: NDArray[np.int32]  # lowest places, then highest
    loss: Floats  # of a row of the class
    along: Integers  # the classes along the curve
    ends: NDArray[np.int32]
    inside: Integers  # classes still there, of each node


class Tally(NamedTuple):
    """The class under way, counted: zero between classes."""

    counts: Integers  # of each attribute and value
    touched: NDArray[np.int32]  # of each attribute: the values that occur
    distinct: Integers  # and how many they are


@kernel
def build(classes: Classes) -> None:
    """The tree's ends and counts, from the leaves up."""
    n_axes, width = classes.ends.shape[1] // 2, len(classes.ends) // 2
    for node in range(2 * width - 1, 0, -1):
        for axis in range(n_axes):
            low, high = -1, 2**31 - 1
            if node >= width:
                first = (node - width) * LEAF
                for place in range(first, min(first + LEAF, len(classes.along))):
                    low = max(low, classes.spans[classes.along[place], axis])
                    high = min(high, classes.spans[classes.along[place], n_axes + axis])
            else:
                for child in range(2 * node, 2 * node + 2):
                    low = max(low, classes.ends[child, axis])
                    high = min(high, classes.ends[child, n_axes + axis])
            classes.ends[node, axis], classes.ends[node, n_axes + axis] = low, high
        if node >= width:
            classes.inside[node] = max(min(LEAF, len(classes.along) - (node - width) * LEAF), 0)
        else:
            classes.inside[node] = classes.inside[2 * node] + classes.inside[2 * node + 1]


@once
def take_off(classes: Classes, number: int) -> None:
    """Take a class out of the tree."""
    node = len(classes.ends) // 2 + classes.table[number, PLACE] // LEAF
    while node > 0:
        classes.inside[node] -= 1
        node >>= 1


@inner
def joint_loss(span: NDArray[np.int32], other: NDArray[np.int32], costs: Costs, weights: Floats) -> float:
    """The loss of a row of a class that covers a span and another."""
    total, n_axes = 0.0, len(weights)
    for axis in range(n_axes):
        low = min(span[axis], other[axis])
        high = max(span[n_axes + axis], other[n_axes + axis])
        total += weights[axis] * span_cost(costs, axis, low, high)
    return total


@inner
def least_joint_loss(classes: Classes, number: int, node: int, costs: Costs, weights: Floats) -> float:
    """No union of this class with one of the node loses less; infinite if the node is empty."""
    if classes.inside[node] == 0:
        return np.inf
    return joint_loss(classes.spans[number], classes.ends[node], costs, weights)


@once
def nearest(classes: Classes, number: int, costs: Costs, weights: Floats) -> int:
    """The class whose union with this one adds least to the total cost; -1 if there is none.

    The union of s and s' rows adds (s + s') L - s' L' (and takes off what this class costs, the
    same for all). That is at least s L, for a union loses no less than its parts; and L is at
    least that of this class and any node's ends, which every class of the node covers.
    """
    stack, bounds = np.empty(64, np.int64), np.empty(64, np.float64)
    width, size = len(classes.ends) // 2, classes.table[number, ROWS]
    best, least = -1, np.inf
    top = 1
    stack[0], bounds[0] = 1, 0.0
    while top > 0:
        top -= 1
        node = stack[top]
        if bounds[top] >= least:
            continue
        if node < width:
            left = size * least_joint_loss(classes, number, 2 * node, costs, weights)
            right = size * least_joint_loss(classes, number, 2 * node + 1, costs, weights)
            stack[top], bounds[top] = 2 * node + (left <= right), max(left, right)
            stack[top + 1], bounds[top + 1] = 2 * node + (left > right), min(left, right)
            top += 2
            continue
        first = (node - width) * LEAF
        for place in range(first, min(first + LEAF, len(classes.along))):
            other = classes.along[place]
            if classes.table[other, OWNER] != other or other == number:
                continue
            rows = classes.table[other, ROWS]
            union = joint_loss(classes.spans[number], classes.spans[other], costs, weights)
            added = (size + rows) * union - rows * classes.loss[other]
            if added < least:
                best, least = other, added
    return best


@inner
def count(classes: Classes, number: int, codes: NDArray[np.int32], tally: Tally) -> None:
    """Add the rows of a class, and of all that are merged into it, to the tally."""
    part = number
    while part >= 0:
        start = classes.table[part, START]
        stop = classes.table[part + 1, START] if part + 1 < len(classes.table) else len(codes)
        for row in range(start, stop):
            for attribute in range(codes.shape[1]):
                code = codes[row, attribute]
                if tally.counts[attribute, code] == 0:
                    tally.touched[attribute, tally.distinct[attribute]] = code
                    tally.distinct[attribute] += 1
                tally.counts[attribute, code] += 1
        part = classes.table[part, NEXT]


@once
def clear(tally: Tally) -> None:
    """Begin anew."""
    for attribute in range(len(tally.distinct)):
        for place in range(tally.distinct[attribute]):
            tally.counts[attribute, tally.touched[attribute, place]] = 0
        tally.distinct[attribute] = 0


@once
def holds(tally: Tally, size: int, rules: Rules, scratch: Scratch) -> int:
    """NO, YES or ASK: is the class in the tally, of so many rows, close and diverse?"""
    verdict = YES
    for attribute in range(len(tally.distinct)):
        for place in range(tally.distinct[attribute]):
            code = tally.touched[attribute, place]
            scratch.touched[place], scratch.counts[code] = code, tally.counts[attribute, code]
        answer = judge(rules, attribute, scratch, tally.distinct[attribute], size)
        if answer == NO:
            return NO
        verdict = max(verdict, answer)
    return verdict


@once
def join(classes: Classes, number: int, other: int, costs: Costs, weights: Floats) -> None:
    """Merge another class into this one."""
    n_axes = len(weights)
    classes.loss[number] = joint_loss(classes.spans[number], classes.spans[other], costs, weights)
    for axis in range(n_axes):
        classes.spans[number, axis] = min(classes.spans[number, axis], classes.spans[other, axis])
        highest = max(classes.spans[number, n_axes + axis], classes.spans[other, n_axes + axis])
        classes.spans[number, n_axes + axis] = highest
    classes.table[number, ROWS] += classes.table[other, ROWS]
    classes.table[classes.table[number, LAST], NEXT] = other
    classes.table[number, LAST] = classes.table[other, LAST]
    classes.table[other, OWNER] = number
    take_off(classes, other)


@kernel
def advance(
    classes: Classes, codes: NDArray[np.int32], tally: Tally, state: Integers, rules: Rules, scratch: Scratch,
    costs: Costs, weights: Floats, budget: int,
) -> int:  # fmt: skip
    """Go through the classes until all hold, the budget of row visits is spent, or a verdict is needed.

    `state` and `tally` carry what is under way from call to call. A class that grows is not
    counted anew: a step asks for the rows that join, the values that occur, and a search.
    """
    while state[CLASS] < len(classes.table):
        number = state[CLASS]
        if state[SIZE] == 0:
            if classes.table[number, OWNER] != number:
                state[CLASS] += 1
                continue
            count(classes, number, codes, tally)
            state[SIZE] = classes.table[number, ROWS]
            budget -= state[SIZE] * codes.shape[1]
        verdict = state[VERDICT]
        if verdict == ASK:
            verdict = holds(tally, state[SIZE], rules, scratch)
            budget -= tally.distinct.sum()
            if verdict == ASK:
                return ASKED
        state[VERDICT] = ASK
        if verdict == YES:
            clear(tally)
            state[CLASS] += 1
            state[SIZE] = 0
        else:
            other = nearest(classes, number, costs, weights)
            budget -= 1000
            if other < 0:
                return DONE
            count(classes, other, codes, tally)
            budget -= classes.table[other, ROWS] * codes.shape[1]
            join(classes, number, other, costs, weights)
            state[SIZE] = classes.table[number, ROWS]
        if budget < 0:
            return PAUSED
    return DONE
