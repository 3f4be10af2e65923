"""Whatever rows classes take, they are within the bound; and the class sizes that come of it."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

from tclose.algorithms.control import Control
from tclose.algorithms.fragments import shares as module
from tclose.algorithms.fragments.shares import FragmentShares, class_sizes
from tclose.algorithms.fragments.space import SensitiveSpace, scale_of
from tclose.algorithms.fragments.split import Fragmentation, fragment
from tclose.distances import Line
from tests.algorithms.fragments.random_spaces import Case, random_space
from tests.seeds import for_seeds


def some_fragments(case: Case, random: Random) -> Fragmentation:
    targets = [Fraction(random.randint(0, 20), 40) for _ in case.forms]
    found = fragment(case.space, targets, Control())
    assert found is not None
    return found


def rows_taken(case: Case, found: Fragmentation, sizes: Any, random: Random) -> list[int]:
    """Any rows of each fragment, or those of few values."""
    owners = found.of_cell[case.space.of_row]
    taken: list[int] = []
    attribute = random.randrange(len(case.forms))
    for number, size in enumerate(sizes):
        rows = np.flatnonzero(owners == number).tolist()
        random.shuffle(rows)
        if way := random.choice([0, 1, -1]):
            rows.sort(key=case.codes[attribute].__getitem__, reverse=way < 0)
        taken += rows[: int(size)]
    return taken


def real(case: Case, attribute: int, rows: list[int]) -> float:
    """The distance of these rows from all, by the definition."""
    form, codes = case.forms[attribute], case.codes[attribute]
    part, whole = np.bincount(codes[rows], minlength=form.size), np.bincount(codes, minlength=form.size)
    p, q = ([Fraction(int(count), int(each.sum())) for count in each] for each in (part, whole))
    return float(form.emd(p, q))


@pytest.mark.parametrize("anchors", [64, 3])
@for_seeds(120)
def test_no_class_is_farther_than_its_bound(seed: int, anchors: int) -> None:
    random, case = Random(seed), random_space(seed, kinds="onetm")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ANCHORS", anchors)
        found = some_fragments(case, random)
        shares = FragmentShares.of(found)
    for _ in range(6):
        sizes = np.array([random.randint(0, min(int(count), random.choice([1, 2, 40]))) for count in found.counts])
        if not sizes.any():
            continue
        bounds = shares.bounds(sizes[None, :])[0]
        for _ in range(4):
            rows = rows_taken(case, found, sizes, random)
            for attribute in range(len(case.forms)):
                assert real(case, attribute, rows) <= bounds[attribute] + 1e-9


@for_seeds(60)
def test_the_bound_is_reached(seed: int) -> None:
    """With one attribute in one fragment some class of a single row is as far as the bound says."""
    case = random_space(seed, kinds="onet")
    found = fragment(case.space, [Fraction(1)] * len(case.forms), Control())
    assert found is not None
    assert len(found) == 1
    bounds = FragmentShares.of(found).bounds(np.array([[1]]))[0]
    for attribute in range(len(case.forms)):
        farthest = max(real(case, attribute, [row]) for row in range(case.space.n_rows))
        assert farthest == pytest.approx(bounds[attribute])


@for_seeds(60)
def test_of_the_tables_own_shares_the_bound_is_u(seed: int) -> None:
    random, case = Random(seed), random_space(seed, kinds="onet")
    found = some_fragments(case, random)
    bounds = FragmentShares.of(found).bounds(found.counts[None, :])[0]
    assert bounds == pytest.approx([float(bound) for bound in found.bounds])


@for_seeds(60)
def test_class_sizes_hold(seed: int) -> None:
    random, case = Random(seed), random_space(seed, kinds="onet", most=120)
    found = some_fragments(case, random)
    k, shares = random.randint(1, 6), FragmentShares.of(found)
    sizes = class_sizes(shares, k)
    each = sizes.kinds[sizes.sequence]
    assert (each.sum(axis=0) == found.counts).all()
    assert (each >= 0).all()
    if len(sizes) > 1:
        assert each.sum(axis=1).min() >= k
        assert shares.hold(each).all()
    bolder = class_sizes(shares, k, 3.0)
    assert len(bolder) >= len(sizes)


def test_very_shares_are_decided_exactly() -> None:
    """At t = 0 only classes as the table is will do, and rounding must not refuse them."""
    codes = np.repeat(np.arange(3, dtype=np.int32), [30, 20, 10])
    space = SensitiveSpace.of([scale_of(Line(np.arange(3), 2), np.bincount(codes))], [codes], [Fraction(0)])
    found = fragment(space, [Fraction(0)], Control())
    assert found is not None
    sizes = class_sizes(FragmentShares.of(found), 2)
    assert sizes.kinds[sizes.sequence].tolist() == [[3, 2, 1]] * 10
    assert not FragmentShares.of(found).hold(np.array([[3, 1, 1]])).any()


def test_fragments_that_differ_in_another_attribute_stand_for_each_other() -> None:
    """Taking from one of two fragments with the same values of an attribute costs that attribute nothing."""
    first, second = np.array([0, 1] * 50, np.int32), np.repeat(np.array([0, 1], np.int32), 50)
    line = scale_of(Line(np.arange(2), 1), np.array([50, 50]))
    space = SensitiveSpace.of([line, line], [first, second], [Fraction(1)] * 2)
    found = fragment(space, [Fraction(1), Fraction(0)], Control())
    assert found is not None
    assert len(found) == 2
    assert FragmentShares.of(found).bounds(np.array([[4, 0]]))[0].tolist() == [0.5, 0.5]
