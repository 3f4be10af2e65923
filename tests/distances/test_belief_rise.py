"""What t allows a belief to rise by: against a linear program, and against all classes of small tables."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from tclose.distances import Equal, Form, Hierarchical, Matrix, Numeric, Ordered
from tclose.distances.belief_rise import largest_rise, largest_t
from tclose.schema.hierarchy import Hierarchy

TREE = Hierarchy.from_nested({"a": ["1", "2"], "b": {"c": ["3"], "d": ["4", "5"]}})
COSTS = [["0", "0.5", "1", "0.75"], ["0.5", "0", "0.5", "0.5"], ["1", "0.5", "0", "0.25"], ["0.75", "0.5", "0.25", "0"]]
FORMS: list[tuple[str, Form]] = [
    ("equal", Equal().form(4)),
    ("ordered", Ordered().form(4)),
    ("numeric", Numeric([1, 2, 7, 8]).form(4)),
    ("hierarchical", Hierarchical(TREE).form(5)),
    ("matrix", Matrix(COSTS).form(4)),
    ("ordered, five", Ordered().form(5)),
    ("equal, with missing", Equal().form(3).with_missing()),
]


def ground(form: Form) -> list[list[Fraction]]:
    """The distance of two values is that of all mass on the one from all mass on the other."""
    units = [[Fraction(int(a == b)) for b in range(form.size)] for a in range(form.size)]
    return [[form.emd(p, q) for q in units] for p in units]


def by_program(form: Form, shares: list[Fraction], value: int, t: Fraction) -> float:
    """Move as much to `value` as work t pays for: a plan f(u, w) of what goes from u to w, by an independent solver."""
    m, costs = form.size, ground(form)
    kept = np.zeros((m, m * m))
    for u in range(m):
        kept[u, u * m : (u + 1) * m] = 1  # all mass of u goes somewhere
    arriving = np.zeros(m * m)
    arriving[value::m] = 1
    work = [float(costs[u][w]) for u in range(m) for w in range(m)]
    found = linprog(-arriving, A_ub=[work], b_ub=[float(t)], A_eq=kept, b_eq=[float(each) for each in shares])
    return float(-found.fun) - float(shares[value])


@pytest.mark.parametrize(("name", "form"), FORMS, ids=[name for name, _ in FORMS])
@pytest.mark.parametrize("seed", range(6))
def test_the_largest_rise_is_what_a_linear_program_finds(name: str, form: Form, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = [int(count) for count in rng.integers(0 if seed % 2 else 1, 9, form.size)]
    counts[int(rng.integers(form.size))] += 1
    shares = [Fraction(count, sum(counts)) for count in counts]
    for t in (Fraction(0), Fraction(1, 50), Fraction(1, 5), Fraction(3, 7), Fraction(1)):
        wanted = max(by_program(form, shares, value, t) for value in range(form.size) if counts[value])
        assert float(largest_rise(form, counts, t)) == pytest.approx(wanted, abs=1e-7)


@pytest.mark.parametrize(("name", "form"), FORMS, ids=[name for name, _ in FORMS])
def test_no_class_of_a_small_table_rises_further(name: str, form: Form) -> None:
    counts = [3, 2, 1, 2, 1][: form.size]
    shares = [Fraction(count, sum(counts)) for count in counts]
    found: dict[Fraction, Fraction] = {}
    for inside in product(*(range(count + 1) for count in counts)):
        if sum(inside):
            held = [Fraction(count, sum(inside)) for count in inside]
            rise = max(p - q for p, q in zip(held, shares, strict=True))
            at = form.emd(held, shares)
            found[at] = max(found.get(at, Fraction(0)), rise)
    for t, rise in found.items():
        assert rise <= largest_rise(form, counts, t)
    assert any(rise == largest_rise(form, counts, t) > 0 for t, rise in found.items())  # and some class gets there


@pytest.mark.parametrize(("name", "form"), FORMS, ids=[name for name, _ in FORMS])
@pytest.mark.parametrize("seed", range(4))
def test_the_largest_t_is_the_last_that_keeps_the_rise(name: str, form: Form, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = [int(count) for count in rng.integers(1, 9, form.size)]
    for rise in (Fraction(1, 20), Fraction(1, 5), Fraction(2, 5), Fraction(95, 100)):
        t = largest_t(form, counts, rise)
        assert largest_rise(form, counts, t) <= rise
        if t < 1:
            assert largest_rise(form, counts, t + Fraction(1, 10**9)) > rise


def test_the_equal_distance_allows_t_itself() -> None:
    assert largest_rise(Equal().form(3), [90, 5, 5], Fraction(1, 5)) == Fraction(1, 5)
    assert largest_rise(Equal().form(2), [9, 1], Fraction(19, 20)) == Fraction(9, 10)  # no share is above all
    assert largest_rise(Equal().form(1), [7], Fraction(1)) == 0
    assert largest_t(Equal().form(1), [7], Fraction(1, 5)) == 1


def test_a_value_that_no_row_has_cannot_rise() -> None:
    assert largest_rise(Ordered().form(3), [0, 5, 0], Fraction(1)) == 0
