"""Attacks, row by row and class by class, as they are defined in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from itertools import permutations
from math import ceil, prod
from typing import Any

Value = Hashable
Classes = list[list[int]]


def rows_of(labels: Sequence[int]) -> Classes:
    """The rows of each class."""
    return [[row for row, label in enumerate(labels) if label == each] for each in sorted(set(labels))]


def linkage(labels: Sequence[int], k: int) -> tuple[Fraction, Fraction, Fraction]:
    """Shares of unique rows, of rows in small classes, and the mean chance to be picked."""
    n = len(labels)
    size = [list(labels).count(label) for label in labels]
    unique, small = sum(each == 1 for each in size), sum(each < k for each in size)
    return Fraction(unique, n), Fraction(small, n), sum((Fraction(1, each) for each in size), Fraction()) / n


def rises(labels: Sequence[int], values: Sequence[Value]) -> dict[tuple[int, Value], tuple[Fraction, Fraction]]:
    """For each class and value of the table, q - p and q / p."""
    whole, found = Counter(values), {}
    for label in set(labels):
        own = [value for value, each in zip(values, labels, strict=True) if each == label]
        for value, count in whole.items():
            p, q = Fraction(count, len(values)), Fraction(own.count(value), len(own))
            found[label, value] = q - p, q / p
    return found


def narrow_range(numbers: Sequence[int], outliers: Fraction, narrow: Fraction, span: int) -> bool:
    """Whether an interval with all numbers but a share is a single point, or narrower than a share of the span."""
    needed = ceil((1 - outliers) * len(numbers))
    for low in numbers:
        for high in numbers:
            inside = sum(low <= each <= high for each in numbers)
            if low <= high and inside >= needed and (high == low or Fraction(high - low, span) < narrow):
                return True
    return False


def one_branch(paths: Sequence[Sequence[str]], outliers: Fraction) -> bool:
    """Whether all but a share of these values (leaf first, root last) lie below one node under the root."""
    needed = ceil((1 - outliers) * len(paths))
    under_root = Counter(path[-2] for path in paths)
    return max(under_root.values()) >= needed


def fitted(
    boxes: Sequence[tuple[int, int]], counts: Sequence[dict[int, int]], size: int, m: int, rounds: int, more: float
) -> list[list[float]]:
    """P(x | v) by EM from the stretch of each class and how many rows of each value it has: one row after the other."""

    def fit(start: list[float], rows: list[tuple[int, int]]) -> list[float]:
        share = start
        for _ in range(rounds):
            seen = [0.0] * size
            for low, high in rows:
                mass = sum(share[low : high + 1])
                for x in range(low, high + 1):
                    seen[x] += share[x] / mass
            share = [(seen[x] + more * start[x]) / (len(rows) + more) for x in range(size)]
        return share

    stretches = list(zip(boxes, counts, strict=True))
    everyone = fit([1 / size] * size, [box for box, own in stretches for _ in range(sum(own.values()))])
    return [fit(everyone, [box for box, own in stretches for _ in range(own.get(v, 0))]) for v in range(m)]


def likeliest(
    boxes: Sequence[Sequence[tuple[int, int]]], counts: Sequence[dict[int, int]], shares: Sequence[Any],
    labels: Sequence[int], places: Sequence[Sequence[int]],
) -> list[int]:  # fmt: skip
    """The value of each row with the largest n(c, v) prod P(x | v) / P(box | v), of equals the most frequent."""
    found = []
    for row, label in enumerate(labels):
        scores = {}
        for v, count in counts[label].items():
            ratios = []
            for axis, share in enumerate(shares):
                low, high = boxes[axis][label]
                ratios.append(share[v][places[axis][row]] / sum(share[v][low : high + 1]))
            scores[v] = count * prod(ratios)
        best = max(scores.values())
        tied = [v for v, score in scores.items() if score >= best * (1 - 1e-9)]
        found.append(min(tied, key=lambda v: (-counts[label][v], v)))
    return found


def consistent(
    labels: Sequence[int], values: Sequence[int], release: Callable[[tuple[int, ...]], Any]
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """All tables with the same values in each class, and those of them that give the same release."""
    every = {
        table
        for table in set(permutations(values))
        if all(sorted(table[row] for row in rows) == sorted(values[row] for row in rows) for rows in rows_of(labels))
    }
    wanted = release(tuple(values))
    return sorted(every), sorted(table for table in every if release(table) == wanted)
