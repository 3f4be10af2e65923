"""Cut the space of several sensitive attributes into fragments, one cut after the other (000 section 3.1).

A cell is a combination of values that occurs. The cells of a fragment stand together in every
one of `orders`, sorted there by one attribute, so that all cuts of an attribute are judged in
one sweep; a cut parts them and keeps them sorted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.kernels.compile import inner, kernel

DONE, PAUSED, FULL, STUCK = 0, 1, 2, 3
LINE, TREE = 0, 1
# What `state` holds between calls: the fragments with cells, the next sweep of the turn under way (NO_TURN: none is),
# the fragments without cells, the best cut of the turn so far, and from ABOVE on which attributes exceed their target.
N_FRAGMENTS, TURN, N_EMPTY, BEST_NUMBER, BEST_AXIS, BEST_CUT, ABOVE = range(7)
NO_TURN = -2
# Columns of the table of attributes: its form, values, where its numbers and its paths begin, and how long a path is.
FORM, SIZE, DATA, PATH, DEPTH = range(5)
NEAR = 1e-12  # of sums of shares; what is decided by them is decided once more in integers

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Places = NDArray[np.int32]


class Combinations(NamedTuple):
    """The combinations of values that occur."""

    places: Places  # at [cell, attribute]: the value's place along its order or pre-order
    shares: Floats  # of all rows
    orders: Places  # at [attribute]: the cells, fragment by fragment, by their places


class FragmentGround(NamedTuple):
    """The distances of all attributes, scaled to 1."""

    table: Integers  # one row an attribute, its columns named above
    data: Floats  # of a line: the position of each place; of a tree: the height of each node
    paths: Places  # of a tree, at each place: its leaf and the nodes above it, the root last, filled up with -1


class FragmentAim(NamedTuple):
    """What fragments are cut for, and where cuts may be."""

    targets: Floats  # the bound of each attribute that is to be reached
    weights: Floats  # of each attribute in Psi
    strict: bool  # whether boxes are those of the cuts; else those of the cells within


class FragmentArrays(NamedTuple):
    """The fragments so far.

    `least` and `sums` hold lower bounds for all cuts of a fragment along an attribute: what they change
    in each attribute's bound, and in the sum over the attributes that are above their target.
    """

    ranges: Integers  # where its cells begin and end
    boxes: Places  # lowest places, then highest
    bounds: Floats  # at [fragment, attribute]
    least: Floats  # at [fragment, cut attribute, attribute]
    sums: Floats  # at [fragment, cut attribute]


class Sides(NamedTuple):
    """Room for a sweep: what lies on the left of a cut (0) and on the right (1)."""

    mass: Floats  # at [side]
    moments: Floats  # at [side, attribute]: the sum of share times position
    boxes: Places  # at [side, lowest places then highest]
    nodes: Floats  # at [side, attribute, node]: the share below it
    beyond: Places  # at [cell]: the box of it and all cells after it
    leaves: Places  # at [attribute]: the places that occur
    n_leaves: Integers
    best: Floats  # at [0]: Psi after the best cut of the turn under way


@inner
def sweep_cost(ground: FragmentGround, sides: Sides, n_cells: int, width: int) -> int:
    """About how many cells a sweep visits, counting the leaves that each cut looks at in a tree."""
    looked = 0
    for attribute in range(len(ground.table)):
        looked += 1
        if ground.table[attribute, FORM] == TREE:
            looked += sides.n_leaves[attribute] * ground.table[attribute, DEPTH] // 8
    return 10 * (n_cells + width) * looked


@inner
def line_cost(mass: float, moment: float, low: float, high: float, strict: bool) -> float:
    """The largest work that turns rows at one end into those of the fragment.

    sum of share (x - low), or of share (high - x): the larger is that from the lighter end
    (000 theorem 10). Strict as printed it is over the length of the fragment, else of the domain.
    """
    if mass <= 0.0 or high <= low:
        return 0.0
    work = max(moment - low * mass, high * mass - moment)
    return work / (high - low) if strict else work


@inner
def tree_cost(sides: Sides, side: int, ground: FragmentGround, attribute: int) -> float:
    """The largest work that turns rows at one leaf into those of the fragment.

    From a leaf, what lies below a node but not below its child on the way is as far as the node is high.
    """
    depth, path, data = ground.table[attribute, DEPTH], ground.table[attribute, PATH], ground.table[attribute, DATA]
    largest = 0.0
    for number in range(sides.n_leaves[attribute]):
        first = path + sides.leaves[attribute, number] * depth
        inside = sides.nodes[side, attribute, ground.paths[first]]
        if inside <= NEAR:
            continue
        work = 0.0
        for level in range(1, depth):
            node = ground.paths[first + level]
            if node < 0:
                break
            more = sides.nodes[side, attribute, node] - inside
            work += ground.data[data + node] * more
            inside += more
        largest = max(largest, work)
    return largest


@inner
def side_cost(sides: Sides, side: int, ground: FragmentGround, attribute: int, strict: bool) -> float:
    """The bound of one side of a cut."""
    if ground.table[attribute, FORM] == TREE:
        return tree_cost(sides, side, ground, attribute)
    n_attributes, data = len(ground.table), ground.table[attribute, DATA]
    low = ground.data[data + sides.boxes[side, attribute]]
    high = ground.data[data + sides.boxes[side, n_attributes + attribute]]
    return line_cost(sides.mass[side], sides.moments[side, attribute], low, high, strict)


@inner
def add(sides: Sides, side: int, sign: float, cells: Combinations, cell: int, ground: FragmentGround) -> None:
    """Put a cell on one side, or take it off."""
    share = sign * cells.shares[cell]
    sides.mass[side] += share
    for attribute in range(len(ground.table)):
        place = cells.places[cell, attribute]
        if ground.table[attribute, FORM] == LINE:
            sides.moments[side, attribute] += share * ground.data[ground.table[attribute, DATA] + place]
            continue
        first = ground.table[attribute, PATH] + place * ground.table[attribute, DEPTH]
        for level in range(ground.table[attribute, DEPTH]):
            node = ground.paths[first + level]
            if node < 0:
                break
            sides.nodes[side, attribute, node] += share


@inner
def widen(box: Places, row: int, places: Places, cell: int) -> None:
    """Make a box cover a cell."""
    n_attributes = places.shape[1]
    for attribute in range(n_attributes):
        box[row, attribute] = min(box[row, attribute], places[cell, attribute])
        high = max(box[row, n_attributes + attribute], places[cell, attribute])
        box[row, n_attributes + attribute] = high


@inner
def copy(box: Places, row: int, other: Places, other_row: int) -> None:
    """Copy one box over another."""
    for column in range(box.shape[1]):
        box[row, column] = other[other_row, column]


@inner
def empty(box: Places, row: int) -> None:
    """A box around nothing."""
    n_attributes = box.shape[1] // 2
    for attribute in range(n_attributes):
        box[row, attribute], box[row, n_attributes + attribute] = 2**31 - 1, -1


@inner
def begin(
    cells: Combinations,
    ground: FragmentGround,
    fragments: FragmentArrays,
    number: int,
    axis: int,
    strict: bool,
    sides: Sides,
) -> None:
    """All cells of a fragment to the right, and the boxes of what is beyond each along an attribute."""
    start, stop = fragments.ranges[number, 0], fragments.ranges[number, 1]
    sides.mass[0], sides.mass[1] = 0.0, 0.0
    for attribute in range(len(ground.table)):
        sides.moments[0, attribute], sides.moments[1, attribute] = 0.0, 0.0
        if ground.table[attribute, FORM] == TREE:
            for node in range(sides.nodes.shape[2]):
                sides.nodes[0, attribute, node], sides.nodes[1, attribute, node] = 0.0, 0.0
            sides.n_leaves[attribute] = 0
            before = -1
            for row in range(start, stop):
                place = cells.places[cells.orders[attribute, row], attribute]
                if place != before:
                    sides.leaves[attribute, sides.n_leaves[attribute]] = place
                    sides.n_leaves[attribute] += 1
                before = place
    for row in range(start, stop):
        add(sides, 1, 1.0, cells, cells.orders[axis, row], ground)
    if strict:
        copy(sides.boxes, 0, fragments.boxes, number)
        copy(sides.boxes, 1, fragments.boxes, number)
        return
    empty(sides.boxes, 0)
    empty(sides.boxes, 1)
    for row in range(stop - 1, start - 1, -1):
        widen(sides.boxes, 1, cells.places, cells.orders[axis, row])
        copy(sides.beyond, row, sides.boxes, 1)


@inner
def joint_node(ground: FragmentGround, attribute: int, first: int, second: int) -> int:
    """The lowest common ancestor of two different leaves: where their ways up meet, counted from the root."""
    depth, path = ground.table[attribute, DEPTH], ground.table[attribute, PATH]
    left, right = path + first * depth, path + second * depth
    left_end, right_end = left + depth - 1, right + depth - 1
    while ground.paths[left_end] < 0:
        left_end -= 1
    while ground.paths[right_end] < 0:
        right_end -= 1
    while left_end >= left and right_end >= right and ground.paths[left_end] == ground.paths[right_end]:
        left_end -= 1
        right_end -= 1
    return int(ground.paths[left_end + 1])


@inner
def judge(
    ground: FragmentGround,
    fragments: FragmentArrays,
    number: int,
    axis: int,
    totals: Floats,
    aim: FragmentAim,
    sides: Sides,
) -> float:
    """Psi after the cut between the two sides: the sum over attributes of weight times what is above the target."""
    psi, excess, least = 0.0, 0.0, fragments.least
    targets, weights, strict = aim
    n_attributes = len(ground.table)
    for attribute in range(n_attributes):
        after = side_cost(sides, 0, ground, attribute, strict) + side_cost(sides, 1, ground, attribute, strict)
        change = after - fragments.bounds[number, attribute]
        least[number, axis, attribute] = min(least[number, axis, attribute], change)
        above = totals[attribute] + change - targets[attribute]
        psi += weights[attribute] * max(above, 0.0)
        if totals[attribute] > targets[attribute] + NEAR:
            excess += weights[attribute] * change
    fragments.sums[number, axis] = min(fragments.sums[number, axis], excess)
    return psi


@inner
def sweep(
    cells: Combinations,
    ground: FragmentGround,
    fragments: FragmentArrays,
    number: int,
    axis: int,
    totals: Floats,
    aim: FragmentAim,
    sides: Sides,
) -> tuple[float, int]:
    """The cut of a fragment along an attribute that leaves least Psi: Psi, and the last place on its left.

    Strict, every place of the box is one to cut after, also where nothing occurs; else only those
    that occur, and in a tree only those between two children of the node that holds the fragment.
    """
    start, stop = fragments.ranges[number, 0], fragments.ranges[number, 1]
    n_attributes, strict = len(ground.table), aim.strict
    fragments.sums[number, axis] = np.inf
    for attribute in range(n_attributes):
        fragments.least[number, axis, attribute] = np.inf
    best, best_cut = np.inf, -1
    low, high = fragments.boxes[number, axis], fragments.boxes[number, n_attributes + axis]
    if low == high or start == stop:
        return best, best_cut
    begin(cells, ground, fragments, number, axis, strict, sides)
    is_tree = ground.table[axis, FORM] == TREE
    node = joint_node(ground, axis, low, high) if is_tree else 0
    row, cut = start, low
    while cut < high:
        while row < stop and cells.places[cells.orders[axis, row], axis] <= cut:
            cell = cells.orders[axis, row]
            add(sides, 0, 1.0, cells, cell, ground)
            add(sides, 1, -1.0, cells, cell, ground)
            if not strict:
                widen(sides.boxes, 0, cells.places, cell)
            row += 1
        after = cells.places[cells.orders[axis, row], axis] if row < stop else high
        if strict:
            sides.boxes[0, n_attributes + axis], sides.boxes[1, axis] = cut, cut + 1
            if row == stop:
                sides.mass[1] = 0.0
        elif row < stop:
            copy(sides.boxes, 1, sides.beyond, row)
        if not is_tree or joint_node(ground, axis, cut, after) == node:
            psi = judge(ground, fragments, number, axis, totals, aim, sides)
            if psi < best:
                best, best_cut = psi, cut
        cut = cut + 1 if strict else after
    return best, best_cut


@inner
def measure(
    cells: Combinations, ground: FragmentGround, fragments: FragmentArrays, number: int, strict: bool, sides: Sides
) -> None:
    """The bounds of a new fragment; nothing is known of its cuts but that no bound falls below 0."""
    n_attributes = len(ground.table)
    if not strict:
        empty(fragments.boxes, number)
        for row in range(fragments.ranges[number, 0], fragments.ranges[number, 1]):
            widen(fragments.boxes, number, cells.places, cells.orders[0, row])
    begin(cells, ground, fragments, number, 0, strict, sides)
    for attribute in range(n_attributes):
        fragments.bounds[number, attribute] = side_cost(sides, 1, ground, attribute, strict)
    for axis in range(n_attributes):
        for attribute in range(n_attributes):
            fragments.least[number, axis, attribute] = -fragments.bounds[number, attribute]
        fragments.sums[number, axis] = -np.inf


@inner
def part(
    cells: Combinations, fragments: FragmentArrays, number: int, new: int, axis: int, cut: int, taken: Places
) -> None:
    """Cut a fragment after a place; the right part is the new one. Orders stay sorted within both."""
    start, stop = fragments.ranges[number, 0], fragments.ranges[number, 1]
    n_attributes = cells.places.shape[1]
    middle = start
    for attribute in range(n_attributes):
        n_taken, end = 0, start
        for row in range(start, stop):
            cell = cells.orders[attribute, row]
            if cells.places[cell, axis] <= cut:
                cells.orders[attribute, end] = cell
                end += 1
            else:
                taken[n_taken] = cell
                n_taken += 1
        for place in range(n_taken):
            cells.orders[attribute, end + place] = taken[place]
        middle = end
    copy(fragments.boxes, new, fragments.boxes, number)
    fragments.boxes[number, n_attributes + axis], fragments.boxes[new, axis] = cut, cut + 1
    fragments.ranges[new, 0], fragments.ranges[new, 1], fragments.ranges[number, 1] = middle, stop, middle


@inner
def can_leave_less(
    fragments: FragmentArrays, number: int, axis: int, totals: Floats, aim: FragmentAim, psi: float, most: float
) -> bool:
    """Whether a cut may leave less Psi than this: by the attributes above their target alone, then one by one."""
    if psi + fragments.sums[number, axis] >= most:
        return False
    total = 0.0
    for attribute in range(len(totals)):
        above = totals[attribute] + fragments.least[number, axis, attribute] - aim.targets[attribute]
        total += aim.weights[attribute] * max(above, 0.0)
    return total < most


@kernel
def split(
    cells: Combinations,
    ground: FragmentGround,
    fragments: FragmentArrays,
    sides: Sides,
    state: Integers,
    aim: FragmentAim,
    taken: Places,
    budget: int,
) -> int:
    """FIND-FRAGMENTATION: make the cut that leaves least Psi, until all bounds are within their targets.

    Fragments without cells cost nothing and are never cut. It ends when all are within (DONE), when
    there is no room (FULL) or nothing left to cut (STUCK), and when the budget of cells visited is
    spent (PAUSED), also within the turn that looks for a cut. Of several cuts the first is taken.
    """
    n_attributes = len(ground.table)
    targets, weights, strict = aim
    totals = np.zeros(n_attributes)
    first_number, first_axis = 0, 0
    if state[N_FRAGMENTS] == 0:
        state[N_FRAGMENTS], state[TURN], state[ABOVE:] = 1, NO_TURN, -1
        measure(cells, ground, fragments, 0, strict, sides)
    while budget > 0:
        n = state[N_FRAGMENTS]
        psi, n_above, changed = 0.0, 0, False
        for attribute in range(n_attributes):
            totals[attribute] = 0.0
            for number in range(n):
                totals[attribute] += fragments.bounds[number, attribute]
            above = totals[attribute] > targets[attribute] + NEAR
            if above:
                psi += weights[attribute] * (totals[attribute] - targets[attribute])
                n_above += 1
            changed = changed or state[ABOVE + attribute] != above
        if state[TURN] == NO_TURN:
            if n_above == 0:
                return DONE
            if n == len(fragments.ranges):
                return FULL
            if changed:
                for attribute in range(n_attributes):
                    state[ABOVE + attribute] = totals[attribute] > targets[attribute] + NEAR
                for number in range(n):
                    for axis in range(n_attributes):
                        if fragments.sums[number, axis] < np.inf:
                            fragments.sums[number, axis] = -np.inf
            promise = np.inf
            for number in range(n):
                for axis in range(n_attributes):
                    if fragments.sums[number, axis] < promise:
                        first_number, first_axis, promise = number, axis, fragments.sums[number, axis]
            if promise == np.inf:
                return STUCK
            budget -= n * n_attributes
            state[TURN], state[BEST_NUMBER], sides.best[0] = -1, -1, np.inf
        while state[TURN] < n * n_attributes:
            turn = state[TURN]
            state[TURN] += 1
            number, axis = (turn // n_attributes, turn % n_attributes) if turn >= 0 else (first_number, first_axis)
            if not can_leave_less(fragments, number, axis, totals, aim, psi, sides.best[0] - NEAR):
                continue
            found, cut = sweep(cells, ground, fragments, number, axis, totals, aim, sides)
            width = fragments.boxes[number, n_attributes + axis] - fragments.boxes[number, axis]
            budget -= sweep_cost(ground, sides, fragments.ranges[number, 1] - fragments.ranges[number, 0], width)
            if found < sides.best[0]:
                sides.best[0], state[BEST_NUMBER], state[BEST_AXIS], state[BEST_CUT] = found, number, axis, cut
            if budget <= 0 and state[TURN] < n * n_attributes:
                return PAUSED
        state[TURN], best_number = NO_TURN, state[BEST_NUMBER]
        if best_number < 0:
            continue
        part(cells, fragments, best_number, n, state[BEST_AXIS], state[BEST_CUT], taken)
        if fragments.ranges[best_number, 0] == fragments.ranges[best_number, 1]:  # nothing on its left
            copy(fragments.boxes, best_number, fragments.boxes, n)
            fragments.ranges[best_number, 1] = fragments.ranges[n, 1]
            fragments.ranges[n, 0] = fragments.ranges[n, 1]
        measure(cells, ground, fragments, best_number, strict, sides)
        if fragments.ranges[n, 0] < fragments.ranges[n, 1]:
            measure(cells, ground, fragments, n, strict, sides)
            state[N_FRAGMENTS] = n + 1
        else:
            state[N_EMPTY] += 1
    return PAUSED
