"""Moving rows from one side of a cut to the other, until both sides are close."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.tight.boxes_loops import Task, Tools, empty, loss_beyond, spans_of, widen
from tclose.kernels.compile import inner
from tclose.kernels.soft import measure
from tclose.kernels.sorting import sort_by, sort_roughly, zeros

LARGE = 20_000  # rows of a class above which they are lined up roughly, and only one cut is mended
FEW_VALUES = 256  # above, several rows are moved over before a class is measured again: at most
ROWS_AT_ONCE = 64  # one in so many, and of those that promise
NEARLY = 0.9  # of what the best does

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class SplitOptions(NamedTuple):
    """How far classes are split, and how hard that is tried."""

    n_all: int  # rows of the whole table, from which on `slack` counts in full
    slack: float  # the share of t that the largest class must leave to its parts
    smallest: int  # classes of fewer rows stay as they are
    n_mends: int  # cuts of a class that are mended at most


class Mending(NamedTuple):
    """The members of a class while some of them move to the other side of a cut."""

    members: Integers  # the rows
    sides: NDArray[np.int8]  # of each member
    counts: Integers  # of each side and value
    sizes: Integers  # of each side
    moved: Integers  # whether a member has moved
    pulls: Floats  # how much the left and the right side count, over their rows
    heads: Integers  # of each attribute, side and value the member that may leave first
    following: Integers  # of each attribute and member the one that may leave after it


@inner
def limit(size: int, k: int, n_all: int, slack: float) -> float:
    """How much of t a class of this size may use: the larger, the less, so that some is left for its parts."""
    if slack <= 0 or size <= 2 * k:
        return 1.0
    return 1.0 - slack * min(math.log(size / (2 * k)) / math.log(max(n_all / (2 * k), 1.5)), 1.0)


@inner
def tally(task: Task, members: Integers, n: int, sides: NDArray[np.int8], counts: Integers, sizes: Integers) -> None:
    """Count the values of `soft` on both sides."""
    rows, first, n_attributes = task.space.rows, task.n_axes + task.n_attributes, task.n_attributes
    for side in range(2):
        sizes[side] = 0
        for value in range(task.soft.n_values):
            counts[side, value] = 0
    for each in range(n):
        side = sides[each]
        sizes[side] += 1
        for attribute in range(n_attributes):
            counts[side, rows[members[each], first + attribute]] += 1


@inner
def place_of_most(ratios: Floats) -> int:
    """Where the largest is, the first of equals."""
    most = 0
    for place in range(len(ratios)):
        if ratios[place] > ratios[most]:
            most = place
    return most


@inner
def line_up(task: Task, members: Integers, n: int, sides: NDArray[np.int8]) -> tuple[Integers, Integers]:
    """For each attribute, side and value the rows from the one that adds least to the other side's box on."""
    space, n_axes, n_attributes, n_values = task.space, task.n_axes, task.n_attributes, task.soft.n_values
    low, high = np.empty((2, n_axes), np.int32), np.empty((2, n_axes), np.int32)
    spans, loss = np.empty((2, n_axes), np.float64), np.empty(2, np.float64)
    for side in range(2):
        empty(low[side], high[side])
    for each in range(n):
        widen(space, members[each], low[sides[each]], high[sides[each]])
    for side in range(2):
        loss[side] = spans_of(space, low[side], high[side], spans[side])
    key = np.empty(n, np.float64)
    for each in range(n):
        other = 1 - sides[each]
        key[each] = loss_beyond(space, members[each], low[other], high[other], spans[other], loss[other])
    order = np.empty(n, np.int64)
    if n > LARGE:
        sort_roughly(key, order, n)
    else:
        sort_by(key, order, np.empty(n, np.int64), n)
    heads = np.empty((n_attributes, 2, n_values), np.int64)
    following = np.empty((n_attributes, n), np.int64)
    for attribute in range(n_attributes):
        for side in range(2):
            for value in range(n_values):
                heads[attribute, side, value] = -1
        for back in range(n - 1, -1, -1):
            each = order[back]
            code = space.rows[members[each], n_axes + n_attributes + attribute]
            following[attribute, each] = heads[attribute, sides[each], code]
            heads[attribute, sides[each], code] = each
    return heads, following


@inner
def promise(task: Task, row: int, pulls: Floats, tools: Tools) -> float:
    """How much nearer both sides come to what is asked if a row goes from the left to the right, by their potentials.

    `pulls` says how much each side counts, over its rows.
    """
    gain, first = 0.0, task.n_axes + task.n_attributes
    for attribute in range(task.n_attributes):
        code = task.space.rows[row, first + attribute]
        gain += pulls[0] * tools.gauge.potentials[code] - pulls[1] * tools.other.potentials[code]
    return gain


