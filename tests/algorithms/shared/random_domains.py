"""Random sensitive domains, as the package has them and as the oracle does."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.shared.buckets import BoundRule, Buckets
from tclose.distances import Form, Line, Matrix, Transport, Tree
from tclose.schema.hierarchy import Hierarchy
from tests.oracles import sabre as oracle


@dataclass(frozen=True)
class Case:
    """A form and counts, and the same for the oracle."""

    form: Form
    counts: NDArray[np.int64]
    distance: oracle.Distance
    bound: BoundRule
    t: Fraction
    buckets: list[list[int]]
    upper: Fraction


def hierarchy_of(tree: oracle.Tree) -> Hierarchy:
    """The same tree with labels; leaf v is called `v`, and inner nodes are numbered."""
    paths: list[tuple[str, ...]] = []

    def walk(node: oracle.Tree, above: tuple[str, ...]) -> None:
        if isinstance(node, int):
            paths.append((f"v{node}", *above))
            return
        for place, child in enumerate(node):
            walk(child, above if isinstance(child, int) else (f"{above[0]}.{place}", *above))

    walk(tree, ("*",))
    return Hierarchy.from_paths(paths)


def random_tree(values: list[int], random: Random) -> oracle.Tree:
    """An uneven tree over the values, in their order, with chains."""
    if len(values) == 1:
        return values[0] if random.random() < 0.8 else (values[0],)
    cuts = sorted(random.sample(range(1, len(values)), random.randint(1, min(3, len(values) - 1))))
    parts = tuple(random_tree(values[a:b], random) for a, b in pairwise([0, *cuts, len(values)]))
    return parts if random.random() < 0.8 else (parts,)


def random_case(seed: int) -> Case:
    """Some distance, counts with zeros, some t, and what the oracle makes of them."""
    random = Random(seed)
    m = random.randint(1, 8)
    counts = [random.choice([0, 1, 2, 3, 5, 9, 20]) for _ in range(m)]
    counts[random.randrange(m)] += 4
    t = Fraction(random.randint(0, 40), 40)
    kind = random.choice(["line", "tree", "tree", "equal"])
    if kind == "line":
        positions = sorted(random.sample(range(40), m))
        span = max(positions[-1] - positions[0], 1)
        buckets, upper = oracle.bucket_num(positions, counts, t, span)
        form: Form = Line(np.array(positions), span)
        distance = oracle.line_distance(positions, span)
        return Case(form, np.array(counts), distance, "printed", t, buckets, upper)
    tree = oracle.equal_tree(m) if kind == "equal" else random_tree(list(range(m)), random)
    tree = (tree,) if isinstance(tree, int) else tree
    distance = oracle.tree_distance(tree)
    bound: BoundRule = random.choice(["printed", "largest"])
    buckets, upper = oracle.bucket_cat(
        tree,
        counts,
        t,
        (lambda b: oracle.bound_printed_tree(counts, tree, b))
        if bound == "printed"
        else (lambda b: oracle.bound_any(counts, distance, b)),
    )
    return Case(Tree.of(hierarchy_of(tree)), np.array(counts), distance, bound, t, buckets, upper)


def random_metric(m: int, random: Random) -> Transport:
    """Shortest ways between random points in a graph, normalized."""
    costs = np.array([[0 if i == j else random.randint(1, 20) for j in range(m)] for i in range(m)])
    costs = np.minimum(costs, costs.T)
    for middle in range(m):
        costs = np.minimum(costs, costs[:, middle, None] + costs[None, middle, :])
    longest = max(int(costs.max()), 1)
    return Matrix([[Fraction(cost, longest) for cost in row] for row in costs.tolist()]).form(m)


def members(buckets: Buckets) -> list[list[int]]:
    """The values of each bucket."""
    return [np.flatnonzero(buckets.of_code == bucket).tolist() for bucket in range(len(buckets))]


def random_class(buckets: Buckets, counts: NDArray[np.int64], sizes: Any, random: Random) -> list[int]:
    """The counts of a class of so many rows of each bucket: any rows, or those of few values."""
    drawn = [0] * len(counts)
    for values, size in zip(members(buckets), sizes, strict=True):
        rows = [value for value in values for _ in range(counts[value])]
        order = random.sample(values, len(values))
        rows = sorted(rows, key=order.index) if random.random() < 0.5 else random.sample(rows, len(rows))
        for value in rows[: int(size)]:
            drawn[value] += 1
    return drawn
