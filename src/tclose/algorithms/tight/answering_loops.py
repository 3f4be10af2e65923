"""Local search by the answers to COUNT queries: move or swap rows where all answers together come nearer the truth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.tight.boxes_loops import Task, Tools
from tclose.algorithms.tight.moving_loops import (
    CLASS,
    HEAD,
    HIGH,
    LARGEST,
    LOW,
    NEXT,
    SIZE,
    MovableClasses,
    Paths,
    refresh,
    stays_close,
    transfer,
    without,
)
from tclose.kernels.compile import inner, kernel, once
from tclose.kernels.random import Random, draw

# Columns of the table of lines: whether it is a tree, the place for missing values and its cell; where in `data` the
# cells of starts and stops begin (a line), or the node of each place (a tree) and the nodes: parent, first, last place.
IS_TREE, LAST, LAST_CELL, STARTS, STOPS = range(5)
LEAVES, NODES = STARTS, STOPS

Places = NDArray[np.int32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class ShownCells(NamedTuple):
    """Which cells a released span covers, on each axis: `table` says where in `data` an axis begins."""

    table: Integers
    data: Integers


class AskedParts(NamedTuple):
    """Queries, each a sum of parts, each part bounded on some axes; and how far their answers are off."""

    first: Integers  # of each query its first part
    begins: Integers  # of each part its first bound
    axes: Integers  # of each bound
    lows: Floats
    highs: Floats
    weights: Floats  # of each query, the error of an answer off by one row
    excess: Floats  # of each query, estimate minus precise answer: goes along


class Masks(NamedTuple):
    """Which sensitive values each part asks for."""

    begins: Integers  # of each part its first mask
    columns: Integers  # of each mask
    starts: Integers  # where it begins in `allowed`
    allowed: NDArray[np.bool_]


class Answers(NamedTuple):
    """What the classes of a piece answer to each part: rows with the sensitive values, times the share of the box."""

    wanted: NDArray[np.uint8]  # by row
    counts: NDArray[np.int32]  # by class
    shares: NDArray[np.float32]  # by class


class AnswerTurn(NamedTuple):
    """How much is tried, and how."""

    n_trials: int
    paths: Paths  # along which another row is looked for
    reach: int  # places on either side of a row where that is done
    n_first: int  # queries that must gain together before the others are looked at
    random: Random


class AnswerTrial(NamedTuple):
    """Room for the two classes that a trial changes."""

    lows: Places
    highs: Places
    starts: Floats  # of the cells that a box shows on each axis
    stops: Floats
    shares: NDArray[np.float32]
    change: Floats  # of the answer to each query
    members: Integers  # the rows of a class


class RowSwap(NamedTuple):
    """A row that goes over to another class, and one that comes back."""

    row: int
    other: int  # -1 where none comes back
    own: int  # the class that the row leaves
    number: int  # and the one that it goes to


@inner
def shown(cells: ShownCells, axis: int, low: int, high: int) -> tuple[int, int]:
    """The first cell that is covered where a class has these places, and the one after the last."""
    table, data = cells.table[axis], cells.data
    if high == table[LAST]:
        return (table[LAST_CELL] if low == high else 0), table[LAST_CELL] + 1
    if not table[IS_TREE]:
        return data[table[STARTS] + low], data[table[STOPS] + high]
    node = data[table[LEAVES] + low]
    while data[table[NODES] + 3 * node + 2] < high:
        node = data[table[NODES] + 3 * node]
    return data[table[NODES] + 3 * node + 1], data[table[NODES] + 3 * node + 2] + 1


@kernel
def rows_wanted(masks: Masks, codes: Places) -> NDArray[np.uint8]:
    """For each row and part, whether the row has the sensitive values that the part asks for."""
    begins, columns, starts, allowed = masks
    wanted = np.ones((len(codes), len(begins) - 1), np.uint8)
    for row in range(len(codes)):
        for part in range(wanted.shape[1]):
            for mask in range(begins[part], begins[part + 1]):
                if not allowed[starts[mask] + codes[row, columns[mask]]]:
                    wanted[row, part] = 0
    return wanted


@kernel
def count_inside(asked: AskedParts, wanted: NDArray[np.uint8], cells: Integers, counts: Integers) -> None:
    """Add to the count of each part the rows that are wanted and whose cells lie within all its bounds."""
    begins, axes, lows, highs = asked.begins, asked.axes, asked.lows, asked.highs
    for row in range(len(wanted)):
        for part in range(len(counts)):
            inside = wanted[row, part] != 0
            for bound in range(begins[part], begins[part + 1]):
                cell = cells[row, axes[bound]]
                inside = inside and lows[bound] <= cell < highs[bound]
            counts[part] += inside


@inner
def show_box(cells: ShownCells, low: Places, high: Places, start: Floats, stop: Floats) -> None:
    """The cells that a box shows on each axis."""
    for axis in range(len(low)):
        first, after = shown(cells, axis, low[axis], high[axis])
        start[axis], stop[axis] = first, after


@inner
def share_box(
    asked: AskedParts, start: Floats, stop: Floats, first: int, last: int, shares: NDArray[np.float32]
) -> None:
    """Of each part from `first` to before `last`: prod over its bounds of |[low, high) and box| / |box|."""
    begins, axes, lows, highs = asked.begins, asked.axes, asked.lows, asked.highs
    for part in range(first, last):
        inside, whole = 1.0, 1.0
        for bound in range(begins[part], begins[part + 1]):
            axis = axes[bound]
            left = start[axis] if start[axis] > lows[bound] else lows[bound]
            right = stop[axis] if stop[axis] < highs[bound] else highs[bound]
            inside *= right - left if right > left else 0.0
            whole *= stop[axis] - start[axis]
        shares[part] = inside / whole


@kernel
def take_stock(classes: MovableClasses, n_classes: int, cells: ShownCells, asked: AskedParts, answers: Answers) -> None:
    """Fill in what each class answers."""
    n_axes = classes.ends.shape[1]
    low, high = np.empty(n_axes, np.int32), np.empty(n_axes, np.int32)
    start, stop = np.empty(n_axes, np.float64), np.empty(n_axes, np.float64)
    for number in range(n_classes):
        low[:], high[:] = classes.ends[number, :, LOW], classes.ends[number, :, HIGH]
        counts, row = answers.counts[number], classes.table[number, HEAD]
        show_box(cells, low, high, start, stop)
        share_box(asked, start, stop, 0, len(counts), answers.shares[number])
        counts[:] = 0
        while row >= 0:
            for part in range(len(counts)):
                counts[part] += answers.wanted[row, part]
            row = classes.rows[row, NEXT]


@kernel
def estimate(
    cells: ShownCells,
    asked: AskedParts,
    lows: Places,
    highs: Places,
    starts: Integers,
    wanted: NDArray[np.uint8],
    estimates: Floats,
) -> None:
    """Add to the estimate of each query what some classes answer: those with these boxes, and rows from starts on."""
    n_axes, n_parts = lows.shape[1], wanted.shape[1]
    start, stop = np.empty(n_axes, np.float64), np.empty(n_axes, np.float64)
    shares, counts = np.empty(n_parts, np.float32), np.empty(n_parts, np.int64)
    for number in range(len(lows)):
        show_box(cells, lows[number], highs[number], start, stop)
        share_box(asked, start, stop, 0, n_parts, shares)
        counts[:] = 0
        for row in range(starts[number], starts[number + 1]):
            for part in range(n_parts):
                counts[part] += wanted[row, part]
        for query in range(len(estimates)):
            for part in range(asked.first[query], asked.first[query + 1]):
                estimates[query] += counts[part] * shares[part]


@inner
def put_box(task: Task, classes: MovableClasses, number: int, minus: int, plus: int, low: Places, high: Places) -> bool:
    """The box of a class without one row and with another, -1 being none; whether it is another than before."""
    if minus >= 0:
        without(task.space, classes, minus, low, high)
    else:
        low[:], high[:] = classes.ends[number, :, LOW], classes.ends[number, :, HIGH]
    is_new, ends = False, classes.ends[number]
    for axis in range(len(low)):
        if plus >= 0:
            place = task.space.rows[plus, axis]
            low[axis], high[axis] = min(low[axis], place), max(high[axis], place)
        is_new = is_new or low[axis] != ends[axis, LOW] or high[axis] != ends[axis, HIGH]
    return is_new


@inner
def felt(error: float) -> float:
    """How much an error counts, e^2 / (1 + e^2): from 1 on an answer is of little use, however far it is off."""
    return error * error / (error * error + 1.0)


@inner
def change_of_error(
    asked: AskedParts, answers: Answers, swap: RowSwap, begin: int, end: int, trial: AnswerTrial
) -> float:
    """What a swap changes the error by, of the queries from `begin` to before `end`."""
    row, other, own, number = swap
    first, weights, excess, change = asked.first, asked.weights, asked.excess, trial.change
    here, there = answers.counts[own], answers.counts[number]
    old_here, old_there = answers.shares[own], answers.shares[number]
    new_here, new_there = trial.shares[0], trial.shares[1]
    total = 0.0
    for query in range(begin, end):
        added = 0.0
        for part in range(first[query], first[query + 1]):
            goes = np.int64(answers.wanted[row, part])
            if other >= 0:
                goes -= answers.wanted[other, part]
            added += (here[part] - goes) * new_here[part] - here[part] * old_here[part]
            added += (there[part] + goes) * new_there[part] - there[part] * old_there[part]
        change[query] = added
        total += felt(weights[query] * (excess[query] + added)) - felt(weights[query] * excess[query])
    return total


@once
def accept(
    task: Task, classes: MovableClasses, asked: AskedParts, answers: Answers, swap: RowSwap, trial: AnswerTrial
) -> None:
    """Swap rows, and fill in what their classes then answer."""
    row, other, own, number = swap
    transfer(classes, row, number)
    if other >= 0:
        transfer(classes, other, own)
    refresh(task.space, classes, own)
    refresh(task.space, classes, number)
    for part in range(len(trial.shares[0])):
        goes = np.int64(answers.wanted[row, part])
        if other >= 0:
            goes -= answers.wanted[other, part]
        answers.counts[own, part] -= goes
        answers.counts[number, part] += goes
        answers.shares[own, part], answers.shares[number, part] = trial.shares[0, part], trial.shares[1, part]
    for query in range(len(asked.excess)):
        asked.excess[query] += trial.change[query]


@kernel
def answer(
    task: Task,
    classes: MovableClasses,
    cells: ShownCells,
    asked: AskedParts,
    answers: Answers,
    turn: AnswerTurn,
    trial: AnswerTrial,
    tools: Tools,
) -> int:
    """Try to move or swap random rows with near ones; returns how often that was done.

    It is done where the sum over queries of what is `felt` of weight |estimate - precise| falls, and both classes hold.
    """
    n_trials, paths, reach, n_first, random = turn
    table, rows, n_queries = classes.table, classes.rows, len(asked.weights)
    n, n_done = paths.orders.shape[1], 0
    for _ in range(n_trials):
        if tools.halt[0]:
            break
        row, path, step = draw(random, n), draw(random, len(paths.orders)), draw(random, 2 * reach) - reach
        place = paths.places[path, row] + (step if step < 0 else step + 1)
        if place < 0 or place >= n:
            continue
        other = paths.orders[path, place]
        own, number = rows[row, CLASS], rows[other, CLASS]
        if own == number or max(table[own, SIZE], table[number, SIZE]) > LARGEST:
            continue
        if table[own, SIZE] > task.k and draw(random, 2) == 0:
            other = -1
        own_new = put_box(task, classes, own, row, other, trial.lows[0], trial.highs[0])
        other_new = put_box(task, classes, number, other, row, trial.lows[1], trial.highs[1])
        for side in range(2):
            show_box(cells, trial.lows[side], trial.highs[side], trial.starts[side], trial.stops[side])
        swap, total = RowSwap(row, other, own, number), 0.0
        for stage in range(2):
            begin, end = (0, n_first) if stage == 0 else (n_first, n_queries)
            low, high = asked.first[begin], asked.first[end]
            for side in range(2):
                if own_new if side == 0 else other_new:
                    share_box(asked, trial.starts[side], trial.stops[side], low, high, trial.shares[side])
                else:
                    trial.shares[side, low:high] = answers.shares[number if side else own, low:high]
            total += change_of_error(asked, answers, swap, begin, end, trial)
            if total > -1e-12:
                break
        if total > -1e-12:
            continue
        if stays_close(task, classes, own, row, other, trial.members, tools.scratch) and stays_close(
            task, classes, number, other, row, trial.members, tools.scratch
        ):
            accept(task, classes, asked, answers, swap, trial)
            n_done += 1
    return n_done
