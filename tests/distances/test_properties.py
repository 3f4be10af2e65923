"""What every distance must be, whatever the distributions: a metric within [0, 1], exact, optimal and convex."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tclose
from tclose.distances import Distance, Equal, Hierarchical, Matrix, Numeric, Ordered
from tests.oracles.distance import (
    Ground,
    check_plan,
    emd_equal,
    emd_hierarchical,
    emd_numeric,
    emd_ordered,
    ground_equal,
    ground_hierarchical,
    ground_numeric,
    ground_ordered,
    transport,
)

Masses = list[int]
Case = tuple[Distance, Ground, Any]  # the distance, between all pairs of values, and what the oracle needs

SOME = settings(max_examples=60)
FEW = settings(max_examples=25)

# A tree's shape: None is a leaf, a list an inner node.
shapes = st.recursive(st.none(), lambda below: st.lists(below, min_size=1, max_size=3), max_leaves=7)


def paths_of(shape: Any, above: tuple[str, ...] = ("*",)) -> list[tuple[str, ...]]:
    """Leaf-first paths; a label tells the way down to it."""
    if shape is None:
        return [above]
    return [path for place, below in enumerate(shape) for path in paths_of(below, (f"{above[0]}.{place}", *above))]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    kind = draw(st.sampled_from(["equal", "ordered", "numeric", "hierarchical"]))
    if kind == "hierarchical":
        paths = paths_of(draw(st.lists(shapes, min_size=1, max_size=3)))
        return Hierarchical(tclose.Hierarchy.from_paths(paths)), ground_hierarchical(paths), paths
    if kind == "numeric":
        tenths = draw(st.lists(st.integers(-500, 500), min_size=1, max_size=6, unique=True))
        values = [tenth / 10 for tenth in sorted(tenths)]
        exact = [Fraction(tenth, 10) for tenth in sorted(tenths)]
        return Numeric(values), ground_numeric(exact), exact
    m = draw(st.integers(1, 6))
    return (Equal(), ground_equal(m), m) if kind == "equal" else (Ordered(), ground_ordered(m), m)


@st.composite
def masses(draw: st.DrawFn, m: int) -> Masses:
    """Counts, not all zero."""
    drawn = draw(st.lists(st.integers(0, 12), min_size=m, max_size=m))
    return drawn if any(drawn) else [1, *drawn[1:]]


@st.composite
def problems(draw: st.DrawFn, n: int) -> tuple[Case, list[Masses]]:
    """A distance and n distributions over its domain."""
    case = draw(cases())
    return case, [draw(masses(len(case[1]))) for _ in range(n)]


def emd(p: Any, q: Any, distance: Distance) -> Fraction:
    found = tclose.emd(p, q, distance)
    assert isinstance(found, Fraction)
    return found


@SOME
@given(problems(1))
def test_nothing_is_away_from_itself(problem: tuple[Case, list[Masses]]) -> None:
    (distance, _, _), (p,) = problem
    assert emd(p, p, distance) == 0
    assert emd(p, [7 * mass for mass in p], distance) == 0
    assert tclose.moves(p, p, distance) == []


@SOME
@given(problems(2))
def test_symmetric_and_within_0_and_1(problem: tuple[Case, list[Masses]]) -> None:
    (distance, _, _), (p, q) = problem
    found = emd(p, q, distance)
    assert found == emd(q, p, distance)
    assert 0 <= found <= 1
    same = [Fraction(a, sum(p)) for a in p] == [Fraction(b, sum(q)) for b in q]
    assert (found == 0) == same


@SOME
@given(problems(3))
def test_triangle_inequality(problem: tuple[Case, list[Masses]]) -> None:
    (distance, _, _), (p, q, r) = problem
    assert emd(p, r, distance) <= emd(p, q, distance) + emd(q, r, distance)


@SOME
@given(problems(3))
def test_merging_two_close_classes_stays_close(problem: tuple[Case, list[Masses]]) -> None:
    (distance, _, _), (p, q, reference) = problem
    both = [a + b for a, b in zip(p, q, strict=True)]
    one, other, merged = (emd(counts, reference, distance) for counts in (p, q, both))
    assert merged <= max(one, other)
    share = Fraction(sum(p), sum(both))
    assert merged <= share * one + (1 - share) * other


@SOME
@given(problems(2))
def test_point_masses_are_as_far_as_their_values(problem: tuple[Case, list[Masses]]) -> None:
    (distance, ground, _), _ = problem
    unit = [[int(place == value) for place in range(len(ground))] for value in range(len(ground))]
    for i, j in pairwise(range(len(ground))):
        assert emd(unit[i], unit[j], distance) == ground[i][j]
    assert emd(unit[0], unit[-1], distance) == ground[0][-1]


@SOME
@given(problems(2))
def test_the_formulas_of_the_papers(problem: tuple[Case, list[Masses]]) -> None:
    (distance, _, domain), (p, q) = problem
    if isinstance(distance, Hierarchical):
        wanted = emd_hierarchical(p, q, domain)
    elif isinstance(distance, Numeric):
        wanted = emd_numeric(p, q, domain)
    else:
        wanted = emd_equal(p, q) if isinstance(distance, Equal) else emd_ordered(p, q)
    assert emd(p, q, distance) == wanted


@SOME
@given(problems(2))
def test_the_linear_program_of_the_definition(problem: tuple[Case, list[Masses]]) -> None:
    (distance, ground, _), (p, q) = problem
    assert float(emd(p, q, distance)) == pytest.approx(transport(p, q, ground), abs=1e-9)


@SOME
@given(problems(2))
def test_the_plan_carries_one_to_the_other_at_this_cost(problem: tuple[Case, list[Masses]]) -> None:
    (distance, ground, _), (p, q) = problem
    plan = tclose.moves(p, q, distance)
    assert all(origin != target and mass > 0 for origin, target, mass in plan)
    assert check_plan(plan, p, q, ground) == emd(p, q, distance)


@FEW
@given(problems(2))
def test_a_matrix_of_the_same_distances_agrees(problem: tuple[Case, list[Masses]]) -> None:
    (distance, ground, _), (p, q) = problem
    if len(ground) > 1 and max(map(max, ground)) == 1:
        found = tclose.emd(p, q, Matrix(ground))
        assert isinstance(found, Fraction)
        assert found == emd(p, q, distance)


@SOME
@given(st.integers(1, 6).flatmap(lambda m: st.tuples(masses(m), masses(m))))
def test_by_name_and_by_place(pair: tuple[Masses, Masses]) -> None:
    p, q = pair
    names = [f"v{place}" for place in range(len(p))]
    left, right = dict(zip(names, p, strict=True)), dict(zip(names, q, strict=True))
    by_name = dict(reversed(left.items()))
    for distance in (Equal(), Ordered(names)):
        assert emd(by_name, right, distance) == emd(p, q, distance)
        named = [
            (names.index(origin), names.index(target), mass)
            for origin, target, mass in tclose.moves(left, right, distance)
        ]
        assert named == tclose.moves(p, q, distance)


def test_a_declared_range_scales_the_distance() -> None:
    wide = Numeric([1, 2, 4], range=(0, 10))
    assert tclose.emd([1, 0, 0], [0, 0, 1], wide) == Fraction(3, 10)
    assert tclose.emd([1, 0, 0], [0, 0, 1], Numeric([1, 2, 4])) == 1


def test_decimals_are_taken_as_written() -> None:
    # 0.1, 0.2, 0.3 are not evenly spaced as binary floats.
    assert tclose.emd([1, 0, 0], [0, 1, 0], Numeric([0.1, 0.2, 0.3])) == Fraction(1, 2)
    assert tclose.emd([0.1, 0.2], [0.2, 0.1], "equal") == Fraction(1, 3)


def test_counts_of_any_size_and_type() -> None:
    large = 5 * 10**7
    assert tclose.emd([large + 1, large], [1, 1], "equal") == Fraction(1, 2 * (2 * large + 1))
    assert tclose.emd([10**40, 1], [1, 10**40], "equal") == Fraction(10**40 - 1, 10**40 + 1)
    whole: Any = np.array([2**62, 1])
    assert tclose.emd(whole, whole[::-1], "equal") == Fraction(2**62 - 1, 2**62 + 1)
    halves: Any = np.array([0.5, 0.5])
    assert tclose.emd(halves, [1, 3], "equal") == Fraction(1, 4)


WRONG: dict[str, tuple[Any, Any, Any, str]] = {
    "a name that needs more": ([1], [1], "numeric", "'numeric'.*Numeric"),
    "an unknown name": ([1], [1], "euclid", "'euclid'"),
    "uneven": ([1, 2], [1], "equal", "one mass for each value"),
    "negative": ([1, -1], [1, 1], "equal", "negative"),
    "nothing": ([0, 0], [1, 1], "equal", "all zero"),
    "empty": ([], [], "equal", "all zero"),
    "one by name": ({"a": 1}, [1], "equal", "both"),
    "outside the domain": ({"a": 1}, {"b": 1}, Ordered(["a"]), "domain"),
    "outside the order": ([1, 1], [1, 1], Ordered(["a"]), "domain"),
    "falling values": ([1, 1], [1, 1], Numeric([2, 1]), "ascending"),
    "outside the range": ([1, 1], [1, 1], Numeric([1, 2], (0, 1)), "range"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_a_distribution_is_refused(name: str) -> None:
    p, q, distance, said = WRONG[name]
    for ask in (tclose.emd, tclose.moves):
        with pytest.raises(ValueError, match=said):
            ask(p, q, distance)
