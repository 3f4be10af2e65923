"""Large-neighbourhood search: take some classes apart and build them anew, and keep that if it costs less."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.tight.boxes_loops import (
    BoxSpace,
    Task,
    Tools,
    asking,
    empty,
    holds,
    loss_beyond,
    loss_with,
    spans_of,
    widen,
)
from tclose.algorithms.tight.cutting_loops import (
    DONE,
    N_CLASSES,
    N_STACK,
    Cuts,
    Division,
    SplitClasses,
    split,
)
from tclose.algorithms.tight.mending_loops import SplitOptions
from tclose.algorithms.tight.moving_loops import CHANGED, CLASS, HEAD, NEXT, SIZE, MovableClasses, Paths, put, refresh
from tclose.algorithms.tight.narrowing_loops import NarrowRoom, narrow, restore
from tclose.kernels.closeness import Scratch
from tclose.kernels.compile import inner, kernel, once
from tclose.kernels.random import Random, draw
from tclose.kernels.soft import measure

Places = NDArray[np.int32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class Plot(NamedTuple):
    """The rows of the classes that are taken apart, and how they are put together again."""

    members: Integers
    parts: Integers  # the new class of each
    lows: Places  # of each new class: its box, its rows, its loss and its values
    highs: Places
    sizes: Integers
    losses: Floats
    counts: Integers
    stack: Integers  # for splitting: see `SplitClasses`
    starts: Integers
    state: Integers
    division: Division


class Trials(NamedTuple):
    """What is carried on from trial to trial."""

    tried: Floats  # of growing and of cutting: what it has saved so far, and in how many trials
    heat: float  # what costs this more is kept once in e times
    random: Random
    free: Integers  # how many numbers no class has, and then these
    room: NarrowRoom  # for the values of a plot
    room_of_class: NarrowRoom  # for those of a class of it


@once
def pick(
    classes: MovableClasses, paths: Paths, plot: Plot, wanted: int, chosen: Integers, random: Random
) -> tuple[int, int]:
    """Some classes around a random row that fit on the plot; returns how many, and their rows."""
    table, rows, orders = classes.table, classes.rows, paths.orders
    n, most = orders.shape[1], len(plot.members)
    row = draw(random, n)
    chosen[0] = rows[row, CLASS]
    n_chosen, size = 1, table[chosen[0], SIZE]
    if size > most:
        return 0, 0
    for step in range(1, 40):
        for side in range(-1, 2, 2):
            path = draw(random, len(orders))
            place = paths.places[path, row] + side * step
            if n_chosen >= wanted or place < 0 or place >= n:
                continue
            number = rows[orders[path, place], CLASS]
            known = False
            for each in range(n_chosen):
                known = known or chosen[each] == number
            if not known and size + table[number, SIZE] <= most:
                chosen[n_chosen] = number
                size += table[number, SIZE]
                n_chosen += 1
    return n_chosen, size


@once
def grow(task: Task, plot: Plot, n: int, part: int, seed: int, pull: float, tools: Tools) -> tuple[int, float]:
    """One class around a row, of those that have none yet; returns its rows and loss, or 0 rows if it comes to nothing.

    The row comes next that adds least to the cost and, by `pull`, drives the class least away.
    """
    space, n_axes, n_attributes, gauge = task.space, task.n_axes, task.n_attributes, tools.gauge
    rows, members, parts, first = space.rows, plot.members, plot.parts, n_axes + n_attributes
    low, high, counts = plot.lows[part], plot.highs[part], plot.counts[part]
    for value in range(task.soft.n_values):
        counts[value] = 0
    empty(low, high)
    spans = np.empty(n_axes, np.float64)
    size, row = 0, seed
    while True:
        widen(space, members[row], low, high)
        for attribute in range(n_attributes):
            counts[rows[members[row], first + attribute]] += 1
        parts[row] = part
        size, loss = size + 1, spans_of(space, low, high, spans)
        worst = measure(task.soft, counts, size, gauge)
        if size >= task.k and worst <= 1.0 + 1e-9:
            return size, loss
        best, least = -1, float(np.inf)
        for each in range(n):
            if parts[each] >= 0:
                continue
            price = -size * loss
            if worst > 0.9:
                for attribute in range(n_attributes):
                    price += pull * gauge.potentials[rows[members[each], first + attribute]]
            if price + (size + 1) * loss < least:
                price += (size + 1) * loss_beyond(space, members[each], low, high, spans, loss)
                if price < least:
                    best, least = each, price
        if best < 0:
            return 0, 0.0
        row = best


@once
def hand_out(task: Task, plot: Plot, n: int, n_parts: int, total: float, most: float, tools: Tools) -> float:
    """Give each row that is left over to the class where it adds least and which stays close; returns the cost."""
    space, rows, first = task.space, task.space.rows, task.n_axes + task.n_attributes
    lows, highs, sizes, losses, counts = plot.lows, plot.highs, plot.sizes, plot.losses, plot.counts
    for each in range(n):
        if plot.parts[each] >= 0:
            continue
        row, best, least, loss = plot.members[each], -1, np.inf, 0.0
        for part in range(n_parts):
            joint = loss_with(space, row, lows[part], highs[part])
            added = (sizes[part] + 1) * joint - sizes[part] * losses[part]
            if added >= least:
                continue
            for column in range(first, rows.shape[1]):
                counts[part, rows[row, column]] += 1
            if measure(task.soft, counts[part], sizes[part] + 1, tools.gauge) <= 1.0 + 1e-9:
                best, least, loss = part, added, joint
            for column in range(first, rows.shape[1]):
                counts[part, rows[row, column]] -= 1
        if best < 0 or total + least >= most:
            return np.inf
        plot.parts[each] = best
        widen(space, row, lows[best], highs[best])
        for column in range(first, rows.shape[1]):
            counts[best, rows[row, column]] += 1
        sizes[best] += 1
        losses[best] = loss
        total += least
    return total


@once
def regrow(task: Task, plot: Plot, n: int, most: float, random: Random, tools: Tools) -> tuple[int, float]:
    """Grow classes on the plot around random rows, or each around the row farthest from the last; below a cost."""
    space, members, parts = task.space, plot.members, plot.parts
    pull = 0.05 * math.exp(draw(random, 1000) / 1000 * math.log(60.0))
    far, total, n_parts, left = draw(random, 2) == 1, 0.0, 0, n
    low, high = np.empty(task.n_axes, np.int32), np.empty(task.n_axes, np.int32)
    for each in range(n):
        parts[each] = -1
    last = draw(random, n)
    while left >= task.k:
        seed, farthest, skip = -1, -1.0, draw(random, left)
        empty(low, high)
        widen(space, members[last], low, high)
        for each in range(n):
            if parts[each] >= 0:
                continue
            away = loss_with(space, members[each], low, high) if far else (1.0 if skip == 0 else 0.0)
            skip -= 1
            if away > farthest:
                seed, farthest = each, away
        last = seed
        size, loss = grow(task, plot, n, n_parts, seed, pull, tools)
        if size == 0:
            for each in range(n):
                parts[each] = -1 if parts[each] == n_parts else parts[each]
            break
        plot.sizes[n_parts], plot.losses[n_parts] = size, loss
        total += size * loss
        n_parts += 1
        left -= size
        if total >= most:
            return 0, np.inf
    if n_parts == 0:
        return 0, np.inf
    return n_parts, hand_out(task, plot, n, n_parts, total, most, tools)


@once
def cut_up(task: Task, plot: Plot, n: int, cuts: Cuts, room: NarrowRoom, tools: Tools) -> tuple[int, float]:
    """Take the rows on the plot as one class and split it; returns the classes and their cost."""
    space, members, starts, state = task.space, plot.members, plot.starts, plot.state
    if not holds(task, members, n, tools.scratch):
        return 0, np.inf
    plot.stack[0, 0], plot.stack[0, 1] = 0, n
    state[N_STACK], state[N_CLASSES] = 1, 0
    split_up = SplitClasses(members=members[:n], stack=plot.stack, starts=starts, state=state)
    options = SplitOptions(n_all=n, slack=0.0, smallest=task.k, n_mends=max(n // 150, 1))
    status = split(task, split_up, options, cuts, plot.division, room, tools, 2**40)
    if status != DONE:  # halted
        return 0, np.inf
    n_parts, total = state[N_CLASSES], 0.0
    low, high = np.empty(task.n_axes, np.int32), np.empty(task.n_axes, np.int32)
    for part in range(n_parts):
        # MovableClasses were finished from the last stretch to the first.
        stop = starts[part - 1] if part else n
        empty(low, high)
        for each in range(starts[part], stop):
            plot.parts[each] = part
            widen(space, members[each], low, high)
        total += (stop - starts[part]) * loss_with(space, members[stop - 1], low, high)
    return n_parts, total


@inner
def build(
    task: Task, plot: Plot, n: int, way: int, most: float, trials: Trials, cuts: Cuts, tools: Tools
) -> tuple[int, float]:
    """Build classes of the rows on the plot, below a cost, by growing or by cutting; returns them and their cost."""
    if way == 0:
        return regrow(task, plot, n, most, trials.random, tools)
    return cut_up(task, plot, n, cuts, trials.room_of_class, tools)


@once
def all_hold(task: Task, plot: Plot, n: int, n_parts: int, room: Integers, scratch: Scratch) -> bool:
    """Is every new class close and diverse, exactly?"""
    members, parts = plot.members, plot.parts
    for part in range(n_parts):
        size = 0
        for each in range(n):
            if parts[each] == part:
                room[size] = members[each]
                size += 1
        if size < task.k or not holds(task, room, size, scratch):
            return False
    return True


@once
def replace(
    space: BoxSpace,
    classes: MovableClasses,
    plot: Plot,
    n: int,
    n_parts: int,
    chosen: Integers,
    n_chosen: int,
    free: Integers,
) -> None:
    """Put the new classes in the place of the old ones; free[0] counts the numbers that are free, listed after it."""
    table = classes.table
    for each in range(n_chosen, n_parts):
        chosen[each] = free[free[0]]
        free[0] -= 1
    for each in range(max(n_chosen, n_parts)):
        number = chosen[each]
        table[number, HEAD], table[number, SIZE], classes.loss[number] = -1, 0, 0.0
        table[number, CHANGED] = 2**62
    for each in range(n_parts, n_chosen):
        free[0] += 1
        free[free[0]] = chosen[each]
    for each in range(n):
        put(classes, plot.members[each], chosen[plot.parts[each]])
    for part in range(n_parts):
        refresh(space, classes, chosen[part])


@kernel
def rebuild(
    task: Task,
    classes: MovableClasses,
    paths: Paths,
    plot: Plot,
    n_trials: int,
    trials: Trials,
    cuts: Cuts,
    tools: Tools,
) -> float:
    """Try to build classes around random rows anew, by growing or by cutting; returns what that saved.

    What costs less is kept; while it is hot, what costs up to -heat log u more too, u between 0 and 1. The way that
    saved more a trial so far is taken more often, at most nine times of ten.
    """
    tried, heat, random, free = trials.tried, trials.heat, trials.random, trials.free
    table, rows, members = classes.table, classes.rows, plot.members
    chosen = np.empty(len(members) + 8, np.int64)
    room = np.empty(len(members), np.int64)
    saved, first = 0.0, task.n_axes + task.n_attributes
    for _ in range(n_trials):
        if tools.halt[0]:
            break
        n_chosen, n = pick(classes, paths, plot, 2 + draw(random, 6), chosen, random)
        if n_chosen == 0 or n < 2 * task.k:
            continue
        cost, each = 0.0, 0
        for old in range(n_chosen):
            number = chosen[old]
            cost += table[number, SIZE] * classes.loss[number]
            row = table[number, HEAD]
            while row >= 0:
                members[each] = row
                row = rows[row, NEXT]
                each += 1
        if cost < 1e-9:
            continue
        growing, cutting = tried[0, 0] / tried[0, 1], tried[1, 0] / tried[1, 1]
        way = 1 if draw(random, 1000) < 1000 * min(max(cutting / (growing + cutting), 0.1), 0.9) else 0
        most = cost - 1e-9
        if heat > 0.0:
            most -= heat * math.log(1.0 - draw(random, 2**50) * 2.0**-50)
        if n < task.soft.n_values:
            narrowed = asking(task, narrow(task.soft, task.space.rows, first, members[:n], trials.room))
            n_parts, new = build(narrowed, plot, n, way, most, trials, cuts, tools)
            restore(task.space.rows, first, members[:n], trials.room)
        else:
            n_parts, new = build(task, plot, n, way, most, trials, cuts, tools)
        tried[way, 1] += 1.0
        if n_parts == 0 or new >= most or n_parts - n_chosen > free[0]:
            continue
        if all_hold(task, plot, n, n_parts, room, tools.scratch):
            replace(task.space, classes, plot, n, n_parts, chosen, n_chosen, free)
            tried[way, 0] += max(cost - new, 0.0)
            saved += cost - new
    return saved
