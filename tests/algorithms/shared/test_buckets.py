"""Bucketization against its slow oracle, and theorems 2, 3 and 4."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from tclose.algorithms.shared.buckets import UNITS, BoundRule, Buckets, bucketize, join_values
from tclose.distances import Line, Matrix, Transport, Tree
from tclose.schema.hierarchy import Hierarchy
from tests.algorithms.shared.random_domains import members, random_case, random_class, random_metric
from tests.oracles import sabre as oracle
from tests.seeds import for_seeds

DISEASES = Tree.of(
    Hierarchy.from_nested(
        {
            "respiratory": ["SARS", "pneumonia", "bronchitis"],
            "digestive": ["gastric flu", "gastric ulcer", "intestinal cancer"],
        }
    )
)
ROWS = np.array([5, 3, 2, 4, 2, 2])


@for_seeds(400)
def test_the_oracle_finds_the_same_buckets(seed: int) -> None:
    case = random_case(seed)
    found = bucketize(case.form, case.counts, case.t, case.bound)
    assert sorted(members(found)) == sorted(case.buckets)
    assert found.bound == case.upper
    assert found.counts.tolist() == [int(case.counts[values].sum()) for values in members(found)]


@for_seeds(400)
def test_the_closed_form_is_the_transport_between_buckets(seed: int) -> None:
    case, random = random_case(seed), Random(seed)
    found = bucketize(case.form, case.counts, case.t, case.bound)
    ground = oracle.largest_ground(members(found), case.distance)
    sizes = [random.randint(0, int(count)) for count in found.counts]
    sizes[random.randrange(len(sizes))] += 1
    exact = oracle.exact_transport(sizes, found.counts.tolist(), ground)
    assert found.distance(np.array(sizes)) == exact
    assert abs(float(exact) - oracle.transport(sizes, found.counts.tolist(), ground)) < 1e-9


@pytest.mark.parametrize("overlapping", [False, True])
def test_the_closed_form_on_many_lines(overlapping: bool) -> None:
    """Stretches that overlap as well, which buckets never do."""
    random = Random(3)
    for _ in range(500):
        ends = sorted(random.sample(range(60), 8))
        pairs = [(ends[i], ends[i + 1]) for i in range(0, 8, 2)]
        if overlapping:
            drawn = [sorted(random.sample(range(60), 2)) for _ in range(4)]
            pairs = sorted(((a, b) for a, b in drawn), key=sum)
        counts, sizes = ([random.randint(1, 9) for _ in pairs] for _ in range(2))
        ground = [
            [Fraction(max(b - c, d - a) if i != j else 0, 60) for j, (c, d) in enumerate(pairs)]
            for i, (a, b) in enumerate(pairs)
        ]
        exact = oracle.exact_transport(sizes, counts, ground)
        assert stretches(pairs, counts, 60).distance(np.array(sizes)) == exact


def stretches(pairs: list[tuple[int, int]], counts: list[int], span: int) -> Buckets:
    """Buckets with these ends, laid out as those of a line: the ways between middles, then those out to the ends."""
    middles, places = [a + b for a, b in pairs], np.arange(len(pairs))
    return Buckets(
        np.arange(len(pairs), dtype=np.int32),
        np.array(counts),
        Fraction(0),
        np.concatenate([np.zeros(len(pairs) - 1, np.int64), places]),
        np.concatenate([places[1:], places + 1]),
        np.array([*np.diff(middles), *(b - a for a, b in pairs)]),
        2 * span,
    )


def test_a_line_is_laid_out_as_its_stretches() -> None:
    line = Line(np.array([0, 1, 5, 6, 10]), 10)
    found, rows = bucketize(line, np.array([3, 4, 0, 2, 9]), Fraction("0.2")), np.array([3, 4, 0, 2, 9])
    positions = [[int(line.positions[value]) for value in values if rows[value]] for values in members(found)]
    like = stretches([(ends[0], ends[-1]) for ends in positions], found.counts.tolist(), 10)
    assert len(found) > 1
    for name in ("low", "high", "weights", "denominator"):
        assert np.array_equal(getattr(found, name), getattr(like, name)), name


@for_seeds(200)
def test_whatever_rows_a_class_takes_it_is_within_both_bounds(seed: int) -> None:
    """Theorem 4; and theorem 3: of a table of four times the rows, a quarter of each bucket."""
    case, random = random_case(seed), Random(seed)
    found = bucketize(case.form, case.counts, case.t, case.bound)
    four_times = bucketize(case.form, 4 * case.counts, case.t, case.bound)
    assert (four_times.of_code == found.of_code).all()
    reference = [Fraction(int(count), int(case.counts.sum())) for count in case.counts]
    for _ in range(5):
        sizes = np.array([random.randint(0, int(count)) for count in found.counts])
        if sizes.any():
            taken = random_class(found, case.counts, sizes, random)
            real = case.form.emd([Fraction(count, sum(taken)) for count in taken], reference)
            assert real <= found.distance(sizes) + found.bound
        quarter = random_class(four_times, 4 * case.counts, found.counts, random)
        assert four_times.distance(found.counts) == 0
        real = case.form.emd([Fraction(count, sum(quarter)) for count in quarter], reference)
        assert real <= found.bound


@for_seeds(60)
def test_a_matrix_is_bounded_too(seed: int) -> None:
    random = Random(seed)
    m = random.randint(1, 7)
    matrix = random_metric(m, random)
    counts = np.array([random.choice([0, 1, 3, 8]) for _ in range(m)])
    counts[random.randrange(m)] += 2
    t = Fraction(random.randint(0, 20), 20)
    found = bucketize(matrix, counts, t)
    assert found.bound < t or all(len(values) == 1 for values in members(found))
    reference = [Fraction(int(count), int(counts.sum())) for count in counts]
    for _ in range(5):
        sizes = np.array([random.randint(0, int(count)) for count in found.counts])
        if sizes.any():
            taken = random_class(found, counts, sizes, random)
            real = matrix.emd([Fraction(count, sum(taken)) for count in taken], reference)
            assert real <= found.distance(sizes) + found.bound


def test_a_split_that_does_not_lower_the_bound_is_made_nevertheless() -> None:
    """Complete linkage may join values whose parts cost no less than the whole."""
    costs = [
        [0, 5, 6, 5, 7, 7, 6], [5, 0, 5, 10, 5, 5, 6], [6, 5, 0, 5, 10, 9, 9], [5, 10, 5, 0, 5, 6, 6],
        [7, 5, 10, 5, 0, 7, 8], [7, 5, 9, 6, 7, 0, 6], [6, 6, 9, 6, 8, 6, 0],
    ]  # fmt: skip
    matrix, counts = Matrix(np.array(costs) / 10).form(7), np.array([200, 2000, 20, 2, 20, 2000, 20])
    for tenths in range(1, 10):
        assert bucketize(matrix, counts, Fraction(tenths, 10)).bound < Fraction(tenths, 10)


@pytest.mark.parametrize("fine", [1, 2**40 + 1])
def test_heights_of_a_matrix_are_never_rounded_down(fine: int) -> None:
    for seed in range(30):
        random = Random(seed)
        matrix = random_metric(6, random)
        matrix = Transport(matrix.costs * fine, matrix.denominator * fine)
        nodes = join_values(matrix, np.ones(6, np.int64))
        assert nodes.height <= UNITS
        leaves = {int(value): node for node, value in enumerate(nodes.values) if value >= 0}
        for i, j in combinations(range(6), 2):
            joint = max(ancestors(nodes.parents, leaves[i]) & ancestors(nodes.parents, leaves[j]))
            apart = Fraction(int(matrix.costs[i, j]), matrix.denominator)
            assert Fraction(int(nodes.heights[joint]), nodes.height) >= apart, seed


def ancestors(parents: NDArray[np.int64], node: int) -> set[int]:
    """A node and all above it, whose numbers are lower."""
    return {node} if node == 0 else {node} | ancestors(parents, int(parents[node]))


def test_u_must_stay_below_t() -> None:
    found = bucketize(Line(np.arange(4), 3), np.array([2, 3, 3, 2]), Fraction(1, 2))
    assert (members(found), found.bound) == ([[0, 1], [2, 3]], Fraction(1, 5))


def test_d_of_very_many_rows() -> None:
    """Rows times rows on both sides of 2^62, 2^63 and 2^64: shares are the same, and so is D."""
    table = bucketize(Line(np.arange(2), 1), np.array([1, 2**31]), Fraction(0))
    for rows in (2**20, 2**29, 2**30, 2**31, 3 * 2**30, 2**32, 2**33, 2**40):
        assert table.distance(np.array([rows, 0])) == Fraction(2**31, 2**31 + 1), rows


def test_example_4() -> None:
    assert bucketize(DISEASES, ROWS, Fraction(1)).bound == Fraction(8, 9)
    figure_3, figure_4 = bucketize(DISEASES, ROWS, Fraction("0.45")), bucketize(DISEASES, ROWS, Fraction("0.2"))
    assert (members(figure_3), figure_3.bound) == ([[0, 1, 2], [3, 4, 5]], Fraction(2, 9) + Fraction(1, 6))
    assert (members(figure_4), figure_4.bound) == ([[0], [1], [2], [3, 4, 5]], Fraction(1, 6))


def test_the_printed_bound_of_a_hierarchy_is_not_tight() -> None:
    """Example 4's root: 8/9, while no class is farther than 13/18."""
    assert bucketize(DISEASES, ROWS, Fraction(1), "largest").bound == Fraction(13, 18)
    reference = [Fraction(int(row), 18) for row in ROWS]
    alone = [DISEASES.emd([Fraction(int(i == j)) for j in range(6)], reference) for i in range(6)]
    assert max(alone) == Fraction(13, 18)


