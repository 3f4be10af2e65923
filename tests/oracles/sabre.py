"""SABRE (004, sections 3 and 4) as one would explain it: fractions, lists, every sum taken anew.

Sensitive values are the codes 0 to m - 1 and `counts` says how many rows of the table have each.
A tree is a code (a leaf) or a tuple of trees; a bucket is the list of the occurring codes in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import inf, lcm
from typing import TypeVar

Tree = int | tuple["Tree", ...]
Bucket = list[int]
Distance = Callable[[int, int], Fraction]
Bound = Callable[[Bucket], Fraction]
Ground = Sequence[Sequence[Fraction]]
Masses = Sequence[int] | Sequence[Fraction]
Class = tuple[int, Sequence[int]]
P = TypeVar("P")


# Values and their distances (3.1)


def children(node: Tree) -> tuple[Tree, ...]:
    """The nodes right below a node, none for a leaf."""
    return node if isinstance(node, tuple) else ()


def leaves(node: Tree) -> list[int]:
    """The codes below a node in pre-order."""
    return [node] if isinstance(node, int) else [leaf for child in node for leaf in leaves(child)]


def height(node: Tree) -> int:
    """The longest way down from a node, in edges."""
    return max((1 + height(child) for child in children(node)), default=0)


def lowest_common(tree: Tree, values: Sequence[int]) -> Tree:
    """The deepest node that has all of the values below it."""
    for child in children(tree):
        if set(values) <= set(leaves(child)):
            return lowest_common(child, values)
    return tree


def equal_tree(m: int) -> Tree:
    """The tree of height 1: any two values are at distance 1."""
    return tuple(range(m))


def tree_distance(tree: Tree) -> Distance:
    """h(v_i, v_j) / h(H), the height of the lowest common ancestor over that of the root."""
    return lambda i, j: Fraction(height(lowest_common(tree, [i, j])), max(height(tree), 1))


def line_distance(positions: Sequence[int], span: int) -> Distance:
    """|x_i - x_j| / span; with the ranks as positions and m - 1 as span, the ordered distance."""
    return lambda i, j: Fraction(abs(positions[i] - positions[j]), max(span, 1))


def ground_matrix(distance: Distance, m: int) -> list[list[Fraction]]:
    """The distances of m values as a matrix."""
    return [[distance(i, j) for j in range(m)] for i in range(m)]


# The upper bound of one bucket (theorem 2)


def occurring(bucket: Sequence[int], counts: Sequence[int]) -> Bucket:
    """The values of a bucket that some row has."""
    return [value for value in bucket if counts[value] > 0]


def shares_of(bucket: Sequence[int] | None, counts: Sequence[int]) -> dict[int, Fraction]:
    """p_i, a part of the whole table's rows, for the occurring values of a bucket (None: of the table)."""
    values = range(len(counts)) if bucket is None else bucket
    return {value: Fraction(counts[value], sum(counts)) for value in occurring(values, counts)}


def bound_printed_tree(counts: Sequence[int], tree: Tree, bucket: Sequence[int] | None = None) -> Fraction:
    """h(n) / h(H) (sum p - min p), n the lowest common ancestor of the occurring values."""
    shares = shares_of(bucket, counts)
    over = height(lowest_common(tree, list(shares)))
    return Fraction(over, max(height(tree), 1)) * (sum(shares.values()) - min(shares.values()))


def bound_any(counts: Sequence[int], distance: Distance, bucket: Sequence[int] | None = None) -> Fraction:
    """The largest over l of sum_i d(l, i) p_i: all of the bucket's earth lies on the one value l."""
    shares = shares_of(bucket, counts)
    return max(sum((distance(far, i) * p for i, p in shares.items()), Fraction(0)) for far in shares)


# Bucketization (4.2)


def grow(
    root: Bucket, parts: Callable[[Bucket], list[Bucket]], t: Fraction, bound: Bound
) -> tuple[list[Bucket], Fraction]:
    """The while-loop: split the bucket of the largest decrease, the oldest of equals, until U < t."""

    def decrease(bucket: Bucket) -> Fraction:
        return bound(bucket) - total(parts(bucket))

    def total(buckets: list[Bucket]) -> Fraction:
        return sum((bound(bucket) for bucket in buckets), Fraction(0))

    buckets = [root]
    while total(buckets) >= t:
        splittable = [bucket for bucket in buckets if parts(bucket)]
        if not splittable:
            break
        best = max(splittable, key=decrease)
        buckets.remove(best)
        buckets.extend(parts(best))
    return buckets, total(buckets)


