"""Groups by rank: how far a class with one row of each can be."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tclose.algorithms.clusters.groups import in_order
from tclose.algorithms.clusters.ranks import far_at_most, groups_asked, least_groups, nested, value_order
from tclose.algorithms.requirement import Attribute
from tclose.distances import Equal, Form, Line, Matrix, Tree
from tclose.table.encode import Domain
from tests.algorithms.mondrian.test_mondrian import random_case
from tests.algorithms.shared.random_domains import hierarchy_of
from tests.oracles.clusters import farthest_bound
from tests.seeds import for_seeds

FORMS: tuple[Form, ...] = (
    Line(np.array([0, 1, 3, 4, 9]), 9),
    Equal().form(5),
    Tree.of(hierarchy_of(((0, 3), (1, (2, 4))))),
    Matrix([[0, 1, 0.5, 1, 0.5], [1, 0, 1, 0.5, 1], [0.5, 1, 0, 1, 1], [1, 0.5, 1, 0, 1], [0.5, 1, 1, 1, 0]]).form(5),
)


@pytest.mark.parametrize(("n", "k"), [(12, 3), (12, 4), (10, 5), (9, 1), (8, 8)])
def test_of_different_values_it_is_the_bound_of_the_paper(n: int, k: int) -> None:
    printed = Fraction(n - k, 2 * (n - 1) * k)
    assert farthest_bound(n, k) == printed
    assert far_at_most(Line(np.arange(n), n - 1), np.ones(n, np.int64), k) == pytest.approx(float(printed))


@for_seeds(60)
def test_no_class_with_one_row_of_each_group_is_farther(seed: int) -> None:
    rng = np.random.default_rng(seed)
    form = FORMS[seed % 4]
    n_groups = int(rng.integers(1, 5))
    counts = rng.integers(0, 6, 5)
    counts[0] += n_groups
    if (rest := counts.sum() % n_groups) > 0:
        counts[0] += n_groups - rest
    values = np.repeat(value_order(form, counts), counts[value_order(form, counts)])
    groups = [np.unique(values[in_order(np.arange(len(values)), n_groups) == group]) for group in range(n_groups)]
    reference = [Fraction(int(count), int(counts.sum())) for count in counts]
    most = far_at_most(form, counts, n_groups)
    worst = 0.0
    for chosen in product(*groups):
        p = [Fraction(chosen.count(value), n_groups) for value in range(5)]
        worst = max(worst, float(form.emd(p, reference)))
    assert worst <= most + 1e-9
    if isinstance(form, Line) and n_groups == 1:
        assert worst == pytest.approx(most)


def attribute(n: int, t: str) -> Attribute:
    return Attribute(Domain("pay", Line(np.arange(n), n - 1), False), np.ones(n, np.int64), Fraction(t), None)


@pytest.mark.parametrize("n", [60, 840])
@pytest.mark.parametrize("t", ["0.3", "0.1", "0.05"])
def test_the_fewest_groups_are_those_of_the_closed_form(n: int, t: str) -> None:
    """The bound is the paper's where the groups are equal; elsewhere the remainder moves it a little."""
    asked = groups_asked(attribute(n, t), np.ones(n, np.int64))
    k = least_groups(n, Fraction(t))
    assert Fraction(n - k, 2 * (n - 1) * k) <= Fraction(t) < Fraction(n - k + 1, 2 * (n - 1) * (k - 1))
    assert abs(asked - k) <= 1


def test_where_no_number_of_groups_does_merging_has_to() -> None:
    assert groups_asked(attribute(40, "0"), np.ones(40, np.int64)) == 1


@for_seeds(30)
def test_groups_are_nested(seed: int) -> None:
    table, requirement = random_case(seed)
    rng = np.random.default_rng(seed)
    first, second = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    if first * second > len(table):
        return
    outer = nested(table, requirement, [(1, first)])
    inner = nested(table, requirement, [(1, first), (0, second)])
    assert (inner // second == outer).all()
    for group in range(first):
        pay = table.codes[1]
        if group:
            assert pay[outer == group].min() >= pay[outer == group - 1].max()
        sizes = np.bincount(inner[outer == group] - group * second, minlength=second)
        assert sizes.min() == (outer == group).sum() // second
