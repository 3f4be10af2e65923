"""The space of all sensitive attributes with a t: a sparse array of the combinations that occur (000 section 2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.requirement import Requirement
from tclose.algorithms.shared.buckets import join_values
from tclose.distances import Form, Line, Tree
from tclose.table.encode import EncodedTable

if TYPE_CHECKING:
    from tclose.algorithms.fragments import fragments_loops as kernels

Integers = NDArray[np.int64]
Places = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class OnLine:
    """An attribute along a line; its places are its values in order.

    Attributes
    ----------
    place_of_code
        The place of each value.
    positions
        Of each place, in integers.
    unit
        The largest distance.
    """

    place_of_code: Places
    positions: Integers
    unit: int


@dataclass(frozen=True, eq=False)
class OnTree:
    """An attribute on a tree; its places are the leaves in pre-order, of siblings those with more rows first.

    Attributes
    ----------
    place_of_code
        The place of each value; -1 where it does not occur.
    paths
        One row a place: its leaf and the nodes above it, the root last, filled up with -1.
    parents
        Of each node; -1 of the root.
    heights
        Of each node: how far two values are apart that meet there.
    unit
        The largest distance.
    """

    place_of_code: Places
    paths: Places
    parents: Integers
    heights: Integers
    unit: int


Scale = OnLine | OnTree


@dataclass(frozen=True, eq=False)
class SensitiveSpace:
    """The multiplicity array, sparse: one row a combination of values that occurs.

    Attributes
    ----------
    scales
        One an attribute.
    places
        At [cell, attribute]: where the cell lies.
    counts
        The rows of each cell.
    of_row
        The cell of each row of the table.
    limits
        What is left of each t for classes measured against the table itself.

    Examples
    --------
    >>> line = scale_of(Line(np.arange(100), 99), np.ones(100, np.int64))
    >>> space = SensitiveSpace.of([line] * 5, [np.array([0, 99, 0], np.int32)] * 5, [Fraction("0.2")] * 5)
    >>> space.places.tolist(), space.counts.tolist()
    ([[0, 0, 0, 0, 0], [99, 99, 99, 99, 99]], [2, 1])
    """

    scales: tuple[Scale, ...]
    places: Places
    counts: Integers
    of_row: Integers
    limits: tuple[Fraction, ...]

    @classmethod
    def of(cls, scales: Sequence[Scale], codes: Sequence[Places], limits: Sequence[Fraction]) -> SensitiveSpace:
        """From the codes of each attribute, row by row."""
        columns = [scale.place_of_code[column] for scale, column in zip(scales, codes, strict=True)]
        cell = np.zeros(len(codes[0]), np.int64)
        for column in columns:  # joined one by one and numbered anew, so that no number exceeds the rows squared
            cell = np.unique(cell * (int(column.max()) + 1) + column, return_inverse=True)[1]
        first = np.unique(cell, return_index=True)[1]
        places = np.stack([column[first] for column in columns], axis=1)
        return cls(tuple(scales), places, np.bincount(cell).astype(np.int64), cell, tuple(limits))

    @classmethod
    def of_table(cls, table: EncodedTable, requirement: Requirement) -> SensitiveSpace | None:
        """Of all attributes that have a t; None if none has."""
        scales, columns, limits = [], [], []
        for attribute, codes in zip(requirement.attributes, table.codes, strict=True):
            if attribute.t is not None:
                counts = np.bincount(codes, minlength=attribute.domain.size)
                scales.append(scale_of(attribute.domain.form, counts))
                columns.append(codes)
                limits.append(attribute.left_of_t(counts))
        return cls.of(scales, columns, limits) if scales else None

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def n_rows(self) -> int:
        """The rows of the table."""
        return len(self.of_row)

    def cells(self) -> kernels.Combinations:
        """The cells as the kernels take them, all in one fragment."""
        from tclose.algorithms.fragments import fragments_loops as kernels

        orders = np.stack([np.argsort(column, kind="stable") for column in self.places.T]).astype(np.int32)
        return kernels.Combinations(np.ascontiguousarray(self.places), self.counts / self.n_rows, orders)

    def ground(self) -> kernels.FragmentGround:
        """The distances as the kernels take them."""
        from tclose.algorithms.fragments import fragments_loops as kernels

        table = np.zeros((len(self.scales), 5), np.int64)
        data, paths = [np.zeros(0)], [np.zeros(0, np.int32)]
        for row, scale in zip(table, self.scales, strict=True):
            row[kernels.DATA], row[kernels.PATH] = sum(map(len, data)), sum(map(len, paths))
            if isinstance(scale, OnLine):
                row[kernels.FORM], row[kernels.SIZE] = kernels.LINE, len(scale.positions)
                data.append(scale.positions / scale.unit)
            else:
                row[kernels.FORM], row[kernels.SIZE] = kernels.TREE, len(scale.paths)
                row[kernels.DEPTH] = scale.paths.shape[1]
                data.append(scale.heights / scale.unit)
                paths.append(scale.paths.ravel())
        return kernels.FragmentGround(table, np.concatenate(data), np.concatenate(paths).astype(np.int32))


def scale_of(form: Form, counts: Integers) -> Scale:
    """A ground distance with the rows of each value.

    The distance of a matrix or of a joint is none along a tree: its values are joined into one
    whose distances are nowhere below.
    """
    if isinstance(form, Line):
        return OnLine(np.arange(form.size, dtype=np.int32), form.positions - form.positions[0], form.span)
    if not isinstance(form, Tree):
        nodes = join_values(form, counts)
        leaves = np.flatnonzero(nodes.values >= 0)
        return _on_tree(nodes.parents, nodes.heights, leaves, nodes.values[leaves], counts, nodes.height)
    parents = form.parents.astype(np.int64)
    heights = np.full(len(parents), form.denominator // 2)
    for node in range(1, len(parents)):
        heights[node] = heights[parents[node]] - form.weights[node]
    codes = np.flatnonzero(counts)
    return _on_tree(parents, heights, np.maximum(form.paths[codes, 0], 0), codes, counts, form.denominator // 2)


def _on_tree(
    parents: Integers, heights: Integers, leaves: NDArray[np.integer], codes: Integers, counts: Integers, unit: int
) -> OnTree:
    """The leaves with their codes, in an order that keeps subtrees together."""
    ways = [[int(leaf)] for leaf in leaves]
    rows = np.zeros(len(parents), np.int64)
    for way, code in zip(ways, codes, strict=True):
        while parents[way[-1]] >= 0:
            way.append(int(parents[way[-1]]))
        rows[way] += counts[code]
    order = sorted(range(len(ways)), key=lambda leaf: [(-rows[node], node) for node in reversed(ways[leaf])])
    paths = np.full((len(ways), max(map(len, ways))), -1, np.int32)
    place_of_code = np.full(len(counts), -1, np.int32)
    for place, leaf in enumerate(order):
        paths[place, : len(ways[leaf])] = ways[leaf]
        place_of_code[codes[leaf]] = place
    return OnTree(place_of_code, paths, parents, heights, unit)
