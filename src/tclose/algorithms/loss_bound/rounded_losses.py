"""What spans lose, in whole parts of a row's loss, rounded downwards so that bounds are never too high."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import floor, inf, nextafter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tclose.table.axes import Axis, TreeAxis

Integers = NDArray[np.int64]
UNIT = 1 << 32  # parts of a loss of 1
NEVER = 1 << 42  # what a span loses that no class may have: more than any price can make up for


class SpanLosses(NamedTuple):
    """All axes side by side, for loops.

    A class around a place covers an interval of numbers, which may grow at both ends, or the leaves below one of the
    ancestors of a leaf, of which there are few. So an axis of numbers has, for each place, what an interval loses that
    begins or ends there, and an axis of leaves the chain of groups around each place with what each loses.

    Attributes
    ----------
    axes
        One row an axis: whether it has chains; where its places begin in `points`; the place of missing values, -1
        where there is none; what is lost where these are mixed with others. One more row ends the last.
    points
        One row a place: an interval from i to j loses the second number of j less the first of i, if none of both is
        missing; the last place at which an interval may end that begins here; the group of places that no class may mix
        with another; where its chain begins in `groups`.
    groups
        One row a group of a chain: its first and last place, and what a class loses that needs all of it.
    """

    axes: Integers
    points: Integers
    groups: Integers


def span_losses(axes: Sequence[Axis]) -> SpanLosses:
    """The losses of spans on all axes.

    Every figure is at most the true one. A float of a loss within [0, 1] is off by less than 2^-50, which is less than
    one part: it is rounded downwards, less one.
    """
    of_axes: list[tuple[int, ...]] = []
    points: list[tuple[int, ...]] = []
    groups: list[tuple[int, ...]] = []
    for axis in axes:
        whole = floor(axis.share * UNIT)
        of_axes.append((isinstance(axis, TreeAxis), len(points), axis.size - 1 if axis.missing else -1, whole))
        blocks = [0] * axis.size if axis.blocks is None else axis.blocks.tolist()
        if isinstance(axis, TreeAxis):
            for chain, block in zip(_chains(axis), blocks, strict=True):
                points.append((0, 0, axis.size - 1, block, len(groups)))
                groups.extend(chain)
            continue
        lows = [floor(part(value, axis.share)) + 1 for value in axis.lows.tolist()] + [0] * axis.missing
        highs = [floor(part(value, axis.share)) - 1 for value in axis.highs.tolist()] + [0] * axis.missing
        reach = [axis.size - 1] * len(axis.lows) if axis.reach is None else axis.reach.tolist()
        if axis.missing:
            reach.append(axis.size - 1)
        points += [(*point, -1) for point in zip(lows, highs, reach, blocks, strict=True)]
    of_axes.append((False, len(points), -1, 0))
    tables = (np.array(rows, np.int64).reshape(-1, width) for rows, width in ((of_axes, 4), (points, 5), (groups, 3)))
    return SpanLosses(*tables)


def part(loss: float, share: Fraction) -> Fraction:
    """A loss on an axis in parts of the loss of a row."""
    return Fraction(loss) * share * UNIT


def rounded_down(bound: Fraction) -> float:
    """The largest float that is not above."""
    nearest = float(bound)
    return nearest if Fraction(nearest) <= bound else nextafter(nearest, -inf)


def _chains(axis: TreeAxis) -> list[list[tuple[int, int, int]]]:
    """For each place the groups around it, from the smallest: first place, last place, and what it loses."""
    counts, parents = axis.hierarchy.leaf_counts, axis.hierarchy.parents
    first, last = axis.below
    all_leaves = max(int(counts[0]), 1)
    whole = (0, axis.size - 1, floor(axis.share * UNIT))

    @cache
    def group(node: int) -> tuple[int, int, int]:
        below = int(counts[node])
        lost = 0 if below == 1 else floor(Fraction(below, all_leaves) * axis.share * UNIT)
        return int(first[node]), int(last[node]), lost

    chains: list[list[tuple[int, int, int]]] = []
    for node in axis.leaves.tolist():
        chain: list[tuple[int, int, int]] = []
        while node >= 0:
            if not chain or group(node)[:2] != chain[-1][:2]:
                chain.append(group(node))
            node = int(parents[node])
        chains.append([*chain, whole] if axis.missing else chain)
    if axis.missing:
        alone = (axis.size - 1, axis.size - 1, 0)
        chains.append([alone, whole] if axis.size > 1 else [alone])
    return chains if axis.blocks is None else _kept_apart(chains, axis.blocks)


def _kept_apart(
    chains: list[list[tuple[int, int, int]]], blocks: NDArray[np.int32]
) -> list[list[tuple[int, int, int]]]:
    """The same where `coarsest` forbids groups.

    A group all of whose places beyond the group before are kept apart from this one is needed by no class, nor are
    those above it: they lose more than anything can make up for.
    """
    first, last = np.full(int(blocks.max()) + 1, len(blocks)), np.zeros(int(blocks.max()) + 1, np.int64)
    np.minimum.at(first, blocks, np.arange(len(blocks)))
    np.maximum.at(last, blocks, np.arange(len(blocks)))
    found = []
    for chain, block in zip(chains, blocks.tolist(), strict=True):
        lost = [chain[0][2]]
        for inner, (_, _, loss) in pairwise(chain):
            lost.append(loss if first[block] < inner[0] or last[block] > inner[1] else NEVER)
        found.append([(begin, end, loss) for (begin, end, _), loss in zip(chain, lost, strict=True)])
    return found
