"""Local search: move a row to another class, or swap two, wherever that costs less and both stay close."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.tight.boxes_loops import (
    FAR,
    BoxSpace,
    Task,
    Tools,
    box_loss,
    holds,
    loss_beyond,
    loss_with,
    spans_of,
)
from tclose.kernels.closeness import Scratch
from tclose.kernels.compile import inner, kernel, once
from tclose.kernels.costs import span_cost

# Columns of the table of classes: its rows, the first of them, and when it last changed.
SIZE, HEAD, CHANGED = range(3)
# Columns of the table of rows: its class, the rows after and before it there, and when it was last looked at.
CLASS, NEXT, BEFORE, SEEN = range(4)
# Of a class on an axis: the lowest place, how many rows have it, the lowest but that; and the same from above.
LOW, N_LOW, SECOND_LOW, HIGH, N_HIGH, SECOND_HIGH = range(6)
LARGEST = 2000  # rows of classes that are searched: a row more or less takes long to judge and changes little

Places = NDArray[np.int32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class MovableClasses(NamedTuple):
    """Classes that change: each a chain of rows, its box with the seconds behind its ends, and its loss."""

    table: Integers
    rows: Integers
    ends: Places
    loss: Floats


class Paths(NamedTuple):
    """Some orders of the rows in which near ones are often next to each other."""

    orders: Integers
    places: Integers  # of each row in each order


class SearchPass(NamedTuple):
    """Which rows are looked at, and how."""

    first: int  # place on the first path
    last: int  # the place after the last of them
    reach: int  # places on either side of a row where classes to go to are looked for
    swaps: bool  # whether rows are swapped as well as moved
    clock: int  # rows looked at before


@inner
def empty_box(ends: Places) -> None:
    """The box of no rows."""
    for axis in range(len(ends)):
        ends[axis, LOW], ends[axis, N_LOW], ends[axis, SECOND_LOW] = FAR, 0, FAR
        ends[axis, HIGH], ends[axis, N_HIGH], ends[axis, SECOND_HIGH] = -1, 0, -1


@inner
def take_row(rows: Places, row: int, ends: Places) -> None:
    """Widen a box so that it holds a row more."""
    for axis in range(len(ends)):
        place = rows[row, axis]
        if place < ends[axis, LOW]:
            ends[axis, SECOND_LOW], ends[axis, LOW], ends[axis, N_LOW] = ends[axis, LOW], place, 1
        elif place == ends[axis, LOW]:
            ends[axis, N_LOW] += 1
        elif place < ends[axis, SECOND_LOW]:
            ends[axis, SECOND_LOW] = place
        if place > ends[axis, HIGH]:
            ends[axis, SECOND_HIGH], ends[axis, HIGH], ends[axis, N_HIGH] = ends[axis, HIGH], place, 1
        elif place == ends[axis, HIGH]:
            ends[axis, N_HIGH] += 1
        elif place > ends[axis, SECOND_HIGH]:
            ends[axis, SECOND_HIGH] = place


@inner
def refresh(space: BoxSpace, classes: MovableClasses, number: int) -> None:
    """Find the box of a class anew, and its loss."""
    rows, following, ends = space.rows, classes.rows, classes.ends[number]
    n_axes = len(ends)
    empty_box(ends)
    row = classes.table[number, HEAD]
    while row >= 0:
        take_row(rows, row, ends)
        row = following[row, NEXT]
    total = 0.0
    for axis in range(n_axes):
        total += space.weights[axis] * span_cost(space.costs, axis, ends[axis, LOW], ends[axis, HIGH])
    classes.loss[number] = total


@inner
def put(classes: MovableClasses, row: int, number: int) -> None:
    """Put a row that is in no class into one."""
    table, rows = classes.table, classes.rows
    head = table[number, HEAD]
    rows[row, CLASS], rows[row, NEXT], rows[row, BEFORE] = number, head, -1
    if head >= 0:
        rows[head, BEFORE] = row
    table[number, HEAD] = row
    table[number, SIZE] += 1


@kernel
def fill(space: BoxSpace, classes: MovableClasses, labels: Integers, n_classes: int) -> None:
    """Put every row into its class."""
    for row in range(len(labels)):
        put(classes, row, labels[row])
    for number in range(n_classes):
        refresh(space, classes, number)


@inner
def transfer(classes: MovableClasses, row: int, number: int) -> None:
    """Move a row to another class."""
    table, rows = classes.table, classes.rows
    before, after = rows[row, BEFORE], rows[row, NEXT]
    if before >= 0:
        rows[before, NEXT] = after
    else:
        table[rows[row, CLASS], HEAD] = after
    if after >= 0:
        rows[after, BEFORE] = before
    table[rows[row, CLASS], SIZE] -= 1
    put(classes, row, number)


@inner
def without(space: BoxSpace, classes: MovableClasses, row: int, low: Places, high: Places) -> None:
    """The box of a row's class if the row were not there."""
    ends = classes.ends[classes.rows[row, CLASS]]
    for axis in range(len(low)):
        place = space.rows[row, axis]
        lone_low = place == ends[axis, LOW] and ends[axis, N_LOW] == 1
        lone_high = place == ends[axis, HIGH] and ends[axis, N_HIGH] == 1
        low[axis] = ends[axis, SECOND_LOW] if lone_low else ends[axis, LOW]
        high[axis] = ends[axis, SECOND_HIGH] if lone_high else ends[axis, HIGH]


