"""Class sizes against their slow oracle."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np

from tclose.algorithms.sabre.bucket_sizes import class_sizes
from tclose.algorithms.shared.buckets import bucketize
from tclose.distances import Equal, Line
from tests.algorithms.shared.random_domains import members, random_case, random_class
from tests.algorithms.shared.test_buckets import DISEASES, ROWS
from tests.oracles import sabre as oracle
from tests.seeds import for_seeds


@for_seeds(300)
def test_the_oracle_finds_the_same_sizes(seed: int) -> None:
    case, k = random_case(seed), Random(seed).choice([1, 1, 2, 3, 6])
    buckets = bucketize(case.form, case.counts, case.t, case.bound)
    sizes = class_sizes(buckets, case.t, k)
    ground = oracle.largest_ground(members(buckets), case.distance)
    expected = oracle.class_sizes(buckets.counts.tolist(), ground, buckets.bound, case.t, k)
    assert [tuple(each) for each in sizes.kinds[sizes.sequence].tolist()] == expected


@for_seeds(150)
def test_every_class_of_such_sizes_is_close(seed: int) -> None:
    case, random = random_case(seed), Random(seed)
    buckets = bucketize(case.form, case.counts, case.t, case.bound)
    reference = [Fraction(int(count), int(case.counts.sum())) for count in case.counts]
    for size in class_sizes(buckets, case.t, 1).kinds:
        taken = random_class(buckets, case.counts, size, random)
        assert case.form.emd([Fraction(count, sum(taken)) for count in taken], reference) <= case.t


def test_example_7() -> None:
    buckets = bucketize(DISEASES, ROWS, Fraction("0.45"))
    sizes = class_sizes(buckets, Fraction("0.45"), k=1)
    assert sizes.kinds[sizes.sequence].tolist() == [[3, 2], [1, 1], [1, 1]] * 2


def test_halves_are_rounded_half_up() -> None:
    """[5, 3] becomes [3, 2] and [2, 1], where Python's round would make [2, 2] and [3, 1]."""
    buckets = bucketize(Equal().form(2), np.array([5, 3]), Fraction(0))
    sizes = class_sizes(buckets, Fraction("0.1"), k=2)
    assert sizes.kinds[sizes.sequence].tolist() == [[3, 2], [2, 1]]


def test_both_halves_have_k_rows() -> None:
    buckets = bucketize(Line(np.arange(2), 1), np.array([7, 6]), Fraction(1))
    assert class_sizes(buckets, Fraction(1), k=6).kinds.sum(axis=1).tolist() == [7, 6]
    assert class_sizes(buckets, Fraction(1), k=7).kinds.sum(axis=1).tolist() == [13]


def test_exact_shares_at_t_0() -> None:
    buckets = bucketize(Line(np.arange(3), 2), np.array([8, 4, 12]), Fraction(0))
    sizes = class_sizes(buckets, Fraction(0), k=1)
    assert sizes.kinds[sizes.sequence].tolist() == [[2, 1, 3]] * 4
