"""Diversity against its definitions, equality included."""

from __future__ import annotations

import random
from fractions import Fraction
from math import exp, log, prod

import numpy as np
import pytest

from tclose.schema.columns import Diversity
from tclose.verification.class_diversity import DiversitySearch, LeastDiversity, has_entropy
from tclose.verification.class_work import one_class


def reached(counts: list[int], asked: Diversity) -> LeastDiversity:
    search = DiversitySearch(asked)
    search.look(one_class(sum(counts), np.arange(len(counts)), np.array(counts)))
    return search.result()


@pytest.mark.parametrize("seed", range(50))
def test_every_diversity_is_as_defined(seed: int) -> None:
    rng = random.Random(seed)
    counts = [rng.randint(1, 6) for _ in range(rng.randint(1, 5))]
    rows, falling = sum(counts), sorted(counts, reverse=True)
    c, first = Fraction(rng.randint(1, 8), rng.randint(1, 4)), rng.randint(1, 4)
    asked = Fraction(rng.randint(10, 40), 10)
    found = reached(counts, Diversity(distinct=3, entropy=asked, frequency=asked, recursive=(c, first)))
    assert found.distinct == len(counts)
    assert found.frequency == Fraction(rows, falling[0])
    assert found.entropy == pytest.approx(exp(-sum(n / rows * log(n / rows) for n in counts)))
    tail = sum(falling[first - 1 :])
    assert found.recursive == (Fraction(falling[0], tail) if tail else None, first)
    assert found.meets == {
        "distinct": len(counts) >= 3,
        "entropy": Fraction(rows**rows, prod(n**n for n in counts)) >= asked**rows,
        "frequency": falling[0] * asked <= rows,
        "recursive": falling[0] < c * tail,
    }


def test_entropy_at_equality_and_next_to_it() -> None:
    assert has_entropy([5] * 7, Fraction(7))
    assert not has_entropy([5] * 7, Fraction(7) + Fraction(1, 10**40))
    assert has_entropy([5] * 7, Fraction(7) - Fraction(1, 10**40))
    assert has_entropy([10**7] * 3, Fraction(3))  # too large for powers, decided by a coprime base
    assert not has_entropy([10**7 + 1, 10**7, 10**7 - 1], Fraction(3))


def test_a_recursive_class_at_equality_fails() -> None:
    assert not reached([2, 1], Diversity(recursive=(Fraction(2), 2))).meets["recursive"]
    assert reached([2, 1], Diversity(recursive=(Fraction(201, 100), 2))).meets["recursive"]
