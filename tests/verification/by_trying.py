"""Slow and obvious: distances, diversity and classes of tiny tables by trying, in fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import Any

Cost = Callable[[Any, Any], Fraction]


def least_work(one: dict[Any, Fraction], other: dict[Any, Fraction], cost: Cost) -> Fraction:
    """Cut both distributions into equal crumbs and try every way to bring each crumb somewhere."""
    crumbs = lcm(*(share.denominator for share in (*one.values(), *other.values())))
    heap = [value for value, share in one.items() for _ in range(int(share * crumbs))]
    holes = list(other)

    @lru_cache(None)
    def best(place: int, left: tuple[int, ...]) -> Fraction:
        if place == len(heap):
            return Fraction(0)
        tries = []
        for hole, room in enumerate(left):
            if room:
                rest = (*left[:hole], room - 1, *left[hole + 1 :])
                tries.append(cost(heap[place], holes[hole]) + best(place + 1, rest))
        return min(tries)

    return best(0, tuple(int(other[hole] * crumbs) for hole in holes)) / crumbs


def shares(values: Sequence[Any]) -> dict[Any, Fraction]:
    return {value: Fraction(count, len(values)) for value, count in Counter(values).items()}


def largest_distance(classes: Sequence[Hashable], values: Sequence[Any], cost: Cost) -> Fraction:
    whole = shares(values)
    found = Fraction(0)
    for each in set(classes):
        inside = [value for label, value in zip(classes, values, strict=True) if label == each]
        found = max(found, least_work(shares(inside), whole, cost))
    return found


def on_a_line(order: Sequence[Any]) -> Cost:
    place = {value: rank for rank, value in enumerate(order)}
    steps = max(len(order) - 1, 1)
    return lambda one, other: Fraction(abs(place[one] - place[other]), steps)


def equal(one: Any, other: Any) -> Fraction:
    return Fraction(one != other)


def in_tree(paths: dict[Any, tuple[str, ...]]) -> Cost:
    """Paths from leaf to root, the leaf's own name first; None is at distance 1 from all."""
    full = [path[::-1] for path in paths.values()]

    def height(node: tuple[str, ...]) -> int:
        return max(len(path) for path in full if path[: len(node)] == node) - len(node)

    whole = height(full[0][:1])

    def cost(one: Any, other: Any) -> Fraction:
        if one == other:
            return Fraction(0)
        if one is None or other is None:
            return Fraction(1)
        left, right = paths[one][::-1], paths[other][::-1]
        depth = 0
        while left[depth] == right[depth]:
            depth += 1
        return Fraction(height(left[:depth]), whole)

    return cost
