"""Axes: every quasi-identifier as places on a line, on which a class covers a span.

The loss of a span is that of 004 section 3.2: the share of the range (numbers and dates), or
of the leaves below the lowest common ancestor (trees), 0 for a single value. Missing is the
last place; a span that mixes it with anything else is `*` and loses everything.

A column that has a `coarsest` keeps places apart: its `blocks` are groups of places that no class may mix, and `reach`
says how far an interval may go from where it begins. A span that goes farther costs more than all else together, so
that whoever looks for what costs least does not take it.

The levels of an axis are for methods that climb its hierarchy: each puts the places into groups,
neighbours into one, and each level only joins groups of the one below. At the top all are one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.schema.builders import Builder
from tclose.schema.decimals import text
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.written_forms import DateForm, NumberForm

Places = NDArray[np.int32]
Floats = NDArray[np.float64]
PLAIN_NUMBERS = NumberForm()
ONE = Fraction(1)
TOO_WIDE = (
    1e6  # what a row costs in a class that is wider than `coarsest` allows; by all other losses it costs 1 at most
)


@dataclass(frozen=True, eq=False)
class SpanAxis:
    """Numbers or dates: a span is an interval.

    Attributes
    ----------
    column
        The quasi-identifier it belongs to.
    share
        Its share in the loss of a row.
    lows, highs
        For each place, where an interval that begins or ends there does so, in units of the
        range: snapped outward to `step`, the whole tail beyond `bottom` or `top`.
    low_labels, high_labels
        The same as text.
    numbers
        The value at each place, within `bottom` and `top`: an integer, of 64 bits or of any length, over
        10^`decimals`.
    missing
        Whether there is a last place for missing values.
    dates
        Whether it is a line of dates.
    builder
        Makes the hierarchy whose levels it has; without one there is nothing between value and `*`.
    scale
        The range as a whole number: every end is a multiple of one part in so many.
    form
        How its labels are written.
    column_weight
        What the schema says its column weighs; all axes of a column have the same.
    blocks
        The group of each place that no class may mix with another; None where all may be mixed.
    reach
        The last place at which an interval may end that begins at each; None where it may end at any.
    """

    column: str
    share: Fraction
    lows: Floats
    highs: Floats
    low_labels: NDArray[np.object_]
    high_labels: NDArray[np.object_]
    numbers: NDArray[Any]
    decimals: int
    missing: bool
    dates: bool = False
    builder: Builder | None = None
    scale: int = 1
    form: NumberForm | DateForm = PLAIN_NUMBERS
    column_weight: Fraction = ONE
    blocks: Places | None = None
    reach: Places | None = None

    @property
    def weight(self) -> float:
        """Its share in the loss of a row, as methods count."""
        return float(self.share)

    @property
    def size(self) -> int:
        """The number of places, that for missing values included."""
        return len(self.lows) + self.missing

    @cached_property
    def coordinates(self) -> Floats:
        """Each place as a number: from 0 to 1 by value; missing is as far again as the range is wide."""
        values = self.numbers - (self.numbers[0] if len(self.numbers) else 0)  # they ascend
        widest = max(int(values.max(initial=0)), 1)
        return _with_missing((values / widest).astype(np.float64), self.missing)

    @cached_property
    def levels(self) -> Places:
        """Row l holds, for each place, its group at level l of the hierarchy.

        Values of a tail lie where it begins. Those that are released alike (by `step`, or in a
        tail) are one already at level 0 if they are at level 1.
        """
        numbers, places = np.unique(self.numbers, return_inverse=True)
        if self.dates:
            labels = [str(day) for day in numbers.astype("datetime64[D]")]
        else:
            labels = [text(number, self.decimals) for number in numbers.tolist()]
        hierarchy = self.builder.build(labels) if self.builder and labels else Hierarchy.flat(labels)
        levels = _levels(hierarchy, hierarchy.leaf_nodes[places], self.missing)
        if labels:
            apart = levels[1, 1 : len(places)] != levels[1, : len(places) - 1]
            for ends in (self.low_labels, self.high_labels):
                apart |= ends[1:] != ends[:-1]
            levels[0] = np.cumsum([0, *apart, *[1] * self.missing])
        return levels

    def cost(self, low: Places, high: Places) -> Floats:
        """The loss of each span."""
        last = len(self.lows)
        inner = high < last
        cost = np.where(low == high, 0.0, 1.0)
        cost[inner] = self.highs[high[inner]] - self.lows[low[inner]]
        if self.reach is not None:
            cost[self.too_wide(low, high)] += TOO_WIDE / self.weight
        return cost

    def too_wide(self, low: Places, high: Places) -> NDArray[np.bool_]:
        """Which spans go farther than `reach`; those that mix in missing values, `blocks` keep apart."""
        wide = np.zeros(len(low), bool)
        if self.reach is not None:
            inner = high < len(self.lows)
            wide[inner] = high[inner] > self.reach[low[inner]]
        return wide

    def labels(self, low: Places, high: Places) -> list[str | None]:
        """What is released for each span, None where all is missing."""

        def label(first: str, last: str) -> str:
            return first if first == last else self.form.interval(first, last)

        return [
            _if_missing(first, last)
            if last == len(self.lows)
            else label(self.low_labels[first], self.high_labels[last])
            for first, last in zip(low.tolist(), high.tolist(), strict=True)
        ]

    def bounds(self, low: Places, high: Places) -> tuple[list[str | None], list[str | None]]:
        """The two ends of each span: None where one is open, `*` where both are, both None where all is missing."""
        ends: tuple[list[str | None], list[str | None]] = [], []
        for first, last in zip(low.tolist(), high.tolist(), strict=True):
            if last == len(self.lows):
                both = _if_missing(first, last), _if_missing(first, last)
            else:
                left, right = self.low_labels[first], self.high_labels[last]
                # `<18` at the left is open there, and at the right it ends at 18; `>90` the other way round.
                both = None if left[0] == "<" else left.lstrip(">"), None if right[0] == ">" else right.lstrip("<")
                if both == (None, None):  # which would look like a missing value
                    both = "*", "*"
            ends[0].append(both[0])
            ends[1].append(both[1])
        return ends


@dataclass(frozen=True, eq=False)
class TreeAxis:
    """Leaves of a hierarchy in pre-order, siblings by descending frequency: a span is its lowest common ancestor.

    Attributes
    ----------
    column, share, missing, column_weight, blocks
        As for `SpanAxis`.
    hierarchy
        The tree; its unused leaves have places too.
    leaves
        The node at each place.
    position
        Which character of the column it is, for kind digits.
    builder
        Makes another hierarchy of the same leaves, whose levels it has instead of its own.
    form
        How its labels are released, where they are numbers or days.
    """

    column: str
    share: Fraction
    hierarchy: Hierarchy
    leaves: NDArray[np.int32]
    missing: bool
    position: int | None = None
    builder: Builder | None = None
    form: NumberForm | DateForm | None = None
    column_weight: Fraction = ONE
    blocks: Places | None = None

    @property
    def weight(self) -> float:
        """Its share in the loss of a row, as methods count."""
        return float(self.share)

    @property
    def size(self) -> int:
        """The number of places, that for missing values included."""
        return len(self.leaves) + self.missing

    @cached_property
    def coordinates(self) -> Floats:
        """Each place as a number: from 0 to 1 by order; missing is as far again as the range is wide."""
        return _with_missing(np.arange(len(self.leaves)) / max(len(self.leaves) - 1, 1), self.missing)

    @cached_property
    def levels(self) -> Places:
        """Row l holds, for each place, its group at level l of the hierarchy."""
        if self.builder is None or not len(self.leaves):
            return _levels(self.hierarchy, self.leaves, self.missing)
        labels = [self.hierarchy.labels[node] for node in self.leaves.tolist()]
        built = self.builder.build(labels)
        node_of = dict(zip(built.leaves, built.leaf_nodes.tolist(), strict=True))
        return _levels(built, np.array([node_of[label] for label in labels], np.int32), self.missing)

    @cached_property
    def gaps(self) -> NDArray[np.int32]:
        """The lowest common ancestor of each place and the next."""
        return self.hierarchy.ancestors(self.leaves[:-1], self.leaves[1:])

    @cached_property
    def ranks(self) -> NDArray[np.int32]:
        """A sparse table: row j holds, at i, the gap of least depth among the 2^j from i on.

        All ancestors of adjacent leaves within a span lie below that of the span, which is
        one of them: the one of least depth.
        """
        rows = [np.arange(len(self.gaps), dtype=np.int32)]
        depths = self.hierarchy.depths[self.gaps]
        while 2 ** len(rows) <= len(self.gaps):
            half = 2 ** (len(rows) - 1)
            left, right = rows[-1][:-half], rows[-1][half:]
            rows.append(np.where(depths[left] <= depths[right], left, right).astype(np.int32))
        table = np.zeros((len(rows), len(self.gaps)), np.int32)
        for level, row in enumerate(rows):
            table[level, : len(row)] = row
        return table

    @cached_property
    def gap_costs(self) -> Floats:
        """The loss of a span with this gap as its widest; the last gap is that before missing."""
        counts = self.hierarchy.leaf_counts
        share = counts[self.gaps] / max(int(counts[0]), 1)
        return np.append(share, 1.0) if self.missing and len(self.leaves) else share

    @cached_property
    def own_costs(self) -> Floats | None:
        """What each place loses by itself, where the tree is cut off above its values; None where that is nothing."""
        counts = self.hierarchy.leaf_counts
        below = counts[self.leaves]
        if (below <= 1).all():
            return None
        share = np.where(below == 1, 0.0, below / max(int(counts[0]), 1))
        return np.append(share, 0.0) if self.missing else share

    @cached_property
    def below(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first and last place below each node; no place lies between them below a node without any."""
        n_nodes = len(self.hierarchy.parents)
        first, last = np.full(n_nodes, len(self.leaves)), np.full(n_nodes, -1)
        node, places = self.leaves, np.arange(len(self.leaves))
        while len(node):
            np.minimum.at(first, node, places)
            np.maximum.at(last, node, places)
            node = self.hierarchy.parents[node]
            inner = node >= 0
            node, places = node[inner], places[inner]
        return first, last

    def cover(self, low: Places, high: Places) -> NDArray[np.int32]:
        """The lowest common ancestor of each span of places that are not missing."""
        node = self.leaves[low]
        wide = high > low
        first, length = low[wide], high[wide] - low[wide]
        level = np.log2(length).astype(np.int32)
        left = self.ranks[level, first]
        right = self.ranks[level, first + length - (1 << level)]
        depths = self.hierarchy.depths[self.gaps]
        node[wide] = self.gaps[np.where(depths[left] <= depths[right], left, right)]
        return node

    def cost(self, low: Places, high: Places) -> Floats:
        """The loss of each span."""
        last = len(self.leaves)
        inner = high < last
        cost = np.where(low == high, 0.0, 1.0)
        counts = self.hierarchy.leaf_counts
        below = counts[self.cover(low[inner], high[inner])]
        cost[inner] = np.where(below == 1, 0.0, below / max(int(counts[0]), 1))
        return cost

    def labels(self, low: Places, high: Places) -> list[str | None]:
        """What is released for each span, None where all is missing."""
        last = len(self.leaves)
        nodes = np.zeros(len(low), np.int32)
        inner = high < last
        nodes[inner] = self.cover(low[inner], high[inner])
        relabel = self.form.relabel if self.form is not None else str
        return [
            _if_missing(first, final) if final == last else relabel(self.hierarchy.labels[node])
            for first, final, node in zip(low.tolist(), high.tolist(), nodes.tolist(), strict=True)
        ]


Axis = SpanAxis | TreeAxis


def _with_missing(coordinates: Floats, missing: bool) -> Floats:
    """Mixed with anything, missing loses everything, so it is far from all."""
    return np.append(coordinates, 2.0) if missing else coordinates


def _levels(hierarchy: Hierarchy, leaves: NDArray[np.int32], missing: bool) -> Places:
    """Row l numbers the places by the highest ancestor of height l at most of the leaf at each.

    Heights grow on every way up, so that these ancestors are disjoint at every level, also
    where leaves lie at uneven depths. Missing is apart until the top.
    """
    levels = np.zeros((hierarchy.height + 1, len(leaves) + missing), np.int32)
    nodes = leaves.copy()
    for level, groups in enumerate(levels[:-1]):
        while (climbs := hierarchy.heights[hierarchy.parents[nodes]] <= level).any():
            nodes[climbs] = hierarchy.parents[nodes[climbs]]
        groups[1 : len(nodes)] = np.cumsum(nodes[1:] != nodes[:-1])
        groups[len(nodes) :] = groups[len(nodes) - 1] + 1
    return levels


def _if_missing(first: int, last: int) -> str | None:
    """The release of a span that ends at the place for missing values."""
    return None if first == last else "*"
