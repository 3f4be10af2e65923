"""Distances up a tree: the equal and the hierarchical one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.distances.line import match
from tclose.schema.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Tree:
    """Values as leaves; height(lowest common ancestor) / height(root) is the ground distance.

    004 section 3.1 adds, over inner nodes, height(n) min(surplus, need among its children).
    With extra(n) the surplus below n, min(surplus, need) = (sum over children c of |extra(c)|
    - |extra(n)|) / 2. Collecting the terms of each node gives the edge form, which holds for
    leaves of any depth because heights grow strictly upwards:

        EMD = sum over nodes n but the root of (height(parent(n)) - height(n)) |extra(n)| / (2 height(root))

    Attributes
    ----------
    paths
        One row a value: its leaf and the nodes above it, without the root, filled up with -1.
    parents
        The parent of each node; the root is node 0.
    weights
        height(parent) - height of each node; 0 at the root.
    denominator
        2 height(root).

    Examples
    --------
    >>> tree = Tree.of(Hierarchy.from_nested({"lung": ["flu", "asthma"], "skin": ["rash", "acne"]}))
    >>> flu, asthma, rash = ([Fraction(leaf == place) for leaf in range(4)] for place in range(3))
    >>> tree.emd(flu, asthma), tree.emd(flu, rash)
    (Fraction(1, 2), Fraction(1, 1))
    """

    paths: NDArray[np.int32]
    parents: NDArray[np.int32]
    weights: NDArray[np.int64]
    denominator: int

    @classmethod
    def of(cls, hierarchy: Hierarchy) -> Tree:
        """The form of a hierarchy, its values in the order of `leaves`."""
        columns = [hierarchy.leaf_nodes]
        while (columns[-1] > 0).any():
            node = columns[-1]
            columns.append(np.where(node > 0, hierarchy.parents[node], -1).astype(np.int32))
        paths = np.stack(columns[:-1], axis=1) if len(columns) > 1 else np.zeros((0, 1), np.int32)
        heights = hierarchy.heights.astype(np.int64)
        weights = np.where(hierarchy.parents < 0, 0, heights[hierarchy.parents] - heights)
        paths[paths == 0] = -1
        return cls(np.ascontiguousarray(paths), hierarchy.parents, weights, 2 * max(hierarchy.height, 1))

    def with_missing(self) -> Tree:
        """One more value, a leaf of its own below the root: at distance 1 from all others."""
        node = len(self.parents)
        path = np.full((1, self.paths.shape[1]), -1, np.int32)
        path[0, 0] = node
        weight = self.denominator // 2
        return Tree(
            np.vstack([self.paths, path]),
            np.append(self.parents, np.int32(0)),
            np.append(self.weights, np.int64(weight)),
            self.denominator,
        )

    @property
    def size(self) -> int:
        """The number of values in the domain."""
        return len(self.paths)

    def emd(self, p: Sequence[Fraction], q: Sequence[Fraction]) -> Fraction:
        """The distance between two normalized distributions."""
        extra = [Fraction()] * len(self.parents)
        for path, left, right in zip(self.paths.tolist(), p, q, strict=True):
            for node in path:
                if node > 0:
                    extra[node] += left - right
        work = sum((weight * abs(rest) for weight, rest in zip(self.weights.tolist(), extra, strict=True)), Fraction())
        return work / self.denominator

    def moves(self, p: Sequence[Fraction], q: Sequence[Fraction]) -> list[tuple[int, int, Fraction]]:
        """Match surplus and need below each node, from the leaves up; what is left goes on to its parent."""
        surplus: list[list[list]] = [[] for _ in self.parents]  # type: ignore[type-arg]
        need: list[list[list]] = [[] for _ in self.parents]  # type: ignore[type-arg]
        for value, path in enumerate(self.paths.tolist()):
            if p[value] != q[value]:
                side = surplus if p[value] > q[value] else need
                side[path[0]].append([value, abs(p[value] - q[value])])
        plan = []
        for node in range(len(self.parents) - 1, -1, -1):
            plan += match(surplus[node], need[node])
            if node:
                surplus[self.parents[node]] = surplus[node] + surplus[self.parents[node]]
                need[self.parents[node]] = need[node] + need[self.parents[node]]
        return plan
