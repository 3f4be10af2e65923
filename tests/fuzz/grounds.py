"""The values of a sensitive attribute as places in its domain, and how far two places are apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from tests.fuzz.meaning import Cell, NoMeaning, is_missing, label, number, ranks_of
from tests.fuzz.transport import least_work

Ground = Callable[[int, int], Fraction]
Keys = Mapping[str, Any]


@dataclass(frozen=True)
class Attribute:
    """A sensitive column: the place of each row's value, how many places there are, and their distances."""

    places: list[int]
    size: int
    ground: Ground
    positions: list[Fraction] | None = None  # where places lie on a line of length 1, if they do

    def emd(self, members: Sequence[int]) -> Fraction:
        """The distance of a class from the whole table."""
        have, want = [0] * self.size, [0] * self.size
        for place in self.places:
            want[place] += 1
        for row in members:
            have[self.places[row]] += 1
        if self.positions is None:
            return least_work(have, want, self.ground)
        n_have, n_want = sum(have), sum(want)
        gone = [
            Fraction(0),
            *accumulate(Fraction(a, n_have) - Fraction(b, n_want) for a, b in zip(have, want, strict=True)),
        ]
        gaps = [high - low for low, high in zip(self.positions, self.positions[1:], strict=False)]
        return sum((abs(mass) * gap for mass, gap in zip(gone[1:], gaps, strict=False)), Fraction(0))


def attribute(cells: Sequence[Cell], keys: Keys, schema: Keys) -> Attribute:
    """A sensitive column by its keys in the schema."""
    spellings, decimal = schema.get("missing_values", ()), schema.get("decimal", ".")
    distance = keys["distance"]
    measured = distance == "numeric" or (distance == "ordered" and not keys.get("order"))
    gone = [is_missing(cell, spellings, measured) for cell in cells]
    present = [cell for cell, missing in zip(cells, gone, strict=True) if not missing]
    if distance in ("numeric", "matrix") and any(gone):
        raise NoMeaning("a missing value, which this distance has no place for")
    if distance == "ordered":
        found, size = _ordered(present, keys, decimal)
    elif distance == "numeric":
        return _numeric(present, keys, decimal)
    elif distance == "equal":
        labels = [label(cell) for cell in present]
        values = sorted(set(labels))
        found, size = [values.index(each) for each in labels], len(values)
    else:
        return _named(present, gone, keys)
    places = _with_missing(found, gone, size)
    size += any(gone)
    if distance == "equal":
        return Attribute(places, size, lambda i, j: Fraction(i != j))
    steps = max(size - 1, 1)
    return Attribute(
        places, size, lambda i, j: Fraction(abs(i - j), steps), [Fraction(place, steps) for place in range(size)]
    )


def _with_missing(found: list[int], gone: list[bool], last: int) -> list[int]:
    rest = iter(found)
    return [last if missing else next(rest) for missing in gone]


def _ordered(present: Sequence[Cell], keys: Keys, decimal: str) -> tuple[list[int], int]:
    if keys.get("order"):
        order = [label(each) for each in keys["order"]]
        labels = [label(cell) for cell in present]
        if set(labels) - set(order):
            raise NoMeaning("a value that the order does not name")
        return [order.index(each) for each in labels], len(order)
    ranks = ranks_of(present, decimal)
    if keys.get("edges"):
        edges = [number(edge) for edge in keys["edges"]]
        return [sum(edge <= rank for edge in edges) for rank in ranks], len(edges) + 1
    if keys.get("bins") and keys["bins"] < len(ranks):
        ranks = [Fraction(keys["bins"] * sum(other < rank for other in ranks) // len(ranks)) for rank in ranks]
    values = sorted(set(ranks))
    return [values.index(rank) for rank in ranks], len(values)


def _numeric(present: Sequence[Cell], keys: Keys, decimal: str) -> Attribute:
    numbers = [number(cell, decimal) for cell in present]
    values = sorted(set(numbers))
    low, high = [exact(each) for each in keys["range"]] if keys.get("range") else (values[0], values[-1])
    if values[0] < low or values[-1] > high:
        raise NoMeaning("a value outside its range")
    width = high - low or Fraction(1)
    positions = [(value - low) / width for value in values]
    places = [values.index(each) for each in numbers]
    return Attribute(places, len(values), lambda i, j: abs(positions[i] - positions[j]), positions)


def _named(present: Sequence[Cell], gone: list[bool], keys: Keys) -> Attribute:
    """Values that the schema names: the leaves of a hierarchy, or those of a matrix."""
    labels = [label(cell) for cell in present]
    if keys["distance"] == "matrix":
        values = list(keys["matrix"]["values"])
        costs = [[exact(cost) for cost in row] for row in keys["matrix"]["costs"]]
        ground: Ground = lambda i, j: costs[i][j]  # noqa: E731
    else:
        paths = leaf_paths(keys["hierarchy"])
        values = list(paths)
        heights = node_heights(paths)
        root = heights[()]

        def ground(i: int, j: int) -> Fraction:
            if i == j:
                return Fraction(0)
            if len(values) in (i, j):
                return Fraction(1)
            return Fraction(heights[_shared(paths[values[i]], paths[values[j]])], root)

    if set(labels) - set(values):
        raise NoMeaning("a value that the schema does not name")
    places = _with_missing([values.index(each) for each in labels], gone, len(values))
    return Attribute(places, len(values) + any(gone), ground)


def exact(given: Any) -> Fraction:
    """A number of a schema: a float is the decimal that it prints as, a text may be a fraction."""
    return Fraction(repr(given)) if isinstance(given, float) else Fraction(given)


def leaf_paths(nested: Any, above: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    """The labels from below the root down to each leaf of a nested hierarchy."""
    if isinstance(nested, Mapping):
        return {
            leaf: path for name, below in nested.items() for leaf, path in leaf_paths(below, (*above, name)).items()
        }
    return {leaf: (*above, leaf) for leaf in nested} if nested else {above[-1]: above}


def node_heights(paths: Mapping[str, tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    """The longest way down from each node; a node is the labels that lead to it."""
    heights: dict[tuple[str, ...], int] = {}
    for path in paths.values():
        for depth in range(len(path) + 1):
            heights[path[:depth]] = max(heights.get(path[:depth], 0), len(path) - depth)
    return heights


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    depth = 0
    while one[:depth] == other[:depth] and depth <= min(len(one), len(other)):
        depth += 1
    return one[: depth - 1]


def joined(attributes: Sequence[Attribute]) -> Attribute:
    """Several attributes bound together: two combinations are as far apart as their values are on average."""
    rows = list(zip(*(each.places for each in attributes), strict=True))
    values = sorted(set(rows))

    def ground(i: int, j: int) -> Fraction:
        apart = [each.ground(a, b) for each, a, b in zip(attributes, values[i], values[j], strict=True)]
        return sum(apart, Fraction(0)) / len(apart)

    return Attribute([values.index(row) for row in rows], len(values), ground)
