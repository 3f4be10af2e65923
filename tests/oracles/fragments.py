"""Fragmentation (000) as one would explain it: fractions, lists, every sum taken anew.

A table is a mapping from cells, tuples of indices from 0 on, to rows. A fragment is a tuple of
(first, last), one an attribute, both included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from math import gcd

Cell = tuple[int, ...]
Table = Mapping[Cell, int]
Box = tuple[tuple[int, int], ...]
Vector = Sequence[Fraction]
Distance = Callable[[int, int], Fraction]


def delta(p: Vector, q: Vector) -> Fraction:
    """Definition 2."""
    k = len(p)
    if k == 1:
        return Fraction(0)
    prefixes = list(accumulate(a - b for a, b in zip(p, q, strict=True)))
    return sum((abs(prefix) for prefix in prefixes[:-1]), Fraction(0)) / (k - 1)


def center(p: Vector) -> Fraction:
    """Definition 8, indices from 1 on; of nothing, the middle."""
    mass = sum(p)
    return sum((share * (i + 1) for i, share in enumerate(p)), Fraction(0)) / mass if mass else Fraction(len(p) + 1, 2)


def vertex(k: int, i: int, mass: Fraction) -> list[Fraction]:
    """All mass at one index, counted from 0."""
    return [mass if j == i else Fraction(0) for j in range(k)]


def farthest(p: Vector) -> Fraction:
    """Delta: the distance from the last vertex if left-heavy, else from the first (after theorem 10)."""
    k, mass = len(p), sum(p, Fraction(0))
    is_left_heavy = center(p) < Fraction(k + 1, 2)
    return delta(p, vertex(k, k - 1 if is_left_heavy else 0, mass))


def inside(table: Table, box: Box) -> dict[Cell, int]:
    """The cells of a fragment."""
    return {
        cell: rows
        for cell, rows in table.items()
        if all(first <= index <= last for index, (first, last) in zip(cell, box, strict=True))
    }


def slice_sums(table: Table, box: Box, attribute: int) -> list[Fraction]:
    """R of a fragment of the normalized table (section 3.4)."""
    n, (first, last) = sum(table.values()), box[attribute]
    sums = [Fraction(0)] * (last - first + 1)
    for cell, rows in inside(table, box).items():
        sums[cell[attribute] - first] += Fraction(rows, n)
    return sums


def aggregate(table: Table, boxes: Sequence[Box], attribute: int) -> Fraction:
    """Definition 19."""
    return sum((farthest(slice_sums(table, box, attribute)) for box in boxes), Fraction(0))


def over_domain(table: Table, boxes: Sequence[Box], attribute: int, distance: Distance) -> Fraction:
    """The same, normalized over the domain and for any distance: the largest work from one value that occurs."""
    n, total = sum(table.values()), Fraction(0)
    for box in boxes:
        rows: dict[int, int] = {}
        for cell, count in inside(table, box).items():
            rows[cell[attribute]] = rows.get(cell[attribute], 0) + count
        total += max(
            (sum((distance(far, i) * count for i, count in rows.items()), Fraction(0)) / n for far in rows),
            default=Fraction(0),
        )
    return total


def psi(bounds: Sequence[Fraction], targets: Sequence[Fraction]) -> Fraction:
    """Section 3.1."""
    return sum((max(bound - target, Fraction(0)) for bound, target in zip(bounds, targets, strict=True)), Fraction(0))


def cuts(boxes: Sequence[Box]) -> Iterator[tuple[int, list[Box]]]:
    """All that F splits into (definition 14), each with the attribute that is cut."""
    for place, box in enumerate(boxes):
        for attribute, (first, last) in enumerate(box):
            for cut in range(first, last):
                left = (*box[:attribute], (first, cut), *box[attribute + 1 :])
                right = (*box[:attribute], (cut + 1, last), *box[attribute + 1 :])
                yield attribute, [*boxes[:place], left, right, *boxes[place + 1 :]]


def conforms(part: Table, table: Table, boxes: Sequence[Box]) -> bool:
    """Definitions 16 and 17."""
    n, s = sum(table.values()), sum(part.values())
    return all(n * sum(inside(part, box).values()) == s * sum(inside(table, box).values()) for box in boxes)


def smallest_class(table: Table, boxes: Sequence[Box]) -> int:
    """r of section 3.2: the smallest integer for which r |F_i| is whole for each fragment."""
    n = sum(table.values())
    rows = [sum(inside(table, box).values()) for box in boxes]
    r = 1
    while any(r * row % n for row in rows):
        r += 1
    assert r == n // gcd(n, *rows)
    return r