@inner
def move_over(task: Task, state: Mending, each: int) -> None:
    """Put a member on the other side, for good."""
    counts, sizes, side, first = state.counts, state.sizes, state.sides[each], task.n_axes + task.n_attributes
    state.sides[each] = 1 - side
    state.moved[each] = 1
    sizes[side] -= 1
    sizes[1 - side] += 1
    for attribute in range(task.n_attributes):
        code = task.space.rows[state.members[each], first + attribute]
        counts[side, code] -= 1
        counts[1 - side, code] += 1


@inner
def move_several(task: Task, state: Mending, only: int, worst: int, wanted: int, least: float, tools: Tools) -> int:
    """Move up to as many rows as are wanted, each of which promises `least`; returns how many that were.

    Of a value of the worst attribute no more go than a side has too many of, or one.
    """
    soft, sizes, counts, heads, n_moved = task.soft, state.sizes, state.counts, state.heads, 0
    for side in range(2):
        if side == 1 - only:
            continue
        for value in range(soft.firsts[worst], soft.firsts[worst + 1]):
            surplus = max(int(counts[side, value] - sizes[side] * soft.values[value]), 1)
            each = heads[worst, side, value]
            while each >= 0 and surplus > 0 and n_moved < wanted and sizes[side] > task.k:
                if not state.moved[each]:
                    gain = promise(task, state.members[each], state.pulls, tools)
                    if (-gain if side else gain) < least:
                        break
                    move_over(task, state, each)
                    surplus, n_moved = surplus - 1, n_moved + 1
                each = state.following[worst, each]
            heads[worst, side, value] = each
    return n_moved


@inner
def mend(
    task: Task,
    members: Integers,
    sides: NDArray[np.int8],
    only: int,
    options: SplitOptions,
    heads: Integers,
    following: Integers,
    tools: Tools,
) -> bool:
    """Move rows over until both sides are within their limits; `only` names the one side rows may leave, or is -1.

    `heads` and `following` are what `line_up` found; `heads` goes along.
    The side that is farther off chooses its worst attribute; of each value of that attribute, the
    row that adds least to the other side's box may go. The one goes whose potentials, here and
    there, promise most. Where there are many values, measuring takes long: several go at once, that promise nearly as
    much, until half of the way is done if they keep what they promise. Halted, it gives up.
    """
    soft, k, n, n_moved = task.soft, task.k, len(members), 0
    gauge, other, n_all, slack = tools.gauge, tools.other, options.n_all, options.slack
    counts, sizes = np.empty((2, soft.n_values), np.int64), np.empty(2, np.int64)
    tally(task, members, n, sides, counts, sizes)
    moved, pulls = zeros(n), np.empty(2, np.float64)
    state = Mending(members, sides, counts, sizes, moved, pulls, heads, following)
    while n_moved < n:
        if tools.halt[0]:
            return False
        over_left = measure(soft, counts[0], sizes[0], gauge) - limit(sizes[0], k, n_all, slack)
        over_right = measure(soft, counts[1], sizes[1], other) - limit(sizes[1], k, n_all, slack)
        if over_left <= 0 and over_right <= 0:
            return True
        worst = place_of_most(gauge.ratios if over_left > over_right else other.ratios)
        pulls[0] = (1.0 if over_left > -0.02 else 0.0) / sizes[0]
        pulls[1] = (1.0 if over_right > -0.02 else 0.0) / sizes[1]
        best, most = -1, 1e-12
        for side in range(2):
            if side == 1 - only or sizes[side] <= k:
                continue
            for value in range(soft.firsts[worst], soft.firsts[worst + 1]):
                each = heads[worst, side, value]
                while each >= 0 and moved[each]:
                    each = following[worst, each]
                heads[worst, side, value] = each
                if each < 0:
                    continue
                gain = promise(task, members[each], pulls, tools)
                gain = -gain if side else gain
                if gain > most:
                    best, most = each, gain
        if best < 0:
            return False
        wanted = 1
        if soft.n_values > FEW_VALUES:
            wanted = min(n // ROWS_AT_ONCE, int(0.5 * max(over_left, over_right) / most))
        if wanted > 1:
            n_moved += move_several(task, state, only, worst, wanted, NEARLY * most, tools)
        else:
            move_over(task, state, best)
            n_moved += 1
    return False
