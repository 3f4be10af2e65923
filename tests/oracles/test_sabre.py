"""The oracle of SABRE against the examples of 004 and against its theorems."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise, product
from random import Random

import pytest

from tests.oracles.sabre import (
    Bound,
    Bucket,
    Distance,
    Tree,
    bound_any,
    bound_printed_tree,
    bucket_cat,
    bucket_num,
    class_sizes,
    equal_tree,
    exact_transport,
    ground_matrix,
    halves,
    height,
    hilbert_key,
    key_gap,
    largest_ground,
    leaves,
    line_distance,
    lowest_common,
    normalise,
    occurring,
    split,
    squared_euclidean,
    take_out_is_nearest,
    transport,
    tree_distance,
)
from tests.seeds import for_seeds

# Figure 1: SARS, pneumonia, bronchitis; gastric flu, gastric ulcer, intestinal cancer.
DISEASE: Tree = ((0, 1, 2), (3, 4, 5))
RESPIRATORY, DIGESTIVE = [0, 1, 2], [3, 4, 5]
EXAMPLE_4 = [5, 3, 2, 4, 2, 2]
SALARY, EXAMPLE_5 = [1, 2, 3, 4], [2, 3, 3, 2]
Table = tuple[list[int], Distance, Fraction, list[Bucket], Fraction]


def printed(counts: Sequence[int], tree: Tree) -> Bound:
    """The bound as printed in theorem 2."""
    return lambda bucket: bound_printed_tree(counts, tree, bucket)


def tight(counts: Sequence[int], distance: Distance) -> Bound:
    """The bound of theorem 2 for numbers, on any distance."""
    return lambda bucket: bound_any(counts, distance, bucket)


def emd(p: Sequence[int], q: Sequence[int], distance: Distance) -> Fraction:
    """The Earth Mover's Distance of two lists of counts."""
    return exact_transport(p, q, ground_matrix(distance, len(p)))


# The paper's examples


def test_example_1() -> None:
    """EC 1 of table 2."""
    assert emd([2, 2, 2, 0, 0, 0], [1] * 6, tree_distance(DISEASE)) == Fraction(1, 2)


def test_example_2() -> None:
    """One row of each of two buckets."""
    for a, b in product(RESPIRATORY, DIGESTIVE):
        assert emd([int(v in (a, b)) for v in range(6)], [1] * 6, tree_distance(DISEASE)) == Fraction(1, 3)


def test_example_3() -> None:
    """The bounds of the two buckets, and a class that reaches them."""
    bounds = [bound_printed_tree(EXAMPLE_4, DISEASE, bucket) for bucket in (RESPIRATORY, DIGESTIVE)]
    assert bounds == [Fraction(2, 9), Fraction(1, 6)]
    assert sum(bounds) == Fraction(7, 18)
    assert bounds == [bound_any(EXAMPLE_4, tree_distance(DISEASE), bucket) for bucket in (RESPIRATORY, DIGESTIVE)]
    assert emd([0, 0, 10, 0, 8, 0], EXAMPLE_4, tree_distance(DISEASE)) == Fraction(7, 18)


@pytest.mark.parametrize(
    ("t", "buckets", "upper"),
    [
        (Fraction(1), [[*RESPIRATORY, *DIGESTIVE]], Fraction(8, 9)),
        (Fraction(45, 100), [RESPIRATORY, DIGESTIVE], Fraction(7, 18)),
        (Fraction(7, 18), [DIGESTIVE, [0], [1], [2]], Fraction(1, 6)),
        (Fraction(2, 10), [DIGESTIVE, [0], [1], [2]], Fraction(1, 6)),
        (Fraction(1, 6), [[0], [1], [2], [3], [4], [5]], Fraction(0)),
        (Fraction(0), [[0], [1], [2], [3], [4], [5]], Fraction(0)),
    ],
)
def test_example_4(t: Fraction, buckets: list[Bucket], upper: Fraction) -> None:
    """Figures 3 and 4, and what U < t means at U itself."""
    assert bucket_cat(DISEASE, EXAMPLE_4, t, printed(EXAMPLE_4, DISEASE)) == (buckets, upper)


