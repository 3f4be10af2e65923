"""Classes whose rows can be drawn at random, and what a row more or less changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.tight.boxes_loops import BoxSpace, Task
from tclose.algorithms.tight.moving_loops import (
    HIGH,
    LOW,
    N_HIGH,
    N_LOW,
    SECOND_HIGH,
    SECOND_LOW,
    alike,
    empty_box,
    take_row,
)
from tclose.algorithms.tight.near_rows_loops import SpanTable, span_loss
from tclose.kernels.closeness import YES, Scratch, judge
from tclose.kernels.compile import inner, kernel
from tclose.kernels.random import Random

Places = NDArray[np.int32]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class LooseClasses(NamedTuple):
    """Classes whose rows can be drawn: each a line of `members`, its box as `MovableClasses` have it, and its loss.

    One that has more rows than there is room for is left alone.
    """

    own: Places  # the class of each row
    places: Places  # of each row in the line of its class
    sizes: Integers
    members: Places
    ends: Places
    loss: Floats
    free: Integers  # how many numbers no class has, and then these


class Steps(NamedTuple):
    """Where rows go, and how many steps at what heat."""

    near: Places  # of each row those nearest to it, those first that are here
    n_near: Integers  # how many that are
    heat: float  # a step that costs this more is taken once in e times
    n_steps: int
    random: Random
    tally: Integers  # how often classes were to be dissolved or made, and how often it was done


class BoxRoom(NamedTuple):
    """Room for the boxes of three classes, and to count in."""

    lows: Places
    highs: Places
    scratch: Scratch


@inner
def measure_box(space: BoxSpace, spans: SpanTable, classes: LooseClasses, number: int) -> None:
    """Find the box of a class anew, and its loss."""
    rows, members, ends = space.rows, classes.members[number], classes.ends[number]
    n_axes = len(ends)
    empty_box(ends)
    for each in range(classes.sizes[number]):
        take_row(rows, members[each], ends)
    total = 0.0
    for axis in range(n_axes):
        total += span_loss(space, spans, axis, ends[axis, LOW], ends[axis, HIGH])
    classes.loss[number] = total


@kernel
def gather(space: BoxSpace, spans: SpanTable, classes: LooseClasses, n_classes: int) -> None:
    """Put every row into the line of its class; those for which there is no room are only counted."""
    room = classes.members.shape[1]
    for row in range(len(classes.own)):
        number = classes.own[row]
        size = classes.sizes[number]
        if size < room:
            classes.members[number, size], classes.places[row] = row, size
        classes.sizes[number] = size + 1
    for number in range(n_classes):
        if classes.sizes[number] <= room:
            measure_box(space, spans, classes, number)


@inner
def shift(classes: LooseClasses, row: int, number: int) -> None:
    """Move a row to another class: the last of its own takes its place there."""
    own, place, sizes, members = classes.own[row], classes.places[row], classes.sizes, classes.members
    last = members[own, sizes[own] - 1]
    members[own, place], classes.places[last] = last, place
    sizes[own] -= 1
    members[number, sizes[number]], classes.places[row] = row, sizes[number]
    sizes[number] += 1
    classes.own[row] = number


@inner
def shrink(space: BoxSpace, classes: LooseClasses, row: int, boxes: BoxRoom, which: int) -> None:
    """The box of a row's class if the row were not there. (Indices in full: a view of an array takes its time.)"""
    rows, ends, number = space.rows, classes.ends, classes.own[row]
    for axis in range(ends.shape[1]):
        place, low, high = rows[row, axis], ends[number, axis, LOW], ends[number, axis, HIGH]
        if place == low and ends[number, axis, N_LOW] == 1:
            low = ends[number, axis, SECOND_LOW]
        if place == high and ends[number, axis, N_HIGH] == 1:
            high = ends[number, axis, SECOND_HIGH]
        boxes.lows[which, axis], boxes.highs[which, axis] = low, high


@inner
def loss_of(space: BoxSpace, spans: SpanTable, boxes: BoxRoom, which: int) -> float:
    """The loss of a row in a class with this box."""
    total = 0.0
    for axis in range(len(spans.axes)):
        total += span_loss(space, spans, axis, boxes.lows[which, axis], boxes.highs[which, axis])
    return total


@inner
def loss_joined(space: BoxSpace, spans: SpanTable, row: int, boxes: BoxRoom, which: int) -> float:
    """The same if the row is in it too."""
    total = 0.0
    for axis in range(len(spans.axes)):
        place, low, high = space.rows[row, axis], boxes.lows[which, axis], boxes.highs[which, axis]
        total += span_loss(space, spans, axis, min(low, place), max(high, place))
    return total


@inner
def loss_taking(space: BoxSpace, spans: SpanTable, classes: LooseClasses, number: int, row: int) -> float:
    """What a class loses a row if it takes one more."""
    total, ends = 0.0, classes.ends
    for axis in range(len(spans.axes)):
        place, low, high = space.rows[row, axis], ends[number, axis, LOW], ends[number, axis, HIGH]
        total += span_loss(space, spans, axis, min(low, place), max(high, place))
    return total


@inner
def remains_close(task: Task, classes: LooseClasses, number: int, minus: int, plus: int, scratch: Scratch) -> bool:
    """Whether a class that holds still does without one row and with another; -1 is none. What is not sure is not."""
    rows, counts, touched, size = task.space.rows, scratch.counts, scratch.touched, classes.sizes[number]
    n = size - (minus >= 0) + (plus >= 0)
    for attribute in range(task.n_attributes):
        column, distinct = task.n_axes + attribute, 0
        if minus >= 0 and plus >= 0 and rows[minus, column] == rows[plus, column]:
            continue
        for each in range(size + 1):
            row = classes.members[number, each] if each < size else plus
            if row < 0 or row == minus:
                continue
            code = rows[row, column]
            if counts[code] == 0:
                touched[distinct] = code
                distinct += 1
            counts[code] += 1
        if judge(task.rules, attribute, scratch, distinct, n) != YES:
            return False
    return True


@inner
def alike_from(task: Task, classes: LooseClasses, number: int, first: int, row: int) -> int:
    """The first row of a class, from a place on and around, whose sensitive values are those of a row; -1 if none."""
    size = classes.sizes[number]
    for each in range(size):
        place = first + each
        other = classes.members[number, place if place < size else place - size]
        if alike(task, row, other):
            return int(other)
    return -1
