"""Every promise is closed under union: what two classes keep, the class of the rows of both keeps.

Each is tried on counts drawn at random, straight from its definition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import log
from typing import Any

import numpy as np
import pytest

import tclose
from tclose.schema.hierarchy import Hierarchy

Counts = list[int]


def shares(counts: Counts) -> list[Fraction]:
    return [Fraction(count, sum(counts)) for count in counts]


def distance(kind: Any) -> Callable[[Counts, Counts], Fraction]:
    return lambda counts, whole: tclose.emd(counts, whole, kind)


def largest_rise(counts: Counts, whole: Counts) -> Fraction:
    return max(one - other for one, other in zip(shares(counts), shares(whole), strict=True))


def largest_growth(counts: Counts, whole: Counts) -> Fraction:
    return max(one / other - 1 for one, other in zip(shares(counts), shares(whole), strict=True))


def enhanced(counts: Counts, whole: Counts) -> float:
    """By how much the worst value is above the bound of enhanced beta-likeness."""
    return max(float(p / q) - 1 - log(1 / q) for p, q in zip(shares(counts), shares(whole), strict=True))


def no_entropy(counts: Counts, _whole: Counts) -> float:
    return sum(float(share) * log(share) for share in shares(counts) if share)


def few_values(counts: Counts, _whole: Counts) -> int:
    return -sum(count > 0 for count in counts)


def frequency(counts: Counts, _whole: Counts) -> Fraction:
    return max(shares(counts))


def recursive(l: int) -> Callable[[Counts, Counts], Fraction]:  # noqa: E741
    def least_c(counts: Counts, _whole: Counts) -> Fraction:
        falling = sorted(counts, reverse=True)
        rest = sum(falling[l - 1 :])
        return Fraction(falling[0], rest) if rest else Fraction(10**9)

    return least_c


def matrix() -> object:
    costs: list[list[Any]] = [[0, "0.3", 1, "0.9"], ["0.3", 0, "0.8", 1], [1, "0.8", 0, "0.5"], ["0.9", 1, "0.5", 0]]
    return tclose.distances.Matrix([[Fraction(each) for each in row] for row in costs])


def two_levels() -> object:
    return tclose.distances.Hierarchical(Hierarchy.from_nested({"one": ["a", "b"], "other": ["c", "d"]}))


def of_nodes(measure: Callable[[Counts, Counts], Fraction]) -> Callable[[Counts, Counts], Fraction]:
    """Of inner nodes: the values below each together."""
    return lambda counts, whole: measure(*([sum(each[:2]), sum(each[2:])] for each in (counts, whole)))


MEASURES: dict[str, Callable[[Counts, Counts], Any]] = {
    "t, ordered": distance("ordered"),
    "t, equal": distance("equal"),
    "t, numeric": distance(tclose.distances.Numeric([0, 1, 7, 10])),
    "t, hierarchical": distance(two_levels()),
    "t, a joint or a matrix": distance(matrix()),
    "rise": largest_rise,
    "beta": largest_growth,
    "enhanced beta": enhanced,
    "rise of inner nodes": of_nodes(largest_rise),
    "beta of inner nodes": of_nodes(largest_growth),
    "entropy l": no_entropy,
    "distinct l": few_values,
    "frequency l": frequency,
    "recursive (c, 2)": recursive(2),
    "recursive (c, 3)": recursive(3),
}


def drawn(n: int) -> Iterator[tuple[Counts, Counts, Counts]]:
    rng = np.random.default_rng(5)
    for _ in range(n):
        whole = rng.integers(1, 40, 4)
        one, other = (rng.binomial(whole, rng.uniform(0.05, 0.9)) for _ in range(2))
        if one.sum() and other.sum():
            yield one.tolist(), other.tolist(), whole.tolist()


@pytest.mark.parametrize("name", MEASURES)
def test_a_union_is_no_worse_than_the_worse_of_its_parts(name: str) -> None:
    measure = MEASURES[name]
    for one, other, whole in drawn(60):
        union = [a + b for a, b in zip(one, other, strict=True)]
        worse = max(measure(one, whole), measure(other, whole))
        found = measure(union, whole)
        slack = 1e-12 if isinstance(found, float) else 0
        assert found <= worse + slack, (one, other, whole)