def test_theorem_2_is_not_tight_above_the_lowest_inner_nodes() -> None:
    """The paper says that it is; 13/18 is the most that any class can reach."""
    distance = tree_distance(DISEASE)
    assert bound_printed_tree(EXAMPLE_4, DISEASE) == Fraction(8, 9)
    assert bound_any(EXAMPLE_4, distance) == Fraction(13, 18)
    assert max(emd([int(v == far) for v in range(6)], EXAMPLE_4, distance) for far in range(6)) == Fraction(13, 18)
    t = Fraction(3, 4)
    assert len(bucket_cat(DISEASE, EXAMPLE_4, t, tight(EXAMPLE_4, distance))[0]) == 1
    assert len(bucket_cat(DISEASE, EXAMPLE_4, t, printed(EXAMPLE_4, DISEASE))[0]) == 2


def test_example_5() -> None:
    """The root, the three split points, and figure 5b."""
    bound = tight(EXAMPLE_5, line_distance(SALARY, 3))
    assert bound([0, 1, 2, 3]) == Fraction(1, 2)
    sums = [bound([0, 1, 2, 3][:at]) + bound([0, 1, 2, 3][at:]) for at in (1, 2, 3)]
    assert sums == [Fraction(3, 10), Fraction(2, 10), Fraction(3, 10)]
    assert bucket_num(SALARY, EXAMPLE_5, Fraction(1, 4), 3) == ([[0, 1], [2, 3]], Fraction(1, 5))
    assert bucket_num(SALARY, EXAMPLE_5, Fraction(6, 10), 3) == ([[0, 1, 2, 3]], Fraction(1, 2))
    assert bucket_num(SALARY, EXAMPLE_5, Fraction(1, 5), 3) == ([[2, 3], [0], [1]], Fraction(1, 10))


def test_example_6() -> None:
    """D of a class of 3 and 2 rows."""
    ground = largest_ground([RESPIRATORY, DIGESTIVE], tree_distance(DISEASE))
    assert ground == [[0, 1], [1, 0]]
    assert exact_transport([3, 2], [10, 8], ground) == Fraction(2, 45)


def test_example_7() -> None:
    """Figure 6, and the same with larger k and with no room above U."""
    ground = largest_ground([RESPIRATORY, DIGESTIVE], tree_distance(DISEASE))
    upper, t = Fraction(7, 18), Fraction(45, 100)
    distances = {sizes: exact_transport(sizes, [10, 8], ground) for sizes in [(5, 4), (3, 2), (2, 2), (2, 1)]}
    assert distances == {(5, 4): 0, (3, 2): Fraction(2, 45), (2, 2): Fraction(1, 18), (2, 1): Fraction(1, 9)}
    assert class_sizes([10, 8], ground, upper, t, 1) == [(3, 2), (1, 1), (1, 1)] * 2
    assert class_sizes([10, 8], ground, upper, t, 3) == [(3, 2), (2, 2)] * 2
    assert class_sizes([10, 8], ground, upper, t, 5) == [(5, 4)] * 2
    assert class_sizes([10, 8], ground, upper, t, 10) == [(10, 8)]
    assert class_sizes([10, 8], ground, upper, upper, 1) == [(5, 4)] * 2


def test_halves_round_up_first() -> None:
    """The left child has the odd rows."""
    assert halves([5, 4]) == ((3, 2), (2, 2))
    assert halves([5, 3]) == ((3, 2), (2, 1))
    assert halves([1, 0, 2]) == ((1, 0, 1), (0, 0, 1))


# Trees and buckets


def test_heights_count_the_unused_leaves() -> None:
    """An uneven tree with a chain."""
    tree: Tree = (((0, 1), 2), (3, ((4, (5,)),)))
    assert height(tree) == 5
    assert lowest_common(tree, [4, 5]) == (4, (5,))
    assert lowest_common(tree, [3, 4]) == (3, ((4, (5,)),))
    assert tree_distance(tree)(0, 2) == Fraction(2, 5)
    assert tree_distance(tree)(3, 4) == Fraction(4, 5)
    assert bound_printed_tree([1, 0, 0, 1, 2, 0], tree, [3, 4]) == Fraction(4, 5) * Fraction(2, 4)
    assert bound_printed_tree([1, 0, 0, 1, 2, 0], tree, [4, 5]) == 0