def test_example_5() -> None:
    salary, rows = Line(np.arange(4), 3), np.array([2, 3, 3, 2])
    assert bucketize(salary, rows, Fraction(1)).bound == Fraction(1, 2)
    found = bucketize(salary, rows, Fraction("0.25"))
    assert (members(found), found.bound) == ([[0, 1], [2, 3]], Fraction(1, 5))


def test_example_6() -> None:
    assert bucketize(DISEASES, ROWS, Fraction("0.45")).distance(np.array([3, 2])) == Fraction(2, 45)


@pytest.mark.parametrize("bound", ["printed", "largest"])
def test_t_0_gives_a_bucket_to_each_value(bound: BoundRule) -> None:
    for form in (DISEASES, Line(np.arange(6) * 10, 50)):
        found = bucketize(form, np.array([5, 0, 2, 4, 2, 2]), Fraction(0), bound)
        assert (members(found), found.bound) == ([[0], [2], [3], [4], [5]], Fraction(0))


def test_numbers_too_large_for_64_bits() -> None:
    wide = Line(np.array([0, 10**15, 3 * 10**15, 9 * 10**15]), 9 * 10**15)
    rows = np.array([10**7, 2 * 10**7, 10**6, 3 * 10**7])
    small = Line(np.array([0, 1, 3, 9]), 9)
    for t in (Fraction("0.9"), Fraction("0.3"), Fraction("0.1"), Fraction(0)):
        large, like = bucketize(wide, rows, t), bucketize(small, rows, t)
        assert (members(large), large.bound) == (members(like), like.bound)
        assert large.distance(like.counts // 3) == like.distance(like.counts // 3)


def test_100_000_values() -> None:
    rng = np.random.default_rng(1)
    line, rows = Line(np.sort(rng.choice(10**6, 100_000, replace=False)), 10**6), rng.integers(0, 30, 100_000)
    for t in ("0.2", "0.05", "0"):
        found = bucketize(line, rows, Fraction(t))
        assert found.bound < Fraction(t) or t == "0"
        assert found.counts.sum() == rows.sum()
