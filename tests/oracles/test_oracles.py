"""The oracles against each other, against hand-made cases, and against the papers."""

import gzip
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import log
from pathlib import Path
from random import Random

import pytest

from tests.oracles.distance import (
    Ground,
    Move,
    check_plan,
    emd_equal,
    emd_hierarchical,
    emd_numeric,
    emd_ordered,
    ground_equal,
    ground_hierarchical,
    ground_numeric,
    ground_ordered,
    node_heights,
    normalise,
    transport,
)
from tests.oracles.diversity import (
    distinct,
    entropy,
    entropy_at_least,
    frequency,
    recursive_holds,
)
from tests.oracles.release import (
    Column,
    Spec,
    check_release,
    loss,
    read_paths,
    read_rows,
)

CASES = range(700)

# 004, Fig. 1, in the order of example 4.
DISEASES = [
    ("SARS", "respiratory", "*"),
    ("pneumonia", "respiratory", "*"),
    ("bronchitis", "respiratory", "*"),
    ("gastric flu", "digestive", "*"),
    ("gastric ulcer", "digestive", "*"),
    ("intestinal cancer", "digestive", "*"),
]

# Three levels on one side, one on the other.
#
#         *  (height 3)
#       /   \
#      a     x
#     / \
#    b   y
#   / \
#  u   v
UNEVEN = [("u", "b", "a", "*"), ("v", "b", "a", "*"), ("y", "a", "*"), ("x", "*")]


def random_masses(random: Random, m: int) -> list[int]:
    while True:
        masses = [random.choice([0, 0, 1, 2, random.randrange(20)]) for _ in range(m)]
        if any(masses):
            return masses


def random_paths(random: Random) -> list[tuple[str, ...]]:
    """A tree of uneven depth: grow it from the root by splitting random leaves."""
    paths: list[tuple[str, ...]] = [("*",)]
    for step in range(random.randrange(5)):
        split = paths.pop(random.randrange(len(paths)))
        # The first child keeps its parent's label: labels repeat across levels.
        paths.extend((f"{step}.{child}" if child else split[0], *split) for child in range(random.randrange(1, 4)))
    random.shuffle(paths)
    return paths


