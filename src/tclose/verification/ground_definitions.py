"""Ground distances from their definitions: how far apart two values of a sensitive attribute are.

A ground knows the size of its domain and gives the distance of two places in it as a fraction. That
is the definition; closed forms of the work between distributions are derived from it in `class_work`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.verification.exact_numbers import ExactIntegers, as_integers, fraction_of


class Ground(Protocol):
    """A domain with a distance."""

    @property
    def size(self) -> int:
        """How many values the domain has."""

    def cost(self, left: int, right: int) -> Fraction:
        """The distance of two values, from 0 to 1."""


@dataclass(frozen=True)
class StarGround:
    """All values are equally far from each other, missing ones too.

    Examples
    --------
    >>> StarGround(3).cost(0, 2)
    Fraction(1, 1)
    """

    size: int

    def cost(self, left: int, right: int) -> Fraction:
        """1, or 0 of a value and itself."""
        return Fraction(left != right)


@dataclass(frozen=True)
class LineGround:
    """Values on a line: their difference over its length.

    Attributes
    ----------
    points
        Where the values are, ascending: ranks (ordered), or numbers times a power of ten (numeric).
    length
        The largest difference there can be; 0 if there is one value only.

    Examples
    --------
    >>> LineGround(np.arange(5), 4).cost(1, 4)
    Fraction(3, 4)
    """

    points: ExactIntegers
    length: int

    @property
    def size(self) -> int:
        """How many values the domain has."""
        return len(self.points)

    def cost(self, left: int, right: int) -> Fraction:
        """The difference over the length of the line."""
        return Fraction(abs(int(self.points[left]) - int(self.points[right])), self.length or 1)


@dataclass(frozen=True)
class TreeGround:
    """Leaves of a hierarchy: the height of the lowest common ancestor over that of the tree.

    Attributes
    ----------
    parents
        The parent of each node, -1 for node 0, the root; a parent stands before its children.
    leaves
        The node of each value.

    Examples
    --------
    >>> TreeGround((-1, 0, 1, 1, 0), (2, 3, 4)).cost(0, 1)
    Fraction(1, 2)
    """

    parents: tuple[int, ...]
    leaves: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many values the domain has."""
        return len(self.leaves)

    @cached_property
    def heights(self) -> list[int]:
        """The longest way down from each node."""
        heights = [0] * len(self.parents)
        for node in range(len(self.parents) - 1, 0, -1):
            heights[self.parents[node]] = max(heights[self.parents[node]], heights[node] + 1)
        return heights

    @cached_property
    def ways(self) -> list[list[int]]:
        """The nodes from the root down to each value."""
        ways = []
        for leaf in self.leaves:
            way, node = [leaf], leaf
            while node:
                node = self.parents[node]
                way.append(node)
            ways.append(way[::-1])
        return ways

    def cost(self, left: int, right: int) -> Fraction:
        """The height of the last node that both ways down have in common, over the height of the root."""
        common = [one for one, other in zip(self.ways[left], self.ways[right], strict=False) if one == other][-1]
        return Fraction(self.heights[common], self.heights[0] or 1)


@dataclass(frozen=True)
class CostTable:
    """Distances as given, one for each pair of values."""

    costs: tuple[tuple[Fraction, ...], ...]

    @property
    def size(self) -> int:
        """How many values the domain has."""
        return len(self.costs)

    def cost(self, left: int, right: int) -> Fraction:
        """The entry of the pair."""
        return self.costs[left][right]


@dataclass(frozen=True)
class MeanOfGrounds:
    """Combinations of values: the mean of the distances of their parts.

    Attributes
    ----------
    parts
        The ground of each attribute.
    places
        The places of the parts of each combination.

    Examples
    --------
    >>> MeanOfGrounds((StarGround(2), LineGround(np.arange(3), 2)), ((0, 0), (1, 1))).cost(0, 1)
    Fraction(3, 4)
    """

    parts: tuple[Ground, ...]
    places: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        """How many combinations there are."""
        return len(self.places)

    def cost(self, left: int, right: int) -> Fraction:
        """The mean over the attributes."""
        one, other = self.places[left], self.places[right]
        total = sum((part.cost(i, j) for part, i, j in zip(self.parts, one, other, strict=True)), Fraction())
        return total / len(self.parts)


def tree_of(parents: Sequence[int], missing: bool) -> TreeGround:
    """The ground of a hierarchy; a missing value is one more leaf below the root, so at distance 1 from all.

    Examples
    --------
    >>> tree_of([-1, 0, 1, 1, 0], missing=True)
    TreeGround(parents=(-1, 0, 1, 1, 0, 0), leaves=(2, 3, 4, 5))
    """
    known = [int(parent) for parent in parents] + ([0] if missing else [])
    inner = set(known)
    return TreeGround(tuple(known), tuple(node for node in range(1, len(known)) if node not in inner))


def cost_table_of(matrix: Any) -> tuple[tuple[str, ...], CostTable]:
    """The values of a schema's matrix and its entries as fractions; a float is the decimal it prints as."""
    rows = matrix.costs
    costs = tuple(tuple(fraction_of(_plain(cost)) for cost in row) for row in rows)
    return tuple(matrix.values), CostTable(costs)


def _plain(cost: Any) -> Any:
    return cost.item() if isinstance(cost, np.generic) else cost


def integer_costs(ground: Ground, used: Sequence[int]) -> tuple[ExactIntegers, int]:
    """All distances between the used values as integers, and what they are to be divided by.

    Examples
    --------
    >>> integer_costs(LineGround(np.arange(3), 2), [0, 1])
    (array([[0, 1],
           [1, 0]]), 2)
    """
    tables, shares = _parts_of(ground, used)
    unit = lcm(*(denominator for _, denominator in tables)) if tables else 1
    total: Any = 0
    for table, denominator in tables:
        factor = unit // denominator
        largest = max(map(int, table.ravel()), default=0)
        total = total + (table if largest * factor * shares < 2**60 else table.astype(object)) * factor
    return np.asarray(total), unit * shares


def _parts_of(ground: Ground, used: Sequence[int]) -> tuple[list[tuple[ExactIntegers, int]], int]:
    """The distances of each attribute apart, so that a fraction is made once a pair of its own values."""
    if not isinstance(ground, MeanOfGrounds):
        return [_table_of(ground, used)], 1
    tables = []
    for part, places in enumerate(zip(*(ground.places[place] for place in used), strict=True)):
        own = sorted(set(places))
        table, denominator = _table_of(ground.parts[part], own)
        index = np.searchsorted(np.array(own), np.array(places))
        tables.append((table[np.ix_(index, index)], denominator))
    return tables, len(ground.parts)


def _table_of(ground: Ground, used: Sequence[int]) -> tuple[ExactIntegers, int]:
    costs = [[ground.cost(i, j) for j in used] for i in used]
    unit = lcm(*(cost.denominator for row in costs for cost in row)) if costs else 1
    flat = as_integers([cost.numerator * (unit // cost.denominator) for row in costs for cost in row])
    return flat.reshape(len(used), len(used)), unit


def is_metric(costs: NDArray[Any]) -> bool:
    """Whether a table of costs is 0 on the diagonal only where it should be, symmetric, and without shortcuts."""
    if (costs != costs.T).any() or np.diag(costs).any():
        return False
    return all(not (costs > costs[:, [middle]] + costs[[middle], :]).any() for middle in range(len(costs)))