def bucket_cat(tree: Tree, counts: Sequence[int], t: Fraction, bound: Bound) -> tuple[list[Bucket], Fraction]:
    """Function bucketCat: the buckets in the order of their creation, and U."""

    def parts(bucket: Bucket) -> list[Bucket]:
        below = [occurring(leaves(child), counts) for child in children(lowest_common(tree, bucket))]
        return [part for part in below if part]

    return grow(occurring(leaves(tree), counts), parts, t, bound)


def bucket_num(
    positions: Sequence[int], counts: Sequence[int], t: Fraction, span: int
) -> tuple[list[Bucket], Fraction]:
    """Function bucketNum: the buckets in the order of their creation, and U."""

    def bound(bucket: Bucket) -> Fraction:
        return bound_any(counts, line_distance(positions, span), bucket)

    ascending = sorted(range(len(counts)), key=lambda value: positions[value])
    return grow(occurring(ascending, counts), lambda bucket: split(bucket, bound), t, bound)


def split(bucket: Bucket, bound: Bound) -> list[Bucket]:
    """Procedure split: the two sides of the cheapest split point, the leftmost of equals; none of one value."""
    points = [[bucket[:at], bucket[at:]] for at in range(1, len(bucket))]
    return min(points, key=lambda sides: bound(sides[0]) + bound(sides[1]), default=[])


# The distance D between two distributions over buckets (lemma 1)


def largest_ground(buckets: Sequence[Bucket], distance: Distance) -> list[list[Fraction]]:
    """d^u: the largest distance between values of two different buckets, 0 on the diagonal."""
    return [[Fraction(0) if a is b else max(distance(y, z) for y in a for z in b) for b in buckets] for a in buckets]


def normalise(masses: Masses) -> list[Fraction]:
    """The masses as parts of their sum."""
    return [Fraction(mass) / sum(masses) for mass in masses]


