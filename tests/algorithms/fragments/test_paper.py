"""What 000 prints: figures 1 and 6, example distances, definitions and propositions; and the one that is false."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

from tclose.algorithms.control import Control
from tclose.algorithms.fragments.space import SensitiveSpace, scale_of
from tclose.algorithms.fragments.split import Fragmentation, fragment
from tclose.distances import Line, emd
from tests.oracles import fragments as oracle
from tests.seeds import for_seeds

TABLE = [[15, 75, 0], [15, 0, 15], [30, 30, 45], [15, 30, 30]]
CLASS = [[3, 3, 0], [1, 0, 4], [0, 4, 0], [1, 1, 3]]


def as_cells(matrix: Any) -> dict[oracle.Cell, int]:
    return {tuple(map(int, cell)): int(np.array(matrix)[tuple(cell)]) for cell in np.argwhere(matrix)}


def space_of(matrix: Any) -> SensitiveSpace:
    """A dense array as a space with ordered attributes."""
    cells, counts = np.argwhere(matrix), np.array(matrix)[np.nonzero(matrix)]
    codes = np.repeat(cells, counts, axis=0).astype(np.int32)
    sizes = np.array(matrix).shape
    scales = [
        scale_of(Line(np.arange(m), max(m - 1, 1)), np.bincount(c, minlength=m))
        for m, c in zip(sizes, codes.T, strict=True)
    ]
    return SensitiveSpace.of(scales, list(codes.T), [Fraction(1)] * len(sizes))


def fragments_of(matrix: Any, boxes: Sequence[oracle.Box], strict: bool = True) -> Fragmentation:
    """These boxes as a fragmentation; those without cells left out."""
    space = space_of(matrix)
    kept = [box for box in boxes if oracle.inside(as_cells(matrix), box)]
    inside = [
        next(i for i, box in enumerate(kept) if all(a <= x <= b for x, (a, b) in zip(cell, box, strict=True)))
        for cell in space.places.tolist()
    ]
    return Fragmentation(space, np.array(inside, np.int32), np.array(kept, np.int32).swapaxes(1, 2), strict, len(boxes))


def random_boxes(shape: Sequence[int], random: Random) -> list[oracle.Box]:
    boxes: list[oracle.Box] = [tuple((0, size - 1) for size in shape)]
    for _ in range(random.randint(0, 6)):
        boxes = random.choice([after for _, after in oracle.cuts(boxes)] or [boxes])
    return boxes


def random_matrix(random: Random) -> Any:
    shape = random.choice([(4, 3), (5, 5), (3, 3, 2), (2, 3, 2, 2), (7,)])
    matrix = np.array([random.choice([0, 0, 1, 2, 5]) for _ in range(int(np.prod(shape)))]).reshape(shape)
    matrix.flat[random.randrange(matrix.size)] += 3
    return matrix


def shares(*texts: str) -> list[Fraction]:
    return [Fraction(text) for text in texts]


def test_figure_1() -> None:
    table, part = as_cells(TABLE), as_cells(CLASS)
    whole: oracle.Box = ((0, 3), (0, 2))
    assert (sum(table.values()), sum(part.values())) == (300, 20)
    assert oracle.slice_sums(table, whole, 0) == shares("0.3", "0.1", "0.35", "0.25")
    assert oracle.slice_sums(table, whole, 1) == shares("0.25", "0.45", "0.3")
    assert oracle.slice_sums(part, whole, 0) == shares("0.3", "0.25", "0.2", "0.25")
    assert oracle.slice_sums(part, whole, 1) == shares("0.25", "0.4", "0.35")
    space = space_of(TABLE)
    assert (len(space), int(space.counts.sum())) == (10, 300)


def test_example_distances() -> None:
    p, q, r = (["0.2", "0.1", "0.7"], ["0.3", "0", "0.7"], ["0.1", "0", "0.9"])
    for left, right, known in ((p, q, "0.05"), (q, r, "0.2"), (p, r, "0.15")):
        one, other = [Fraction(x) for x in left], [Fraction(x) for x in right]
        assert oracle.delta(one, other) == emd(one, other, "ordered") == Fraction(known)


def test_figure_6() -> None:
    table, part = as_cells(TABLE), as_cells(CLASS)
    first: oracle.Box = ((0, 2), (0, 1))
    second: oracle.Box = ((2, 3), (1, 2))
    parts = [
        Fraction(sum(oracle.inside(each, box).values()), sum(each.values()))
        for box in (first, second)
        for each in (table, part)
    ]
    assert parts == [Fraction("0.55"), Fraction("0.55"), Fraction("0.45"), Fraction("0.4")]
    assert oracle.conforms(part, table, [first])
    assert not oracle.conforms(part, table, [second])


@for_seeds(100)
def test_propositions_3_5_and_7(seed: int) -> None:
    random = Random(seed)

    def vector(k: int, mass: Fraction) -> list[Fraction]:
        drawn = [random.randint(0, 9) for _ in range(k)]
        drawn[random.randrange(k)] += 1
        return [mass * share / sum(drawn) for share in drawn]

    k, other = random.randint(1, 6), random.randint(1, 6)
    a, b = Fraction(random.randint(1, 9), 9), Fraction(random.randint(1, 9), 9)
    p1, q1, p2, q2 = vector(k, a), vector(k, a), vector(k, b), vector(k, b)
    p3, q3 = vector(other, b), vector(other, b)
    assert oracle.delta(p1, q1) <= a
    plus = [[x + y for x, y in zip(*pair, strict=True)] for pair in ((p1, p2), (q1, q2))]
    assert oracle.delta(*plus) <= oracle.delta(p1, q1) + oracle.delta(p2, q2)
    assert oracle.delta(p1 + p3, q1 + q3) <= oracle.delta(p1, q1) + oracle.delta(p3, q3)
    # Theorem 10: Delta is the largest distance from a vertex, and so from anything.
    assert oracle.farthest(p1) == max(oracle.delta(p1, oracle.vertex(k, i, a)) for i in range(k))
    assert oracle.delta(p1, q1) <= oracle.farthest(p1)


@for_seeds(100)
def test_aggregate_bounds(seed: int) -> None:
    """Definition 19, and the same over the domain, by the sparse array and by the paper's matrices."""
    random = Random(seed)
    matrix = random_matrix(random)
    boxes = random_boxes(matrix.shape, random)
    strict = fragments_of(matrix, boxes)
    for attribute, size in enumerate(matrix.shape):
        assert strict.bound(attribute) == oracle.aggregate(as_cells(matrix), boxes, attribute)
        assert 0 <= strict.bound(attribute) <= 1
        shrunk = [shrink(matrix, box) for box in boxes if oracle.inside(as_cells(matrix), box)]
        found = fragments_of(matrix, shrunk, strict=False).bound(attribute)
        line = lambda i, j, m=size: Fraction(abs(i - j), max(m - 1, 1))  # noqa: E731
        assert found == oracle.over_domain(as_cells(matrix), boxes, attribute, line)
        assert found <= strict.bound(attribute)