@inner
def stays_close(
    task: Task, classes: MovableClasses, number: int, minus: int, plus: int, members: Integers, scratch: Scratch
) -> bool:
    """Whether a class holds without one row and with another; -1 is none."""
    n, row, rows = 0, classes.table[number, HEAD], classes.rows
    while row >= 0:
        if row != minus:
            members[n] = row
            n += 1
        row = rows[row, NEXT]
    if plus >= 0:
        members[n] = plus
        n += 1
    return bool(holds(task, members, n, scratch))


@once
def neighbours(
    classes: MovableClasses, paths: Paths, row: int, reach: int, marks: Integers, found: Integers
) -> tuple[int, bool]:
    """The classes of the rows next to this one along the paths; and whether one of them, or its own, changed since."""
    table, rows, orders = classes.table, classes.rows, paths.orders
    own, n, seen = rows[row, CLASS], 0, rows[row, SEEN]
    fresh = table[own, CHANGED] >= seen
    for path in range(len(orders)):
        place = paths.places[path, row]
        for other in range(max(place - reach, 0), min(place + reach + 1, orders.shape[1])):
            number = rows[orders[path, other], CLASS]
            if number != own and marks[number] != row and table[number, SIZE] <= LARGEST:
                marks[number] = row
                found[n] = number
                n += 1
                fresh = fresh or table[number, CHANGED] >= seen
    for each in range(n):
        marks[found[each]] = -1
    return n, fresh


@once
def try_move(
    task: Task,
    classes: MovableClasses,
    row: int,
    lost: float,
    found: Integers,
    gains: Floats,
    members: Integers,
    scratch: Scratch,
) -> int:
    """Move a row to the class, of the four where that saves most, that stays close; returns that class, or -1.

    It chooses among the classes found; its own would lose `lost` a row without it.
    """
    rows, weights, costs, table = task.space.rows, task.space.weights, task.space.costs, classes.table
    own, n = classes.rows[row, CLASS], len(found)
    size = table[own, SIZE]
    freed = size * classes.loss[own] - (size - 1) * lost
    for each in range(n):
        number, total = found[each], 0.0
        for axis in range(task.n_axes):
            place, ends = rows[row, axis], classes.ends[number, axis]
            total += weights[axis] * span_cost(costs, axis, min(ends[LOW], place), max(ends[HIGH], place))
        other = table[number, SIZE]
        gains[each] = freed + other * classes.loss[number] - (other + 1) * total
    for attempt in range(4):
        best = -1
        for each in range(n):
            if gains[each] > 1e-9 and (best < 0 or gains[each] > gains[best]):
                best = each
        if best < 0 or (attempt == 0 and not stays_close(task, classes, own, row, -1, members, scratch)):
            return -1
        if stays_close(task, classes, found[best], -1, row, members, scratch):
            transfer(classes, row, found[best])
            return int(found[best])
        gains[best] = 0.0
    return -1


