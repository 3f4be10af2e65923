"""Annealing: random steps of rows and classes, which may cost more while it is hot."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.tight.boxes_loops import Task, Tools
from tclose.algorithms.tight.class_steps_loops import LARGEST, step_create, step_dissolve
from tclose.algorithms.tight.loose_loops import (
    BoxRoom,
    LooseClasses,
    Steps,
    alike_from,
    loss_joined,
    loss_of,
    loss_taking,
    measure_box,
    remains_close,
    shift,
    shrink,
)
from tclose.algorithms.tight.moving_loops import alike
from tclose.algorithms.tight.near_rows_loops import SpanTable
from tclose.kernels.compile import kernel, once
from tclose.kernels.random import Random, draw

# Of a thousand steps so many are moves, moves or swaps, and so on; the others make a class.
MOVES, SWAPS, CHAINS, CYCLES, DISSOLVED = 300, 660, 840, 980, 990
SELDOM = 50  # where fewer than one in so many classes are dissolved or made as tried, it is tried a tenth as often
PASSED_OVER = 800  # of a thousand steps from a class that loses nothing, and of a thousand swaps that change no cost
BETWEEN_LOOKS = 256  # steps between two looks at whether to halt

Floats = NDArray[np.float64]


@once
def alike_near(task: Task, classes: LooseClasses, steps: Steps, friend: int, first: int, row: int, b: int) -> int:
    """The first row near a friend of a row, from a place on and around, with the row's values; -1 if there is none.

    It is neither of their class nor of class b.
    """
    a, n_near = classes.own[row], steps.n_near[friend]
    for each in range(n_near):
        place = first + each
        other = steps.near[friend, place if place < n_near else place - n_near]
        number = classes.own[other]
        if number not in (a, b) and alike(task, row, other):
            return int(other)
    return -1


@once
def step_move(
    task: Task, spans: SpanTable, classes: LooseClasses, row: int, b: int, most: float, boxes: BoxRoom
) -> float:
    """Move a row to another class; returns what that costs, 0 if it is not done."""
    sizes, loss, space = classes.sizes, classes.loss, task.space
    a = classes.own[row]
    shrink(space, classes, row, boxes, 0)
    cost = (sizes[a] - 1) * loss_of(space, spans, boxes, 0) - sizes[a] * loss[a]
    if cost + loss[b] > most:  # what it loses there is at least that
        return 0.0
    cost += (sizes[b] + 1) * loss_taking(space, spans, classes, b, row) - sizes[b] * loss[b]
    if cost > most or not remains_close(task, classes, b, -1, row, boxes.scratch):
        return 0.0
    if not remains_close(task, classes, a, row, -1, boxes.scratch):
        return 0.0
    shift(classes, row, b)
    measure_box(space, spans, classes, a)
    measure_box(space, spans, classes, b)
    return float(cost)


@once
def step_swap(
    task: Task, spans: SpanTable, classes: LooseClasses, row: int, other: int, most: float, boxes: BoxRoom,
    random: Random,
) -> float:  # fmt: skip
    """Swap two rows of different classes; returns what that costs, 0 if it is not done."""
    sizes, loss, space = classes.sizes, classes.loss, task.space
    a, b = classes.own[row], classes.own[other]
    shrink(space, classes, row, boxes, 0)
    cost = sizes[a] * (loss_joined(space, spans, other, boxes, 0) - loss[a])
    if cost - sizes[b] * loss[b] > most:
        return 0.0
    shrink(space, classes, other, boxes, 1)
    cost += sizes[b] * (loss_joined(space, spans, row, boxes, 1) - loss[b])
    if cost > most or (-1e-12 < cost < 1e-12 and draw(random, 1000) < PASSED_OVER):
        return 0.0
    if not remains_close(task, classes, a, row, other, boxes.scratch):
        return 0.0
    if not remains_close(task, classes, b, other, row, boxes.scratch):
        return 0.0
    shift(classes, row, b)
    shift(classes, other, a)
    measure_box(space, spans, classes, a)
    measure_box(space, spans, classes, b)
    return float(cost)


@once
def step_chain(
    task: Task, spans: SpanTable, classes: LooseClasses, row: int, b: int, third: int, most: float, boxes: BoxRoom
) -> float:
    """Move a row to class b, and a third row of another class into its place; returns the cost, 0 if it is not done."""
    sizes, loss, space = classes.sizes, classes.loss, task.space
    a, c = classes.own[row], classes.own[third]
    shrink(space, classes, row, boxes, 0)
    cost = sizes[a] * (loss_joined(space, spans, third, boxes, 0) - loss[a])
    if cost - sizes[c] * loss[c] + loss[b] > most:
        return 0.0
    shrink(space, classes, third, boxes, 2)
    cost += (sizes[c] - 1) * loss_of(space, spans, boxes, 2) - sizes[c] * loss[c]
    if cost + loss[b] > most:
        return 0.0
    cost += (sizes[b] + 1) * loss_taking(space, spans, classes, b, row) - sizes[b] * loss[b]
    if cost > most or not remains_close(task, classes, a, row, third, boxes.scratch):
        return 0.0
    if not remains_close(task, classes, c, third, -1, boxes.scratch):
        return 0.0
    if not remains_close(task, classes, b, -1, row, boxes.scratch):
        return 0.0
    shift(classes, row, b)
    shift(classes, third, a)
    measure_box(space, spans, classes, a)
    measure_box(space, spans, classes, b)
    measure_box(space, spans, classes, c)
    return float(cost)


@once
def step_cycle(
    task: Task, spans: SpanTable, classes: LooseClasses, row: int, other: int, third: int, most: float, boxes: BoxRoom
) -> float:
    """Three rows of the same values, each to the class of the next; returns the cost, 0 if it is not done."""
    sizes, loss, space = classes.sizes, classes.loss, task.space
    a, b, c = classes.own[row], classes.own[other], classes.own[third]
    shrink(space, classes, row, boxes, 0)
    cost = sizes[a] * (loss_joined(space, spans, third, boxes, 0) - loss[a])
    if cost - sizes[b] * loss[b] - sizes[c] * loss[c] > most:
        return 0.0
    shrink(space, classes, third, boxes, 2)
    cost += sizes[c] * (loss_joined(space, spans, other, boxes, 2) - loss[c])
    if cost - sizes[b] * loss[b] > most:
        return 0.0
    shrink(space, classes, other, boxes, 1)
    cost += sizes[b] * (loss_joined(space, spans, row, boxes, 1) - loss[b])
    if cost > most:
        return 0.0
    shift(classes, row, b)
    shift(classes, other, c)
    shift(classes, third, a)
    measure_box(space, spans, classes, a)
    measure_box(space, spans, classes, b)
    measure_box(space, spans, classes, c)
    return float(cost)


@kernel
def swap_costs(task: Task, spans: SpanTable, classes: LooseClasses, steps: Steps, tools: Tools, costs: Floats) -> int:
    """What random swaps cost, of those that cost something and keep both classes close; returns how many there are."""
    near, n_near, _, n_steps, random, _ = steps
    sizes, space, loss = classes.sizes, task.space, classes.loss
    n, room = len(near), classes.members.shape[1]
    boxes = BoxRoom(np.empty((1, task.n_axes), np.int32), np.empty((1, task.n_axes), np.int32), tools.scratch)
    found = 0
    for _ in range(n_steps):
        row = draw(random, n)
        if n_near[row] == 0 or tools.halt[0]:
            continue
        a, b = classes.own[row], classes.own[near[row, draw(random, n_near[row])]]
        if a == b or min(sizes[a], sizes[b]) < 2 or max(sizes[a], sizes[b]) > room:
            continue
        other = classes.members[b, draw(random, sizes[b])]
        shrink(space, classes, row, boxes, 0)
        cost = sizes[a] * (loss_joined(space, spans, other, boxes, 0) - loss[a])
        shrink(space, classes, other, boxes, 0)
        cost += sizes[b] * (loss_joined(space, spans, row, boxes, 0) - loss[b])
        if (
            cost > 1e-12
            and remains_close(task, classes, a, row, other, tools.scratch)
            and remains_close(task, classes, b, other, row, tools.scratch)
        ):
            costs[found] = cost
            found += 1
    return found


@kernel
def anneal(task: Task, spans: SpanTable, classes: LooseClasses, steps: Steps, tools: Tools) -> float:
    """Take random steps: rows move, swap, take each other's places, or turn in a circle; classes end or begin.

    The class that a row goes to is that of one of the rows nearest to it. A step is taken if it costs at most
    -heat log u, u between 0 and 1, and all classes stay close. Halted, it ends. Returns the cost of all steps.
    """
    near, n_near, heat, n_steps, random, tally = steps
    own, sizes, members, k = classes.own, classes.sizes, classes.members, task.k
    n, room = len(near), members.shape[1]
    boxes = BoxRoom(np.empty((3, task.n_axes), np.int32), np.empty((3, task.n_axes), np.int32), tools.scratch)
    moved, total = np.empty(max(room, 2 * LARGEST * k), np.int64), 0.0
    for step in range(n_steps):
        if step % BETWEEN_LOOKS == 0 and tools.halt[0]:
            break
        row = draw(random, n)
        if n_near[row] == 0:
            continue
        a, b = own[row], own[near[row, draw(random, n_near[row])]]
        size, size_b = sizes[a], sizes[b]
        if a == b or min(size, size_b) < 2 or max(size, size_b) >= room:
            continue
        if classes.loss[a] == 0.0 and draw(random, 1000) < PASSED_OVER:
            continue
        kind, most = draw(random, 1000), -heat * math.log(1.0 - draw(random, 2**50) * 2.0**-50)
        if kind >= CYCLES:
            if tally[1] * SELDOM < tally[0] - 100 and draw(random, 10):
                continue
            tally[0] += 1
            cost = 0.0
            before = classes.free[0]
            if kind < DISSOLVED:
                if size <= LARGEST * k:
                    cost = step_dissolve(task, spans, classes, steps, a, most, moved, tools)
            elif before > 0:
                cost = step_create(task, spans, classes, steps, row, most, moved, tools)
            tally[1] += classes.free[0] != before
            total += cost
        elif kind < MOVES and size > k:
            total += step_move(task, spans, classes, row, b, most, boxes)
        elif kind < SWAPS:
            place = draw(random, size_b)
            other = -1 if draw(random, 2) else alike_from(task, classes, b, place, row)
            other = members[b, place] if other < 0 else other
            total += step_swap(task, spans, classes, row, other, most, boxes, random)
        else:
            friend = members[a, draw(random, size)]
            if friend == row or n_near[friend] == 0:
                continue
            place = draw(random, n_near[friend])
            third = near[friend, place]
            if kind >= CHAINS or draw(random, 2):
                third = alike_near(task, classes, steps, friend, place, row, b)
            if third < 0:
                continue
            c = own[third]
            if c in (a, b) or sizes[c] >= room or sizes[c] < 2:
                continue
            if kind < CHAINS:
                if sizes[c] > k:
                    total += step_chain(task, spans, classes, row, b, third, most, boxes)
                continue
            other = alike_from(task, classes, b, draw(random, size_b), row)
            if other >= 0:
                total += step_cycle(task, spans, classes, row, other, third, most, boxes)
    return total
