"""Cutting classes in two, from the whole table down."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.closeness import ASK, NO, YES, Rules, Scratch, holds
from tclose.kernels.compile import inner, kernel, once
from tclose.kernels.costs import Costs, span_cost
from tclose.kernels.sorting import sort_by, sort_codes

DONE, PAUSED, ASKED = 0, 1, 2
# What `state` holds between calls.
N_STACK, N_CLASSES, UNDER_WAY, START, STOP, N_LISTED, N_CUTS, N_TRIED, AXIS, CUT, VERDICT = range(11)
N_STATES = 11
STEPS = 2.0**30  # savings a row and widths are compared in such parts of 1: rounding of sums decides nothing
TOO_WIDE = 1e5  # a span that costs more is wider than `coarsest` allows; all others cost little more than 1 at most
FIRST = 1e18  # the key of a cut that comes before all that are not on such an axis
FEWEST_TRIED, MOST_VISITED = 24, 2**21  # cuts that are tried at least, and row visits beyond which no more are

Rows = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class RowStretches(NamedTuple):
    """Classes as stretches of rows, which are moved for that."""

    rows: Rows  # places, then codes
    numbers: Integers  # which row of the table each is
    stack: Integers  # start and stop of each class still to be cut
    classes: Integers  # where finished classes begin
    state: Integers  # what is under way from call to call; see the names above


class AxisScale(NamedTuple):
    """What spans lose, and how cuts of different axes are compared."""

    costs: Costs
    textbook: bool  # by how wide the class is there, or by what the cut saves
    weights: Floats  # of each axis: that of its column, or its share in the loss
    spreads: Floats  # of a hierarchy: what one place more in the order of its leaves counts; 0 elsewhere
    coordinates: Floats  # of the places of all axes, scaled to the range of the whole table; for the textbook alone
    begins: Integers  # where those of each axis begin


class Room(NamedTuple):
    """Room to work in."""

    histogram: Integers  # by place of an axis; zero between calls
    places: NDArray[np.int32]  # the places that occur
    counts: Integers  # and how many rows each has
    lows: Rows  # the box of these rows
    highs: Rows
    left: Floats  # what all rows up to a place cost
    rows: Rows  # of the right side of a cut
    rows_from: Integers  # which row of the table each of these is


class CutList(NamedTuple):
    """The cuts of the class under way."""

    ends: Rows  # the lowest and the highest place of the class on each axis
    keys: Floats  # of each cut: the least is tried first, and of equals the one found first
    where: Integers  # axis, and the last place of the left side
    order: Integers  # in which they are tried
    room: Integers  # to sort in


@once
def find_ends(rows: Rows, ends: Rows) -> None:
    """The lowest and the highest place of the class on each axis."""
    n_axes = ends.shape[1]
    for axis in range(n_axes):
        ends[0, axis] = ends[1, axis] = rows[0, axis]
    for row in range(1, len(rows)):
        for axis in range(n_axes):
            place = rows[row, axis]
            ends[0, axis] = min(ends[0, axis], place)
            ends[1, axis] = max(ends[1, axis], place)


@inner
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
def list_median(rows: Rows, axis: int, k: int, scale: AxisScale, room: Room, cuts: CutList, n: int) -> int:
    """Add the cut of the textbook on one axis to n others; returns how many there are.

    The widest axis comes first, and before it one that is wider than `coarsest` allows. The cut is after the median,
    the least place that at least half of the rows do not exceed, if there are k rows on both sides.
    """
    low, high, size = cuts.ends[0, axis], cuts.ends[1, axis], len(rows)
    count_places(rows, axis, low, high, room)
    left, place = 0, 0
    while 2 * (left + room.counts[place]) < size:
        left += room.counts[place]
        place += 1
    left += room.counts[place]
    if left < k or size - left < k:
        return n
    begin = scale.begins[axis]
    width = scale.weights[axis] * (scale.coordinates[begin + high] - scale.coordinates[begin + low])
    too_wide = span_cost(scale.costs, axis, low, high) > TOO_WIDE
    cuts.keys[n] = -np.rint(width * STEPS) - (FIRST if too_wide else 0.0)
    cuts.where[n, 0], cuts.where[n, 1] = axis, room.places[place]
    return n + 1


@inner
def span_key(scale: AxisScale, axis: int, low: int, high: int) -> float:
    """What a span counts: its loss; in a hierarchy half of that, and half of how far its leaves are apart in order."""
    cost, spread = span_cost(scale.costs, axis, low, high), scale.spreads[axis]
    if spread > 0:
        cost = (cost + spread * (high - low)) / 2
    return float(scale.weights[axis] * cost)


@once
def box_places(rows: Rows, axis: int, found: int, room: Room) -> None:
    """The box of the rows at each place of an axis."""
    lows, highs, n_axes = room.lows, room.highs, room.lows.shape[1]
    for each in range(found):
        room.histogram[room.places[each]] = each
        for other in range(n_axes):
            lows[each, other], highs[each, other] = 2**31 - 1, -1
    for row in range(len(rows)):
        each = room.histogram[rows[row, axis]]
        for other in range(n_axes):
            place = rows[row, other]
            lows[each, other] = min(lows[each, other], place)
            highs[each, other] = max(highs[each, other], place)
    for each in range(found):
        room.histogram[room.places[each]] = 0


@once
def list_savings(rows: Rows, axis: int, k: int, scale: AxisScale, room: Room, cuts: CutList, n: int) -> int:
    """Add all cuts on one axis with k rows on both sides to n others; returns how many there are.

    What a cut saves is what a row of the class loses, less the mean over the rows of both sides. The one that saves
    most comes first, and of equals the one whose smaller side is larger: its share is below 1, and savings are whole.
    """
    lows, highs, counts, size, n_axes = room.lows, room.highs, room.counts, len(rows), len(scale.weights)
    found = count_places(rows, axis, cuts.ends[0, axis], cuts.ends[1, axis], room)
    box_places(rows, axis, found, room)
    low, high, spans = np.empty(n_axes, np.int32), np.empty(n_axes, np.int32), np.empty(n_axes, np.float64)
    whole = 0.0
    for other in range(n_axes):
        whole += span_key(scale, other, cuts.ends[0, other], cuts.ends[1, other])
    for back in range(2):  # from the left, then from the right
        taken = 0
        for step in range(found - 1):
            each = found - 1 - step if back else step
            taken += counts[each]
            for other in range(n_axes):
                if step > 0 and lows[each, other] >= low[other] and highs[each, other] <= high[other]:
                    continue
                low[other] = lows[each, other] if step == 0 else min(low[other], lows[each, other])
                high[other] = highs[each, other] if step == 0 else max(high[other], highs[each, other])
                spans[other] = span_key(scale, other, low[other], high[other])
            if taken < k or size - taken < k:
                continue
            cost = 0.0
            for other in range(n_axes):
                cost += spans[other]
            if back == 0:
                room.left[each] = taken * cost
                continue
            saved = whole - (room.left[each - 1] + taken * cost) / size
            cuts.keys[n] = -np.rint(saved * STEPS) - min(taken, size - taken) / size
            cuts.where[n, 0], cuts.where[n, 1] = axis, room.places[each - 1]
            n += 1
    return n


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
    stretches: RowStretches,
    cuts: CutList,
    k: int,
    scale: AxisScale,
    rules: Rules,
    scratch: Scratch,
    room: Room,
    budget: int,
) -> int:
    """Cut the classes on the stack until none is left, the budget of row visits is spent, or a verdict is needed.

    A class takes the first of its cuts whose sides both hold.
    """
    rows, numbers, stack, classes, state = stretches
    n_axes = len(scale.weights)
    while state[N_STACK] > 0 or state[UNDER_WAY]:
        if not state[UNDER_WAY]:
            state[N_STACK] -= 1
            state[START], state[STOP] = stack[state[N_STACK], 0], stack[state[N_STACK], 1]
            find_ends(rows[state[START] : state[STOP]], cuts.ends)
            state[N_LISTED], state[N_CUTS], state[N_TRIED], state[VERDICT] = 0, 0, 0, ASK
            state[UNDER_WAY] = 1
        start, stop = state[START], state[STOP]
        size = stop - start
        while state[N_LISTED] < n_axes:
            if budget < 0:
                return PAUSED
            axis = state[N_LISTED]
            if cuts.ends[0, axis] < cuts.ends[1, axis]:
                if scale.textbook:
                    n_cuts = list_median(rows[start:stop], axis, k, scale, room, cuts, state[N_CUTS])
                    budget -= 2 * size
                else:
                    n_cuts = list_savings(rows[start:stop], axis, k, scale, room, cuts, state[N_CUTS])
                    budget -= n_axes * size
                state[N_CUTS] = n_cuts
            state[N_LISTED] += 1
            if state[N_LISTED] == n_axes:
                sort_by(cuts.keys, cuts.order, cuts.room, state[N_CUTS])
        accepted = state[VERDICT] == YES
        state[VERDICT] = ASK
        n_tried = min(state[N_CUTS], max(FEWEST_TRIED, MOST_VISITED // size))
        while not accepted and state[N_TRIED] < n_tried:
            if budget < 0:
                return PAUSED
            each = cuts.order[state[N_TRIED]]
            state[AXIS], state[CUT] = cuts.where[each, 0], cuts.where[each, 1]
            state[N_TRIED] += 1
            budget -= 2 * size * len(rules.table)
            verdict = YES
            for side in range(2):  # two calls with True and False would each be compiled
                if verdict != NO:
                    answer = holds(rows[start:stop], n_axes, state[AXIS], state[CUT], side == 0, rules, scratch)
                    verdict = NO if answer == NO else max(verdict, answer)
            if verdict == ASK:
                return ASKED
            accepted = verdict == YES
        if accepted:
            middle = divide(rows, numbers, start, stop, state[AXIS], state[CUT], room)
            for low, high in ((start, middle), (middle, stop)):
                stack[state[N_STACK], 0], stack[state[N_STACK], 1] = low, high
                state[N_STACK] += 1
        else:
            classes[state[N_CLASSES]] = start
            state[N_CLASSES] += 1
        state[UNDER_WAY] = 0
        if budget < 0:
            return PAUSED
    return DONE