@once
def alike(task: Task, row: int, other: int) -> bool:
    """Whether two rows have the same sensitive values."""
    same, rows = True, task.space.rows
    for column in range(task.n_axes, task.n_axes + task.n_attributes):
        same = same and rows[row, column] == rows[other, column]
    return same


@once
def try_swap(
    task: Task,
    classes: MovableClasses,
    row: int,
    low: Places,
    high: Places,
    found: Integers,
    members: Integers,
    tools: Tools,
) -> int:
    """Swap a row with one of another class where that saves most and both stay close; returns that class, or -1.

    The other is one of the classes found. `low` and `high` are the box of its own class without it. Halted, it looks
    no further.
    """
    space, table, loss = task.space, classes.table, classes.loss
    own = classes.rows[row, CLASS]
    size = table[own, SIZE]
    other_low, other_high = np.empty(len(low), np.int32), np.empty(len(low), np.int32)
    spans = np.empty(len(low), np.float64)
    lost = spans_of(space, low, high, spans)
    best, most = -1, 1e-9
    for each in range(len(found)):
        number = found[each]
        rows, other = table[number, SIZE], table[number, HEAD]
        while other >= 0:
            gain = size * (loss[own] - loss_beyond(space, other, low, high, spans, lost))
            if gain + rows * loss[number] > most:
                without(space, classes, other, other_low, other_high)
                gain += rows * (loss[number] - loss_with(space, row, other_low, other_high))
                if gain > most and (
                    alike(task, row, other)
                    or (
                        not tools.halt[0]
                        and stays_close(task, classes, own, row, other, members, tools.scratch)
                        and stays_close(task, classes, number, other, row, members, tools.scratch)
                    )
                ):
                    best, most = other, gain
            other = classes.rows[other, NEXT]
    if best < 0:
        return -1
    number = classes.rows[best, CLASS]
    transfer(classes, row, number)
    transfer(classes, best, own)
    return int(number)


@kernel
def search(
    task: Task,
    classes: MovableClasses,
    paths: Paths,
    turn: SearchPass,
    marks: Integers,
    members: Integers,
    tools: Tools,
) -> int:
    """Look at some rows of the first path, once; returns how many were moved or swapped.

    A row is passed over if neither its class nor those around it changed since it was looked at. Halted, the rest is.
    `marks`, -1 for each class, and `members` are room.
    """
    first, last, reach, swaps, clock = turn
    space, n_axes, table, rows = task.space, task.n_axes, classes.table, classes.rows
    low, high = np.empty(n_axes, np.int32), np.empty(n_axes, np.int32)
    found = np.empty(len(paths.orders) * (2 * reach + 1), np.int64)
    gains = np.empty(len(found), np.float64)
    n_changed = 0
    for place in range(first, last):
        if tools.halt[0]:
            break
        row = paths.orders[0, place]
        n, fresh = neighbours(classes, paths, row, reach, marks, found)
        if n == 0 or not fresh or table[rows[row, CLASS], SIZE] > LARGEST:
            continue
        clock += 1
        rows[row, SEEN] = clock
        own = rows[row, CLASS]
        without(space, classes, row, low, high)
        lost = box_loss(space, low, high) if table[own, SIZE] > 1 else 0.0
        number = -1
        if table[own, SIZE] > task.k:
            number = try_move(task, classes, row, lost, found[:n], gains, members, tools.scratch)
        # Alone in its class, where `step` makes even one row lose, it leaves no box behind: others swap with it.
        if number < 0 and swaps and table[own, SIZE] > 1 and lost < classes.loss[own] - 1e-12:
            number = try_swap(task, classes, row, low, high, found[:n], members, tools)
        if number >= 0:
            n_changed += 1
            for changed in (own, number):
                refresh(space, classes, changed)
                table[changed, CHANGED] = clock
    return n_changed
