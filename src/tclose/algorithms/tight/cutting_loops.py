"""Cutting classes in two where that saves most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.tight.boxes_loops import (
    BoxSpace,
    Task,
    Tools,
    asking,
    box_loss,
    empty,
    holds,
    widen,
)
from tclose.algorithms.tight.mending_loops import (
    LARGE,
    SplitOptions,
    limit,
    line_up,
    mend,
    place_of_most,
    tally,
)
from tclose.algorithms.tight.narrowing_loops import NarrowRoom, narrow, restore
from tclose.kernels.closeness import Scratch
from tclose.kernels.compile import inner, kernel, once
from tclose.kernels.soft import measure
from tclose.kernels.sorting import sort_by, sort_codes, sort_roughly, zeros

DONE, PAUSED = 0, 1
N_STACK, N_CLASSES = 0, 1  # what `state` holds between calls
NARROW = 2  # values for each row of a class, from which on it is worth to leave out those that none has
TRY_HARD = 1000  # rows of a class from which on it is not left whole before its values were halved

Places = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Cuts(NamedTuple):
    """The cuts of one class, and room to find them."""

    saved: Floats  # what each saves, and
    where: Integers  # its axis, the last place on its left side, and the rows there
    order: Integers  # most saved first
    room: Integers
    counts: Integers  # by place of an axis
    lows: Places  # the box of the rows at each place
    highs: Places
    left: Floats  # the cost of all up to a place
    found: Places  # the places that occur
    key: Floats  # what rows or cuts are sorted by


class Division(NamedTuple):
    """On which side of a cut, 0 or 1, each row of a class is."""

    sides: NDArray[np.int8]  # of the best division so far
    trial: NDArray[np.int8]  # of the one being tried


class SplitClasses(NamedTuple):
    """Classes that are split, as stretches of `members`."""

    members: Integers  # the rows
    stack: Integers  # start and stop of each class still to be looked at
    starts: Integers  # of the classes that stay as they are
    state: Integers  # how many are on the stack, and how many stay; see the names above


@once
def places_of(task: Task, members: Integers, n: int, axis: int, low: int, high: int, cuts: Cuts) -> int:
    """Count the rows at each place of an axis; returns how many places occur, listed in order."""
    rows, counts, places = task.space.rows, cuts.counts, cuts.found
    found = 0
    for each in range(n):
        place = rows[members[each], axis]
        if counts[place] == 0:
            places[found] = place
            found += 1
        counts[place] += 1
    if high - low < 4 * n + 64:
        found = 0
        for place in range(low, high + 1):
            if counts[place]:
                places[found] = place
                found += 1
        return found
    sort_codes(places, found)
    return found


@once
def find_cuts(task: Task, members: Integers, n: int, cuts: Cuts, halt: NDArray[np.bool_]) -> tuple[int, float]:
    """All cuts with k rows on both sides, and what each saves; returns how many, and what the class costs.

    When `halt` is set, axes not yet looked at are left out.
    """
    space, n_axes, k = task.space, task.n_axes, task.k
    rows, counts, places, lows, highs = space.rows, cuts.counts, cuts.found, cuts.lows, cuts.highs
    low, high = np.empty(n_axes, np.int32), np.empty(n_axes, np.int32)
    first, last = np.empty(n_axes, np.int32), np.empty(n_axes, np.int32)
    empty(first, last)
    for each in range(n):
        widen(space, members[each], first, last)
    total, n_cuts = n * box_loss(space, first, last), 0
    for axis in range(n_axes):
        if halt[0]:
            break
        if first[axis] == last[axis]:
            continue
        n_places = places_of(task, members, n, axis, first[axis], last[axis], cuts)
        for each in range(n_places):
            empty(lows[places[each]], highs[places[each]])
        for each in range(n):
            place = rows[members[each], axis]
            widen(space, members[each], lows[place], highs[place])
        for back in range(2):  # from the left, then from the right
            empty(low, high)
            taken = 0
            for step in range(n_places - 1):
                each = n_places - 1 - step if back else step
                place = places[each]
                taken += counts[place]
                for other in range(n_axes):
                    low[other] = min(low[other], lows[place, other])
                    high[other] = max(high[other], highs[place, other])
                if taken < k or n - taken < k:
                    continue
                cost = taken * box_loss(space, low, high)
                if not back:
                    cuts.left[each] = cost
                else:
                    cuts.saved[n_cuts] = total - cost - cuts.left[each - 1]
                    cuts.where[n_cuts, 0], cuts.where[n_cuts, 1] = axis, places[each - 1]
                    cuts.where[n_cuts, 2] = n - taken
                    n_cuts += 1
        for each in range(n_places):
            counts[places[each]] = 0
    return n_cuts, total


@inner
def sides_cost(space: BoxSpace, members: Integers, n: int, sides: NDArray[np.int8]) -> float:
    """What both sides cost together."""
    n_axes = len(space.weights)
    low, high = np.empty(n_axes, np.int32), np.empty(n_axes, np.int32)
    total = 0.0
    for side in range(2):
        empty(low, high)
        size = 0
        for each in range(n):
            if sides[each] == side:
                widen(space, members[each], low, high)
                size += 1
        total += size * box_loss(space, low, high)
    return total


@inner
def both_hold(task: Task, members: Integers, n: int, sides: NDArray[np.int8], room: Integers, scratch: Scratch) -> bool:
    """Is each side close and diverse, exactly?"""
    for side in range(2):
        size = 0
        for each in range(n):
            if sides[each] == side:
                room[size] = members[each]
                size += 1
        if not holds(task, room, size, scratch):
            return False
    return True


@once
def best_cut(
    task: Task, members: Integers, options: SplitOptions, n_checks: int, cuts: Cuts, division: Division, tools: Tools
) -> float:
    """The division of a class that saves most, into `sides`; returns what it saves, 0 if there is none.

    Cuts are looked at from the one that saves most on, `n_checks` at most. The first whose sides
    are both within their limits ends the search; before it, some are mended, and count by what
    they then save.
    """
    rows, soft, key, order, room = task.space.rows, task.soft, cuts.key, cuts.order, cuts.room
    n, sides, trial = len(members), division.sides, division.trial
    n_mends = options.n_mends if n <= LARGE else min(options.n_mends, 1)
    n_cuts, total = find_cuts(task, members, n, cuts, tools.halt)
    for each in range(n_cuts):
        key[each] = -cuts.saved[each]
    sort_by(key, order, room, n_cuts)
    counts, sizes = np.empty((2, soft.n_values), np.int64), np.empty(2, np.int64)
    mended, most_an_axis = zeros(task.n_axes), max(n_mends // 3, 1)
    most = 1e-9
    for rank in range(min(n_cuts, n_checks)):
        cut = order[rank]
        if cuts.saved[cut] <= most or tools.halt[0]:
            break
        axis, place = cuts.where[cut, 0], cuts.where[cut, 1]
        for each in range(n):
            trial[each] = rows[members[each], axis] > place
        tally(task, members, n, trial, counts, sizes)
        within = True
        for side in range(2):
            if within:
                reach = limit(sizes[side], task.k, options.n_all, options.slack)
                within = measure(soft, counts[side], sizes[side], tools.gauge) <= reach + 1e-9
        if within and both_hold(task, members, n, trial, room, tools.scratch):
            for each in range(n):
                sides[each] = trial[each]
            return float(cuts.saved[cut])
        if n_mends <= 0 or mended[axis] >= most_an_axis:
            continue
        mended[axis] += 1
        n_mends -= 1
        heads, following = line_up(task, members, n, trial)
        for only in range(-1, 2):
            for each in range(n):
                trial[each] = rows[members[each], axis] > place
            if not mend(task, members, trial, only, options, heads.copy(), following, tools):
                continue
            saved = total - sides_cost(task.space, members, n, trial)
            if saved > most and both_hold(task, members, n, trial, room, tools.scratch):
                most = saved
                for each in range(n):
                    sides[each] = trial[each]
    return most if most > 1e-9 else 0.0


@once
def even_cut(
    task: Task, members: Integers, options: SplitOptions, cuts: Cuts, division: Division, tools: Tools
) -> float:
    """The division of a large class that saves most of those that halve every value, into `sides`; returns that.

    For each axis, the rows of each value of the worst attribute are halved along it. So both sides
    are about as close as the class is, and little remains to be mended. Where nothing is
    sensitive, all rows count as of one value.
    """
    space, n_axes, n_values, key, order = task.space, task.n_axes, task.soft.n_values, cuts.key, cuts.order
    n, sides, trial = len(members), division.sides, division.trial
    counts, sizes = np.empty((2, n_values), np.int64), np.empty(2, np.int64)
    low, high = np.empty(n_axes, np.int32), np.empty(n_axes, np.int32)
    empty(low, high)
    for each in range(n):
        widen(space, members[each], low, high)
        trial[each] = 0
    total, column = n * box_loss(space, low, high), -1
    of_value, most = np.empty(max(n_values, 1), np.int64), 1e-9
    if total <= most:
        return 0.0
    for value in range(len(of_value)):
        of_value[value] = n
    if task.n_attributes > 0:
        tally(task, members, n, trial, counts, sizes)
        measure(task.soft, counts[0], n, tools.gauge)
        column = n_axes + task.n_attributes + place_of_most(tools.gauge.ratios)
        for value in range(n_values):
            of_value[value] = counts[0, value]
    for axis in range(n_axes):
        if tools.halt[0]:
            break
        for each in range(n):
            key[each] = space.rows[members[each], axis]
        sort_roughly(key, order, n)
        seen = zeros(len(of_value))
        for rank in range(n):
            each = order[rank]
            value = space.rows[members[each], column] if column >= 0 else 0
            trial[each] = 2 * seen[value] + value % 2 >= of_value[value]  # of an odd number, one side or the other
            seen[value] += 1
        tally(task, members, n, trial, counts, sizes)
        if min(sizes[0], sizes[1]) < task.k:
            continue
        heads, following = line_up(task, members, n, trial)
        if not mend(task, members, trial, -1, options, heads, following, tools):
            continue
        saved = total - sides_cost(space, members, n, trial)
        if saved > most and both_hold(task, members, n, trial, cuts.room, tools.scratch):
            most = saved
            for each in range(n):
                sides[each] = trial[each]
    return most if most > 1e-9 else 0.0


@inner
def cut_class(
    task: Task, members: Integers, options: SplitOptions, cuts: Cuts, division: Division, tools: Tools
) -> float:
    """The division of a class that is found, into `sides`; returns what it saves, 0 if there is none."""
    n = len(members)
    saved = best_cut(task, members, options, max(12, 4_000_000 // n), cuts, division, tools)
    if saved == 0 and n >= TRY_HARD and options.n_mends > 0:
        return float(even_cut(task, members, options, cuts, division, tools))
    return float(saved)


@once
def divide(members: Integers, start: int, stop: int, sides: NDArray[np.int8], room: Integers) -> int:
    """Bring the rows of the left side before the others, both in order; returns where the others begin."""
    left, right = start, 0
    for each in range(start, stop):
        if sides[each - start] == 0:
            members[left] = members[each]
            left += 1
        else:
            room[right] = members[each]
            right += 1
    for each in range(right):
        members[left + each] = room[each]
    return left


@kernel
def split(
    task: Task,
    classes: SplitClasses,
    options: SplitOptions,
    cuts: Cuts,
    division: Division,
    room: NarrowRoom,
    tools: Tools,
    budget: int,
) -> int:
    """Divide the classes on the stack until none can be, the budget of row visits is spent or it is halted."""
    members, stack, starts, state = classes
    rows, first = task.space.rows, task.n_axes + task.n_attributes
    while state[N_STACK] > 0:
        if tools.halt[0]:
            return PAUSED
        state[N_STACK] -= 1
        start, stop = stack[state[N_STACK], 0], stack[state[N_STACK], 1]
        n = stop - start
        saved = 0.0
        if n >= max(2 * task.k, options.smallest):
            own = members[start:stop]
            if NARROW * n < task.soft.n_values:
                narrowed = asking(task, narrow(task.soft, rows, first, own, room))
                saved = cut_class(narrowed, own, options, cuts, division, tools)
                restore(rows, first, own, room)
            else:
                saved = cut_class(task, own, options, cuts, division, tools)
            budget -= 40 * n if saved or n < TRY_HARD else 120 * n
        if saved > 0:
            middle = divide(members, start, stop, division.sides, cuts.room)
            stack[state[N_STACK], 0], stack[state[N_STACK], 1] = start, middle
            stack[state[N_STACK] + 1, 0], stack[state[N_STACK] + 1, 1] = middle, stop
            state[N_STACK] += 2
        else:
            starts[state[N_CLASSES]] = start
            state[N_CLASSES] += 1
        if budget < 0:
            return PAUSED
    return DONE