def shrink(matrix: Any, box: oracle.Box) -> oracle.Box:
    cells = np.array([*oracle.inside(as_cells(matrix), box)])
    return tuple((int(low), int(high)) for low, high in zip(cells.min(0), cells.max(0), strict=True))


@for_seeds(60)
def test_proposition_18_and_theorem_20(seed: int) -> None:
    """Whatever rows a conforming class takes, it is within both kinds of bounds."""
    random = Random(seed)
    matrix = 3 * random_matrix(random)
    boxes = random_boxes(matrix.shape, random)
    table = as_cells(matrix)
    taken: dict[oracle.Cell, int] = {}
    for box in boxes:
        rows = [cell for cell, count in oracle.inside(table, box).items() for _ in range(count)]
        chance = {cell: random.random() for cell in rows}
        rows.sort(key=chance.__getitem__)  # all rows of some cells, none of others
        for cell in rows[: len(rows) // 3]:
            taken[cell] = taken.get(cell, 0) + 1
    assert oracle.conforms(taken, table, boxes)
    whole = tuple((0, size - 1) for size in matrix.shape)
    shrunk = [shrink(matrix, box) for box in boxes if oracle.inside(table, box)]
    for attribute in range(matrix.ndim):
        p, q = (oracle.slice_sums(each, whole, attribute) for each in (table, taken))
        assert oracle.delta(p, q) <= fragments_of(matrix, shrunk, strict=False).bound(attribute)
        assert oracle.delta(p, q) <= fragments_of(matrix, boxes).bound(attribute)


def test_proposition_21_is_false() -> None:
    """Cut after the second row, both bounds rise from 1/2 to 1; over the domain the cut attribute's does not."""
    rows = [[1, 0], [0, 0], [0, 0], [0, 1]]
    top: oracle.Box = ((0, 3), (0, 1))
    halves: list[oracle.Box] = [((0, 1), (0, 1)), ((2, 3), (0, 1))]
    for attribute in range(2):
        assert fragments_of(rows, [top]).bound(attribute) == Fraction(1, 2)
        assert fragments_of(rows, halves).bound(attribute) == 1
        assert oracle.aggregate(as_cells(rows), halves, attribute) == 1
    assert fragments_of(rows, [shrink(rows, box) for box in halves], strict=False).bound(0) == 0


@for_seeds(60)
def test_over_the_domain_the_cut_attributes_bound_never_rises(seed: int) -> None:
    random = Random(seed)
    matrix = random_matrix(random)
    table, boxes = as_cells(matrix), random_boxes(matrix.shape, random)
    line = [lambda i, j, m=size: Fraction(abs(i - j), max(m - 1, 1)) for size in matrix.shape]
    before = [oracle.over_domain(table, boxes, attribute, line[attribute]) for attribute in range(matrix.ndim)]
    for cut, after in oracle.cuts(boxes):
        assert oracle.over_domain(table, after, cut, line[cut]) <= before[cut]


@pytest.mark.parametrize("strict", [True, False])
def test_proposition_22(strict: bool) -> None:
    """At the bottom, where every cell is a fragment, all bounds are 0."""
    bottom = [((x, x), (y, y)) for x, y in product(range(4), range(3))]
    assert list(map(float, fragments_of(TABLE, bottom, strict).bounds)) == [0, 0]
    found = fragment(space_of(TABLE), [Fraction(0)] * 2, Control(), strict=strict)
    assert found is not None
    assert len(found) == 10
    assert list(map(float, found.bounds)) == [0, 0]


def test_the_number_of_classes_is_the_greatest_common_divisor() -> None:
    boxes: list[oracle.Box] = [((0, 1), (0, 2)), ((2, 3), (0, 2))]
    assert oracle.smallest_class(as_cells(TABLE), boxes) == 5
    assert np.gcd.reduce(fragments_of(TABLE, boxes).counts) == 60
