"""Steps that change how many classes there are: one is dissolved, or made of rows that lie together."""

from __future__ import annotations

from tclose.algorithms.tight.boxes_loops import Task, Tools
from tclose.algorithms.tight.loose_loops import (
    Integers,
    LooseClasses,
    Steps,
    loss_taking,
    measure_box,
    remains_close,
    shift,
)
from tclose.algorithms.tight.near_rows_loops import SpanTable
from tclose.kernels.compile import once

LARGEST = 4  # times k: rows of a class that is dissolved
WIDEST = 3  # times k: rows of one that is made


@once
def step_dissolve(
    task: Task,
    spans: SpanTable,
    classes: LooseClasses,
    steps: Steps,
    a: int,
    most: float,
    moved: Integers,
    tools: Tools,
) -> float:
    """Give each row of a class to that of a near row where it adds least; returns the cost, 0 if it is not done."""
    space, sizes, loss, own = task.space, classes.sizes, classes.loss, classes.own
    room, n_moved, cost, done = classes.members.shape[1], 0, -sizes[a] * loss[a], True
    while done and sizes[a] > 0:
        row = classes.members[a, sizes[a] - 1]
        best, least = a, most - cost
        for place in range(steps.n_near[row]):
            b = own[steps.near[row, place]]
            if b in (a, best) or sizes[b] + 1 >= room or loss[b] > least:
                continue
            added = (sizes[b] + 1) * loss_taking(space, spans, classes, b, row) - sizes[b] * loss[b]
            if added <= least and remains_close(task, classes, b, -1, row, tools.scratch):
                best, least = b, added
        done = best != a
        if done:
            shift(classes, row, best)
            measure_box(space, spans, classes, best)
            moved[n_moved] = row
            n_moved += 1
            cost += least
    if done:
        loss[a] = 0.0
        classes.free[0] += 1
        classes.free[classes.free[0]] = a
        return float(cost)
    for each in range(n_moved - 1, -1, -1):
        b = own[moved[each]]
        shift(classes, moved[each], a)
        measure_box(space, spans, classes, b)
    measure_box(space, spans, classes, a)
    return 0.0


@once
def step_create(
    task: Task, spans: SpanTable, classes: LooseClasses, steps: Steps, row: int, most: float, moved: Integers,
    tools: Tools,
) -> float:  # fmt: skip
    """Make a class of a row and those nearest to it that may leave theirs; returns the cost, 0 if it is not done."""
    space, sizes, loss, own, free, k = task.space, classes.sizes, classes.loss, classes.own, classes.free, task.k
    number, n_moved, cost, done = free[free[0]], 0, 0.0, False
    room, wanted = classes.members.shape[1], min(WIDEST * k, len(moved) // 2, classes.members.shape[1] - 1)
    for place in range(-1, steps.n_near[row]):
        other = row if place < 0 else steps.near[row, place]
        b = own[other]
        if b == number or sizes[b] <= max(k, 1) or sizes[b] > room or n_moved >= wanted:
            continue
        if (place >= 0 and n_moved == 0) or not remains_close(task, classes, b, other, -1, tools.scratch):
            continue
        before = sizes[b] * loss[b]
        shift(classes, other, number)
        measure_box(space, spans, classes, b)
        cost += sizes[b] * loss[b] - before
        moved[2 * n_moved], moved[2 * n_moved + 1] = other, b
        n_moved += 1
        if sizes[number] >= k and remains_close(task, classes, number, -1, -1, tools.scratch):
            measure_box(space, spans, classes, number)
            cost += sizes[number] * loss[number]
            done = cost <= most
            break
    if done:
        free[0] -= 1
        return float(cost)
    for each in range(n_moved - 1, -1, -1):
        shift(classes, moved[2 * each], moved[2 * each + 1])
        measure_box(space, spans, classes, moved[2 * each + 1])
    loss[number] = 0.0
    return 0.0
