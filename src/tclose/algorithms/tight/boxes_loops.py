"""Rows, the boxes around them, and what they lose."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.closeness import YES, Rules, Scratch, judge
from tclose.kernels.compile import inner
from tclose.kernels.costs import Costs, span_cost
from tclose.kernels.soft import Gauge, Soft

Places = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
FAR = 2**31 - 1


class BoxSpace(NamedTuple):
    """The rows, and what a box around some costs."""

    rows: Places  # of each row its places, its codes, and its codes among the values of `soft`
    weights: Floats  # of each axis
    costs: Costs


class Task(NamedTuple):
    """The rows and what is asked of them."""

    space: BoxSpace
    n_axes: int
    n_attributes: int
    k: int
    rules: Rules
    soft: Soft


class Tools(NamedTuple):
    """Room of one thread."""

    scratch: Scratch
    gauge: Gauge
    other: Gauge
    halt: NDArray[np.bool_]  # one, for all threads: set from outside while kernels run, to have them come back at once


@inner
def asking(task: Task, soft: Soft) -> Task:
    """The same rows, of which this is asked."""
    return Task(
        space=task.space,
        n_axes=task.n_axes,
        n_attributes=task.n_attributes,
        k=task.k,
        rules=task.rules,
        soft=soft,
    )


@inner
def empty(low: Places, high: Places) -> None:
    """A box around nothing."""
    for axis in range(len(low)):
        low[axis], high[axis] = FAR, -1


@inner
def widen(space: BoxSpace, row: int, low: Places, high: Places) -> None:
    """Take a row into a box."""
    for axis in range(len(low)):
        place = space.rows[row, axis]
        low[axis] = min(low[axis], place)
        high[axis] = max(high[axis], place)


@inner
def box_loss(space: BoxSpace, low: Places, high: Places) -> float:
    """The loss of a row in a class with this box."""
    total = 0.0
    for axis in range(len(low)):
        total += space.weights[axis] * span_cost(space.costs, axis, low[axis], high[axis])
    return total


@inner
def loss_with(space: BoxSpace, row: int, low: Places, high: Places) -> float:
    """The same if the row is in it too."""
    total = 0.0
    for axis in range(len(low)):
        place = space.rows[row, axis]
        total += space.weights[axis] * span_cost(space.costs, axis, min(low[axis], place), max(high[axis], place))
    return total


@inner
def spans_of(space: BoxSpace, low: Places, high: Places, spans: Floats) -> float:
    """The loss of a row in a class with this box, and in `spans` the part of each axis."""
    total = 0.0
    for axis in range(len(low)):
        spans[axis] = space.weights[axis] * span_cost(space.costs, axis, low[axis], high[axis])
        total += spans[axis]
    return total


@inner
def loss_beyond(space: BoxSpace, row: int, low: Places, high: Places, spans: Floats, loss: float) -> float:
    """The loss if the row is in it too, given what `spans_of` found: only axes on which it lies outside add to that."""
    total = loss
    for axis in range(len(low)):
        place = space.rows[row, axis]
        if place < low[axis] or place > high[axis]:
            wider = span_cost(space.costs, axis, min(low[axis], place), max(high[axis], place))
            total += space.weights[axis] * wider - spans[axis]
    return total


@inner
def holds(task: Task, members: Integers, n: int, scratch: Scratch) -> bool:
    """Are these rows close and diverse? What is not sure is not held."""
    rows, rules, counts, touched = task.space.rows, task.rules, scratch.counts, scratch.touched
    for attribute in range(task.n_attributes):
        distinct = 0
        for place in range(n):
            code = rows[members[place], task.n_axes + attribute]
            if counts[code] == 0:
                touched[distinct] = code
                distinct += 1
            counts[code] += 1
        if judge(rules, attribute, scratch, distinct, n) != YES:
            return False
    return True
