"""The largest share of each value as a short fraction, against the caps themselves."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose.algorithms.share_limits import LARGEST_CLASS, ShareLimits, largest_at_most
from tclose.distances import Equal, Tree
from tclose.errors import SizeError
from tclose.schema.belief_caps import BeliefCaps
from tclose.schema.hierarchy import Hierarchy
from tests.oracles import belief

TREE = Hierarchy.from_nested({"cancer": ["lung", "skin"], "other": {"spots": ["rash", "acne"], "flu": []}})


@given(st.fractions(0, 3), st.integers(1, 40))
def test_the_largest_fraction_of_a_short_denominator(number: Fraction, largest: int) -> None:
    expected = max(Fraction(number.numerator * each // number.denominator, each) for each in range(1, largest + 1))
    assert largest_at_most(number, largest) == expected


def random_caps(random: Random) -> BeliefCaps:
    rise = random.choice([None, Fraction(0), Fraction(1, 10), Fraction(random.randint(0, 10**12), 10**12)])
    beta = random.choice([None, Fraction(1, 3), Fraction(2), Fraction(random.randint(1, 10**12), 10**11)])
    return BeliefCaps(rise, beta, beta is not None and random.random() < 0.5)


def test_limits_decide_as_the_definition_does() -> None:
    verdicts = []
    for seed in range(300):
        random = Random(seed)
        caps, size = random_caps(random), random.randint(1, 5)
        table = [random.randrange(size) for _ in range(random.randint(1, 30))]
        rows = random.sample(table, random.randint(1, len(table)))
        limits = ShareLimits.of(caps, Equal().form(size), np.bincount(table, minlength=size))
        held = belief.holds(table, [rows], caps.rise, caps.beta, caps.enhanced)
        assert limits.hold(np.bincount(rows, minlength=size)) == held
        short = ShareLimits.of(caps, Equal().form(size), np.bincount(table, minlength=size), len(table))
        assert short.hold(np.bincount(rows, minlength=size)) == held
        assert max(short.under) <= len(table)
        verdicts.append(held)
    assert 50 < sum(verdicts) < 250


def test_limits_of_nodes_decide_as_the_definition_does() -> None:
    leaf_of, verdicts = TREE.leaves, []
    above = {leaf: _above(TREE, place) for place, leaf in enumerate(leaf_of)}
    for seed in range(200):
        random = Random(seed)
        rise = Fraction(random.randint(0, 5), 10)
        caps = BeliefCaps(rise, levels=True)
        table = [random.randrange(len(leaf_of)) for _ in range(random.randint(1, 30))]
        rows = random.sample(table, random.randint(1, len(table)))
        form = Tree.of(TREE)
        limits = ShareLimits.of(caps, form, np.bincount(table, minlength=form.size))
        held = True
        for depth in range(3):
            of_table, of_rows = ([above[leaf_of[each]][depth] for each in some] for some in (table, rows))
            held &= belief.holds(of_table, [of_rows], rise, None, False)
        assert limits.hold(np.bincount(rows, minlength=form.size)) == held
        verdicts.append(held)
    assert 20 < sum(verdicts) < 180


def _above(tree: Hierarchy, place: int) -> list[int]:
    """The nodes on the way down to a leaf, the leaf itself in the place of those it has not."""
    node, way = int(tree.leaf_nodes[place]), []
    while node > 0:
        way.append(node)
        node = int(tree.parents[node])
    return (way[::-1] + 3 * [way[0]])[:3]


@settings(max_examples=200)
@given(st.data())
def test_caps_are_closed_under_union(data: st.DataObject) -> None:
    """Of two classes that keep a cap, the class of both keeps it: its shares are means of theirs."""
    values = st.integers(0, 3)
    one, other = (data.draw(st.lists(values, min_size=1, max_size=8)) for _ in range(2))
    table = [*one, *other, *data.draw(st.lists(values, max_size=12))]
    random = Random(data.draw(st.integers(0, 1000)))
    limits = ShareLimits.of(random_caps(random), Equal().form(4), np.bincount(table, minlength=4))
    kept = [limits.hold(np.bincount(rows, minlength=4)) for rows in (one, other, [*one, *other])]
    assert kept[2] or not (kept[0] and kept[1])


def test_broken_classes_are_those_that_do_not_hold() -> None:
    random, form = Random(3), Tree.of(TREE)
    codes = np.array([random.randrange(form.size) for _ in range(60)])
    labels = np.array([random.randrange(9) for _ in range(60)])
    for levels in (False, True):
        limits = ShareLimits.of(
            BeliefCaps(Fraction(1, 5), levels=levels), form, np.bincount(codes, minlength=form.size)
        )
        pairs, counts = np.unique(labels * form.size + codes, return_counts=True)
        sizes = np.bincount(labels)
        broken = limits.broken(pairs // form.size, pairs % form.size, counts, sizes)
        held = [limits.hold(np.bincount(codes[labels == each], minlength=form.size)) for each in range(9)]
        assert broken.tolist() == [not each for each in held]
        assert len(set(held)) == 2


def test_tables_too_long_for_64_bits_are_refused() -> None:
    with pytest.raises(SizeError, match="2,147,483,648 rows"):
        ShareLimits.of(BeliefCaps(Fraction(1, 2)), Equal().form(1), np.array([LARGEST_CLASS + 1]))
