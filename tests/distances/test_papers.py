"""Every distance that the papers print, and every plan that they spell out.

001 is the tutorial on computing t-closeness, 004 is SABRE. Slips of the papers are
noted where they matter. All positions are 0-based, the papers count from 1.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import pytest

import tclose
from tclose.distances import Equal, Hierarchical, Matrix, Numeric, Ordered
from tclose.schema.hierarchy import Hierarchy
from tests.oracles.distance import (
    Ground,
    Move,
    check_plan,
    ground_equal,
    ground_hierarchical,
    ground_numeric,
    ground_ordered,
)
from tests.oracles.release import read_paths
from tests.shared_data import shared

NINTH = Fraction(1, 9)

Distance = Equal | Ordered | Numeric | Hierarchical | str


def both_ways(p: Sequence[int], q: Sequence[int], distance: Distance, ground: Ground) -> Fraction:
    """The distance by its formula, after checking that the plan costs the same."""
    exact = tclose.emd(p, q, distance)
    assert isinstance(exact, Fraction)
    plan = list(tclose.moves(p, q, distance))
    assert all(origin != target for origin, target, _ in plan)
    assert check_plan(plan, p, q, ground) == exact
    return exact


def ordered(p: Sequence[int], q: Sequence[int]) -> Fraction:
    return both_ways(p, q, "ordered", ground_ordered(len(p)))


def equal(p: Sequence[int], q: Sequence[int]) -> Fraction:
    return both_ways(p, q, "equal", ground_equal(len(p)))


def hierarchical(p: Sequence[int], q: Sequence[int], paths: Sequence[Sequence[str]]) -> Fraction:
    hierarchy = tclose.Hierarchy.from_paths(paths)
    assert hierarchy.leaves == tuple(path[0] for path in paths)
    return both_ways(p, q, Hierarchical(hierarchy), ground_hierarchical(paths))


def four_decimals(exact: Fraction) -> float:
    return round(float(exact), 4)


# 001, section 2.1: {14, 88} of {14, 27, 88, 101}

LABELS = [14, 27, 88, 101]
HALVES = [1, 0, 1, 0]
QUARTERS = [1, 1, 1, 1]


def test_section_2_by_definition() -> None:
    exact = ordered(HALVES, QUARTERS)
    assert exact == Fraction(1, 6)
    assert four_decimals(exact) == 0.1667  # equation (3)


def test_section_2_by_moves() -> None:
    quarter = Fraction(1, 4)
    plan = [(0, 1, quarter), (2, 3, quarter)]
    assert list(tclose.moves(HALVES, QUARTERS, "ordered")) == plan
    ground = ground_ordered(4)
    costs = [mass * ground[i][j] for i, j, mass in plan]
    assert [four_decimals(cost) for cost in costs] == [0.0833, 0.0833]  # (7), (8)
    assert sum(costs) == tclose.emd(HALVES, QUARTERS, "ordered")


def test_section_2_by_name() -> None:
    p, q = {14: 1, 88: 1}, dict.fromkeys(LABELS, 1)
    quarter = Fraction(1, 4)
    distance = Ordered(order=LABELS)
    assert tclose.emd(p, q, distance) == Fraction(1, 6)
    plan = list(tclose.moves(p, q, distance))
    assert plan == [(14, 27, quarter), (88, 101, quarter)]


def test_section_2_with_numbers_as_numbers() -> None:
    # The paper takes them as labels. As numbers the gaps 13, 61, 13 would count:
    # a quarter crosses the two gaps of 13, of a range of 87.
    found = both_ways(HALVES, QUARTERS, Numeric(LABELS), ground_numeric(LABELS))
    assert found == Fraction(2 * 13, 4 * 87)


# 001, section 2.2: the incidents of Table 2, in the order of Q'_2

INCIDENTS = [5, 1, 2, 1, 3, 1, 1]
INCIDENT_CLASSES = {
    "2C": ([3, 0, 0, 0, 0, 0, 0], Fraction(9, 14), 0.6429),
    "4F": ([0, 1, 2, 1, 0, 0, 0], Fraction(5, 7), 0.7143),
    "9A": ([1, 0, 0, 0, 1, 0, 0], Fraction(3, 7), 0.4286),
    "3B": ([1, 0, 0, 0, 2, 1, 1], Fraction(31, 70), 0.4429),
}


@pytest.mark.parametrize("zone", INCIDENT_CLASSES)
def test_incidents(zone: str) -> None:
    counts, exact, printed = INCIDENT_CLASSES[zone]
    assert equal(counts, INCIDENTS) == exact
    assert both_ways(counts, INCIDENTS, Equal(), ground_equal(7)) == exact
    assert four_decimals(exact) == printed


def test_incident_table() -> None:
    classes = [counts for counts, _, _ in INCIDENT_CLASSES.values()]
    assert [sum(column) for column in zip(*classes, strict=True)] == INCIDENTS
    t = max(equal(counts, INCIDENTS) for counts in classes)
    assert four_decimals(t) == 0.7143


# 001, section 3: the salaries 3k to 11k of Table 3

SALARIES = [1] * 9
SALARY_CLASSES = [
    ([1, 1, 1, 0, 0, 0, 0, 0, 0], Fraction(3, 8), 0.375),
    ([0, 0, 0, 1, 0, 1, 0, 0, 1], Fraction(1, 6), 0.1667),
    ([0, 0, 0, 0, 1, 0, 1, 1, 0], Fraction(17, 72), 0.2361),
]
FIRST = SALARY_CLASSES[0][0]

# B_1 to B_6 of section 3.2.
PLAN_B = [
    (0, 3, NINTH),
    (0, 4, NINTH),
    (1, 5, NINTH),
    (1, 6, NINTH),
    (2, 7, NINTH),
    (2, 8, NINTH),
]

# Equations (15) and (16) empty a pile and fill it again from its neighbour; that costs
# the same as leaving the mass where it is, since the way is made in the same direction.
EQUATION_15 = [(3, 0), (3, 1), (3, 2), (5, 3), (5, 4), (8, 6), (8, 7)]
EQUATION_16 = [(4, 0), (4, 1), (4, 2), (6, 3), (6, 4), (6, 5), (7, 6), (7, 8)]


@pytest.mark.parametrize(("counts", "exact", "printed"), SALARY_CLASSES)
def test_salary(counts: list[int], exact: Fraction, printed: float) -> None:
    assert ordered(counts, SALARIES) == exact
    assert four_decimals(exact) == printed
    # Evenly spaced values: their ranks and their numbers give the same distance.
    thousands = range(3, 12)
    numeric = both_ways(counts, SALARIES, Numeric(thousands), ground_numeric(thousands))
    assert numeric == exact


def test_salary_table() -> None:
    t = max(ordered(counts, SALARIES) for counts, _, _ in SALARY_CLASSES)
    assert t == Fraction(3, 8)


def test_salary_actions_of_equation_12() -> None:
    # A_1 to A_8: what our plan carries across each gap between neighbours.
    plan = list(tclose.moves(FIRST, SALARIES, "ordered"))
    carried = [sum(mass for i, j, mass in plan if i <= gap < j) for gap in range(8)]
    assert carried == [NINTH * ninths for ninths in (2, 4, 6, 5, 4, 3, 2, 1)]
    assert sum(carried) / 8 == tclose.emd(FIRST, SALARIES, "ordered")


def test_salary_plan_is_that_of_section_3_2() -> None:
    assert list(tclose.moves(FIRST, SALARIES, "ordered")) == PLAN_B
    assert check_plan(PLAN_B, FIRST, SALARIES, ground_ordered(9)) == Fraction(3, 8)


def test_salary_plan_by_name() -> None:
    names = [f"{thousands}k" for thousands in range(3, 12)]
    p, q = {"3k": 1, "4k": 1, "5k": 1}, dict.fromkeys(names, 1)
    named = [(names[i], names[j], mass) for i, j, mass in PLAN_B]
    assert list(tclose.moves(p, q, Ordered(order=names))) == named


@pytest.mark.parametrize(("place", "steps"), [(1, EQUATION_15), (2, EQUATION_16)])
def test_salary_moves_as_printed(place: int, steps: list[tuple[int, int]]) -> None:
    counts, exact, _ = SALARY_CLASSES[place]
    plan = [(i, j, NINTH) for i, j in steps]
    assert check_plan(plan, counts, SALARIES, ground_ordered(9)) == exact
    assert tclose.emd(counts, SALARIES, "ordered") == exact


# 001, section 4: merit points 3, 4, 1, 2
#
# The paper says "m = 10 elements" and then, rightly, divides by 4 - 1: m is the number
# of distinct values. Section 2.1.2 asks for ascending order of frequency, section 4
# takes descending order; the direction does not matter, but that it is frequency and
# not the values' own order does: the second test has the numbers for 1, 2, 3, 4.

MERITS = [4, 3, 2, 1]
MERIT_CLASSES = [
    ([0, 1, 1, 1], Fraction(1, 3), 0.3333),
    ([1, 0, 0, 0], Fraction(1, 3), 0.3333),
    ([2, 1, 1, 0], Fraction(1, 12), 0.0833),
    ([1, 1, 0, 0], Fraction(1, 6), 0.1667),
]
NATURAL_MERITS = [2, 1, 4, 3]
NATURAL_MERIT_CLASSES = [
    ([1, 1, 0, 1], Fraction(8, 45)),
    ([0, 0, 1, 0], Fraction(4, 15)),
    ([1, 0, 2, 1], Fraction(1, 20)),
    ([0, 0, 1, 1], Fraction(7, 30)),
]


@pytest.mark.parametrize(("counts", "exact", "printed"), MERIT_CLASSES)
def test_merit_points(counts: list[int], exact: Fraction, printed: float) -> None:
    assert ordered(counts, MERITS) == exact
    assert ordered(counts[::-1], MERITS[::-1]) == exact
    assert four_decimals(exact) == printed


def test_merit_table() -> None:
    t = max(ordered(counts, MERITS) for counts, _, _ in MERIT_CLASSES)
    assert four_decimals(t) == 0.3333


@pytest.mark.parametrize(("counts", "exact"), NATURAL_MERIT_CLASSES)
def test_merit_points_in_natural_order(counts: list[int], exact: Fraction) -> None:
    assert ordered(counts, NATURAL_MERITS) == exact
    points = [1, 2, 3, 4]
    p, q = dict(zip(points, counts, strict=True)), {3: 4, 4: 3, 1: 2, 2: 1}
    assert tclose.emd(p, q, Ordered(order=points)) == exact


def test_merit_moves_of_section_4_2() -> None:
    # C_1 to C_3. The remainder after C_2 is printed as p_2; it is that of p_3.
    counts = MERIT_CLASSES[0][0]
    printed: list[Move] = [
        (1, 0, Fraction(1, 30)),
        (2, 0, Fraction(4, 30)),
        (3, 0, Fraction(7, 30)),
    ]
    cost = check_plan(printed, counts, MERITS, ground_ordered(4))
    assert cost == ordered(counts, MERITS) == Fraction(1, 3)


# 001, section 5: the diseases of Table 3, in the order of Q_5

DISEASES = [1, 2, 2, 1, 2, 1]
DISEASE_CLASSES = [[1, 1, 1, 0, 0, 0], [0, 1, 0, 1, 1, 0], [0, 0, 1, 0, 1, 1]]


@pytest.mark.parametrize("counts", DISEASE_CLASSES)
def test_disease(counts: list[int]) -> None:
    exact = equal(counts, DISEASES)
    assert exact == Fraction(4, 9)
    assert four_decimals(exact) == 0.4444


# 001, section 6: the linear algorithm. Its text gives the naive cost as
# O(m (1 + 2 + ... + m)) = O(m^2); the sum alone is O(m^2), and is the whole cost.


def test_algorithm_1_divides_by_one_less_than_m() -> None:
    # "m != 1" is the algorithm's own condition; one value is at distance 0.
    assert tclose.emd([3], [7], "ordered") == 0
    assert list(tclose.moves([3], [7], "ordered")) == []


# The same through a cost matrix


@pytest.mark.parametrize(
    ("counts", "table", "ground", "exact"),
    [
        (FIRST, SALARIES, ground_ordered(9), Fraction(3, 8)),
        ([0, 1, 2, 1, 0, 0, 0], INCIDENTS, ground_equal(7), Fraction(5, 7)),
        ([0, 1, 1, 1], MERITS, ground_ordered(4), Fraction(1, 3)),
    ],
)
def test_matrix(counts: list[int], table: list[int], ground: Ground, exact: Fraction) -> None:
    assert tclose.emd(counts, table, Matrix(ground)) == exact


# 004: Fig. 1, leaves in the order of example 4. Example 2 numbers the digestive ones
# differently (intestinal cancer, gastric flu, gastric ulcer); the vectors of examples
# 3, 4 and 6 need the order taken here.

FIGURE_1 = [
    ("SARS", "respiratory diseases", "respiratory and digestive diseases"),
    ("pneumonia", "respiratory diseases", "respiratory and digestive diseases"),
    ("bronchitis", "respiratory diseases", "respiratory and digestive diseases"),
    ("gastric flu", "digestive diseases", "respiratory and digestive diseases"),
    ("gastric ulcer", "digestive diseases", "respiratory and digestive diseases"),
    ("intestinal cancer", "digestive diseases", "respiratory and digestive diseases"),
]
EXAMPLE_4 = [5, 3, 2, 4, 2, 2]


def test_sabre_example_1() -> None:
    # The text derives cost(R) = 0 from "neg_e(RD) = 0"; neg_e(R) = 0 is meant.
    assert hierarchical([1, 1, 1, 0, 0, 0], [1] * 6, FIGURE_1) == Fraction(1, 2)


@pytest.mark.parametrize("places", list(product(range(3), range(3, 6))))
def test_sabre_example_2(places: tuple[int, int]) -> None:
    # One respiratory and one digestive row: "1/3-close", and exactly that.
    counts = [int(place in places) for place in range(6)]
    assert hierarchical(counts, [1] * 6, FIGURE_1) == Fraction(1, 3)


def test_sabre_scenario_of_section_4_2() -> None:
    # 1/2 * 2/18 among the respiratory, 1/2 * 4/18 among the digestive diseases.
    assert hierarchical([4, 2, 4, 0, 4, 4], EXAMPLE_4, FIGURE_1) == Fraction(1, 6)


def test_sabre_example_3() -> None:
    # Section 3.1 gives 2/9 + 1/6 = 7/18 for ten bronchitis and eight gastric ulcer:
    # the stated upper bound is reached, not only kept.
    worst = [0, 0, 10, 0, 8, 0]
    assert hierarchical(worst, EXAMPLE_4, FIGURE_1) == Fraction(7, 18)
    swapped = [0, 0, 10, 0, 0, 8]  # "or intestinal cancer"
    assert hierarchical(swapped, EXAMPLE_4, FIGURE_1) == Fraction(7, 18)


def test_sabre_example_3_by_moves() -> None:
    # The only optimal plan; 2/18 stays with each of the two, at no cost.
    leaves = [path[0] for path in FIGURE_1]
    hierarchy = tclose.Hierarchy.from_paths(FIGURE_1)
    worst = {"bronchitis": 10, "gastric ulcer": 8}
    table = dict(zip(leaves, EXAMPLE_4, strict=True))
    plan = tclose.moves(worst, table, Hierarchical(hierarchy))
    assert sorted(plan) == [
        ("bronchitis", "SARS", Fraction(5, 18)),
        ("bronchitis", "pneumonia", Fraction(3, 18)),
        ("gastric ulcer", "gastric flu", Fraction(4, 18)),
        ("gastric ulcer", "intestinal cancer", Fraction(2, 18)),
    ]


def test_sabre_bounds_of_example_5() -> None:
    # All rows of one value: the bound of the root, reached from either end.
    salaries = [2, 3, 3, 2]
    assert ordered([1, 0, 0, 0], salaries) == Fraction(1, 2)
    assert ordered([0, 0, 0, 1], salaries) == Fraction(1, 2)


@pytest.mark.parametrize(
    ("counts", "exact"),
    [
        ([5, 4], Fraction(0)),
        ([3, 2], Fraction(2, 45)),
        ([2, 2], Fraction(1, 18)),
        ([2, 1], Fraction(1, 9)),
    ],
)
def test_sabre_buckets_of_examples_6_and_7(counts: list[int], exact: Fraction) -> None:
    assert equal(counts, [10, 8]) == exact


def test_sabre_example_6() -> None:
    counts = [3, 0, 0, 2, 0, 0]
    # R: min(29, 25) / 90 / 2; D: min(16, 20) / 90 / 2; root: 4 / 90.
    found = hierarchical(counts, EXAMPLE_4, FIGURE_1)
    assert found == Fraction(49, 180)
    assert found <= Fraction(2, 45) + Fraction(7, 18)  # theorem 4
    # From Q to each of the three Q' costs 2/45.
    for rest in ([20, 0, 0], [18, 2, 0], [18, 0, 2]):
        assert hierarchical(counts, [25, 0, 0, *rest], FIGURE_1) == Fraction(2, 45)


# The disease hierarchy of the nine-row table: three levels above the leaves. The level
# above "respiratory infection" is labelled as in the ARX file.

STOMACH = ("stomach disease", "digestive system disease")
LUNG = ("respiratory infection", "vascular lung disease")
ROOT = "respiratory&digestive disease"
DISEASE_PATHS = [
    ("gastric ulcer", *STOMACH, ROOT),
    ("gastritis", *STOMACH, ROOT),
    ("flu", *LUNG, ROOT),
    ("bronchitis", *LUNG, ROOT),
    ("pneumonia", *LUNG, ROOT),
    ("stomach cancer", *STOMACH, ROOT),
]
DISEASE_TABLE = {
    "gastric ulcer": 1,
    "gastritis": 2,
    "stomach cancer": 2,
    "flu": 1,
    "bronchitis": 2,
    "pneumonia": 1,
}
# By hand, in ninths; the height of the root is 3, that of the two lowest nodes 1, and
# the two between have one child each, so they cost nothing.
DISEASE_DISTANCES = [
    # All extra earth is digestive: 4 to the other side.
    (["gastric ulcer", "gastritis", "stomach cancer"], Fraction(4, 9)),
    # Digestive -1 +1 -2, respiratory +2 +1 -1: 1/3 + 1/3 within, 2 across.
    (["gastritis", "flu", "bronchitis"], Fraction(8, 27)),
    # Digestive -1 -2 +1, respiratory -1 +1 +2: the same.
    (["bronchitis", "pneumonia", "stomach cancer"], Fraction(8, 27)),
]


def test_leaves_are_in_pre_order() -> None:
    hierarchy = tclose.Hierarchy.from_paths(DISEASE_PATHS)
    assert hierarchy.leaves == tuple(DISEASE_TABLE)


@pytest.mark.parametrize(("diseases", "exact"), DISEASE_DISTANCES)
def test_disease_hierarchy(diseases: list[str], exact: Fraction) -> None:
    hierarchy = tclose.Hierarchy.from_paths(DISEASE_PATHS)
    distance = Hierarchical(hierarchy)
    assert tclose.emd(dict.fromkeys(diseases, 1), DISEASE_TABLE, distance) == exact
    # The same by position, and by moves.
    counts = [int(leaf in diseases) for leaf in hierarchy.leaves]
    paths = sorted(DISEASE_PATHS, key=lambda path: hierarchy.leaves.index(path[0]))
    table = [DISEASE_TABLE[leaf] for leaf in hierarchy.leaves]
    assert both_ways(counts, table, distance, ground_hierarchical(paths)) == exact


def test_disease_hierarchy_file() -> None:
    assert read_paths(shared("hierarchies/tcloseness_example/Disease.csv")) == DISEASE_PATHS


def test_003_table_4() -> None:
    """0.33-close by a hierarchy of height 2; by the equal distance its third class is not."""
    lungs, bowels = ["pneumonia", "flu", "bronchitis"], ["colon cancer", "colitis", "stomach cancer"]
    table = {"pneumonia": 3, "flu": 1, "bronchitis": 1, "colon cancer": 2, "colitis": 1, "stomach cancer": 1}
    classes = [
        dict.fromkeys(("pneumonia", "colon cancer", "colitis"), 1),
        dict.fromkeys(("pneumonia", "bronchitis", "colon cancer"), 1),
        dict.fromkeys(("pneumonia", "flu", "stomach cancer"), 1),
    ]
    tree = Hierarchical(Hierarchy.from_nested({"lungs": lungs, "bowels": bowels}))
    assert [tclose.emd(each, table, tree) for each in classes] == [Fraction(5, 18), Fraction(2, 9), Fraction(5, 18)]
    assert [tclose.emd(each, table, "equal") for each in classes] == [3 * NINTH, 3 * NINTH, 4 * NINTH]
