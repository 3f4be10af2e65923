"""The largest excess of a class around a cell: what its rows are worth on average, less what it loses.

A class that holds a row covers some box around it. Boxes are searched by branch and bound. A node stands for all boxes
that hold an inner box and only rows of a list. Its excess is at most what a class of the listed rows is worth, less
what the inner box loses; a row whose box with the inner one loses so much that no class with it can be better than the
best known is taken off the list. What is left open when the search is cut short counts with its bound, so that the
result is never too low.

A box has, for each axis, the lowest and the highest place. On an axis of leaves it loses what the smallest group loses
that holds both, and the place of the cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tclose.algorithms.loss_bound.price_value_loops import NOTHING, worth_of
from tclose.kernels.compile import inner, kernel

NEVER = 1 << 42
IS_TREE, FIRST, MISSING, WHOLE = 0, 1, 2, 3  # columns of `axes`
LOW, HIGH, REACH, BLOCK, CHAIN = 0, 1, 2, 3, 4  # columns of `points`
N_KNOWN = 64  # boxes found before that a search begins with
N_RADII = 8  # and sizes of boxes that are tried first
FIRST_RADIUS = 1 << 30  # the first of these: a quarter of all that can be lost


@inner
def span_loss(axes: Any, points: Any, groups: Any, axis: int, home: int, low: int, high: int) -> Any:
    """What a box loses on an axis, from its lowest to its highest place; `home` is a place between."""
    start = axes[axis, FIRST]
    if axes[axis, IS_TREE]:
        group = points[start + home, CHAIN]
        while low < groups[group, 0] or high > groups[group, 1]:
            group += 1
        return groups[group, 2]
    if points[start + low, BLOCK] != points[start + high, BLOCK] or high > points[start + low, REACH]:
        return NEVER
    if high == axes[axis, MISSING]:
        return 0 if low == high else axes[axis, WHOLE]
    return max(points[start + high, HIGH] - points[start + low, LOW], 0)


@inner
def box_loss(axes: Any, points: Any, groups: Any, cell: Any, box: Any) -> Any:
    """What a box around a cell loses."""
    total = 0
    for axis in range(len(cell)):
        total += span_loss(axes, points, groups, axis, cell[axis], box[axis, 0], box[axis, 1])
    return total


@inner
def hull_of(places: Any, listed: Any, size: int, box: Any, hull: Any) -> None:
    """The box of all listed rows and the inner box."""
    for axis in range(len(box)):
        low, high = box[axis, 0], box[axis, 1]
        column = places[axis]
        for i in range(size):
            place = column[listed[i]]
            low, high = min(low, place), max(high, place)
        hull[axis, 0], hull[axis, 1] = low, high


@inner
def grow_losses(
    axes: Any, points: Any, groups: Any, places: Any, home: int, axis: int, box: Any, grown: Any, listed: Any,
    lost: Any, size: int,
) -> None:  # fmt: skip
    """What each listed kind and the inner box lose together, once that box has grown on one axis."""
    column = places[axis]
    low, high, new_low, new_high = box[axis, 0], box[axis, 1], grown[axis, 0], grown[axis, 1]
    for i in range(size):
        place = column[listed[i]]
        lost[i] += span_loss(axes, points, groups, axis, home, min(new_low, place), max(new_high, place))
        lost[i] -= span_loss(axes, points, groups, axis, home, min(low, place), max(high, place))


@inner
def most_worth(
    listed: Any, size: int, prices: Any, counts: Any, codes: Any, attributes: Any, values: Any, grounds: Any,
    enough: int, entries: Any, notes: Any, slopes: Any, chosen: Any,
) -> Any:  # fmt: skip
    """At most so much is a class of the listed kinds worth: a close class is close in each attribute."""
    best = 1 << 60
    for which in range(len(attributes)):
        found = worth_of(
            listed, size, prices, counts, codes[which], attributes[which], values, grounds, enough, entries, notes,
            slopes, chosen[which],
        )  # fmt: skip
        best = min(best, found)
        if best <= enough:
            break
    return best


@inner
def split_of(axes: Any, points: Any, groups: Any, cell: Any, box: Any, hull: Any, split: Any) -> None:
    """Where to branch: the axis, and the side of an interval, on which inner box and hull differ most in loss.

    `split` becomes the axis (-1 if they differ nowhere), the side (0: the lower end, 1: the upper end, 2: either end,
    for groups) and the loss at which boxes part.
    """
    widest = 0
    split[0] = -1
    for axis in range(len(cell)):
        home, low, high = cell[axis], box[axis, 0], box[axis, 1]
        least = span_loss(axes, points, groups, axis, home, low, high)
        for side in range(2):
            first = hull[axis, 0] if side == 0 or axes[axis, IS_TREE] else low
            last = hull[axis, 1] if side == 1 or axes[axis, IS_TREE] else high
            more = span_loss(axes, points, groups, axis, home, first, last) - least
            if more > widest:
                widest = more
                split[0], split[1], split[2] = axis, 2 if axes[axis, IS_TREE] else side, least + more // 2


@inner
def part_list(
    axes: Any, points: Any, groups: Any, places: Any, cell: Any, box: Any, split: Any, listed: Any, lost: Any,
    size: int, near: Any, near_lost: Any, grown: Any,
) -> Any:  # fmt: skip
    """Branch: boxes that reach no farther than the split, and hold only the rows listed in `near`, and all others.

    These others hold `grown`, which is the inner box up to the next place beyond the split. Of a group it holds a place
    of the smallest that is too wide. Returns how many kinds are near.
    """
    axis, side, limit = split[0], split[1], split[2]
    home, low, high = cell[axis], box[axis, 0], box[axis, 1]
    column = places[axis]
    n_near = 0
    grown[:] = box
    next_low, next_high, least, next_place = -1, 1 << 60, 1 << 60, home
    for i in range(size):
        place = column[listed[i]]
        first = min(low, place) if side != 1 else low
        last = max(high, place) if side != 0 else high
        loss = span_loss(axes, points, groups, axis, home, first, last)
        if loss <= limit:
            near[n_near], near_lost[n_near] = listed[i], lost[i]
            n_near += 1
            continue
        next_low, next_high = max(next_low, place), min(next_high, place)
        if loss < least:
            least, next_place = loss, place
    if side == 2:
        grown[axis, 0], grown[axis, 1] = min(low, next_place), max(high, next_place)
    elif side == 0:
        grown[axis, 0] = next_low
    else:
        grown[axis, 1] = next_high
    return n_near


@inner
def losses_around(axes: Any, points: Any, groups: Any, places: Any, cell: Any, table: Any, lost: Any) -> None:
    """What the box of a cell and each kind loses."""
    n_kinds = places.shape[1]
    lost[:n_kinds] = 0
    for axis in range(len(cell)):
        home, column = cell[axis], places[axis]
        for place in range(axes[axis + 1, FIRST] - axes[axis, FIRST]):
            table[place] = span_loss(axes, points, groups, axis, home, min(home, place), max(home, place))
        for kind in range(n_kinds):
            lost[kind] += table[column[kind]]


@inner
def list_within(lost: Any, n_kinds: int, most: int, listed: Any) -> Any:
    """The kinds that lose less than `most`; returns how many."""
    size = 0
    for kind in range(n_kinds):
        if lost[kind] < most:
            listed[size] = kind
            size += 1
    return size


@inner
def largest_excess(
    cell: Any, places: Any, prices: Any, counts: Any, codes: Any, geometry: Any, closeness: Any, best: int,
    tolerance: int, most_nodes: int, whole: int, room: Any, best_list: Any, best_box: Any,
) -> Any:  # fmt: skip
    """No class that holds a row of this cell has a larger excess; at least `best`, which may be any number.

    Kinds are in line by falling price. `whole` is what a class of any rows is worth at most. `best_list` and `best_box`
    are what the largest excess found belongs to, if it is above `best`. Returns the bound, the largest excess found and
    the number of kinds in its list; 0 where none was found above `best`.
    """
    axes, points, groups = geometry
    attributes, values, grounds = closeness
    n_kinds = len(prices)
    arena, arena_lost, boxes, begins, lengths, chosens, hull, split, table, entries, notes, slopes = room
    for axis in range(len(cell)):
        boxes[0, axis, 0] = cell[axis]
        boxes[0, axis, 1] = cell[axis]
    n_found, n_nodes, depth = 0, 0, 1
    open_bound = NOTHING
    losses_around(axes, points, groups, places, cell, table, arena_lost)
    radius = FIRST_RADIUS
    for _ in range(N_RADII):  # the boxes of what lies near the cell are a first guess
        size = list_within(arena_lost, n_kinds, radius, arena)
        hull_of(places, arena, size, boxes[0], hull)
        lost_by_hull = box_loss(axes, points, groups, cell, hull)
        chosens[0] = -1.0
        found = most_worth(
            arena, size, prices, counts, codes, attributes, values, grounds, best + lost_by_hull, entries, notes,
            slopes, chosens[0],
        )  # fmt: skip
        if found - lost_by_hull > best:
            best, n_found = found - lost_by_hull, size
            best_list[:size] = arena[:size]
            best_box[:] = hull
        if found == NOTHING:
            break
        radius = 5 * radius >> 3
    begins[0] = 0
    lengths[0] = list_within(arena_lost, n_kinds, whole - best - tolerance, arena)
    for i in range(lengths[0]):
        arena_lost[i] = arena_lost[arena[i]]
    chosens[0] = -1.0
    while depth > 0:
        depth -= 1
        box, begin, size, chosen = boxes[depth], begins[depth], lengths[depth], chosens[depth]
        listed, lost = arena[begin:], arena_lost[begin:]
        least = box_loss(axes, points, groups, cell, box)
        value = whole
        again = True
        while again:
            n_nodes += 1
            found = most_worth(
                listed, size, prices, counts, codes, attributes, values, grounds, best + tolerance + least, entries,
                notes, slopes, chosen,
            )  # fmt: skip
            value = min(value, found)
            most = value - best - tolerance
            left = 0
            for i in range(size):
                if lost[i] < most:
                    listed[left], lost[left] = listed[i], lost[i]
                    left += 1
            again = least < most and left < size - (size >> 3)
            size = left
        if value - least <= best + tolerance:
            continue
        hull_of(places, listed, size, box, hull)
        excess = value - box_loss(axes, points, groups, cell, hull)
        if excess > best:
            best, n_found = excess, size
            best_list[:size] = listed[:size]
            best_box[:] = hull
        split_of(axes, points, groups, cell, box, hull, split)
        if split[0] < 0 or n_nodes >= most_nodes or begin + 2 * size >= len(arena) or depth + 2 >= len(begins):
            open_bound = max(open_bound, value - least)
            continue
        boxes[depth + 1] = box
        begins[depth + 1] = begin + size
        lengths[depth] = size
        lengths[depth + 1] = part_list(
            axes, points, groups, places, cell, boxes[depth + 1], split, listed, lost, size, arena[begin + size :],
            arena_lost[begin + size :], boxes[depth],
        )  # fmt: skip
        grow_losses(
            axes, points, groups, places, cell[split[0]], split[0], boxes[depth + 1], boxes[depth], listed, lost, size
        )
        chosens[depth + 1] = chosen
        depth += 2
    return max(best + tolerance, open_bound), best, n_found


@inner
def new_room(n_kinds: int, axes: Any, attributes: Any) -> Any:
    """Room for one search at a time."""
    deep, n_axes, m, longest = 256, len(axes) - 1, 1, 1
    for which in range(len(attributes)):
        m = max(m, attributes[which, 0])
    for axis in range(n_axes):
        longest = max(longest, axes[axis + 1, FIRST] - axes[axis, FIRST])
    return (
        np.empty(8 * n_kinds + 4096, np.int64), np.empty(8 * n_kinds + 4096, np.int64),
        np.empty((deep, n_axes, 2), np.int64), np.empty(deep, np.int64), np.empty(deep, np.int64),
        np.empty((deep, len(attributes), 2)), np.empty((n_axes, 2), np.int64), np.empty(3, np.int64),
        np.empty(longest + 1, np.int64), np.empty((n_kinds, 4), np.int64), np.empty((m, 6), np.int64),
        np.empty(2 * m + 2),
    )  # fmt: skip


@inner
def largest_known(cell: Any, boxes: Any, known: Any, n_known: int, floor: int) -> Any:
    """The largest excess of a known box that holds a cell; `floor` where none does."""
    best = floor
    for j in range(min(n_known, len(known))):
        if known[j] > best:
            inside = True
            for axis in range(len(cell)):
                inside = inside and boxes[j, axis, 0] <= cell[axis] <= boxes[j, axis, 1]
            if inside:
                best = known[j]
    return best


@kernel
def worth_of_all(prices: Any, counts: Any, codes: Any, geometry: Any, closeness: Any) -> Any:
    """What a class of any rows is worth at most."""
    attributes, values, grounds = closeness
    room = new_room(len(prices), geometry[0], attributes)
    chosen = np.full((len(attributes), 2), -1.0)
    return most_worth(
        np.arange(len(prices)), len(prices), prices, counts, codes, attributes, values, grounds, -(1 << 59), room[9],
        room[10], room[11], chosen,
    )  # fmt: skip


@kernel
def excesses(
    cells: Any, places: Any, prices: Any, counts: Any, codes: Any, geometry: Any, closeness: Any, tolerance: int,
    most_nodes: int, floor: int, whole: int, found: Any,
) -> None:  # fmt: skip
    """For each cell a number that the excess of no class which holds a row of it exceeds.

    Neighbouring cells often lie in the same best box, so those found before are where a search begins. No result is
    below `floor`.
    """
    n_axes = cells.shape[1]
    room = new_room(len(prices), geometry[0], closeness[0])
    best_list, best_box = np.empty(len(prices), np.int64), np.empty((n_axes, 2), np.int64)
    known = np.empty((N_KNOWN, n_axes, 2), np.int64)
    known_excess = np.empty(N_KNOWN, np.int64)
    n_known = 0
    for i in range(len(cells)):
        least = largest_known(cells[i], known, known_excess, n_known, floor)
        bound, excess, n_found = largest_excess(
            cells[i], places, prices, counts, codes, geometry, closeness, least, tolerance, most_nodes, whole, room,
            best_list, best_box,
        )  # fmt: skip
        found[i] = bound
        if n_found:
            known[n_known % N_KNOWN] = best_box
            known_excess[n_known % N_KNOWN] = excess
            n_known += 1
