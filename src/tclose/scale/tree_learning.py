"""Learning the tree of shards on a sample: cuts that save most, blended no more than closeness asks.

Let a plain cut put the share f of a stratum's rows to the left, and the share s of all rows. Blended by lambda, it puts
s + (1 - lambda)(f - s) there: lambda = 0 is the plain cut, lambda = 1 divides all strata alike, and both sides are then
as far from the table as the node is. The least lambda is taken whose sides are within a part of every limit.

That part is what `tight` would let a class of so many rows use: what t allows is best spent late, on small classes, and
how late is found on a sample (`best_slack`).

A plan by strata is knowledge of the method: whoever had it could tell values of a class apart by where they lie on the
axis. It is never published, and its places are drawn with noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.requirement import Requirement, is_diverse
from tclose.distances import Line, Tree
from tclose.scale.row_keys import RowKeys, as_shares, mixed
from tclose.scale.shard_tree import CUT_SALT, BlendedCut, ShardTree, Strata, TreeNode
from tclose.table.encode import EncodedTable

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
BLENDS = (0.0, 0.25, 0.5, 0.75, 1.0)
OF_LIMIT = 0.8  # a shard may use up at most this part of what a class may: the rest is for its classes
QUANTILES = (0.35, 0.5, 0.65)
NOISE, SHARE_NOISE = 0.06, 0.02  # of the quantile of a cut, and of the share of each stratum
LEAST_SHARE = 0.15  # of a node's rows that a side must have
LEAST_ROWS = 400  # of the sample, in a node that is cut by what it shows
MOST_ROWS = 30_000  # of the sample, at which a cut is chosen
MOST_STRATA, MOST_BINS = 64, 256
PAIRS = 2_000  # of rows, whose common span says how far apart the rows of a side are
BLEND_COST = (
    0.02  # what a fully blended cut is charged: it tears rows apart, and whoever knew it could tell values apart
)


@dataclass(eq=False)
class TreeLearner:
    """Makes a tree from a sample.

    Attributes
    ----------
    requirement
        What every shard must meet, as a class must.
    n_rows
        The rows of the whole table.
    most
        Nodes with more rows than this, by what the sample says, are cut.
    rng
        Draws the noise.
    slack
        How late what is allowed is best spent.
    """

    requirement: Requirement
    n_rows: int
    most: int
    rng: np.random.Generator
    slack: float = 0.0
    n_nodes: int = 0
    _profiles: list[LimitCheck] = field(default_factory=list)

    def learn(self, sample: EncodedTable, rows: RowKeys) -> ShardTree:
        """The tree for a table of which this is a sample, with the hashes of its rows."""
        self._profiles = [LimitCheck.of(self.requirement, place) for place in range(len(self.requirement.attributes))]
        strata = [_strata(sample, place) for place in range(len(sample.domains))]
        root = self._node(sample, rows, self.n_rows / max(len(sample), 1), strata)
        return ShardTree(root, self.n_nodes)

    def part_of_limit(self, n_rows: float) -> float:
        """The part of every limit that a shard of so many rows may use."""
        least = 2 * self.requirement.k
        share = np.log(max(n_rows / least, 1.0)) / np.log(max(self.n_rows / least, 2.0))
        return min(OF_LIMIT, 1.0 - self.slack * float(share))

    def _node(self, sample: EncodedTable, rows: RowKeys, weight: float, strata: list[Strata]) -> TreeNode:
        number = self.n_nodes
        self.n_nodes += 1
        if len(sample) * weight <= self.most or len(sample) < 2:
            return TreeNode(number)
        cut = self._choose(sample, rows, weight, number, strata) if len(sample) >= LEAST_ROWS else None
        cut = cut or _coin()
        left = cut.goes_left(sample, as_shares(mixed(rows, CUT_SALT + number)))
        sides = [self._node(sample.take(np.flatnonzero(side)), rows[side], weight, strata) for side in (left, ~left)]
        return TreeNode(number, cut, *sides)

    def _choose(
        self, sample: EncodedTable, rows: RowKeys, weight: float, number: int, strata: list[Strata]
    ) -> BlendedCut | None:
        """The cut that saves most of those that keep both sides within the limits; None if halving at random is better.

        Random halves are no closer together than the node's rows are, and tell nothing to whoever knows the plan. So a
        blended cut is taken only where it saves more than it is charged for.
        """
        n_rows = len(sample) * weight
        if len(sample) > MOST_ROWS:
            chosen = np.sort(self.rng.choice(len(sample), MOST_ROWS, replace=False))
            sample, rows = sample.take(chosen), rows[chosen]
        draws = as_shares(mixed(rows, CUT_SALT + number))
        least, best = _spread(sample, np.ones(len(sample), bool), self.rng), None
        for axis in range(len(sample.axes)):
            for quantile in QUANTILES:
                at = float(np.clip(quantile + self.rng.uniform(-NOISE, NOISE), 0.05, 0.95))
                cut, cost = self._least_blended(sample, draws, axis, at, strata, n_rows)
                if cut is not None and cost < least:
                    least, best = cost, cut
        return best

    def _least_blended(
        self, sample: EncodedTable, draws: Floats, axis: int, quantile: float, strata: list[Strata], n_rows: float
    ) -> tuple[BlendedCut | None, float]:
        """The cut of an axis at a quantile with the least lambda whose sides are within the limits, and its cost."""
        binned = BinnedAxis.of(sample, axis)
        place = binned.place_of(quantile)
        if place is None:
            return None, np.inf
        broken: set[int] = set()  # by the plain cut: blending by others does not help
        for blend in BLENDS:
            for stratum in [strata[each] for each in sorted(broken)] if blend else [None]:
                noise = self.rng.uniform(-SHARE_NOISE, SHARE_NOISE, 1 if stratum is None else stratum.size)
                cut = binned.cut(sample, place, stratum, blend, noise)
                left = cut.goes_left(sample, draws)
                if not LEAST_SHARE <= left.mean() <= 1 - LEAST_SHARE:
                    continue
                beyond = self._beyond(sample, left, n_rows)
                if not beyond:
                    return cut, _spread(sample, left, self.rng) + BLEND_COST * blend
                broken = broken or beyond
        return None, np.inf

    def _beyond(self, sample: EncodedTable, left: NDArray[np.bool_], n_rows: float) -> set[int]:
        """The attributes in which a side uses more than its part of a limit, by what the sample shows."""
        found: set[int] = set()
        for side in (left, ~left):
            part = self.part_of_limit(n_rows * float(side.mean()))
            for place, (check, codes) in enumerate(zip(self._profiles, sample.codes, strict=True)):
                if place not in found and not check.holds(np.bincount(codes[side], minlength=check.size), part):
                    found.add(place)
        return found


@dataclass(frozen=True, eq=False)
class LimitCheck:
    """What is asked of one attribute, in floats and with room to spare: it chooses, and decides nothing.

    Attributes
    ----------
    requirement
        What is asked.
    place
        The number of the attribute.
    """

    requirement: Requirement
    place: int
    shares: Floats
    size: int

    @classmethod
    def of(cls, requirement: Requirement, place: int) -> LimitCheck:
        """For one attribute of a requirement."""
        reference = requirement.attributes[place].reference
        return cls(requirement, place, reference / max(int(reference.sum()), 1), len(reference))

    def holds(self, counts: Integers, part: float = OF_LIMIT) -> bool:
        """Whether a shard with these shares would use no more than a part of what a class may."""
        asked = self.requirement.attributes[self.place]
        extra = counts / max(int(counts.sum()), 1) - self.shares
        if asked.t is not None and _work(asked.domain.form, extra) > part * float(asked.t):
            return False
        if asked.l is not None and not is_diverse(counts, asked.l):
            return False
        caps = asked.caps
        if caps is None:
            return True
        if caps.rise is not None and float(extra.max()) > part * float(caps.rise):
            return False
        return asked.keeps_caps(counts)


def _work(form: object, extra: Floats) -> float:
    """The work of a difference of shares: exact but for rounding on lines and trees, a bound for the rest."""
    if isinstance(form, Line):
        return float(np.abs(np.cumsum(extra)[:-1] * np.diff(form.positions)).sum() / form.span)
    if isinstance(form, Tree):
        below = np.zeros(len(form.parents) + 1)  # the last is for none
        np.add.at(below, form.paths, extra[:, None])
        return float((form.weights * np.abs(below[:-1])).sum() / form.denominator)
    return float(np.abs(extra).sum() / 2)  # no two values are farther apart than 1


@dataclass(frozen=True, eq=False)
class BinnedAxis:
    """An axis in bins of about as many rows of the sample, each a place of its own where there are few places."""

    axis: int
    edges: NDArray[np.int32]
    bins: Integers

    @classmethod
    def of(cls, sample: EncodedTable, axis: int) -> BinnedAxis:
        """The bins of an axis, and those of the rows of a sample."""
        places = sample.places[axis]
        edges = np.unique(places)
        if len(edges) > MOST_BINS:
            edges = np.unique(np.sort(places)[np.linspace(0, len(places) - 1, MOST_BINS).astype(np.int64)])
        return cls(axis, edges.astype(np.int32), np.searchsorted(edges, places, "right") - 1)

    def place_of(self, quantile: float) -> int | None:
        """The first bin of the right side of a plain cut near a quantile; None if all rows are in one bin."""
        if len(self.edges) < 2:
            return None
        below = np.cumsum(np.bincount(self.bins, minlength=len(self.edges)))[:-1] / len(self.bins)
        return int(np.argmin(np.abs(below - quantile))) + 1

    def cut(self, sample: EncodedTable, place: int, strata: Strata | None, blend: float, noise: Floats) -> BlendedCut:
        """The cut whose natural place is before a bin, blended; the share of each stratum is off by noise."""
        groups = np.zeros(len(self.bins), np.int64) if strata is None else strata.of(sample).astype(np.int64)
        size, n_bins = len(noise), len(self.edges)
        table = np.bincount(groups * n_bins + self.bins, minlength=size * n_bins).reshape(size, n_bins)
        rows, below = table.sum(axis=1), np.cumsum(table, axis=1)
        share = below[:, place - 1].sum() / len(self.bins)
        with np.errstate(invalid="ignore"):
            natural = np.where(rows > 0, below[:, place - 1] / rows, share)
        wanted = np.clip(share + (1 - blend) * (natural - share) + noise, 0, 1) * rows
        last = np.minimum((below <= wanted[:, None]).sum(axis=1), n_bins - 1)
        before = np.where(last > 0, np.take_along_axis(below, np.maximum(last - 1, 0)[:, None], 1)[:, 0], 0)
        at = np.take_along_axis(table, last[:, None], 1)[:, 0]
        part = np.where(at > 0, (wanted - before) / np.maximum(at, 1), 0.0)
        empty = rows == 0  # a stratum that the sample lacks goes as all others do
        return BlendedCut(
            self.axis,
            self.edges,
            strata,
            np.where(empty, place, last),
            np.where(empty, 0.0, np.clip(part, 0, 1)),
            blend,
        )


def _coin() -> BlendedCut:
    """Halves at random: they are as far from the table as the node is, whatever is asked."""
    return BlendedCut(-1, np.zeros(0, np.int32), None, np.zeros(1, np.int64), np.array([0.5]), 1.0)


def _strata(sample: EncodedTable, place: int) -> Strata:
    """The values of an attribute, neighbours together where there are many: as many rows in each group."""
    counts = np.bincount(sample.codes[place], minlength=sample.domains[place].size)
    if len(counts) <= MOST_STRATA:
        return Strata(place, np.arange(len(counts), dtype=np.int32))
    before = np.cumsum(counts) - counts
    return Strata(place, (before * MOST_STRATA // max(int(counts.sum()), 1)).astype(np.int32))


def _spread(sample: EncodedTable, left: NDArray[np.bool_], rng: np.random.Generator) -> float:
    """The mean loss of two rows of one side, drawn at random: how tight the classes of both sides can be."""
    total = 0.0
    for side in (np.flatnonzero(left), np.flatnonzero(~left)):
        if not len(side):
            continue
        one, other = rng.choice(side, PAIRS), rng.choice(side, PAIRS)
        total += len(side) / len(left) * sum(_pair_losses(sample, one, other))
    return total


def _pair_losses(sample: EncodedTable, one: Integers, other: Integers) -> Iterator[float]:
    for axis, places in zip(sample.axes, sample.places, strict=True):
        low, high = np.minimum(places[one], places[other]), np.maximum(places[one], places[other])
        yield axis.weight * float(axis.cost(low, high).mean())
