"""Merge classes that do not hold with their nearest, until all hold (004 section 7).

MergedClasses stand in the leaves of a binary tree, `LEAF` in each: node 1 is the root, nodes 2 i and
2 i + 1 are below node i. Every class of a node begins at or before `ends[node, axis]` and ends at
or after `ends[node, n_axes + axis]`.

A class of s rows that lose L' takes s L - s L' more if it comes to lose L, a line over L; of the
lines of a node `rises[node, j]` is the lowest at L = j / STEPS. The lowest of several lines is
concave, so between two steps it is nowhere below the chord.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.closeness import ASK, NO, YES, Rules, Scratch, judge
from tclose.kernels.compile import inner, kernel
from tclose.kernels.costs import Costs, span_cost

DONE, PAUSED, ASKED = 0, 1, 2
LEAF = 8
STEPS = 16
# What `state` holds between calls: the class under way, how many rows of it are counted, and the verdict on it.
CLASS, SIZE, VERDICT = range(3)
# Columns of the table of classes: its rows, where its own begin in `codes`, the class it is merged into (or itself),
# the next and the last of the classes merged into it, and its place in the tree.
ROWS, START, OWNER, NEXT, LAST, PLACE = range(6)

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class MergedClasses(NamedTuple):
    """Classes with the spans they cover, and the tree over them."""

    table: Integers  # one row a class, its columns named above
    spans: NDArray[np.int32]  # lowest places, then highest
    loss: Floats  # of a row of the class
    along: Integers  # the classes in the order of the tree
    ends: NDArray[np.int32]
    rises: Floats
    inside: Integers  # classes still there, of each node


class MergeTally(NamedTuple):
    """The class under way, counted: zero between classes."""

    counts: Integers  # of each attribute and value
    touched: NDArray[np.int32]  # of each attribute: the values that occur
    distinct: Integers  # and how many they are


@inner
def look(classes: MergedClasses, node: int) -> None:
    """What a node knows of its classes, from these or from the two nodes below it."""
    n_axes, width = classes.ends.shape[1] // 2, len(classes.ends) // 2
    ends, rises = classes.ends[node], classes.rises[node]
    ends[:n_axes], ends[n_axes:] = -1, 2**31 - 1
    rises[:] = np.inf
    classes.inside[node] = 0
    if node < width:
        for child in range(2 * node, 2 * node + 2):
            classes.inside[node] += classes.inside[child]
            for axis in range(n_axes):
                ends[axis] = max(ends[axis], classes.ends[child, axis])
                ends[n_axes + axis] = min(ends[n_axes + axis], classes.ends[child, n_axes + axis])
            for step in range(STEPS + 1):
                rises[step] = min(rises[step], classes.rises[child, step])
        return
    first = (node - width) * LEAF
    for place in range(first, min(first + LEAF, len(classes.along))):
        number = classes.along[place]
        if classes.table[number, OWNER] != number:
            continue
        classes.inside[node] += 1
        for axis in range(n_axes):
            ends[axis] = max(ends[axis], classes.spans[number, axis])
            ends[n_axes + axis] = min(ends[n_axes + axis], classes.spans[number, n_axes + axis])
        for step in range(STEPS + 1):
            rise = classes.table[number, ROWS] * (step / STEPS - classes.loss[number])
            rises[step] = min(rises[step], rise)


@kernel
def build(classes: MergedClasses) -> None:
    """What all nodes know, from the leaves up."""
    for node in range(len(classes.ends) - 1, 0, -1):
        look(classes, node)


@inner
def look_above(classes: MergedClasses, number: int) -> None:
    """The same for those above one class, which has changed."""
    node = len(classes.ends) // 2 + classes.table[number, PLACE] // LEAF
    while node > 0:
        look(classes, node)
        node >>= 1


@inner
def joint_loss(
    spans: NDArray[np.int32], number: int, others: NDArray[np.int32], other: int, costs: Costs, weights: Floats
) -> float:
    """The loss of a row of a class that covers the span of one number and another."""
    total, n_axes = 0.0, len(weights)
    for axis in range(n_axes):
        low = min(spans[number, axis], others[other, axis])
        high = max(spans[number, n_axes + axis], others[other, n_axes + axis])
        total += weights[axis] * span_cost(costs, axis, low, high)
    return total


@inner
def least_rise(rises: Floats, node: int, loss: float) -> float:
    """What the classes of a node lose more, at least, if one of them comes to lose this."""
    step = max(min(int(loss * STEPS), STEPS - 1), 0)
    low, high = rises[node, step], rises[node, step + 1]
    return float(max(low + (high - low) * (loss * STEPS - step), 0.0))


@kernel
def nearest(classes: MergedClasses, number: int, costs: Costs, weights: Floats) -> tuple[int, int]:
    """The class whose union with this one adds least to the total cost, -1 if there is none; and the nodes looked at.

    The union of s and s' rows adds s L + (s' L - s' L') (and takes off what this class costs, the
    same for all). L is at least L', and at least that of this class and a node's ends, which all
    classes of the node cover. Of two nodes that which can add less comes first.
    """
    # Handed on one by one: the arrays of a tuple are reference-counted at each call, which takes as long as all else.
    table, spans, loss, along, ends, rises, inside = classes
    stack, bounds = np.empty(64, np.int64), np.empty(64, np.float64)
    width, size = len(ends) // 2, table[number, ROWS]
    best, least = -1, np.inf
    top, looked = 1, 0
    stack[0], bounds[0] = 1, 0.0
    while top > 0:
        top -= 1
        node = stack[top]
        if bounds[top] >= least * (1 - 1e-12):  # bounds and costs of the same are rounded differently
            continue
        looked += 1
        if node < width:
            for child in range(2 * node, 2 * node + 2):
                bounds[top], stack[top] = np.inf, child
                if inside[child] > 0:
                    union = joint_loss(spans, number, ends, child, costs, weights)
                    bounds[top] = size * union + least_rise(rises, child, union)
                top += 1
            if bounds[top - 2] < bounds[top - 1]:
                stack[top - 2], stack[top - 1] = stack[top - 1], stack[top - 2]
                bounds[top - 2], bounds[top - 1] = bounds[top - 1], bounds[top - 2]
            continue
        first = (node - width) * LEAF
        for place in range(first, min(first + LEAF, len(along))):
            other = along[place]
            if table[other, OWNER] != other or other == number:
                continue
            rows = table[other, ROWS]
            union = joint_loss(spans, number, spans, other, costs, weights)
            added = (size + rows) * union - rows * loss[other]
            if added < least:
                best, least = other, added
    return best, looked


@inner
def count(classes: MergedClasses, number: int, codes: NDArray[np.int32], tally: MergeTally) -> None:
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


@inner
def clear(tally: MergeTally) -> None:
    """Begin anew."""
    for attribute in range(len(tally.distinct)):
        for place in range(tally.distinct[attribute]):
            tally.counts[attribute, tally.touched[attribute, place]] = 0
        tally.distinct[attribute] = 0


@inner
def holds(tally: MergeTally, size: int, rules: Rules, scratch: Scratch) -> int:
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


@kernel
def join(classes: MergedClasses, number: int, other: int, costs: Costs, weights: Floats) -> None:
    """Merge another class into this one."""
    n_axes = len(weights)
    classes.loss[number] = joint_loss(classes.spans, number, classes.spans, other, costs, weights)
    for axis in range(n_axes):
        classes.spans[number, axis] = min(classes.spans[number, axis], classes.spans[other, axis])
        highest = max(classes.spans[number, n_axes + axis], classes.spans[other, n_axes + axis])
        classes.spans[number, n_axes + axis] = highest
    classes.table[number, ROWS] += classes.table[other, ROWS]
    classes.table[classes.table[number, LAST], NEXT] = other
    classes.table[number, LAST] = classes.table[other, LAST]
    classes.table[other, OWNER] = number
    look_above(classes, other)
    look_above(classes, number)


class MergeTask(NamedTuple):
    """What is asked of every class."""

    k: int
    rules: Rules
    scratch: Scratch  # room to judge by the rules


@kernel
def advance(
    classes: MergedClasses,
    codes: NDArray[np.int32],
    tally: MergeTally,
    state: Integers,
    task: MergeTask,
    costs: Costs,
    weights: Floats,
    budget: int,
) -> int:
    """Go through the classes until all hold, the budget is spent, a verdict is needed, or the tree is half empty.

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
            verdict = holds(tally, state[SIZE], task.rules, task.scratch) if state[SIZE] >= task.k else NO
            budget -= tally.distinct.sum()
            if verdict == ASK:
                return ASKED
        state[VERDICT] = ASK
        if verdict == YES:
            clear(tally)
            state[CLASS] += 1
            state[SIZE] = 0
        else:
            other, looked = nearest(classes, number, costs, weights)
            budget -= 8 * looked * max(len(weights), 5)
            if other < 0:
                return DONE
            count(classes, other, codes, tally)
            budget -= classes.table[other, ROWS] * codes.shape[1]
            join(classes, number, other, costs, weights)
            state[SIZE] = classes.table[number, ROWS]
        if budget < 0 or 2 * classes.inside[1] < len(classes.along):
            return PAUSED
    return DONE
