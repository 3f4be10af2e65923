"""The transport solver against trying, and its proof against forgeries."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from tclose.verification.class_work import closed_form
from tclose.verification.compiled_transport import fill_rows, propose
from tclose.verification.exact_transport import NotProvedError, least_work, proved
from tclose.verification.farthest_class import Farthest, all_distances
from tclose.verification.ground_definitions import LineGround, MeanOfGrounds, StarGround, TreeGround
from tclose.verification.measure_release import distance_between
from tclose.verification.released_classes import Grouping, count_values
from tclose.verification.transport_work import TransportWork
from tests.verification import by_trying


@pytest.mark.parametrize("seed", range(60))
def test_it_is_what_trying_finds(seed: int) -> None:
    rng = random.Random(seed)
    total = rng.randint(1, 7)
    supplies = np.bincount([rng.randrange(3) for _ in range(total)], minlength=3)
    demands = np.bincount([rng.randrange(4) for _ in range(total)], minlength=4)
    large = 10**20 if seed % 3 == 0 else 1
    costs = np.array([[rng.randint(0, 9) * large for _ in range(4)] for _ in range(3)])
    found = least_work(supplies, demands, costs)
    one = {place: Fraction(int(mass), total) for place, mass in enumerate(supplies)}
    other = {place: Fraction(int(mass), total) for place, mass in enumerate(demands)}
    expected = by_trying.least_work(one, other, lambda x, y: Fraction(int(costs[x, y])))
    assert Fraction(found.work, total) == expected


def test_a_plan_that_is_not_the_best_is_not_proved() -> None:
    supplies, demands, costs = np.array([1, 1]), np.array([1, 1]), np.array([[0, 3], [3, 0]])
    none = np.zeros(2, np.int64)
    proved(supplies, demands, costs, np.eye(2, dtype=np.int64), none, none)
    for plan, one in (
        (np.array([[0, 1], [1, 0]]), none),
        (np.array([[1, 0], [0, 0]]), none),
        (np.array([[2, -1], [-1, 2]]), none),
        (np.eye(2, dtype=np.int64), np.array([3, 0])),
    ):
        with pytest.raises(NotProvedError):
            proved(supplies, demands, costs, plan, one, none)


@pytest.mark.parametrize("seed", range(40))
def test_closed_forms_are_the_transport_of_their_ground(seed: int) -> None:
    rng = random.Random(seed)
    points = np.array(sorted(rng.sample(range(50), 5)))
    grounds: list[StarGround | LineGround | TreeGround] = [
        StarGround(5),
        LineGround(np.arange(5), 4),
        LineGround(points, 60),
        LineGround(points.astype(object) * 10**30, 60 * 10**30),
        TreeGround((-1, 0, 1, 2, 2, 1, 0, 0), (3, 4, 5, 6, 7)),
    ]
    reference = [rng.randint(1, 9) for _ in range(5)]
    inside = [rng.randint(0, count) for count in reference]
    if not any(inside):
        inside[0] = 1
    codes = np.flatnonzero(inside)
    for ground in grounds:
        work = closed_form(ground, np.array(reference), sum(reference))
        found = work.exact(sum(inside), codes, np.array(inside)[codes])
        assert found == distance_between(ground, inside, reference)


@pytest.mark.parametrize("seed", range(20))
def test_bounds_hold_and_the_farthest_class_is_found(seed: int) -> None:
    rng = random.Random(seed)
    places = tuple((i, j) for i in range(3) for j in range(4))
    ground = MeanOfGrounds((StarGround(3), LineGround(np.arange(4), 3)), places)
    labels = np.array([rng.randrange(25) for _ in range(200)])
    labels = np.unique(labels, return_inverse=True)[1]
    codes = np.array([min(rng.randrange(12), rng.randrange(12)) for _ in range(200)], np.int32)
    groups = Grouping(labels, np.bincount(labels))
    work = TransportWork(ground, np.bincount(codes, minlength=12), 200)
    search = Farthest(work)
    every = []
    for block in count_values(groups, codes, 12):
        low, high = work.bounds(block)
        exact = [work.exact(int(size), *block.of(place)) for place, size in enumerate(block.sizes)]
        assert all(a <= x <= b for a, x, b in zip(low, exact, high, strict=True))
        every += exact
        search.look(block)
    assert search.result() == max(every)
    assert all_distances(count_values(groups, codes, 12), work).tolist() == [float(x) for x in every]


def test_floats_enclose_numbers_that_64_bits_do_not_hold() -> None:
    rng = random.Random(1)
    points = np.array(sorted(rng.randrange(10**40) for _ in range(30)), object)
    ground = LineGround(points, int(points[-1] - points[0]))
    codes = np.array([rng.randrange(30) for _ in range(300)], np.int32)
    labels = np.arange(300) // 7
    groups = Grouping(labels, np.bincount(labels))
    work = closed_form(ground, np.bincount(codes, minlength=30), 300)
    search = Farthest(work)
    every = []
    for block in count_values(groups, codes, 30):
        low, high = work.bounds(block)
        exact = [work.exact(int(size), *block.of(place)) for place, size in enumerate(block.sizes)]
        assert all(a <= x <= b for a, x, b in zip(low, exact, high, strict=True))
        assert (high - low).max() < 1e-10
        every += exact
        search.look(block)
    assert search.result() == max(every)


@pytest.mark.parametrize("seed", range(20))
def test_the_compiled_solver_runs_uncompiled_and_agrees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.integers(0, 20, (5, 8))
    supplies = np.bincount(rng.integers(0, 5, 40), minlength=5)
    demands = np.bincount(rng.integers(0, 8, 40), minlength=8)
    proposals = []
    for solve in (fill_rows, fill_rows.py_func):
        turned = np.ascontiguousarray(costs.T)
        flow = np.zeros((8, 5), np.int64)
        prices, row_prices = np.zeros(5, np.int64), turned.min(axis=1)
        assert solve(turned, supplies.copy(), demands.copy(), flow, prices, row_prices)
        proposals.append(proved(supplies, demands, costs, flow.T, prices, row_prices).work)
    wide = least_work(supplies, demands, costs.astype(object) * 10**30).work
    assert proposals == [wide // 10**30] * 2


def test_demands_that_no_supply_meets_are_not_filled_for_ever() -> None:
    assert propose(np.array([[1, 2]]), np.array([1]), np.array([1, 1])) is None
