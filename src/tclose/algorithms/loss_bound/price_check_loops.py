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

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.loss_bound.closeness_terms import CloseTerms
from tclose.algorithms.loss_bound.price_value_loops import NOTHING, PricedKinds, WorthRoom, worth_of, worth_room
from tclose.algorithms.loss_bound.rounded_losses import SpanLosses
from tclose.kernels.compile import inner, kernel

NEVER = 1 << 42
IS_TREE, FIRST, MISSING, WHOLE = 0, 1, 2, 3  # columns of `axes`
LOW, HIGH, REACH, BLOCK, CHAIN = 0, 1, 2, 3, 4  # columns of `points`
N_KNOWN = 64  # boxes found before that a search begins with
N_RADII = 8  # and sizes of boxes that are tried first
FIRST_RADIUS = 1 << 30  # the first of these: a quarter of all that can be lost
DEEPEST = 256  # nodes that wait at once

Integers = NDArray[np.int64]


class SearchLimits(NamedTuple):
    """How far searches go."""

    tolerance: int  # an excess that is larger by so much need not be found
    most_nodes: int  # of the search around one cell
    floor: int  # no result is lower
    whole: int  # what a class of any rows is worth at most


class ListedKinds(NamedTuple):
    """Lists of kinds, one behind the other."""

    kinds: Integers
    lost: Integers  # what the box of each loses, with the inner box of its node


class WaitingNodes(NamedTuple):
    """The nodes that wait, one row each."""

    boxes: Integers  # the inner box: of each axis the lowest and the highest place
    begins: Integers  # where its list begins, and
    sizes: Integers  # how many kinds that has
    chosens: NDArray[np.float64]  # of each attribute h and L of the lowest bound of its parent


class SearchRoom(NamedTuple):
    """Room for one search at a time."""

    lists: ListedKinds
    nodes: WaitingNodes
    hull: Integers  # the box of a list and the inner box
    split: Integers  # where a node is parted; see `split_of`
    table: Integers  # by place of an axis
    worth: WorthRoom
    best_kinds: Integers  # what the largest excess found belongs to
    best_box: Integers


@inner
def span_loss(losses: SpanLosses, axis: int, home: int, low: int, high: int) -> Any:
    """What a box loses on an axis, from its lowest to its highest place; `home` is a place between."""
    axes, points, groups = losses.axes, losses.points, losses.groups
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
def box_loss(losses: SpanLosses, cell: Any, box: Any) -> Any:
    """What a box around a cell loses."""
    total = 0
    for axis in range(len(cell)):
        total += span_loss(losses, axis, cell[axis], box[axis, 0], box[axis, 1])
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
    losses: SpanLosses, places: Any, cell: Any, axis: int, box: Any, grown: Any, listed: ListedKinds, size: int
) -> None:
    """What each listed kind and the inner box lose together, once that box has grown on one axis."""
    home, column, lost = cell[axis], places[axis], listed.lost
    low, high, new_low, new_high = box[axis, 0], box[axis, 1], grown[axis, 0], grown[axis, 1]
    for i in range(size):
        place = column[listed.kinds[i]]
        lost[i] += span_loss(losses, axis, home, min(new_low, place), max(new_high, place))
        lost[i] -= span_loss(losses, axis, home, min(low, place), max(high, place))


@inner
def most_worth(
    kinds: Any, size: int, priced_kinds: PricedKinds, terms: CloseTerms, enough: int, room: WorthRoom, chosen: Any
) -> Any:
    """At most so much is a class of the listed kinds worth: a close class is close in each attribute."""
    best = 1 << 60
    for which in range(len(terms.attributes)):
        found = worth_of(kinds, size, priced_kinds, which, terms, enough, room, chosen[which])
        best = min(best, found)
        if best <= enough:
            break
    return best


