"""The hierarchical distance: how far up two values meet (004 section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tclose.distances.tree import Tree
from tclose.schema.hierarchy import Hierarchy


@dataclass(frozen=True)
class Hierarchical:
    """Values are apart by their place in a tree: height(lowest common ancestor) / height(root).

    Examples
    --------
    >>> tree = Hierarchy.from_nested({"lung": ["flu", "asthma"], "skin": ["rash", "acne"]})
    >>> Hierarchical(tree).form(4).weights.tolist()
    [0, 1, 1, 1, 1, 1, 1]
    """

    name: ClassVar[str] = "hierarchical"
    hierarchy: Hierarchy

    @property
    def domain(self) -> Sequence[str]:
        """The leaves."""
        return self.hierarchy.leaves

    def form(self, size: int) -> Tree:
        """The integer form over the leaves."""
        return Tree.of(self.hierarchy)
