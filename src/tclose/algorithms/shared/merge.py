"""Classes that do not hold are merged with their nearest (004 section 7; EnsureTCloseness of 003)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.control import Watch
from tclose.algorithms.packing import costs_of, pace_of, rules_of, scratch_of
from tclose.algorithms.requirement import Requirement
from tclose.table.encode import EncodedTable
from tclose.table.partition import Partition

if TYPE_CHECKING:
    from tclose.algorithms.shared.merge_loops import MergedClasses, MergeTally

Labels = NDArray[np.int64]
BUDGET = 10_000_000  # row visits between two looks at the clock, about 0.1 s
LOOKS_AFTER_THE_END = 3  # for the last class to grow step by step


def merge(
    table: EncodedTable, requirement: Requirement, labels: Labels, watch: Watch | None, looks_left: int | None = None
) -> tuple[Labels, bool]:
    """Go through the classes; one that does not hold takes in the class whose union adds least to the cost.

    Any partition will do, also one with classes of fewer than k rows: at worst one class is left.
    A union is no farther from the table than the farther of its parts, and no less diverse
    than the less diverse, so what holds goes on holding. When the time is over, the classes not
    yet settled are taken together as one; the second result is whether there was no need to.
    Where that one does not hold by itself, it grows step by step for a few looks at the clock, and
    then by leaps. Without a watch the time is never over; but with a number of `looks_left` all
    classes hold except perhaps the last one.

    Raises
    ------
    InfeasibleError
        Not even all rows together hold, which happens only if the reference is another table.
    """
    from tclose.algorithms.shared import merge_loops as kernels
    from tclose.kernels.closeness import ASK, NO, YES

    order = np.argsort(labels, kind="stable")
    codes = np.empty((len(table), len(table.codes)), np.int32)
    for place, column in enumerate(table.codes):
        codes[:, place] = column[order]
    first = 0 if looks_left is None else int(labels.max())
    classes, tally, state = _classes(table, labels), _tally(requirement), np.array([first, 0, ASK])
    task = kernels.MergeTask(k=requirement.k, rules=rules_of(requirement), scratch=scratch_of(requirement))
    costs, weights = costs_of(table), np.array([axis.weight for axis in table.axes])
    budget = BUDGET // pace_of(requirement)
    while kernels.DONE != (status := kernels.advance(classes, codes, tally, state, task, costs, weights, budget)):
        if status == kernels.ASKED:
            each = zip(requirement.attributes, tally.counts, strict=True)
            held = all(attribute.holds(counts[: attribute.domain.size]) for attribute, counts in each)
            state[kernels.VERDICT] = YES if held else NO
        if 2 * classes.inside[1] < len(classes.along):
            classes = _planted(table, classes)
        if watch is not None:
            watch.report(done=float(state[kernels.CLASS]) / len(classes.table))
            if watch.stop:
                roots = _roots(classes)
                if (roots > state[kernels.CLASS]).any():
                    settled = np.unique(np.minimum(roots, state[kernels.CLASS])[labels], return_inverse=True)[1]
                    return merge(table, requirement, settled, None, LOOKS_AFTER_THE_END)[0], False
                watch, looks_left = None, LOOKS_AFTER_THE_END
        elif looks_left is not None:
            looks_left -= 1
            if looks_left < 0:
                return _leap(table, requirement, _roots(classes)[labels], int(state[kernels.CLASS])), False
    if state[kernels.CLASS] < len(classes.table):  # what does not hold has taken in all rows
        requirement.check_whole(table)
        raise AssertionError("the kernels and the requirement disagree")
    return Partition.of(_roots(classes)[labels]).labels, True


def _leap(table: EncodedTable, requirement: Requirement, labels: Labels, number: int) -> Labels:
    """Join the nearest class to the one of this number, then the two nearest, four, eight, until it holds.

    All other classes hold, and all do if there is none of this number. So it takes no more
    verdicts than the number of classes has binary digits.
    """
    numbers, labels = np.unique(labels, return_inverse=True)
    last = int(np.searchsorted(numbers, number))
    if last == len(numbers) or numbers[last] != number:
        return Partition.of(labels).labels
    sizes, spans = np.bincount(labels), table.spans(labels, len(numbers))
    own, union = np.zeros((2, len(numbers)))
    for axis, (low, high) in zip(table.axes, spans, strict=True):
        own += axis.weight * axis.cost(low, high)
        union += axis.weight * axis.cost(np.minimum(low, low[last]), np.maximum(high, high[last]))
    added = (sizes[last] + sizes) * union - sizes * own
    added[last] = -np.inf
    rank = np.empty(len(numbers), np.int64)
    rank[np.argsort(added, kind="stable")] = np.arange(len(numbers))
    taken = 1
    while taken < len(numbers):
        inside = np.flatnonzero(rank[labels] < taken)
        if requirement.holds_in_all(table.take(inside), np.zeros(len(inside), np.int64)):
            break
        taken *= 2
    else:
        requirement.check_whole(table)
    return Partition.of(np.where(rank < taken, last, np.arange(len(numbers)))[labels]).labels


def _tally(requirement: Requirement) -> MergeTally:
    """Room to count one class in."""
    from tclose.algorithms.shared.merge_loops import MergeTally

    n_attributes = len(requirement.attributes)
    values = max((attribute.domain.size for attribute in requirement.attributes), default=0)
    room = (n_attributes, values)
    return MergeTally(np.zeros(room, np.int64), np.zeros(room, np.int32), np.zeros(n_attributes, np.int64))


def _classes(table: EncodedTable, labels: Labels) -> MergedClasses:
    """The classes as the kernels take them."""
    from tclose.algorithms.shared import merge_loops as kernels

    sizes = np.bincount(labels)
    spans = table.spans(labels, len(sizes))
    costs = [axis.weight * axis.cost(*span) for axis, span in zip(table.axes, spans, strict=True)]
    rows = np.zeros((len(sizes), 6), np.int64)
    numbers = np.arange(len(sizes))
    rows[:, kernels.ROWS], rows[:, kernels.START] = sizes, np.cumsum(sizes) - sizes
    rows[:, kernels.OWNER], rows[:, kernels.NEXT], rows[:, kernels.LAST] = numbers, -1, numbers
    lows, highs = ([span[side] for span in spans] for side in (0, 1))
    none, nowhere = np.zeros(0, np.int64), np.zeros((0, 0), np.int32)
    spans_of = np.stack([*lows, *highs], axis=1)
    classes = kernels.MergedClasses(
        table=rows,
        spans=spans_of,
        loss=np.sum(costs, axis=0),
        along=none,
        ends=nowhere,
        rises=np.zeros((0, 0)),
        inside=none,
    )
    return _planted(table, classes)


def _planted(table: EncodedTable, classes: MergedClasses) -> MergedClasses:
    """The same with a new tree, of the classes that are still there."""
    from tclose.algorithms.shared import merge_loops as kernels

    along = _order(table, classes, np.flatnonzero(classes.table[:, kernels.OWNER] == np.arange(len(classes.table))))
    classes.table[along, kernels.PLACE] = np.arange(len(along))
    nodes = 2 << max((len(along) - 1) // kernels.LEAF, 0).bit_length()
    classes = classes._replace(
        along=along,
        ends=np.empty((nodes, 2 * len(table.axes)), np.int32),
        rises=np.empty((nodes, kernels.STEPS + 1)),
        inside=np.empty(nodes, np.int64),
    )
    kernels.build(classes)
    return classes


def _order(table: EncodedTable, classes: MergedClasses, numbers: Labels) -> Labels:
    """The classes so that those of a node lie together: halved, again and again, across the axis that costs most.

    All nodes of a level are halved at once, by the middles of the spans.
    """
    from tclose.algorithms.shared.merge_loops import LEAF

    n_axes = len(table.axes)
    middles = (classes.spans[:, :n_axes].astype(np.int64) + classes.spans[:, n_axes:]) // 2
    size = LEAF << max((len(numbers) - 1) // LEAF, 0).bit_length()
    while size > LEAF:
        starts, nodes = np.arange(0, len(numbers), size), np.arange(len(numbers)) // size
        costliest, keys = np.full(len(starts), -1.0), np.zeros(len(numbers), np.int64)
        for place, axis in enumerate(table.axes):
            values = middles[numbers, place]
            low, high = (each.reduceat(values, starts).astype(np.int32) for each in (np.minimum, np.maximum))
            costs = axis.weight * axis.cost(low, high)
            chosen = (costs > costliest)[nodes]
            keys[chosen] = values[chosen]
            costliest = np.maximum(costliest, costs)
        numbers = numbers[np.argsort(nodes << 32 | keys, kind="stable")]
        size //= 2
    return numbers


def _roots(classes: MergedClasses) -> Labels:
    """The class that each ended up in."""
    from tclose.algorithms.shared.merge_loops import OWNER

    roots = classes.table[:, OWNER].copy()
    while (roots != roots[roots]).any():
        roots = roots[roots]
    return roots