@inner
def split_of(losses: SpanLosses, cell: Any, box: Any, hull: Any, split: Any) -> None:
    """Where to branch: the axis, and the side of an interval, on which inner box and hull differ most in loss.

    `split` becomes the axis (-1 if they differ nowhere), the side (0: the lower end, 1: the upper end, 2: either end,
    for groups) and the loss at which boxes part.
    """
    axes, widest = losses.axes, 0
    split[0] = -1
    for axis in range(len(cell)):
        home, low, high = cell[axis], box[axis, 0], box[axis, 1]
        least = span_loss(losses, axis, home, low, high)
        for side in range(2):
            first = hull[axis, 0] if side == 0 or axes[axis, IS_TREE] else low
            last = hull[axis, 1] if side == 1 or axes[axis, IS_TREE] else high
            more = span_loss(losses, axis, home, first, last) - least
            if more > widest:
                widest = more
                split[0], split[1], split[2] = axis, 2 if axes[axis, IS_TREE] else side, least + more // 2


@inner
def part_list(
    losses: SpanLosses, places: Any, cell: Any, box: Any, split: Any, listed: ListedKinds, size: int, grown: Any
) -> Any:
    """Branch: boxes that reach no farther than the split, and hold only near rows, and all others.

    A list of the near kinds is put behind the list that is parted. All other boxes hold `grown`, which is the inner box
    up to the next place beyond the split. Of a group it holds a place of the smallest that is too wide. Returns how
    many kinds are near.
    """
    axis, side, limit = split[0], split[1], split[2]
    home, low, high = cell[axis], box[axis, 0], box[axis, 1]
    column, kinds, lost = places[axis], listed.kinds, listed.lost
    n_near = 0
    grown[:] = box
    next_low, next_high, least, next_place = -1, 1 << 60, 1 << 60, home
    for i in range(size):
        place = column[kinds[i]]
        first = min(low, place) if side != 1 else low
        last = max(high, place) if side != 0 else high
        loss = span_loss(losses, axis, home, first, last)
        if loss <= limit:
            kinds[size + n_near], lost[size + n_near] = kinds[i], lost[i]
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
def losses_around(losses: SpanLosses, places: Any, cell: Any, table: Any, lost: Any) -> None:
    """What the box of a cell and each kind loses."""
    n_kinds, axes = places.shape[1], losses.axes
    lost[:n_kinds] = 0
    for axis in range(len(cell)):
        home, column = cell[axis], places[axis]
        for place in range(axes[axis + 1, FIRST] - axes[axis, FIRST]):
            table[place] = span_loss(losses, axis, home, min(home, place), max(home, place))
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
    cell: Any, priced_kinds: PricedKinds, losses: SpanLosses, terms: CloseTerms, best: int, limits: SearchLimits,
    room: SearchRoom,
) -> Any:  # fmt: skip
    """No class that holds a row of this cell has a larger excess; at least `best`, which may be any number.

    The kinds and the box in `room` are what the largest excess found belongs to, if it is above `best`. Returns the
    bound, the largest excess found and the number of these kinds; 0 where none was found above `best`.
    """
    places, n_kinds = priced_kinds.places, len(priced_kinds.prices)
    tolerance, whole = limits.tolerance, limits.whole
    arena, arena_lost = room.lists
    boxes, begins, sizes, chosens = room.nodes
    hull, split = room.hull, room.split
    for axis in range(len(cell)):
        boxes[0, axis, 0] = cell[axis]
        boxes[0, axis, 1] = cell[axis]
    n_found, n_nodes, depth = 0, 0, 1
    open_bound = NOTHING
    losses_around(losses, places, cell, room.table, arena_lost)
    radius = FIRST_RADIUS
    for _ in range(N_RADII):  # the boxes of what lies near the cell are a first guess
        size = list_within(arena_lost, n_kinds, radius, arena)
        hull_of(places, arena, size, boxes[0], hull)
        lost_by_hull = box_loss(losses, cell, hull)
        chosens[0] = -1.0
        found = most_worth(arena, size, priced_kinds, terms, best + lost_by_hull, room.worth, chosens[0])
        if found - lost_by_hull > best:
            best, n_found = found - lost_by_hull, size
            room.best_kinds[:size] = arena[:size]
            room.best_box[:] = hull
        if found == NOTHING:
            break
        radius = 5 * radius >> 3
    begins[0] = 0
    sizes[0] = list_within(arena_lost, n_kinds, whole - best - tolerance, arena)
    for i in range(sizes[0]):
        arena_lost[i] = arena_lost[arena[i]]
    chosens[0] = -1.0
    while depth > 0:
        depth -= 1
        box, begin, size, chosen = boxes[depth], begins[depth], sizes[depth], chosens[depth]
        kinds, lost = arena[begin:], arena_lost[begin:]
        least = box_loss(losses, cell, box)
        value = whole
        again = True
        while again:
            n_nodes += 1
            found = most_worth(kinds, size, priced_kinds, terms, best + tolerance + least, room.worth, chosen)
            value = min(value, found)
            most = value - best - tolerance
            left = 0
            for i in range(size):
                if lost[i] < most:
                    kinds[left], lost[left] = kinds[i], lost[i]
                    left += 1
            again = least < most and left < size - (size >> 3)
            size = left
        if value - least <= best + tolerance:
            continue
        hull_of(places, kinds, size, box, hull)
        excess = value - box_loss(losses, cell, hull)
        if excess > best:
            best, n_found = excess, size
            room.best_kinds[:size] = kinds[:size]
            room.best_box[:] = hull
        split_of(losses, cell, box, hull, split)
        if split[0] < 0 or n_nodes >= limits.most_nodes or begin + 2 * size >= len(arena) or depth + 2 >= len(begins):
            open_bound = max(open_bound, value - least)
            continue
        before, grown, listed = boxes[depth + 1], boxes[depth], ListedKinds(kinds, lost)
        before[:] = box
        begins[depth + 1] = begin + size
        sizes[depth] = size
        sizes[depth + 1] = part_list(losses, places, cell, before, split, listed, size, grown)
        grow_losses(losses, places, cell, split[0], before, grown, listed, size)
        chosens[depth + 1] = chosen
        depth += 2
    return max(best + tolerance, open_bound), best, n_found