def test_a_node_is_the_bucket_of_its_only_used_child() -> None:
    """Two chains above the values that occur."""
    tree: Tree = (((((0, 1), (2, 3)),), 4), (5, 6))
    counts = [1, 2, 3, 4, 0, 0, 0]
    assert height(tree) == 5
    assert bound_printed_tree(counts, tree) == Fraction(2, 5) * Fraction(9, 10)
    assert bucket_cat(tree, counts, Fraction(3, 10), printed(counts, tree)) == ([[0, 1], [2, 3]], Fraction(12, 100))
    buckets, upper = bucket_cat(tree, counts, Fraction(1, 10), printed(counts, tree))
    assert (buckets, upper) == ([[0, 1], [2], [3]], Fraction(1, 25))


def test_the_oldest_of_equal_buckets_is_split() -> None:
    """Children are as old as their place in pre-order."""
    tree: Tree = ((0, 1), (2, 3), (4, 5))
    counts = [1] * 6
    assert bucket_cat(tree, counts, Fraction(1, 4), printed(counts, tree))[0] == [[2, 3], [4, 5], [0], [1]]
    assert bucket_num([0, 1, 2, 3], [1] * 4, Fraction(1, 6), 3)[0] == [[2, 3], [0], [1]]


def test_the_leftmost_of_equal_split_points() -> None:
    """And none for one value."""
    assert split([0, 1, 2], tight([1, 1, 1], line_distance([0, 1, 2], 2))) == [[0], [1, 2]]
    assert split([0], tight([1], line_distance([0], 0))) == []


def test_equal_distance_is_the_tree_of_height_1() -> None:
    """Also the tree that is a leaf."""
    counts = [4, 0, 3, 2]
    tree = equal_tree(4)
    assert bound_printed_tree(counts, tree) == bound_any(counts, tree_distance(tree)) == Fraction(7, 9)
    assert bucket_cat(tree, counts, Fraction(7, 9), printed(counts, tree)) == ([[0], [2], [3]], Fraction(0))
    assert bucket_cat(0, [3], Fraction(0), printed([3], 0)) == ([[0]], Fraction(0))


# The theorems on random tables


def random_tree(values: list[int], random: Random) -> Tree:
    """An uneven tree over the values, with chains."""
    if len(values) == 1:
        return values[0] if random.random() < 0.8 else (values[0],)
    cuts = sorted(random.sample(range(1, len(values)), random.randint(1, min(2, len(values) - 1))))
    parts = [values[a:b] for a, b in pairwise([0, *cuts, len(values)])]
    return tuple(random_tree(part, random) for part in parts)


def random_table(random: Random) -> Table:
    """Counts, their distance, some t, and the buckets and U for it."""
    counts = [random.choice([0, 1, 2, 5, 9]) for _ in range(random.randint(1, 7))] + [3]
    m = len(counts)
    t = Fraction(random.randint(1, 40), 40)
    if random.random() < 0.4:
        positions = sorted(random.sample(range(30), m))
        span = positions[-1] - positions[0]
        return counts, line_distance(positions, span), t, *bucket_num(positions, counts, t, span)
    tree = random_tree(list(range(m)), random)
    distance = tree_distance(tree)
    bound = random.choice([printed(counts, tree), tight(counts, distance)])
    return counts, distance, t, *bucket_cat(tree, counts, t, bound)


def draw(bucket: Bucket, counts: Sequence[int], size: int, random: Random) -> list[int]:
    """Values of random rows of a bucket; half of the time the rows of the fewest values."""
    rows = [value for value in bucket for _ in range(counts[value])]
    if random.random() < 0.5:
        order = random.sample(bucket, len(bucket))
        return sorted(rows, key=order.index)[:size]
    return random.sample(rows, size)


def class_counts(buckets: list[Bucket], counts: Sequence[int], sizes: Sequence[int], random: Random) -> list[int]:
    """How often each value occurs in a class of random rows, `sizes` of each bucket."""
    drawn = [draw(bucket, counts, size, random) for bucket, size in zip(buckets, sizes, strict=True)]
    return [sum(values.count(v) for values in drawn) for v in range(len(counts))]


