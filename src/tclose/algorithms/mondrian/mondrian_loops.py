"""Cutting classes in two, from the whole table down."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.closeness import ASK, NO, YES, Rules, Scratch, holds
from tclose.kernels.compile import kernel, once
from tclose.kernels.costs import IS_TREE, Costs, span_cost
from tclose.kernels.sorting import sort_codes

DONE, PAUSED, ASKED = 0, 1, 2
# What `state` holds between calls.
N_STACK, N_CLASSES, VERDICT, START, STOP, CANDIDATE, AXIS, CUT = range(8)

Rows = NDArray[np.int32]
Integers = NDArray[np.int64]


class RowStretches(NamedTuple):
    """Classes as stretches of rows, which are moved for that."""

    rows: Rows  # places, then codes
    numbers: Integers  # which row of the table each is
    stack: Integers  # start and stop of each class still to be cut
    classes: Integers  # where finished classes begin
    state: Integers  # what is under way from call to call; see the names above


class Room(NamedTuple):
    """Room to work in."""

    histogram: Integers  # by place of an axis
    places: NDArray[np.int32]  # the places that occur
    counts: Integers  # and how many rows each has
    rows: Rows  # of the right side of a cut
    rows_from: Integers  # which row of the table each of these is
    weights: NDArray[np.float64]  # of the column of each axis


@once
def axis_order(
    rows: Rows, start: int, stop: int, costs: Costs, weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], Rows]:
    """The axes on which the class is not a single place, widest first, and the lowest and highest places.

    How wide it is on an axis is what it loses there times the weight of the column.
    """
    n_axes = len(costs.table)
    ends = np.empty((2, n_axes), np.int32)
    for axis in range(n_axes):
        ends[0, axis] = ends[1, axis] = rows[start, axis]
    for row in range(start + 1, stop):
        for axis in range(n_axes):
            place = rows[row, axis]
            ends[0, axis] = min(ends[0, axis], place)
            ends[1, axis] = max(ends[1, axis], place)
    order = np.empty(n_axes, np.int64)
    keys = np.empty(n_axes, np.float64)
    found = 0
    for axis in range(n_axes):
        if ends[0, axis] == ends[1, axis]:
            continue
        key = weights[axis] * span_cost(costs, axis, ends[0, axis], ends[1, axis])
        place = found
        while place > 0 and keys[place - 1] < key:
            keys[place], order[place] = keys[place - 1], order[place - 1]
            place -= 1
        keys[place], order[place] = key, axis
        found += 1
    return order[:found], ends


@once
def count_places(rows: Rows, axis: int, low: int, high: int, room: Room) -> int:
    """The distinct places of the class on an axis, ascending, with their counts; returns how many."""
    size, found = len(rows), 0
    if high - low < 4 * size + 64:
        for row in range(size):
            room.histogram[rows[row, axis] - low] += 1
        for place in range(high - low + 1):
            if room.histogram[place]:
                room.places[found] = place + low
                room.counts[found] = room.histogram[place]
                room.histogram[place] = 0
                found += 1
        return found
    values = np.empty(size, np.int32)
    for row in range(size):
        values[row] = rows[row, axis]
    sort_codes(values, size)
    for row in range(size):
        if row == 0 or values[row] != values[row - 1]:
            room.places[found] = values[row]
            room.counts[found] = 0
            found += 1
        room.counts[found - 1] += 1
    return found


@once
def median_cuts(rows: Rows, axis: int, low: int, high: int, k: int, costs: Costs, room: Room) -> tuple[int, int]:
    """The two places to cut after, -1 where there is none: nearest the median between subtrees, and anywhere.

    Only cuts with at least k rows on both sides count. On a line every boundary is alike.
    """
    found = count_places(rows, axis, low, high, room)
    size, left = len(rows), 0
    widest = span_cost(costs, axis, low, high)
    between, anywhere = -1, -1
    between_by, anywhere_by = size + 1, size + 1  # how uneven the best cuts so far are
    for place in range(found - 1):
        left += room.counts[place]
        if left < k or size - left < k:
            continue
        uneven = abs(2 * left - size)
        if uneven < anywhere_by:
            anywhere_by, anywhere = uneven, room.places[place]
        if not costs.table[axis, IS_TREE] or uneven >= between_by:
            continue
        if span_cost(costs, axis, room.places[place], room.places[place + 1]) == widest:
            between_by, between = uneven, room.places[place]
    return between, anywhere


@once
def divide(rows: Rows, index: Integers, start: int, stop: int, axis: int, cut: int, room: Room) -> int:
    """Bring the rows up to the cut before the others, both in order; returns where the others begin."""
    left, right = start, 0
    for row in range(start, stop):
        if rows[row, axis] <= cut:
            for column in range(rows.shape[1]):
                rows[left, column] = rows[row, column]
            index[left] = index[row]
            left += 1
        else:
            for column in range(rows.shape[1]):
                room.rows[right, column] = rows[row, column]
            room.rows_from[right] = index[row]
            right += 1
    for row in range(right):
        for column in range(rows.shape[1]):
            rows[left + row, column] = room.rows[row, column]
        index[left + row] = room.rows_from[row]
    return left


@kernel
def advance(
    stretches: RowStretches, k: int, costs: Costs, rules: Rules, scratch: Scratch, room: Room, budget: int
) -> int:
    """Cut the classes on the stack until none is left, the budget of row visits is spent, or a verdict is needed.

    A class takes the first cut, over its axes from the widest on, whose sides both hold.
    """
    rows, numbers, stack, classes, state = stretches
    n_axes = len(costs.table)
    while state[N_STACK] > 0 or state[VERDICT] != ASK:
        resumed = state[VERDICT] != ASK
        if not resumed:
            state[N_STACK] -= 1
            state[START], state[STOP] = stack[state[N_STACK], 0], stack[state[N_STACK], 1]
            state[CANDIDATE] = 0
        start, stop = state[START], state[STOP]
        order, ends = axis_order(rows, start, stop, costs, room.weights)
        budget -= (stop - start) * n_axes
        accepted = resumed and state[VERDICT] == YES
        state[VERDICT] = ASK
        while not accepted and state[CANDIDATE] < 2 * len(order):
            axis = order[state[CANDIDATE] // 2]
            cuts = median_cuts(rows[start:stop], axis, ends[0, axis], ends[1, axis], k, costs, room)
            second = state[CANDIDATE] % 2
            state[CANDIDATE] += 1
            budget -= stop - start
            cut = cuts[1] if second else cuts[0]
            if cut < 0 or (second and cuts[0] == cuts[1]):
                continue
            budget -= 2 * (stop - start) * len(rules.table)
            state[AXIS], state[CUT] = axis, cut
            verdict = YES
            for side in range(2):  # two calls with True and False would each be compiled
                if verdict != NO:
                    answer = holds(rows[start:stop], n_axes, axis, cut, side == 0, rules, scratch)
                    verdict = NO if answer == NO else max(verdict, answer)
            if verdict == ASK:
                return ASKED
            accepted = verdict == YES
            if not accepted and budget < 0:  # goes on from here as if the verdict had been asked for
                state[VERDICT] = NO
                return PAUSED
        if accepted:
            middle = divide(rows, numbers, start, stop, state[AXIS], state[CUT], room)
            for low, high in ((start, middle), (middle, stop)):
                stack[state[N_STACK], 0], stack[state[N_STACK], 1] = low, high
                state[N_STACK] += 1
        else:
            classes[state[N_CLASSES]] = start
            state[N_CLASSES] += 1
        if budget < 0:
            return PAUSED
    return DONE