def transport(p: Masses, q: Masses, ground: Ground) -> float:
    """The definition of EMD: the cheapest flow that carries p to q, by linear programming."""
    from scipy.optimize import linprog  # type: ignore[import-untyped,unused-ignore]

    m = len(p)
    leaving = [[float(cell // m == i) for cell in range(m * m)] for i in range(m)]
    arriving = [[float(cell % m == j) for cell in range(m * m)] for j in range(m)]
    costs = [float(cost) for row in ground for cost in row]
    masses = [float(mass) for mass in normalise(p) + normalise(q)]
    result = linprog(costs, A_eq=leaving + arriving, b_eq=masses, method="highs")
    assert result.status == 0, result.message
    return float(result.fun)


def exact_transport(p: Masses, q: Masses, ground: Ground) -> Fraction:
    """The same exactly: on integers, along one cheapest path after the other."""
    p, q = normalise(p), normalise(q)
    unit = lcm(*(mass.denominator for mass in [*p, *q]))
    price = lcm(*(cost.denominator for row in ground for cost in row))
    piles, holes = [int(mass * unit) for mass in p], [int(mass * unit) for mass in q]
    costs = [[int(cost * price) for cost in row] for row in ground]
    flow = [[0] * len(q) for _ in p]
    while any(piles):
        push(cheapest_path(piles, holes, flow, costs), piles, holes, flow)
    work = sum(flow[i][j] * costs[i][j] for i in range(len(p)) for j in range(len(q)))
    return Fraction(work, unit * price)


def cheapest_path(piles: list[int], holes: list[int], flow: list[list[int]], costs: list[list[int]]) -> list[int]:
    """From a pile with earth left to a hole not yet full (Bellman-Ford); hole j is node len(piles) + j."""
    m = len(piles)
    reached: dict[int, float] = {i: 0 for i in range(m) if piles[i]}
    came_from: dict[int, int] = {}
    steps = [(i, m + j, costs[i][j]) for i in range(m) for j in range(m)]
    steps += [(m + j, i, -costs[i][j]) for i in range(m) for j in range(m) if flow[i][j]]
    changed = True
    while changed:
        changed = False
        for start, end, cost in steps:
            if reached.get(start, inf) + cost < reached.get(end, inf):
                reached[end], came_from[end], changed = reached[start] + cost, start, True
    path = [min((m + j for j in range(m) if holes[j]), key=lambda node: reached[node])]
    while path[0] in came_from:
        path.insert(0, came_from[path[0]])
    return path


def push(path: list[int], piles: list[int], holes: list[int], flow: list[list[int]]) -> None:
    """Send along a path as much as the pile, the hole and the flows to be taken back allow."""
    m, first, last = len(piles), path[0], path[-1]
    steps = list(pairwise(path))
    taken_back = [flow[end][start - m] for start, end in steps if start >= m]
    mass = min([piles[first], holes[last - m], *taken_back])
    for start, end in steps:
        if start < m:
            flow[start][end - m] += mass
        else:
            flow[end][start - m] -= mass
    piles[first] -= mass
    holes[last - m] -= mass


# Redistribution (4.3)


def halves(sizes: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Steps 3 to 5 of dichotomize: each size in two, the first half rounded up."""
    first = tuple((size + 1) // 2 for size in sizes)
    return first, tuple(size - half for size, half in zip(sizes, first, strict=True))


def class_sizes(
    bucket_counts: Sequence[int], ground: Ground, upper: Fraction, t: Fraction, k: int
) -> list[tuple[int, ...]]:
    """Function ECSize: how many rows each class takes of each bucket, the leaves from left to right.

    `upper` is U, the sum of the bounds of the buckets.
    """

    @cache
    def close(sizes: tuple[int, ...]) -> bool:
        return exact_transport(sizes, bucket_counts, ground) + upper <= t

    def dichotomize(sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
        first, second = halves(sizes)
        large = sum(first) >= k and sum(second) >= k
        if max(sizes) >= 2 and large and close(first) and close(second):
            return dichotomize(first) + dichotomize(second)
        return [sizes]

    return dichotomize(tuple(bucket_counts))


# Taking rows out of the buckets (4.4)


def squared_euclidean(a: Sequence[int], b: Sequence[int]) -> int:
    """The distance of SABRE-KNN, squared."""
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def key_gap(a: int, b: int) -> int:
    """The distance of SABRE-AK, between Hilbert keys."""
    return abs(a - b)


def take_out_is_nearest(
    points: Sequence[P],
    bucket_of: Sequence[int],
    classes: Sequence[Class],
    distance: Callable[[P, P], int] | Callable[[P, P], float] | Callable[[P, P], Fraction],
) -> str | None:
    """The first thing wrong with a finished run, or None.

    Parameters
    ----------
    points, bucket_of
        The place (coordinates or key) and the bucket of every row.
    classes
        The seed and the members of each class, in the order of their forming.
    distance
        `squared_euclidean` of coordinates, `key_gap` of keys, or the loss of a class of two rows.
    """
    living = set(range(len(points)))
    for number, (seed, members) in enumerate(classes):
        if seed not in members:
            return f"class {number}: the seed, row {seed}, is no member"
        if len(set(members)) < len(members) or not set(members) <= living:
            return f"class {number}: a member was taken twice"
        for bucket in sorted(set(bucket_of)):
            there = [distance(points[seed], points[row]) for row in living if bucket_of[row] == bucket]
            taken = [distance(points[seed], points[row]) for row in members if bucket_of[row] == bucket]
            if Counter(taken) != Counter(sorted(there)[: len(taken)]):
                return f"class {number}: the rows taken from bucket {bucket} are not the nearest to row {seed}"
        living -= set(members)
    return f"{len(living)} rows are in no class" if living else None


# The Hilbert curve (Hamilton, Compact Hilbert Indices)


def rotate_left(word: int, by: int, n: int) -> int:
    """An n-bit word with its bits moved up, those that leave coming back at the bottom."""
    return sum((word >> bit & 1) << (bit + by) % n for bit in range(n))


def rotate_right(word: int, by: int, n: int) -> int:
    """An n-bit word with its bits moved down, those that leave coming back at the top."""
    return rotate_left(word, -by, n)


def gray(number: int) -> int:
    """The Gray code of a number."""
    return number ^ (number >> 1)


def gray_rank(word: int) -> int:
    """The number whose Gray code is the word."""
    return sum(((word >> bit).bit_count() % 2) << bit for bit in range(word.bit_length()))


def entry(w: int) -> int:
    """e(w): the corner where the curve enters the w-th cell."""
    return 0 if w == 0 else gray(2 * ((w - 1) // 2))


def direction(w: int, n: int) -> int:
    """d(w): the axis along which the curve runs through the w-th cell."""
    if w == 0:
        return 0
    odd = w if w % 2 else w - 1
    return next(bit for bit in range(n + 1) if not odd >> bit & 1) % n


def hilbert_key(point: Sequence[int], bits: int) -> int:
    """The place of a point of the grid of 2^bits cells an axis along the Hilbert curve."""
    assert all(0 <= x < 2**bits for x in point)
    return walk(point, bits, 0, 0)


def walk(point: Sequence[int], bits: int, e: int, d: int) -> int:
    """The key within a cube that the curve enters at corner e, running along axis d."""
    if bits == 0:
        return 0
    n = len(point)
    label = sum((x >> (bits - 1) & 1) << axis for axis, x in enumerate(point))
    w = gray_rank(rotate_right(label ^ e, d + 1, n))
    next_e = e ^ rotate_left(entry(w), d + 1, n)
    next_d = (d + direction(w, n) + 1) % n
    return (w << n * (bits - 1)) + walk(point, bits - 1, next_e, next_d)
