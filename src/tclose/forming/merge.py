"""Several sensitive attributes: classes that do not hold are merged with their nearest (004 section 7)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tclose.encode import EncodedTable
from tclose.forming.curve import order_along
from tclose.forming.stages import Watch
from tclose.partition import Partition
from tclose.requirement import Requirement

if TYPE_CHECKING:
    from tclose.kernels.merging import Classes, Tally

Labels = NDArray[np.int64]
BUDGET = 10_000_000  # row visits between two looks at the clock, about 0.1 s


def merge(table: EncodedTable, requirement: Requirement, labels: Labels, watch: Watch | None) -> tuple[Labels, bool]:
    """Go through the classes; one that does not hold takes in the class whose union adds least to the cost.

    A union is no farther from the table than the farther of its parts, and no less diverse
    than the less diverse, so what holds goes on holding. When the time is over, the classes not
    yet settled are taken together as one; the second result is whether there was no need to.
    Without a watch the time is never over.

    Raises
    ------
    InfeasibleError
        Not even all rows together hold, which happens only if the reference is another table.
    """
    from tclose.kernels import merging as kernels
    from tclose.kernels.closeness import ASK, NO, YES

    order = np.argsort(labels, kind="stable")
    codes = np.stack([column[order] for column in table.codes], axis=1)
    classes, tally, state = _classes(table, labels), _tally(requirement), np.array([0, 0, ASK])
    rules, scratch, costs = requirement.rules(), requirement.scratch(), table.costs()
    weights = np.array([axis.weight for axis in table.axes])
    budget = BUDGET // requirement.pace
    while kernels.DONE != (
        status := kernels.advance(classes, codes, tally, state, rules, scratch, costs, weights, budget)
    ):
        if status == kernels.ASKED:
            each = zip(requirement.attributes, tally.counts, strict=True)
            held = all(attribute.holds(counts[: attribute.domain.size]) for attribute, counts in each)
            state[kernels.VERDICT] = YES if held else NO
        if watch is None:
            continue
        watch.report(done=float(state[kernels.CLASS]) / len(classes.table))
        if watch.stop and ((roots := _roots(classes)) > state[kernels.CLASS]).any():
            settled = np.minimum(roots, state[kernels.CLASS])
            return merge(table, requirement, Partition.of(settled[labels]).labels, None)[0], False
    if state[kernels.CLASS] < len(classes.table):  # what does not hold has taken in all rows
        requirement.check_whole(table)
        raise AssertionError("the kernels and the requirement disagree")
    return Partition.of(_roots(classes)[labels]).labels, True


def _tally(requirement: Requirement) -> Tally:
    """Room to count one class in."""
    from tclose.kernels.merging import Tally

    n_attributes = len(requirement.attributes)
    values = max(attribute.domain.size for attribute in requirement.attributes)
    room = (n_attributes, values)
    return Tally(np.zeros(room, np.int64), np.zeros(room, np.int32), np.zeros(n_attributes, np.int64))


def _classes(table: EncodedTable, labels: Labels) -> Classes:
    """The classes as the kernels take them."""
    from tclose.kernels import merging as kernels

    sizes = np.bincount(labels)
    spans = table.spans(labels, len(sizes))
    costs = [axis.weight * axis.cost(*span) for axis, span in zip(table.axes, spans, strict=True)]
    middles = replace(table, places=tuple((low + high) // 2 for low, high in spans), rows=np.arange(len(sizes)))
    along = order_along(middles)
    rows = np.zeros((len(sizes), 6), np.int64)
    numbers = np.arange(len(sizes))
    rows[:, kernels.ROWS], rows[:, kernels.START] = sizes, np.cumsum(sizes) - sizes
    rows[:, kernels.OWNER], rows[:, kernels.NEXT], rows[:, kernels.LAST] = numbers, -1, numbers
    rows[along, kernels.PLACE] = numbers
    width = 1 << max((len(sizes) - 1) // kernels.LEAF, 0).bit_length()
    ends = np.empty((2 * width, 2 * len(table.axes)), np.int32)
    lows, highs = ([span[side] for span in spans] for side in (0, 1))
    classes = kernels.Classes(
        rows, np.stack([*lows, *highs], axis=1), np.sum(costs, axis=0), along, ends, np.zeros(2 * width, np.int64)
    )
    kernels.build(classes)
    return classes


def _roots(classes: Classes) -> Labels:
    """The class that each ended up in."""
    from tclose.kernels.merging import OWNER

    roots = classes.table[:, OWNER].copy()
    while (roots != roots[roots]).any():
        roots = roots[roots]
    return roots
