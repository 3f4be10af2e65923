"""From a tree and exact counts to shards: each of them, as a class, meets all that is asked.

The tree was learnt on a sample. Whether a shard holds is decided on the counts of all rows, in integers. A leaf that
does not hold is given up: it and its sibling become one shard again, and so on up to the whole table, which holds. A
node with more rows than a shard may have is parted at random, into parts that hold.

Why a union of shards is a release
----------------------------------
A class of any shard meets the requirement, measured against the whole table. Where classes of several shards show the
same values, a reader sees their union, with the counts a + b of s + u rows:

- k: s + u >= k.
- t, also of joints: the distance is convex in shares, and (a + b)/(s + u) is a mean of a/s and b/u.
- rise and beta, also of inner nodes: a <= q s and b <= q u give a + b <= q (s + u).
- distinct l: the union has every value that a part has. Entropy l: entropy is concave. Frequency l: as rise.
- recursive (c, l): the sum of all but the l - 1 largest counts is superadditive, since no choice of l - 1 values
  covers more of the union than the largest of each part do; the largest count is subadditive.

`tests/scale/test_unions.py` tries each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.requirement import Requirement
from tclose.scale.shard_tree import PARTS, ShardTree, TreeNode
from tclose.scale.whole_table import Counted, WholeTable, add_counted
from tclose.table.encode import EncodedTable

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CellCounts:
    """How many rows each cell has, and how many of each value.

    Attributes
    ----------
    sizes
        The rows of each cell.
    values
        Of each attribute, the rows of each pair of cell and value, as one number each.
    """

    sizes: Integers
    values: tuple[Counted, ...]

    @classmethod
    def of(cls, cells: Integers, table: EncodedTable, n_cells: int) -> CellCounts:
        """Count the rows of a piece."""
        values = []
        for domain, codes in zip(table.domains, table.codes, strict=True):
            keys, counts = np.unique(cells * domain.size + codes, return_counts=True)
            values.append((keys, counts.astype(np.int64)))
        return cls(np.bincount(cells, minlength=n_cells).astype(np.int64), tuple(values))

    def plus(self, other: CellCounts) -> CellCounts:
        """The counts of two pieces together."""
        values = tuple(add_counted(one, another) for one, another in zip(self.values, other.values, strict=True))
        return CellCounts(self.sizes + other.sizes, values)


@dataclass(frozen=True)
class ChosenShards:
    """Which shard each cell belongs to.

    Attributes
    ----------
    of_cell
        The shard of each cell; -1 where a cell has no rows.
    sizes
        The rows of each shard.
    n_undone
        How many cuts of the tree were given up.
    """

    of_cell: Integers
    sizes: Integers
    n_undone: int

    @property
    def n_shards(self) -> int:
        """How many shards there are."""
        return len(self.sizes)

    @property
    def notes(self) -> dict[str, int]:
        """What is noted of them for whoever releases."""
        return {"shards": self.n_shards, "largest_shard": int(self.sizes.max()), "undone": self.n_undone}


def choose_shards(whole: WholeTable, tree: ShardTree, counts: CellCounts, most: int) -> ChosenShards:
    """The shards of a table: the leaves of the tree, but where they do not hold or have more rows than `most`."""
    choice = _Choice(whole.requirement, counts, [domain.size for domain in whole.domains], most)
    found = choice.below(tree.root)
    if found is None:  # even the whole table does not hold
        whole.requirement.check_counts(whole.n_rows, whole.references)
        raise AssertionError("the counts of cells are not those of the table")
    of_cell = np.full(tree.n_cells, -1, np.int64)
    for number, cells in enumerate(found):
        of_cell[cells] = number
    sizes = np.array([int(counts.sizes[cells].sum()) for cells in found], np.int64)
    return ChosenShards(of_cell, sizes, choice.n_undone)


class _Choice:
    """The walk up the tree."""

    def __init__(self, requirement: Requirement, counts: CellCounts, domains: Sequence[int], most: int) -> None:
        self.requirement, self.counts, self.domains, self.most = requirement, counts, domains, most
        self.n_undone = 0

    def below(self, node: TreeNode) -> list[Integers] | None:
        """The shards below a node, each a list of cells; None if the node does not hold even as one."""
        if node.left is not None and node.right is not None:
            sides = [self.below(node.left), self.below(node.right)]
            if sides[0] is not None and sides[1] is not None:
                return sides[0] + sides[1]
            self.n_undone += 1
        cells = np.concatenate([np.arange(PARTS) + leaf * PARTS for leaf in node.leaves()])
        return self.parted(cells[self.counts.sizes[cells] > 0])

    def parted(self, cells: Integers) -> list[Integers] | None:
        """Cells as one shard or, where these are too many rows, as the fewest random parts that hold and are not."""
        if not len(cells):
            return []
        found: list[Integers] | None = None
        n_parts = 1
        while n_parts <= PARTS:
            shards = [cells[cells % PARTS * n_parts // PARTS == part] for part in range(n_parts)]
            shards = [shard for shard in shards if len(shard)]
            if not all(map(self.holds, shards)):
                return found
            found = shards
            if max(int(self.counts.sizes[shard].sum()) for shard in shards) <= self.most:
                return found
            n_parts *= 2
        return found

    def holds(self, cells: Integers) -> bool:
        """Whether the rows of cells, as one class, meet all that is asked; exact."""
        counted = []
        for size, (keys, counts) in zip(self.domains, self.counts.values, strict=True):
            total = np.zeros(size, np.int64)
            for cell in cells.tolist():
                inside = slice(*np.searchsorted(keys, [cell * size, (cell + 1) * size]).tolist())
                total[keys[inside] % size] += counts[inside]
            counted.append(total)
        return self.requirement.keeps(int(self.counts.sizes[cells].sum()), counted)
