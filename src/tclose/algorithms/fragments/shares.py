"""How many rows of each fragment every class takes: shares relaxed as in 004 section 4.3, for several attributes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.control import Watch
from tclose.algorithms.fragments.space import OnLine, OnTree
from tclose.algorithms.fragments.split import Fragmentation
from tclose.algorithms.shared.class_sizes import ClassSizes

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
ANCHORS = 64  # positions that the values of a line are moved to, at most
MARGIN = 1e-9  # more than rounding can hide
AT_A_TIME = 2 * 10**9  # products between two looks at the clock, about 0.2 s


@dataclass(frozen=True, eq=False)
class FragmentShares:
    """What a class may be away from the table if it takes so many rows of each fragment, whatever rows.

    Let q_f be the class's share of fragment f, p_f the table's, and P_f how the values of an
    attribute are distributed in the fragment. Let Q' be the distribution that has the class's
    shares, and within each fragment is distributed as the table is: the sum of q_f P_f. Then

        EMD(Q, P) <= EMD(Q, Q') + EMD(Q', P).

    The first is at most the sum of q_f w_f, where w_f is the work that turns a row of one value
    into P_f, at its largest: the rows of each fragment are turned by themselves, and the work is
    convex in what is turned (004 theorem 2). The second is known: with C_f(e) the part of P_f on
    the far side of an edge e of the line or tree,

        EMD(Q', P) = sum over edges of weight(e) |sum over f of (q_f - p_f) C_f(e)|.

    For shares as the table has them, q = p, the first is U and the second 0 (theorem 3). Else the
    second takes the place of 004's D. It knows that fragments that differ only in another
    attribute may stand for each other, which the largest distance between two fragments does not.

    On a line of many values P_f is first moved to few positions. The proof holds for any P_f;
    if they add up to another distribution than P, their distance from it is added.

    Attributes
    ----------
    counts
        The rows of each fragment.
    works
        w_f, at [fragment, attribute].
    far
        C_f(e), at [fragment, edge].
    weights, owners
        Of each edge, and where the edges of each attribute begin.
    moved
        Of each attribute, how far P is from the sum of p_f P_f.
    limits
        What every class must be within.
    is_within
        Whether classes with the table's very shares are, decided in integers.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from tclose.distances import Line
    >>> from tclose.algorithms.fragments.space import SensitiveSpace, scale_of
    >>> from tclose.algorithms.fragments.split import fragment
    >>> from tclose.algorithms.control import Control
    >>> codes = np.repeat(np.arange(4, dtype=np.int32), [2, 3, 3, 2])
    >>> salary = scale_of(Line(np.arange(4), 3), np.bincount(codes))
    >>> space = SensitiveSpace.of([salary], [codes], [Fraction("0.4")])
    >>> shares = FragmentShares.of(fragment(space, [Fraction("0.25")], Control()))
    >>> shares.bounds(np.array([[5, 5], [2, 1]])).round(4).tolist()
    [[0.2], [0.3]]
    """

    counts: Integers
    works: Floats
    far: Floats
    weights: Floats
    owners: Integers
    moved: Floats
    limits: Floats
    is_within: bool

    @classmethod
    def of(cls, fragmentation: Fragmentation) -> FragmentShares:
        """For the fragments of a space."""
        space, counts = fragmentation.space, fragmentation.counts
        parts = [
            _on_line(scale, place, fragmentation)
            if isinstance(scale, OnLine)
            else _on_tree(scale, place, fragmentation)
            for place, scale in enumerate(space.scales)
        ]
        works, far, weights, moved = zip(*parts, strict=True)
        owners = np.cumsum([0, *map(len, weights)])[:-1]
        limits = np.array([float(limit) for limit in space.limits])
        is_within = all(bound <= limit for bound, limit in zip(fragmentation.bounds, space.limits, strict=True))
        return cls(
            counts, np.stack(works, axis=1), np.concatenate(far, axis=1), np.concatenate(weights), owners,
            np.array(moved), limits, is_within,
        )  # fmt: skip

    def bounds(self, sizes: Integers) -> Floats:
        """At [class, attribute], for classes that take `sizes[class, fragment]` rows."""
        q = sizes / sizes.sum(axis=1, keepdims=True)
        surplus = np.abs((q - self.counts / self.counts.sum()) @ self.far) * self.weights
        bounds: Floats = q @ self.works + np.add.reduceat(surplus, self.owners, axis=1) + self.moved
        return bounds

    def hold(self, sizes: Integers, slack: float = 1.0) -> NDArray[np.bool_]:
        """Whether classes are within `slack` times their limits.

        A sum of some thousand shares is off by less than `MARGIN`, and doubt rejects; but for
        classes with the table's very shares, whose bounds are known exactly.
        """
        held = (self.bounds(sizes) + MARGIN <= slack * self.limits).all(axis=1)
        alike = (sizes * self.counts.sum() == self.counts * sizes.sum(axis=1, keepdims=True)).all(axis=1)
        within: NDArray[np.bool_] = held | (alike & self.is_within)
        return within


def _on_line(scale: OnLine, attribute: int, fragmentation: Fragmentation) -> tuple[Floats, Floats, Floats, float]:
    space, n_fragments = fragmentation.space, len(fragmentation)
    places, counts = space.places[:, attribute], space.counts
    x = scale.positions / scale.unit
    rows = np.bincount(places, counts, len(x))
    groups = np.arange(len(x))
    if len(x) > ANCHORS:  # of about as many rows each
        groups = np.unique((np.cumsum(rows) - rows / 2) * ANCHORS // space.n_rows, return_inverse=True)[1]
    anchors = np.bincount(groups, rows * x) / np.maximum(np.bincount(groups, rows), 1e-300)
    empty = np.bincount(groups, rows) == 0
    anchors[empty] = x[np.searchsorted(groups, np.flatnonzero(empty))]
    share = np.zeros((n_fragments, len(anchors)))
    np.add.at(share, (fragmentation.of_cell, groups[places]), counts)
    share /= fragmentation.counts[:, None]
    low, high = x[fragmentation.boxes[:, :, attribute]].T
    works = np.maximum((share * abs(anchors - low[:, None])).sum(1), (share * abs(high[:, None] - anchors)).sum(1))
    works[low == high] = abs(share[low == high] @ anchors - low[low == high])
    points = np.concatenate([x, anchors])
    mass = np.concatenate([rows, -np.bincount(groups, rows)]) / space.n_rows
    order = np.argsort(points, kind="stable")
    moved = float(abs(np.cumsum(mass[order])[:-1]) @ np.diff(points[order])) if len(x) > ANCHORS else 0.0
    if len(anchors) == 1:
        return works, np.zeros((n_fragments, 1)), np.zeros(1), moved
    return works, np.cumsum(share, axis=1)[:, :-1], np.diff(anchors), moved


def _on_tree(scale: OnTree, attribute: int, fragmentation: Fragmentation) -> tuple[Floats, Floats, Floats, float]:
    space, n_fragments = fragmentation.space, len(fragmentation)
    places, n_nodes = space.places[:, attribute], len(scale.parents)
    far = np.zeros((n_fragments, n_nodes))
    for level in range(scale.paths.shape[1]):
        node = scale.paths[places, level]
        known = node >= 0
        np.add.at(far, (fragmentation.of_cell[known], node[known]), space.counts[known])
    far /= fragmentation.counts[:, None]
    weights = np.where(scale.parents < 0, 0, scale.heights[scale.parents] - scale.heights) / (2 * scale.unit)
    used = np.flatnonzero(far.any(axis=0))
    works = fragmentation.works(attribute) / (scale.unit * fragmentation.counts)
    return works, far[:, used], weights[used], 0.0


def class_sizes(shares: FragmentShares, k: int, slack: float = 1.0, watch: Watch | None = None) -> ClassSizes:
    """Part the table again and again, while all parts have k rows and stay within `slack` times their limits.

    Three numbers of classes to aim at are tried, and the one kept that gives most: as many as k
    allows, the power of two below that, so that all parts are halves, and as many as can have the
    table's very shares. When the time is over, parts stay as they are.
    """
    n = int(shares.counts.sum())
    most = max(n // k, 1)
    alike = int(np.gcd.reduce(shares.counts))
    tried = {most, 1 << most.bit_length() - 1, max(alike // -(-k * alike // n), 1)}
    return max((_parted(shares, k, slack, n_classes, watch) for n_classes in sorted(tried)), key=len)


def _hold(shares: FragmentShares, sizes: Integers, slack: float, watch: Watch | None) -> NDArray[np.bool_]:
    """Whether classes are within their limits, in pieces; those not looked at in time are not."""
    held, piece = np.zeros(len(sizes), np.bool_), max(AT_A_TIME // max(shares.far.size, 1), 1)
    for start in range(0, len(sizes), piece):
        if watch is not None and watch.stop:
            break
        held[start : start + piece] = shares.hold(sizes[start : start + piece], slack)
    return held


def _parted(shares: FragmentShares, k: int, slack: float, n_classes: int, watch: Watch | None) -> ClassSizes:
    """Part for so many classes; what would not be within its limits stays together.

    Of a part for m classes the left takes m' / m of every fragment, rounded so that also of all
    fragments up to each it takes m' / m, up to half a row: neighbours make up for each other.
    """
    leaves, waiting, parts = [], shares.counts[None, :], np.array([n_classes])
    while len(waiting):
        lefts = parts - parts // 2
        sums = np.cumsum(waiting, axis=1)
        rounded = (2 * sums * lefts[:, None] + parts[:, None]) // (2 * parts[:, None])
        left = np.diff(rounded, axis=1, prepend=0)
        right = waiting - left
        good = (parts > 1) & (left.sum(axis=1) >= k) & (right.sum(axis=1) >= k)
        for side in (left, right):
            good[good] = _hold(shares, side[good], slack, watch)
        leaves.append(waiting[~good])
        waiting = np.concatenate([left[good], right[good]])
        parts = np.concatenate([lefts[good], (parts // 2)[good]])
    kinds = np.concatenate(leaves)
    return ClassSizes(kinds, np.arange(len(kinds), dtype=np.int32))
