"""The distance of several attributes as one: solver and bounds against slow, obvious ones."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cophenet
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import squareform

from tclose.distances import Equal, Line, Ordered, Transport, Tree
from tclose.distances.linkage import groups_of, linkage
from tclose.distances.transport_form import ground_distances
from tclose.kernels import transport
from tclose.kernels.transport import FAR, NEAR, SOLVED, carry
from tests.algorithms.shared.random_domains import hierarchy_of, random_metric, random_tree
from tests.oracles.joint import by_linear_program
from tests.oracles.sabre import exact_transport
from tests.seeds import for_seeds

Integers = NDArray[np.int64]


def random_form(random: Random) -> Line | Tree:
    m = random.randint(1, 6)
    if random.random() < 0.4:
        positions = sorted(random.sample(range(40), m))
        return Line(np.array(positions), max(positions[-1] - positions[0], 1) + random.choice([0, 7]))
    tree = random_tree(list(range(m)), random)
    form = Tree.of(hierarchy_of(tree if isinstance(tree, tuple) else (tree,)))
    return form.with_missing() if random.random() < 0.3 else form


def random_product(random: Random) -> tuple[Transport, list[Line | Tree], Integers]:
    """Some combinations of two or three columns."""
    forms = [random_form(random) for _ in range(random.choice([2, 2, 3]))]
    cells = np.argwhere(np.ones([form.size for form in forms]))
    chosen = sorted(random.sample(range(len(cells)), min(len(cells), random.randint(1, 12))))
    return Transport.of(forms, cells[chosen]), forms, cells[chosen]


def random_counts(m: int, random: Random) -> tuple[Integers, Integers]:
    """A class and the table it is from."""
    reference = np.array([random.choice([1, 2, 3, 9]) for _ in range(m)])
    rows = np.repeat(np.arange(m), reference).tolist()
    size = random.randint(1, len(rows))
    return np.bincount(random.sample(rows, size), minlength=m), reference


def shares(counts: Integers) -> list[Fraction]:
    return [Fraction(int(count), int(counts.sum())) for count in counts]


def ground_of(product: Transport) -> list[list[Fraction]]:
    return [[Fraction(int(cost), product.denominator) for cost in row] for row in product.costs]


def between(form: Line | Tree, left: int, right: int) -> Fraction:
    """The ground distance of two values: that of all mass on the one from all on the other."""
    units = [[Fraction(int(place == value)) for place in range(form.size)] for value in (left, right)]
    return form.emd(*units)


@for_seeds(60)
def test_ground_distances_are_the_means(seed: int) -> None:
    product, forms, cells = random_product(Random(seed))
    for i, left in enumerate(cells.tolist()):
        for j, right in enumerate(cells.tolist()):
            parts = [between(form, a, b) for form, a, b in zip(forms, left, right, strict=True)]
            assert Fraction(int(product.costs[i, j]), product.denominator) == sum(parts, Fraction()) / len(parts)


@for_seeds(40)
def test_it_is_a_metric_within_one(seed: int) -> None:
    product, _, _ = random_product(Random(seed))
    costs = product.costs
    assert ((costs == 0) == np.eye(len(costs), dtype=bool)).all()
    assert (costs == costs.T).all()
    assert costs.max() <= product.denominator
    assert (costs[:, :, None] + costs[None, :, :] >= costs[:, None, :]).all()


@for_seeds(200)
def test_the_distance_is_that_of_the_oracle(seed: int) -> None:
    random = Random(seed)
    product, _, _ = random_product(random)
    counts, reference = random_counts(product.size, random)
    expected = exact_transport(counts.tolist(), reference.tolist(), ground_of(product))
    assert product.distance(counts, reference) == expected
    assert product.emd(shares(counts), shares(reference)) == expected
    assert product.emd(shares(reference), shares(counts)) == expected


@for_seeds(40)
def test_the_distance_is_that_of_a_linear_program(seed: int) -> None:
    random, rng = Random(seed), np.random.default_rng(seed)
    forms: list[Line | Tree] = [Ordered().form(random.randint(3, 7)), Equal().form(random.randint(2, 5))]
    cells = np.argwhere(np.ones([form.size for form in forms]))
    product = Transport.of(forms, cells)
    reference = rng.integers(1, 2_000, product.size)
    counts = rng.multinomial(random.choice([5, 30, 900]), reference / reference.sum())
    exact = product.distance(counts, reference)
    p, q = counts / counts.sum(), reference / reference.sum()
    assert float(exact) == pytest.approx(by_linear_program(p, q, ground_of(product)), abs=1e-9)


@for_seeds(150)
def test_each_column_is_at_most_so_many_times_as_far_as_there_are_columns(seed: int) -> None:
    """And their sum is, which is what the proof says."""
    random = Random(seed)
    product, forms, cells = random_product(random)
    counts, reference = random_counts(product.size, random)
    alone = []
    for place, form in enumerate(forms):
        own = [np.zeros(form.size, np.int64) for _ in range(2)]
        for marginal, joint in zip(own, (counts, reference), strict=True):
            np.add.at(marginal, cells[:, place], joint)
        alone.append(form.emd(shares(own[0]), shares(own[1])))
    assert sum(alone, Fraction()) <= len(forms) * product.distance(counts, reference)


def test_close_in_each_and_far_together() -> None:
    """Half the table has the one value of a column and half the other, whatever the other column has; a class has
    both or none."""
    flat = Equal().form(2)
    product = Transport.of([flat, flat], np.array([[0, 0], [0, 1], [1, 0], [1, 1]]))
    assert flat.emd([Fraction(1, 2)] * 2, [Fraction(1, 2)] * 2) == 0
    assert product.distance(np.array([3, 0, 0, 3]), np.array([5, 5, 5, 5])) == Fraction(1, 4)


@for_seeds(60)
def test_moves_carry_it_out(seed: int) -> None:
    random = Random(seed)
    product, _, _ = random_product(random)
    p, q = map(shares, random_counts(product.size, random))
    work, piles = Fraction(), list(p)
    for origin, target, mass in product.moves(p, q):
        assert mass > 0
        piles[origin] -= mass
        piles[target] += mass
        work += mass * Fraction(int(product.costs[origin, target]), product.denominator)
    assert piles == q
    assert work == product.emd(p, q)


def test_masses_beyond_64_bits() -> None:
    forms: list[Line | Tree] = [Ordered().form(3), Equal().form(2)]
    product = Transport.of(forms, np.argwhere(np.ones((3, 2))))
    long = [Fraction(1, prime) for prime in (10**12 + 39, 10**12 + 61, 10**12 + 63, 7, 11)]
    p, q = [*long, 1 - sum(long, Fraction())], [1 - sum(long, Fraction()), *long]
    assert product.emd(p, q) == exact_transport(p, q, ground_of(product))
    assert Fraction(product.emd(p, q)).denominator > 2**64


def test_large_tables_with_fine_distances_stay_exact() -> None:
    """n s denominator is about 2^92 here."""
    line = Line(np.array([0, 10**9 + 7, 2**40]), 2**40)
    product = Transport.of([line, Equal().form(2)], np.array([[0, 0], [1, 1], [2, 0]]))
    reference, counts = np.array([10**7, 10**7 + 1, 10**7 + 2]), np.array([999_983, 10**6 + 3, 1])
    expected = exact_transport(counts.tolist(), reference.tolist(), ground_of(product))
    assert product.distance(counts, reference) == expected


def test_no_common_denominator_of_reasonable_size() -> None:
    lines = [Line(np.array([0, span]), span) for span in (2**31 - 1, 2**29 - 3)]
    with pytest.raises(OverflowError):
        Transport.of(lines, np.array([[0, 0], [1, 1]]))


@for_seeds(60)
def test_a_coarser_one_is_a_metric_and_never_nearer(seed: int) -> None:
    random = Random(seed)
    product, _, _ = random_product(random)
    counts, reference = random_counts(product.size, random)
    largest = random.choice([1, 2, 3, 10, 50])
    coarser = product.coarser(largest)
    assert coarser.denominator <= max(largest, 1)
    costs = coarser.costs
    assert (costs[:, :, None] + costs[None, :, :] >= costs[:, None, :]).all()
    assert costs.max() <= coarser.denominator
    assert coarser.distance(counts, reference) >= product.distance(counts, reference)
    assert product.coarser(product.denominator) is product


@pytest.mark.parametrize("compiled", [True, False])
@for_seeds(120)
def test_plan_and_heights_prove_each_other(seed: int, compiled: bool) -> None:
    random = Random(seed)
    product, _, _ = random_product(random)
    counts, reference = random_counts(product.size, random)
    surplus = reference.sum() * counts - counts.sum() * reference
    few, many = np.flatnonzero(surplus > 0), np.flatnonzero(surplus < 0)
    if not len(few):
        return
    function: Any = carry if compiled else carry.py_func  # type: ignore[attr-defined]
    costs = np.ascontiguousarray(product.costs[np.ix_(many, few)])
    supply, need = surplus[few], -surplus[many]

    def run(limit: int) -> tuple[int, Integers, Integers, Integers]:
        flows, rises, falls = (np.zeros(shape, np.int64) for shape in ((len(few), len(many)), len(few), len(many)))
        return function(costs, supply, need, product.denominator, limit, flows, rises, falls), flows, rises, falls

    verdict, flows, rises, falls = run(-1)
    assert verdict == SOLVED
    assert (flows >= 0).all()
    assert (flows.sum(axis=1) == supply).all()
    assert (flows.sum(axis=0) == need).all()
    assert (rises[:, None] + falls <= costs.T).all()
    work = int((flows * costs.T).sum())
    assert work == int(supply @ rises + need @ falls)
    for limit in (0, work // 2, work - 1, work, work + 1, 2 * work, product.denominator * int(supply.sum())):
        assert run(limit)[0] == (NEAR if work <= limit else FAR)


@for_seeds(100)
def test_a_quick_plan_is_never_too_cheap(seed: int) -> None:
    random = Random(seed)
    product, _, _ = random_product(random)
    counts, reference = random_counts(product.size, random)
    surplus = reference.sum() * counts - counts.sum() * reference
    scale = int(reference.sum() * counts.sum()) * product.denominator
    data = np.concatenate([product.costs.ravel(), product.pairs.ravel()])
    quick = transport.match_near.py_func(data, 0, product.size**2, surplus)  # type: ignore[attr-defined]
    assert product.distance(counts, reference) * scale <= quick
    tree = _height_work(product, surplus)
    assert quick <= tree


def _height_work(product: Transport, surplus: Integers) -> int:
    """What the quick plan may cost at most: each mass as far as the farthest values of the groups that meet."""
    members: list[list[int]] = [[value] for value in range(product.size)]
    work = 0
    for left, right in groups_of(product.pairs):
        members.append(members[left] + members[right])
        apart = int(product.costs[np.ix_(members[-1], members[-1])].max())
        sides = [int(surplus[members[side]].sum()) for side in (left, right)]
        if sides[0] * sides[1] < 0:
            work += apart * min(abs(side) for side in sides)
    return work


@for_seeds(40)
def test_linkage_is_complete_linkage(seed: int) -> None:
    """As high as scipy has every pair of values meet, where no two distances are equal."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 12))
    costs = squareform(rng.permutation(m * (m - 1) // 2) + 100)
    members: list[list[int]] = [[value] for value in range(m)]
    meet = np.zeros((m, m))
    for left, right in groups_of(linkage(costs)):
        members.append(members[left] + members[right])
        apart = costs[np.ix_(members[left], members[right])].max()
        meet[np.ix_(members[left], members[right])] = apart
        meet[np.ix_(members[right], members[left])] = apart
    assert (squareform(cophenet(scipy_linkage(squareform(costs), "complete"))) == meet).all()


def test_linkage_of_many_equal_distances() -> None:
    for seed in range(20):
        costs = np.ceil(random_metric(9, Random(seed)).distances * 3).astype(np.int64)
        pairs = groups_of(linkage(costs))
        assert sorted(group for pair in pairs for group in pair) == list(range(16))
    assert linkage(np.zeros((1, 1), np.int64)).shape == (0, 2)


def test_a_tree_of_uneven_paths() -> None:
    """Leaves at several depths, and one that is missing."""
    tree = Tree.of(hierarchy_of(((0, 1), ((2, 3), 4), 5))).with_missing()
    over, under = ground_distances(tree, np.arange(7))
    for i in range(7):
        for j in range(7):
            assert Fraction(int(over[i, j]), under) == between(tree, i, j)
