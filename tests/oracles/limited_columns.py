"""Columns with `coarsest` and `finest`: what a class shows of one, what that loses, and whether it may be shown.

From the raw values and the schema alone. A node of a tree is the labels from it up to the root.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any

from tclose.schema.columns import Quasi
from tclose.schema.hierarchy import Hierarchy

Node = tuple[str, ...]
Members = tuple[int, ...]


def ways_up(hierarchy: Hierarchy) -> dict[str, Node]:
    """From each leaf up to the root."""
    parents = hierarchy.parents.tolist()
    found = {}
    for leaf in set(range(len(parents))) - set(parents):
        way, node = [], leaf
        while node >= 0:
            way.append(hierarchy.labels[node])
            node = parents[node]
        found[way[0]] = tuple(way)
    return found


def height(node: Node, ways: Sequence[Node]) -> int:
    """The longest way down."""
    return max(len(way) - len(node) for way in ways if way[len(way) - len(node) :] == node)


def shown_node(values: Sequence[str], quasi: Quasi, ways: dict[str, Node]) -> Node:
    """The lowest common ancestor, or the node that `finest` does not let a release go below."""
    every = list(ways.values())
    nodes = [ways[values[0]][place:] for place in range(len(ways[values[0]]))]  # the leaf first
    for node in nodes:
        common = all(ways[value][len(ways[value]) - len(node) :] == node for value in values)
        fine = len(node) == 1 or height(node[1:], every) > (quasi.finest or 0)
        if common and fine:
            return node
    raise AssertionError("the root is above all")


def may_show(node: Node, quasi: Quasi, ways: dict[str, Node]) -> bool:
    """Whether `coarsest` allows a node: by its height, or because it is above no node of a label."""
    every = list(ways.values())
    if quasi.coarsest is None:
        return True
    if not isinstance(quasi.coarsest, str):
        return height(node, every) <= int(quasi.coarsest)
    named = {way[place:] for way in every for place in range(len(way)) if way[place] == quasi.coarsest}
    return not any(len(other) > len(node) and other[len(other) - len(node) :] == node for other in named)


def tree_of(quasi: Quasi, cells: Sequence[Any]) -> dict[str, Node]:
    """The ways up in a given hierarchy, or in a flat one of the values there are."""
    if isinstance(quasi.hierarchy, Hierarchy):
        return ways_up(quasi.hierarchy)
    return {str(cell): (str(cell), "*") for cell in cells if cell is not None}


def leaf_share(node: Node, ways: dict[str, Node]) -> Fraction:
    """The share of leaves below a node, 0 for one of them."""
    below = sum(way[len(way) - len(node) :] == node for way in ways.values())
    return Fraction(below, len(ways)) if below > 1 else Fraction(0)


def shown_prefix(values: Sequence[str], quasi: Quasi) -> str:
    """What all values begin with, of no more characters than `finest`."""
    common = 0
    while common < min(map(len, values)) and len({value[common] for value in values}) == 1:
        common += 1
    return values[0][: common if quasi.finest is None else min(common, quasi.finest)]


def prefix_share(values: Sequence[str], quasi: Quasi, distinct: Sequence[str]) -> Fraction:
    """The share of different texts that are released alike, 0 for one."""
    prefix = shown_prefix(values, quasi)
    whole = len(set(values)) == 1 and quasi.finest is None
    below = 1 if whole else sum(text.startswith(prefix) for text in distinct)
    return Fraction(below, len(distinct)) if below > 1 else Fraction(0)


def is_allowed(quasi: Quasi, cells: Sequence[Any]) -> Callable[[Members], bool]:
    """Whether `coarsest` lets rows be a class."""

    def allowed(members: Members) -> bool:
        values = [cells[row] for row in members]
        if quasi.coarsest is None or all(value is None for value in values):
            return True
        if quasi.kind == "categorical":
            ways = tree_of(quasi, cells)
            if None in values:
                return may_show(next(iter(ways.values()))[-1:], quasi, ways)
            return may_show(shown_node([str(value) for value in values], quasi, ways), quasi, ways)
        if None in values:
            return False
        if quasi.kind == "numeric":
            numbers = [Fraction(Decimal(str(value))) for value in values]
            low, high = _snapped(min(numbers), max(numbers), quasi)
            return high - low <= Fraction(str(quasi.coarsest))
        if quasi.kind == "date":
            days = [date.fromisoformat(value) for value in values]
            parts = {"day": 3, "month": 2, "year": 1}[str(quasi.coarsest)]
            return len({(day.year, day.month, day.day)[:parts] for day in days}) == 1
        same = len(set(values)) == 1
        return same or len(shown_prefix(values, quasi)) >= int(quasi.coarsest)

    return allowed


def _snapped(low: Fraction, high: Fraction, quasi: Quasi) -> tuple[Fraction, Fraction]:
    if quasi.step is not None:
        step = Fraction(str(quasi.step))
        low, high = floor(low / step) * step, ceil(high / step) * step
    if quasi.range is None:
        return low, high
    return max(low, Fraction(str(quasi.range[0]))), min(high, Fraction(str(quasi.range[1])))