@inner
def new_room(n_kinds: int, losses: SpanLosses, terms: CloseTerms) -> SearchRoom:
    """Room for one search at a time."""
    axes, longest = losses.axes, 1
    n_axes = len(axes) - 1
    for axis in range(n_axes):
        longest = max(longest, axes[axis + 1, FIRST] - axes[axis, FIRST])
    n_listed = 8 * n_kinds + 4096
    return SearchRoom(
        lists=ListedKinds(kinds=np.empty(n_listed, np.int64), lost=np.empty(n_listed, np.int64)),
        nodes=WaitingNodes(
            boxes=np.empty((DEEPEST, n_axes, 2), np.int64),
            begins=np.empty(DEEPEST, np.int64),
            sizes=np.empty(DEEPEST, np.int64),
            chosens=np.empty((DEEPEST, len(terms.attributes), 2)),
        ),
        hull=np.empty((n_axes, 2), np.int64),
        split=np.empty(3, np.int64),
        table=np.empty(longest + 1, np.int64),
        worth=worth_room(n_kinds, terms),
        best_kinds=np.empty(n_kinds, np.int64),
        best_box=np.empty((n_axes, 2), np.int64),
    )


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
def worth_of_all(priced_kinds: PricedKinds, terms: CloseTerms) -> Any:
    """What a class of any rows is worth at most."""
    n_kinds = len(priced_kinds.prices)
    chosen = np.full((len(terms.attributes), 2), -1.0)
    room = worth_room(n_kinds, terms)
    return most_worth(np.arange(n_kinds), n_kinds, priced_kinds, terms, -(1 << 59), room, chosen)


@kernel
def excesses(
    cells: Any, priced_kinds: PricedKinds, losses: SpanLosses, terms: CloseTerms, limits: SearchLimits, found: Any
) -> None:
    """For each cell a number that the excess of no class which holds a row of it exceeds.

    Neighbouring cells often lie in the same best box, so those found before are where a search begins.
    """
    n_axes = cells.shape[1]
    room = new_room(len(priced_kinds.prices), losses, terms)
    known = np.empty((N_KNOWN, n_axes, 2), np.int64)
    known_excess = np.empty(N_KNOWN, np.int64)
    n_known = 0
    for i in range(len(cells)):
        least = largest_known(cells[i], known, known_excess, n_known, limits.floor)
        bound, excess, n_found = largest_excess(cells[i], priced_kinds, losses, terms, least, limits, room)
        found[i] = bound
        if n_found:
            known[n_known % N_KNOWN] = room.best_box
            known_excess[n_known % N_KNOWN] = excess
            n_known += 1
