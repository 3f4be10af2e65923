"""Full-domain generalization as one would explain it: every node of the lattice, dictionaries, fractions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product

from tests.oracles.distance import Node, lowest_common, node_heights, nodes_of, root_of

Path = Sequence[str]
Levels = tuple[int, ...]
Shown = Sequence[Sequence[Sequence[Node | None]]]  # by column, level and row


@dataclass(frozen=True)
class Column:
    """A quasi-identifier: its value in each row, None where missing, and the way up from each value.

    `cost` is the loss of a set of values none of which is missing.
    """

    values: Sequence[str | None]
    paths: Mapping[str, Path]
    cost: Callable[[set[str]], Fraction]

    @cached_property
    def heights(self) -> dict[Node, int]:
        """The longest way down from each node."""
        return node_heights(list(self.paths.values())) if self.paths else {}

    @property
    def height(self) -> int:
        """The level at which all values are one."""
        return max(self.heights.values(), default=0)

    def generalize(self, value: str, level: int) -> Node:
        """The highest ancestor of height `level` at most."""
        return min(node for node in nodes_of(self.paths[value]) if self.heights[node] <= level)

    def show(self, row: int, level: int) -> Node | None:
        """What a row looks like; missing stays missing below the top."""
        value = self.values[row]
        if value is not None:
            return self.generalize(value, level)
        return root_of(list(self.paths.values())) if self.paths and level == self.height else None

    def loss(self, values: set[str | None]) -> Fraction:
        """The loss of a class with these values."""
        known = {value for value in values if value is not None}
        if len(known) < len(values):
            return Fraction(bool(known))
        return self.cost(known)


def leaf_share(paths: Mapping[str, Path]) -> Callable[[set[str]], Fraction]:
    """The loss in a tree: the share of leaves below the lowest common ancestor, 0 for a single leaf."""

    def cost(values: set[str]) -> Fraction:
        common = min(lowest_common(paths[a], paths[b]) for a in values for b in values)
        below = sum(common in nodes_of(path) for path in paths.values())
        return Fraction(0) if below == 1 else Fraction(below, len(paths))

    return cost


@dataclass(frozen=True)
class Found:
    """A node that holds: its classes as sets of rows, and both of its losses."""

    classes: frozenset[frozenset[int]]
    loss: Fraction
    full_domain_loss: Fraction


def incognito(columns: Sequence[Column], k: int, holds: Callable[[frozenset[int]], bool]) -> dict[Levels, Found]:
    """The minimal nodes: they hold, and no other node with levels nowhere higher does."""
    n = len(columns[0].values)
    shown = [
        [[column.show(row, level) for row in range(n)] for level in range(column.height + 1)] for column in columns
    ]
    holding: dict[Levels, Found] = {}
    for levels in product(*(range(column.height + 1) for column in columns)):
        classes: dict[tuple[Node | None, ...], set[int]] = {}
        for row in range(n):
            key = tuple(of[level][row] for of, level in zip(shown, levels, strict=True))
            classes.setdefault(key, set()).add(row)
        members = frozenset(frozenset(rows) for rows in classes.values())
        if all(len(rows) >= k and holds(rows) for rows in members):
            holding[levels] = Found(members, loss_of(columns, members), full_domain_loss(columns, shown, levels))
    return {
        node: found
        for node, found in holding.items()
        if not any(other != node and all(a <= b for a, b in zip(other, node, strict=True)) for other in holding)
    }


def loss_of(columns: Sequence[Column], classes: frozenset[frozenset[int]]) -> Fraction:
    """The mean over rows and columns of what the values of each class have in common."""
    n = len(columns[0].values)
    total = sum(len(rows) * column.loss({column.values[row] for row in rows}) for rows in classes for column in columns)
    return Fraction(total) / (n * len(columns))


def full_domain_loss(columns: Sequence[Column], shown: Shown, levels: Levels) -> Fraction:
    """The same if each row stood for everything in the tree that looks like it."""
    n = len(columns[0].values)
    total = Fraction(0)
    for column, of, level in zip(columns, shown, levels, strict=True):
        covered: dict[Node | None, set[str | None]] = {}
        for value in column.paths:
            covered.setdefault(column.generalize(value, level), set()).add(value)
        for row in range(n):
            covered.setdefault(of[level][row], set()).add(column.values[row])
        losses = {node: column.loss(values) for node, values in covered.items()}
        total += sum(losses[of[level][row]] for row in range(n))
    return total / (n * len(columns))