@for_seeds(40)
def test_buckets_are_a_partition_and_below_t(seed: int) -> None:
    """Every occurring value is in one bucket, and U < t."""
    counts, distance, t, buckets, upper = random_table(Random(seed))
    assert upper < t
    assert sorted(v for bucket in buckets for v in bucket) == occurring(range(len(counts)), counts)
    assert sum(bound_any(counts, distance, bucket) for bucket in buckets) <= upper


@for_seeds(30)
def test_bounds_of_theorem_2(seed: int) -> None:
    """The bound is what the worst single value costs, and no more than the printed one."""
    random = Random(seed)
    counts = [random.randint(0, 5) for _ in range(6)] + [1]
    tree = random_tree(list(range(7)), random)
    distance = tree_distance(tree)
    bound = bound_any(counts, distance)
    worst = [emd([int(v == far) for v in range(7)], counts, distance) for far in range(7) if counts[far]]
    assert max(worst) == bound <= bound_printed_tree(counts, tree)
    anything = [random.randint(0, 3) * (count > 0) for count in counts[:-1]] + [1]
    assert emd(anything, counts, distance) <= bound


@for_seeds(30)
def test_theorem_3_on_proportional_classes(seed: int) -> None:
    """A class is as far as the sum over its buckets, and that is at most U."""
    random = Random(seed)
    counts, distance, _, buckets, upper = random_table(random)
    double = [2 * count for count in counts]
    sizes = [sum(counts[v] for v in bucket) for bucket in buckets]
    members = class_counts(buckets, double, sizes, random)
    inside = Fraction(0)
    for bucket in buckets:
        own = [[group[v] for v in bucket] for group in (members, counts)]
        ground = [[distance(y, z) for z in bucket] for y in bucket]
        inside += exact_transport(own[0], own[1], ground) * Fraction(sum(own[1]), sum(counts))
    assert emd(members, counts, distance) == inside <= upper


@for_seeds(40)
def test_theorem_4_whatever_rows_are_taken(seed: int) -> None:
    """EMD <= D + U <= t for random and for lopsided members of every leaf."""
    random = Random(seed)
    counts, distance, t, buckets, upper = random_table(random)
    sizes = [sum(counts[v] for v in bucket) for bucket in buckets]
    ground = largest_ground(buckets, distance)
    k = random.randint(1, 4)
    found = class_sizes(sizes, ground, upper, t, k)
    assert [sum(column) for column in zip(*found, strict=True)] == sizes
    assert min(map(sum, found)) >= min(k, sum(sizes))
    for leaf in sorted(set(found)):
        promised = exact_transport(leaf, sizes, ground) + upper
        assert promised <= t
        for _ in range(3):
            assert emd(class_counts(buckets, counts, leaf, random), counts, distance) <= promised


@for_seeds(30)
def test_exact_transport_is_the_linear_program(seed: int) -> None:
    """On grounds that are not even metrics."""
    random = Random(seed)
    m = random.randint(1, 6)
    p, q = ([random.randint(0, 5) for _ in range(m - 1)] + [1] for _ in range(2))
    ground = [[Fraction(random.randint(0, 6), 7) for _ in range(m)] for _ in range(m)]
    assert abs(float(exact_transport(p, q, ground)) - transport(p, q, ground)) < 1e-9
    assert exact_transport(p, q, ground) == exact_transport(normalise(p), normalise(q), ground)
    assert exact_transport(p, p, ground_matrix(line_distance(range(m), m - 1), m)) == 0


@for_seeds(10)
def test_exact_transport_on_a_line_is_the_area(seed: int) -> None:
    """The formula of 3.1 for numbers."""
    random = Random(seed)
    p, q = (normalise([random.randint(0, 5) for _ in range(5)] + [1]) for _ in range(2))
    extra = [a - b for a, b in zip(p, q, strict=True)]
    area = sum((abs(sum(extra[: i + 1], Fraction(0))) for i in range(6)), Fraction(0)) / 5
    assert exact_transport(p, q, ground_matrix(line_distance(range(6), 5), 6)) == area


# Taking rows out


