"""The tree that sends every row of a table to a shard: blended cuts, learnt once and the same for every row.

A cut has an axis and, for every stratum of sensitive values, a place of its own on it. The rows of a stratum go left by
the order of the axis until the share that is wanted is reached; of those at the last place, a share that is drawn by
the hash of the row. So the two sides divide every stratum as the plan wants, whatever the axis has to do with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.scale.row_keys import RowKeys, as_shares, mixed
from tclose.table.encode import EncodedTable

Integers = NDArray[np.int64]
PARTS = 8  # parts at random that every leaf is counted in, so that it can be cut on without another look at its rows
PART_SALT, CUT_SALT = 1, 16  # cuts take the numbers from the last on


@dataclass(frozen=True, eq=False)
class Strata:
    """Groups of rows by a sensitive attribute, neighbouring values together.

    Attributes
    ----------
    attribute
        Its number among the domains of the table.
    groups
        The stratum of each code.
    """

    attribute: int
    groups: NDArray[np.int32]

    @property
    def size(self) -> int:
        """How many strata there are."""
        return int(self.groups.max(initial=0)) + 1

    def of(self, table: EncodedTable, at: Integers | slice = slice(None)) -> NDArray[np.int32]:
        """The stratum of each of some rows."""
        return self.groups[table.codes[self.attribute][at]]


@dataclass(frozen=True, eq=False)
class BlendedCut:
    """Where the rows of a node part.

    Attributes
    ----------
    axis
        The axis; -1 where rows are parted at random.
    edges
        The first place of each bin of the axis.
    strata
        What rows are told apart by; None where all are cut at one place.
    bins, shares
        Of each stratum, the bin at which it parts (those before it go left), and the share of that bin that goes left.
    blend
        lambda: 0 for a plain cut, 1 where every stratum is divided alike.
    """

    axis: int
    edges: NDArray[np.int32]
    strata: Strata | None
    bins: Integers
    shares: NDArray[np.float64]
    blend: float

    def goes_left(
        self, table: EncodedTable, draws: NDArray[np.float64], at: Integers | slice = slice(None)
    ) -> NDArray[np.bool_]:
        """Which of the rows at some places go left; `draws` are numbers from 0 to 1, one for each of these."""
        if self.axis < 0:
            return np.asarray(draws < self.shares[0], np.bool_)
        bins = np.searchsorted(self.edges, table.places[self.axis][at], "right") - 1
        stratum = 0 if self.strata is None else self.strata.of(table, at)
        last = self.bins[stratum]
        return np.asarray((bins < last) | ((bins == last) & (draws < self.shares[stratum])), np.bool_)


@dataclass(frozen=True, eq=False)
class TreeNode:
    """A node of the tree.

    Attributes
    ----------
    number
        In the order in which nodes were made.
    cut
        None for a leaf.
    left, right
        The nodes below; None for a leaf.
    """

    number: int
    cut: BlendedCut | None = None
    left: TreeNode | None = None
    right: TreeNode | None = None

    def leaves(self) -> Iterator[int]:
        """The numbers of the leaves below it, from left to right."""
        if self.left is None or self.right is None:
            yield self.number
        else:
            yield from self.left.leaves()
            yield from self.right.leaves()

    def cuts(self) -> Iterator[BlendedCut]:
        """The cuts at and below it."""
        if self.cut is not None and self.left is not None and self.right is not None:
            yield self.cut
            yield from self.left.cuts()
            yield from self.right.cuts()


@dataclass(frozen=True, eq=False)
class ShardTree:
    """A tree of cuts over coded rows; it is knowledge of how rows were divided, and never published.

    Attributes
    ----------
    root
        The first node.
    n_nodes
        How many nodes there are: leaves have numbers below it.
    """

    root: TreeNode
    n_nodes: int

    @property
    def n_cells(self) -> int:
        """Cells are the parts of leaves; their numbers are below this."""
        return self.n_nodes * PARTS

    def cells(self, table: EncodedTable, rows: RowKeys) -> Integers:
        """The cell of each row: its leaf, and one of the parts that leaves are counted in.

        Parameters
        ----------
        table
            The rows.
        rows
            Their hashes.
        """
        leaves = np.empty(len(table), np.int64)
        waiting = [(self.root, np.arange(len(table)))]
        while waiting:
            node, at = waiting.pop()
            if node.cut is None or node.left is None or node.right is None:
                leaves[at] = node.number
                continue
            draws = as_shares(mixed(rows[at], CUT_SALT + node.number))
            left = node.cut.goes_left(table, draws, at)
            waiting += [(node.left, at[left]), (node.right, at[~left])]
        parts = (mixed(rows, PART_SALT) >> np.uint64(61)).astype(np.int64)  # the first three bits: 8 parts
        return leaves * PARTS + parts