def with_unique_leaves(paths: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [(f"leaf {i}", *path) for i, path in enumerate(paths)]


def pair(random: Random, m: int) -> tuple[list[int], list[int]]:
    return random_masses(random, m), random_masses(random, m)


def greedy_moves(p: Sequence[int | Fraction], q: Sequence[int | Fraction]) -> list[Move]:
    """Surplus to deficit, both from the left; optimal on a line."""
    rest = [a - b for a, b in zip(normalise(p), normalise(q), strict=True)]
    moves: list[Move] = []
    while any(rest):
        origin = next(i for i, mass in enumerate(rest) if mass > 0)
        target = next(i for i, mass in enumerate(rest) if mass < 0)
        mass = min(rest[origin], -rest[target])
        rest[origin] -= mass
        rest[target] += mass
        moves.append((origin, target, mass))
    return moves


# Formulas against the definition


def agrees(exact: Fraction, p: Sequence[int], q: Sequence[int], ground: Ground) -> None:
    assert 0 <= exact <= 1
    assert float(exact) == pytest.approx(transport(p, q, ground), abs=1e-9)


@pytest.mark.slow
def test_ordered_is_the_transport_cost() -> None:
    random = Random(1)
    for _ in CASES:
        p, q = pair(random, random.randrange(1, 9))
        exact = emd_ordered(p, q)
        ground = ground_ordered(len(p))
        agrees(exact, p, q, ground)
        assert check_plan(greedy_moves(p, q), p, q, ground) == exact


@pytest.mark.slow
def test_equal_is_the_transport_cost() -> None:
    random = Random(2)
    for _ in CASES:
        p, q = pair(random, random.randrange(1, 9))
        exact = emd_equal(p, q)
        ground = ground_equal(len(p))
        agrees(exact, p, q, ground)
        assert check_plan(greedy_moves(p, q), p, q, ground) == exact


@pytest.mark.slow
def test_numeric_is_the_transport_cost() -> None:
    random = Random(3)
    for _ in CASES:
        m = random.randrange(1, 9)
        p, q = pair(random, m)
        values = [Decimal(random.randrange(-50, 50)) / 10 for _ in range(m)]
        agrees(emd_numeric(p, q, values), p, q, ground_numeric(values))


@pytest.mark.slow
def test_hierarchical_is_the_transport_cost() -> None:
    random = Random(4)
    for _ in CASES:
        paths = random_paths(random)
        p, q = pair(random, len(paths))
        exact = emd_hierarchical(p, q, paths)
        agrees(exact, p, q, ground_hierarchical(paths))


@pytest.mark.parametrize("seed", range(5))
def test_distances_are_metrics_and_convex(seed: int) -> None:
    random = Random(seed)
    paths = with_unique_leaves(random_paths(random))
    m = len(paths)
    values = [random.randrange(100) for _ in range(m)]
    distances: list[Callable[[Sequence[int | Fraction], Sequence[int | Fraction]], Fraction]] = [
        emd_ordered,
        emd_equal,
        lambda p, q: emd_numeric(p, q, values),
        lambda p, q: emd_hierarchical(p, q, paths),
    ]
    for distance, _ in product(distances, range(20)):
        (p, q), r = pair(random, m), random_masses(random, m)
        assert distance(p, p) == 0
        assert distance(p, q) == distance(q, p)
        assert distance(p, q) <= distance(p, r) + distance(r, q)
        both = [a + b for a, b in zip(p, q, strict=True)]
        assert distance(both, r) <= max(distance(p, r), distance(q, r))


def test_special_cases_meet() -> None:
    random = Random(6)
    for _ in CASES:
        m = random.randrange(1, 7)
        p, q = pair(random, m)
        flat = [(str(i), "*") for i in range(m)]
        assert emd_hierarchical(p, q, flat) == emd_equal(p, q)
        assert emd_numeric(p, q, range(m)) == emd_ordered(p, q)
        if m == 2:
            assert emd_ordered(p, q) == emd_equal(p, q)


def test_counts_and_masses_are_the_same() -> None:
    assert emd_ordered([3, 0, 3], [1, 1, 1]) == emd_ordered(
        [Fraction(1, 2), Fraction(0), Fraction(1, 2)], [Fraction(1, 3)] * 3
    )


# Grounds and trees by hand


def test_single_values_are_at_distance_zero() -> None:
    assert ground_ordered(1) == ground_equal(1) == [[0]]
    assert ground_numeric([7]) == [[0]]
    assert ground_numeric([7, 7]) == [[0, 0], [0, 0]]
    assert ground_hierarchical([("*",)]) == [[0]]
    assert emd_ordered([3], [5]) == emd_equal([3], [5]) == 0
    assert emd_numeric([3, 1], [5, 9], [7, 7]) == 0
    assert emd_hierarchical([3], [5], [("*",)]) == 0
    # One leaf below a root is still a single value.
    assert emd_hierarchical([3], [5], [("a", "*")]) == 0


def test_heights_of_an_uneven_tree() -> None:
    assert node_heights(UNEVEN) == {
        (0, "*"): 3,
        (1, "a"): 2,
        (1, "x"): 0,
        (2, "b"): 1,
        (2, "y"): 0,
        (3, "u"): 0,
        (3, "v"): 0,
    }
    third, two, one = Fraction(1, 3), Fraction(2, 3), Fraction(1)
    assert ground_hierarchical(UNEVEN) == [
        [0, third, two, one],
        [third, 0, two, one],
        [two, two, 0, one],
        [one, one, one, 0],
    ]


def test_emd_of_an_uneven_tree() -> None:
    # u sends 1/4 to each of the others: (1/3 + 2/3 + 1) / 4.
    assert emd_hierarchical([1, 0, 0, 0], [1, 1, 1, 1], UNEVEN) == Fraction(1, 2)
    # Half of y to u at 2/3, half of x to v at 1; y is no further than u from v.
    assert emd_hierarchical([0, 0, 1, 1], [1, 1, 0, 0], UNEVEN) == Fraction(5, 6)


def test_labels_may_repeat_across_levels() -> None:
    paths = [("a", "a", "*"), ("b", "a", "*"), ("*", "*", "*")]
    assert node_heights(paths)[(1, "a")] == 1
    assert ground_hierarchical(paths)[0] == [0, Fraction(1, 2), 1]


@pytest.mark.parametrize(
    "paths",
    [
        [("a", "x", "*"), ("a", "y", "*")],  # two parents
        [("a", "*"), ("b", "a", "*")],  # a leaf with a child
        [("a", "*"), ("a", "*")],  # twice the same leaf
        [("a", "*"), ("b", "+")],  # two roots
    ],
)
def test_broken_trees_are_refused(paths: list[tuple[str, ...]]) -> None:
    with pytest.raises(AssertionError):
        ground_hierarchical(paths)


def test_check_plan_refuses_wrong_plans() -> None:
    p, q, ground = [1, 1, 0], [1, 1, 1], ground_ordered(3)
    good = [(0, 2, Fraction(1, 6)), (1, 2, Fraction(1, 6))]
    assert check_plan(good, p, q, ground) == emd_ordered(p, q) == Fraction(1, 4)
    bad: list[list[Move]] = [
        good[:1],
        [*good, (0, 1, Fraction(0))],
        [(0, 2, Fraction(1, 3))],
        [(0, 2, Fraction(1, 2)), (2, 1, Fraction(1, 6))],
        [*good, (0, 3, Fraction(1, 9))],
    ]
    for moves in bad:
        with pytest.raises(AssertionError):
            check_plan(moves, p, q, ground)


# 001


def test_001_section_2() -> None:
    p, q = [1, 0, 1, 0], [1, 1, 1, 1]
    assert emd_ordered(p, q) == Fraction(1, 6)
    moves = [(0, 1, Fraction(1, 4)), (2, 3, Fraction(1, 4))]
    assert check_plan(moves, p, q, ground_ordered(4)) == Fraction(1, 6)


INCIDENTS = [5, 1, 2, 1, 3, 1, 1]
INCIDENT_CLASSES = [
    ([3, 0, 0, 0, 0, 0, 0], Fraction(9, 14), 0.6429),
    ([0, 1, 2, 1, 0, 0, 0], Fraction(5, 7), 0.7143),
    ([1, 0, 0, 0, 1, 0, 0], Fraction(3, 7), 0.4286),
    ([1, 0, 0, 0, 2, 1, 1], Fraction(31, 70), 0.4429),
]


@pytest.mark.parametrize(("p", "exact", "printed"), INCIDENT_CLASSES)
def test_001_incidents(p: list[int], exact: Fraction, printed: float) -> None:
    assert emd_equal(p, INCIDENTS) == exact
    assert round(float(exact), 4) == printed


def test_001_salary() -> None:
    table = [1] * 9
    first = [1, 1, 1, 0, 0, 0, 0, 0, 0]
    assert emd_ordered(first, table) == Fraction(3, 8)
    assert emd_ordered([0, 0, 0, 1, 0, 1, 0, 0, 1], table) == Fraction(1, 6)
    assert emd_ordered([0, 0, 0, 0, 1, 0, 1, 1, 0], table) == Fraction(17, 72)
    steps = [(0, 3), (0, 4), (1, 5), (1, 6), (2, 7), (2, 8)]
    moves = [(i, j, Fraction(1, 9)) for i, j in steps]
    assert check_plan(moves, first, table, ground_ordered(9)) == Fraction(3, 8)


def test_001_merit_points() -> None:
    # Section 4 counts m = 10 elements; equation (17) rightly divides by 4 - 1.
    table = [4, 3, 2, 1]
    classes = [[0, 1, 1, 1], [1, 0, 0, 0], [2, 1, 1, 0], [1, 1, 0, 0]]
    found = [emd_ordered(p, table) for p in classes]
    assert found == [Fraction(1, 3), Fraction(1, 3), Fraction(1, 12), Fraction(1, 6)]
    moves = [(1, 0, Fraction(1, 30)), (2, 0, Fraction(4, 30)), (3, 0, Fraction(7, 30))]
    assert check_plan(moves, classes[0], table, ground_ordered(4)) == Fraction(1, 3)


def test_001_merit_points_in_natural_order() -> None:
    table = [2, 1, 4, 3]
    classes = [[1, 1, 0, 1], [0, 0, 1, 0], [1, 0, 2, 1], [0, 0, 1, 1]]
    found = [emd_ordered(p, table) for p in classes]
    assert found == [Fraction(8, 45), Fraction(4, 15), Fraction(1, 20), Fraction(7, 30)]


def test_001_disease() -> None:
    table = [1, 2, 2, 1, 2, 1]
    classes = [[1, 1, 1, 0, 0, 0], [0, 1, 0, 1, 1, 0], [0, 0, 1, 0, 1, 1]]
    assert [emd_equal(p, table) for p in classes] == [Fraction(4, 9)] * 3


# 004 and 003

EXAMPLE_4 = [5, 3, 2, 4, 2, 2]


def test_004_example_1() -> None:
    assert emd_hierarchical([1, 1, 1, 0, 0, 0], [1] * 6, DISEASES) == Fraction(1, 2)


def test_004_example_2_is_a_third_close() -> None:
    for i, j in product(range(3), range(3, 6)):
        p = [int(place in (i, j)) for place in range(6)]
        assert emd_hierarchical(p, [1] * 6, DISEASES) == Fraction(1, 3)


def test_004_section_4_2_scenario() -> None:
    assert emd_hierarchical([4, 2, 4, 0, 4, 4], EXAMPLE_4, DISEASES) == Fraction(1, 6)


def test_004_example_3_reaches_its_bound() -> None:
    worst = [0, 0, 10, 0, 8, 0]
    assert emd_hierarchical(worst, EXAMPLE_4, DISEASES) == Fraction(7, 18)
    moves = [
        (2, 0, Fraction(5, 18)),
        (2, 1, Fraction(3, 18)),
        (4, 3, Fraction(4, 18)),
        (4, 5, Fraction(2, 18)),
    ]
    ground = ground_hierarchical(DISEASES)
    assert check_plan(moves, worst, EXAMPLE_4, ground) == Fraction(7, 18)


def test_003_children_are_direct_children() -> None:
    # 003 section 2.1 calls child(n) "all leaf nodes below node n". So read, the root of
    # 004's example 3 alone costs 14/18 on top of 7/18: more than 1, so no distance.
    extras = [a - b for a, b in zip(normalise([0, 0, 10, 0, 8, 0]), normalise(EXAMPLE_4), strict=True)]
    root = min(sum(e for e in extras if e > 0), sum(-e for e in extras if e < 0))
    assert root + Fraction(7, 18) == Fraction(7, 6)


# Diversity


def test_diversity_of_one_class() -> None:
    values = ["fire", "theft", "fire", "accident"]
    assert distinct(values) == 3
    assert frequency(values) == 2
    assert entropy(values) == pytest.approx(2**1.5)
    assert entropy(["fire"] * 3) == frequency(["fire"] * 3) == 1


def test_entropy_is_decided_exactly() -> None:
    # m values of the same count have diversity m: no more, no less.
    for m, count in product(range(1, 8), range(1, 8)):
        assert entropy_at_least([count] * m, m)
        assert not entropy_at_least([count] * m, Fraction(m) + Fraction(1, 10**15))
    # (2, 1, 1): 4^4 >= l^4 * 2^2 <=> l^4 <= 64.
    assert entropy_at_least([2, 1, 1, 0], Fraction(28284271247461900, 10**16))
    assert not entropy_at_least([2, 1, 1], Fraction(28284271247461902, 10**16))


def test_entropy_tests_agree() -> None:
    random = Random(7)
    for _ in CASES:
        counts = random_masses(random, random.randrange(1, 7))
        values = [i for i, count in enumerate(counts) for _ in range(count)]
        wanted = Fraction(random.randrange(10, 60), 10)
        if abs(log(entropy(values)) - log(wanted)) > 1e-9:
            assert entropy_at_least(counts, wanted) == (entropy(values) >= wanted)


def test_recursive_diversity() -> None:
    counts = [2, 5, 0, 3]  # r = 5, 3, 2
    assert recursive_holds(counts, Fraction(51, 50), 2)
    assert not recursive_holds(counts, 1, 2)  # 5 < 5 fails
    assert recursive_holds(counts, 3, 3)
    assert not recursive_holds(counts, 100, 4)  # fewer than 4 values
    assert not recursive_holds([4], 1, 1)
    assert recursive_holds([4], Fraction(9, 8), 1)


# Releases

SALARY: Spec = {"distance": "ordered"}
EXAMPLE = [
    {"zip": zip_code, "age": age, "salary": salary, "disease": disease}
    for zip_code, age, salary, disease in [
        ("476**", "2*", "3", "gastric ulcer"),
        ("4790*", ">= 40", "6", "gastritis"),
        ("476**", "2*", "4", "gastritis"),
        ("476**", "3*", "7", "bronchitis"),
        ("4790*", ">= 40", "11", "flu"),
        ("476**", "2*", "5", "stomach cancer"),
        ("4790*", ">= 40", "8", "bronchitis"),
        ("476**", "3*", "9", "pneumonia"),
        ("476**", "3*", "10", "stomach cancer"),
    ]
]


def one_column(classes: Sequence[Sequence[str]]) -> list[dict[str, str]]:
    return [{"q": str(label), "s": text} for label, texts in enumerate(classes) for text in texts]


def t_of(classes: Sequence[Sequence[str]], spec: Spec, *missing: str) -> Fraction:
    rows = one_column(classes)
    return check_release(rows, ["q"], {"s": spec}, missing or ("",))["t"]["s"]


def test_release_of_001_table_3() -> None:
    kept = check_release(EXAMPLE, ["zip", "age"], {"salary": SALARY, "disease": {"distance": "equal"}})
    assert (kept["rows"], kept["classes"], kept["k"]) == (9, 3, 3)
    assert kept["t"] == {"salary": Fraction(3, 8), "disease": Fraction(4, 9)}
    assert kept["l"]["salary"]["distinct"] == 3
    assert kept["l"]["disease"]["frequency"] == 3
    assert kept["l"]["disease"]["entropy"] == pytest.approx(3)


def test_release_groups_by_the_columns_named() -> None:
    kept = check_release(EXAMPLE, ["zip"], {"salary": SALARY})
    assert (kept["classes"], kept["k"]) == (2, 3)
    # {3, 4, 5, 7, 9, 10}: half as far on the other side as {6, 8, 11}.
    assert kept["t"]["salary"] == Fraction(1, 6)


def test_release_of_001_table_2() -> None:
    classes = [
        ["power"] * 3,
        ["theft", "fire", "fatal", "fire"],
        ["sidewalk", "power"],
        ["pest", "power", "sidewalk", "tree", "sidewalk"],
    ]
    kept = check_release(one_column(classes), ["q"], {"s": {"distance": "equal"}})
    assert (kept["rows"], kept["classes"], kept["k"]) == (14, 4, 2)
    assert kept["t"]["s"] == Fraction(5, 7)
    assert kept["l"]["s"] == {"distinct": 1, "entropy": 1.0, "frequency": Fraction(1)}


def test_release_without_rows() -> None:
    kept = check_release([], ["q"], {"s": {"distance": "ordered"}})
    assert (kept["rows"], kept["classes"], kept["k"]) == (0, 0, 0)
    assert kept["t"]["s"] == 0


def test_order_declared_or_by_number() -> None:
    assert t_of([["9"], ["10"], ["100"]], {"distance": "ordered"}) == Fraction(1, 2)
    # As text 9 would come last; written 9.0 it is the same value.
    assert t_of([["10"], ["9", "9.0", "100"]], {"distance": "ordered"}) == Fraction(3, 8)
    # A declared order counts its unused values.
    order = ["low", "mid", "high", "never"]
    classes = [["low"], ["high"]]
    assert t_of(classes, {"distance": "ordered", "order": order}) == Fraction(1, 3)


def test_edges_count_empty_bins() -> None:
    spec: Spec = {"distance": "ordered", "edges": [10, 20, 30]}
    # An edge belongs to the bin above it; of four bins, 0 and 1 are used.
    assert t_of([["9.99"], ["10"]], spec) == Fraction(1, 6)
    assert t_of([["10"], ["19.5"]], spec) == 0
    assert t_of([["-5"], ["30"]], spec) == Fraction(1, 2)


def test_bins_of_equal_frequency() -> None:
    spec: Spec = {"distance": "ordered", "bins": 3}
    # First ranks 0, 2, 3, 5 of n = 6: raw bins 0, 1, 1, 2.
    assert t_of([["1", "1"], ["2", "3", "3"], ["9"]], spec) == t_of(
        [["1", "1"], ["2", "2", "2"], ["3"]], {"distance": "ordered"}
    )
    # Ranks 0, 5: raw bins 0 and 2, renumbered to 0 and 1, so m = 2.
    assert t_of([["1"] * 5, ["2"]], spec) == Fraction(5, 6)
    # Ranks 0, 4, 5 in six bins: raw 0, 4, 5, so the last is (4/6 + 5/6) / 2 away.
    six: Spec = {"distance": "ordered", "bins": 6}
    assert t_of([["1"] * 4, ["2"], ["3"]], six) == Fraction(3, 4)


def test_numeric_goes_by_value() -> None:
    spec: Spec = {"distance": "numeric"}
    assert t_of([["0", "0.5"], ["2"]], spec) == emd_numeric([0, 0, 1], [1, 1, 1], [0, Decimal("0.5"), 2])
    assert t_of([["7", "7.0"], ["7"]], spec) == 0
    assert t_of([["0"], ["1"]], {"distance": "numeric", "range": (0, 4)}) == Fraction(1, 8)
    with pytest.raises(ValueError, match="missing"):
        t_of([["0", ""], ["2"]], spec)


def test_missing_is_a_value() -> None:
    # It ranks last: as the first of three, 1 would be the middle and t 1/3.
    assert t_of([["1"], ["2", ""]], {"distance": "ordered"}) == Fraction(1, 2)
    assert t_of([["", ""], ["", ""]], {"distance": "ordered"}) == 0
    classes = [["", "?"], ["b", "b"]]
    assert t_of(classes, {"distance": "equal"}, "", "?") == Fraction(1, 2)
    ranked: Spec = {"distance": "ordered", "order": ["low", "high"]}
    assert t_of([["low"], ["high", ""]], ranked) == Fraction(1, 2)
    edges: Spec = {"distance": "ordered", "edges": [10]}
    assert t_of([["9"], ["11", ""]], edges) == Fraction(1, 2)
    # Without a missing value the domain has two values only.
    assert t_of([["low"], ["high"]], ranked) == Fraction(1, 2)


def test_missing_is_far_from_every_leaf() -> None:
    spec: Spec = {"distance": "hierarchical", "paths": UNEVEN}
    assert t_of([[""], ["u"]], spec) == Fraction(1, 2)
    assert t_of([["v"], ["u"]], spec) == Fraction(1, 6)
    # A spelling of missing wins over the leaf of that name.
    assert t_of([["v"], ["u"]], spec, "v") == Fraction(1, 2)


def test_release_agrees_with_the_distances() -> None:
    random = Random(8)
    for _ in range(200):
        paths = with_unique_leaves(random_paths(random))
        m = len(paths)
        leaves = [path[0] for path in paths]
        numbers = sorted(random.sample(range(-200, 200), m))
        values = [str(Decimal(number) / 8) for number in numbers]
        classes = [random_masses(random, m) for _ in range(random.randrange(1, 5))]
        classes.append([1] * m)  # every value occurs
        table = [sum(column) for column in zip(*classes, strict=True)]

        def spread(texts: Sequence[str], among: list[list[int]]) -> list[list[str]]:
            return [list(Counter(dict(zip(texts, counts, strict=True))).elements()) for counts in among]

        by_value, by_leaf = spread(values, classes), spread(leaves, classes)
        assert t_of(by_value, {"distance": "ordered"}) == max(emd_ordered(p, table) for p in classes)
        assert t_of(by_value, {"distance": "equal"}) == max(emd_equal(p, table) for p in classes)
        assert t_of(by_value, {"distance": "numeric"}) == max(emd_numeric(p, table, numbers) for p in classes)
        assert t_of(by_leaf, {"distance": "hierarchical", "paths": paths}) == max(
            emd_hierarchical(p, table, paths) for p in classes
        )


def test_release_diversity_agrees() -> None:
    random = Random(9)
    for _ in range(200):
        classes = [[random.choice("abcd") for _ in range(random.randrange(1, 9))] for _ in range(3)]
        kept = check_release(one_column(classes), ["q"], {"s": {"distance": "equal"}})
        found = kept["l"]["s"]
        assert found["distinct"] == min(map(distinct, classes))
        assert found["frequency"] == min(map(frequency, classes))
        assert found["entropy"] == pytest.approx(min(map(entropy, classes)))


# Loss


def test_loss_by_hand() -> None:
    rows = [
        {"age": age, "disease": disease}
        for age, disease in [
            ("20", "SARS"),
            ("30", "bronchitis"),
            ("40", "gastric flu"),
            ("60", "gastric flu"),
            ("45", "SARS"),
            ("45", "gastric ulcer"),
        ]
    ]
    columns: dict[str, Column] = {
        "age": ("numeric",),
        "disease": ("categorical", DISEASES),
    }
    # Classes: age 10/40, 20/40, 0; disease 3/6, 0, 6/6; two rows each of six.
    assert loss(rows, ["x", "x", "y", "y", "z", "z"], columns) == (
        Fraction(1, 3) * Fraction(1, 2) * (Fraction(1, 4) + Fraction(1, 2) + Fraction(1, 2) + Fraction(1))
    )
    assert loss(rows, range(6), columns) == 0
    assert loss(rows, [0] * 6, columns) == 1
    # The last two rows dropped: ranges and rows are those that remain.
    assert loss(rows, [0, 0, 1, 1, -1, -1], columns) == (
        Fraction(1, 2) * Fraction(1, 2) * (Fraction(1, 4) + Fraction(1, 2) + Fraction(1, 2))
    )


def test_loss_of_missing_and_of_lone_leaves() -> None:
    paths = [("a", "x", "*"), ("b", "y", "*"), ("c", "y", "*")]
    columns: dict[str, Column] = {"q": ("categorical", paths)}

    def of(*texts: str) -> Fraction:
        labels = [i // 2 for i in range(len(texts))]
        return loss([{"q": text} for text in texts], labels, columns)

    assert of("", "", "b", "b") == 0
    assert of("", "b", "b", "c") == Fraction(1, 2) * (1 + Fraction(2, 3))
    assert of("a", "a") == 0
    assert of("a", "b") == 1
    flat: dict[str, Column] = {"q": ("numeric",)}
    assert loss([{"q": "5"}, {"q": "5.0"}], [0, 0], flat) == 0
    assert loss([{"q": "5"}, {"q": ""}], [0, 0], flat) == 1


# Reading


def test_reading(tmp_path: Path) -> None:
    text = 'zip,note\n02139,"a, b"\n,\n'
    plain, packed = tmp_path / "a.csv", tmp_path / "a.csv.gz"
    plain.write_text(text, encoding="utf-8")
    packed.write_bytes(gzip.compress(text.encode()))
    expected = [{"zip": "02139", "note": "a, b"}, {"zip": "", "note": ""}]
    assert read_rows(plain) == read_rows(packed) == expected
    hierarchy = tmp_path / "h.csv"
    hierarchy.write_text("[0,5[;a;*\nb;*\n", encoding="utf-8")
    assert read_paths(hierarchy) == [("[0,5[", "a", "*"), ("b", "*")]