def greedy(
    random: Random, bucket_of: list[int], classes: Sequence[Sequence[int]], gap: Callable[[int, int], int]
) -> list[tuple[int, list[int]]]:
    """A run that takes the nearest rows, the seed before rows as near as itself."""
    living, run = set(range(len(bucket_of))), []
    for sizes in classes:
        seed = random.choice([row for row in sorted(living) if sizes[bucket_of[row]]])
        members: list[int] = []
        for bucket, size in enumerate(sizes):
            near = sorted((gap(seed, row), row != seed, row) for row in living if bucket_of[row] == bucket)
            members += [row for _, _, row in near[:size]]
        living -= set(members)
        run.append((seed, members))
    return run


@for_seeds(10)
def test_take_out(seed: int) -> None:
    """Greedy runs with many ties pass, on coordinates and on keys."""
    random = Random(seed)
    bucket_of = [0] * 10 + [1] * 8
    points = [(random.randint(0, 3), random.randint(0, 3)) for _ in bucket_of]
    keys = [hilbert_key(point, 2) for point in points]
    classes = [(3, 2), (1, 1), (1, 1)] * 2
    run = greedy(random, bucket_of, classes, lambda a, b: squared_euclidean(points[a], points[b]))
    assert take_out_is_nearest(points, bucket_of, run, squared_euclidean) is None
    run = greedy(random, bucket_of, classes, lambda a, b: key_gap(keys[a], keys[b]))
    assert take_out_is_nearest(keys, bucket_of, run, key_gap) is None


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ([(0, [0, 1, 4]), (2, [2, 3, 5])], None),
        ([(0, [2, 1, 4]), (0, [0, 3, 5])], "class 0: the seed, row 0, is no member"),
        ([(0, [0, 2, 4]), (1, [1, 3, 5])], "class 0: the rows taken from bucket 0 are not the nearest to row 0"),
        ([(0, [0, 1, 5]), (2, [2, 3, 4])], "class 0: the rows taken from bucket 1 are not the nearest to row 0"),
        ([(0, [0, 1, 4]), (2, [2, 1, 5])], "class 1: a member was taken twice"),
        ([(0, [0, 1, 4])], "3 rows are in no class"),
    ],
)
def test_take_out_says_what_is_wrong(run: list[tuple[int, list[int]]], said: str | None) -> None:
    """One thing wrong at a time."""
    assert take_out_is_nearest([0, 1, 2, 3, 0, 5], [0, 0, 0, 0, 1, 1], run, key_gap) == said


def test_take_out_leaves_ties_open() -> None:
    """Either of two rows as near may be taken."""
    for tied in (0, 2):
        run = [(1, [1, tied]), (2 - tied, [2 - tied])]
        assert take_out_is_nearest([0, 1, 2], [0, 0, 0], run, key_gap) is None


# The Hilbert curve


@pytest.mark.parametrize(
    ("n", "bits"), [(1, 0), (1, 4), (2, 1), (2, 2), (2, 5), (3, 1), (3, 2), (3, 3), (4, 1), (4, 2), (5, 2)]
)
def test_hilbert_key_numbers_every_cell_and_steps_to_a_neighbour(n: int, bits: int) -> None:
    """A bijection, and one step in one coordinate."""
    by_key = {hilbert_key(point, bits): point for point in product(range(2**bits), repeat=n)}
    assert sorted(by_key) == list(range(2 ** (n * bits)))
    for key in range(2 ** (n * bits) - 1):
        assert squared_euclidean(by_key[key], by_key[key + 1]) == 1


@pytest.mark.parametrize("n", [2, 3, 4])
def test_hilbert_key_begins_with_the_key_of_the_larger_cell(n: int) -> None:
    """A finer grid refines the order of a coarser one."""
    for point in product(range(4), repeat=n):
        assert hilbert_key(point, 2) >> n == hilbert_key([x >> 1 for x in point], 1)


def test_hilbert_key_of_the_plane() -> None:
    """By hand from e = 0, d = 0: the first step is along coordinate 1."""
    assert [hilbert_key(point, 1) for point in [(0, 0), (0, 1), (1, 1), (1, 0)]] == [0, 1, 2, 3]
    assert hilbert_key((0, 0), 5) == 0


def test_the_leaves_of_a_tree_in_pre_order() -> None:
    """As figure 1 shows them."""
    assert leaves(DISEASE) == [*RESPIRATORY, *DIGESTIVE]
