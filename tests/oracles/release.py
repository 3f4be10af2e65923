"""What a released file keeps, and what it lost, computed from its text alone.

Standard library only, and nothing shared with the package: rows are dictionaries of
strings as `csv.DictReader` gives them, and counts are Python integers.
"""

import csv
import gzip
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import exp, lcm, log
from pathlib import Path
from typing import Literal, Required, TypedDict

Row = Mapping[str, str]
Labels = Sequence[str]
Missing = Sequence[str]
Node = tuple[int, str]
Emd = Callable[[Counter[int]], Fraction]
Column = tuple[Literal["numeric"]] | tuple[Literal["categorical"], Sequence[Labels]]


class Spec(TypedDict, total=False):
    """A sensitive attribute: its distance, and what gives its domain.

    `order` lists the values, `paths` the hierarchy leaf first; `edges` or `bins` cut a
    number into bins first; `range` is the declared range of a numeric attribute.
    """

    distance: Required[Literal["equal", "ordered", "numeric", "hierarchical"]]
    order: Sequence[str]
    paths: Sequence[Labels]
    edges: Sequence[float]
    bins: int
    range: tuple[float, float]


class Diversity(TypedDict):
    """The smallest l over the classes, three readings."""

    distinct: int
    entropy: float
    frequency: Fraction


class Kept(TypedDict):
    """What the rows keep; `t` is the largest over the classes, `l` the smallest."""

    rows: int
    classes: int
    k: int
    t: dict[str, Fraction]
    l: dict[str, Diversity]  # noqa: E741


# Reading


def read_rows(path: str | Path) -> list[dict[str, str]]:
    """Rows of a `.csv` or `.csv.gz` file, every cell as text."""
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def read_paths(path: str | Path) -> list[tuple[str, ...]]:
    """Leaf-first paths of a hierarchy as ARX writes it."""
    with open(path, encoding="utf-8", newline="") as stream:
        return [tuple(line) for line in csv.reader(stream, delimiter=";") if line]


# Privacy


def check_release(
    rows: Sequence[Row],
    quasi: Sequence[str],
    sensitive: Mapping[str, Spec],
    missing: Missing = ("",),
) -> Kept:
    """Group by the released quasi-identifiers and measure every class.

    `t` and `l` are measured on the domain's values: after binning, with numbers that
    are written differently (1, 1.0) taken as one, and with missing as one value.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for i, row in enumerate(rows):
        groups.setdefault(tuple(row[column] for column in quasi), []).append(i)
    classes = list(groups.values())
    kept = Kept(
        rows=len(rows),
        classes=len(classes),
        k=min((len(members) for members in classes), default=0),
        t={},
        l={},
    )
    for column, spec in sensitive.items():
        texts = [row[column] for row in rows]
        places, emd = encode(texts, spec, missing)
        counts = [Counter(places[i] for i in members) for members in classes]
        kept["t"][column] = max(map(emd, counts), default=Fraction(0))
        kept["l"][column] = smallest_diversity(counts)
    return kept


def smallest_diversity(classes: Sequence[Counter[int]]) -> Diversity:
    """Distinct values, exp of the entropy, and rows per most frequent value."""
    return Diversity(
        distinct=min((len(counts) for counts in classes), default=0),
        entropy=min(map(entropy_diversity, classes), default=0.0),
        frequency=min(
            (Fraction(counts.total(), max(counts.values())) for counts in classes),
            default=Fraction(0),
        ),
    )


def entropy_diversity(counts: Counter[int]) -> float:
    """The exponential of the entropy of the shares."""
    shares = [count / counts.total() for count in counts.values()]
    return exp(-sum(share * log(share) for share in shares))


def encode(texts: Sequence[str], spec: Spec, missing: Missing) -> tuple[list[int], Emd]:
    """Each row's place in the domain, and the distance of a class from the column."""
    present = [text for text in texts if text not in missing]
    any_missing = len(present) < len(texts)
    binned = "edges" in spec or "bins" in spec
    assert not binned or spec["distance"] in ("equal", "ordered")
    if spec["distance"] == "hierarchical":
        leaves = [path[0] for path in spec["paths"]]
        place, m = places_of(leaves)
    elif spec["distance"] == "numeric":
        if any_missing:
            raise ValueError("a numeric attribute must not have missing values")
        place, m = places_of_numbers(present)
    elif "edges" in spec:
        place, m = places_of_edges(present, spec["edges"])
    elif "bins" in spec:
        place, m = places_of_bins(present, spec["bins"])
    elif "order" in spec:
        place, m = places_of(spec["order"])
    elif spec["distance"] == "ordered":
        place, m = places_of_numbers(present)
    else:
        place, m = places_of(sorted(set(present)))
    places = [m if text in missing else place[text] for text in texts]
    return places, distance_from(Counter(places), m + any_missing, spec, present)


def distance_from(reference: Counter[int], m: int, spec: Spec, present: Sequence[str]) -> Emd:
    """The distance of any class from the reference; a missing value has place m - 1."""
    if spec["distance"] == "equal":
        return lambda counts: emd_equal(counts, reference)
    if spec["distance"] == "ordered":
        return lambda counts: emd_line(counts, reference, [1] * (m - 1), m - 1)
    if spec["distance"] == "hierarchical":
        paths = list(spec["paths"])
        if m > len(paths):
            paths.append(("\0missing", paths[0][-1]))
        tree = Tree(paths)
        return lambda counts: tree.emd(counts, reference)
    numbers = sorted({exact(text) for text in present})
    scale = lcm(*(number.denominator for number in numbers))
    whole = [int(number * scale) for number in numbers]
    gaps = [high - low for low, high in pairwise(whole)]
    ends = spec.get("range")
    spread = scale * (exact(str(ends[1])) - exact(str(ends[0]))) if ends else sum(gaps)
    return lambda counts: emd_line(counts, reference, gaps, spread)


# Places in a domain


def exact(text: str) -> Fraction:
    """The number that a decimal text says."""
    return Fraction(Decimal(text))


def places_of(values: Sequence[str]) -> tuple[dict[str, int], int]:
    """Place by position; the values must differ."""
    place = {value: i for i, value in enumerate(values)}
    assert len(place) == len(values)
    return place, len(values)


def places_of_numbers(texts: Sequence[str]) -> tuple[dict[str, int], int]:
    """Place by rank among the distinct numbers."""
    numbers = {text: exact(text) for text in set(texts)}
    ranks = {number: i for i, number in enumerate(sorted(set(numbers.values())))}
    return {text: ranks[number] for text, number in numbers.items()}, len(ranks)


def places_of_edges(texts: Sequence[str], edges: Sequence[float]) -> tuple[dict[str, int], int]:
    """Place by the number of edges at or below; every bin counts, used or not."""
    marks = [exact(str(edge)) for edge in edges]
    assert all(low < high for low, high in pairwise(marks))
    numbers = {text: exact(text) for text in set(texts)}
    place = {text: sum(mark <= x for mark in marks) for text, x in numbers.items()}
    return place, len(marks) + 1


def places_of_bins(texts: Sequence[str], bins: int) -> tuple[dict[str, int], int]:
    """Equal-frequency bins: floor(bins * first rank / n), renumbered without gaps."""
    numbers = {text: exact(text) for text in set(texts)}
    first: dict[Fraction, int] = {}
    for rank, number in enumerate(sorted(numbers[text] for text in texts)):
        first.setdefault(number, rank)
    raw = {number: bins * rank // len(texts) for number, rank in first.items()}
    used = {bin_: i for i, bin_ in enumerate(sorted(set(raw.values())))}
    return {text: used[raw[number]] for text, number in numbers.items()}, len(used)


# Distances, all in integers: with class counts c of s rows and reference counts N of n
# rows, c/s - N/n = (n c - s N) / (n s).


def emd_equal(counts: Counter[int], reference: Counter[int]) -> Fraction:
    """Half the sum of |c/s - N/n|."""
    s, n = counts.total(), reference.total()
    total = sum(abs(n * counts.get(place, 0) - s * whole) for place, whole in reference.items())
    return Fraction(total, 2 * n * s)


def emd_line(
    counts: Counter[int],
    reference: Counter[int],
    gaps: Sequence[int],
    spread: int | Fraction,
) -> Fraction:
    """Sum of |C_i/s - N_i/n| times the gap after place i, over the spread."""
    if spread == 0:
        return Fraction(0)
    s, n = counts.total(), reference.total()
    below = total = 0
    for place, gap in enumerate(gaps):
        below += n * counts.get(place, 0) - s * reference.get(place, 0)
        total += abs(below) * gap
    return Fraction(total) / (n * s * spread)


class Tree:
    """A hierarchy by its leaf-first paths; a node is (depth below the root, label)."""

    def __init__(self, paths: Sequence[Labels]) -> None:
        height: dict[Node, int] = {}
        parent: dict[Node, Node] = {}
        for path in paths:
            nodes = list(enumerate(reversed(path)))
            for up, node in enumerate(reversed(nodes)):
                height[node] = max(up, height.get(node, 0))
            for above, node in pairwise(nodes):
                assert parent.setdefault(node, above) == above
        upward = sorted(height, reverse=True)  # deepest first, the root last
        number = {node: i for i, node in enumerate(upward)}
        self.heights = [height[node] for node in upward]
        self.parents = [number[parent[node]] for node in upward[:-1]]
        self.leaves = [number[len(path) - 1, path[0]] for path in paths]
        assert all(self.heights[leaf] == 0 for leaf in self.leaves)

    def emd(self, counts: Counter[int], reference: Counter[int]) -> Fraction:
        """The recursion of 004, 3.1: extra, pos, neg, cost; children before parents."""
        if self.heights[-1] == 0:
            return Fraction(0)
        s, n = counts.total(), reference.total()
        extra, positive, negative = ([0] * len(self.heights) for _ in range(3))
        for place, leaf in enumerate(self.leaves):
            extra[leaf] = n * counts.get(place, 0) - s * reference.get(place, 0)
        for node, above in enumerate(self.parents):
            extra[above] += extra[node]
            if extra[node] > 0:
                positive[above] += extra[node]
            else:
                negative[above] -= extra[node]
        costs = (
            height * min(pos, neg) for height, pos, neg in zip(self.heights, positive, negative, strict=True) if height
        )
        return Fraction(sum(costs), n * s * self.heights[-1])


# Loss


def loss(
    original_rows: Sequence[Row],
    class_of_row: Sequence[Hashable],
    columns: Mapping[str, Column],
    missing: Missing = ("",),
) -> Fraction:
    """The general loss metric of 004, 3.2, with equal weights.

    A row of class -1 was dropped and does not count. A class that mixes missing with
    anything else loses 1, one that is all missing loses 0.
    """
    groups: dict[Hashable, list[Row]] = {}
    for row, label in zip(original_rows, class_of_row, strict=True):
        if label != -1:
            groups.setdefault(label, []).append(row)
    total, n = Fraction(0), sum(len(members) for members in groups.values())
    for column, kind in columns.items():
        classes = [[row[column] for row in members] for members in groups.values()]
        present = [text for texts in classes for text in texts if text not in missing]
        span = span_loss(kind, present)
        for texts in classes:
            given = [text for text in texts if text not in missing]
            if given:
                total += len(texts) * (1 if len(given) < len(texts) else span(given))
    return total / (n * len(columns)) if total else total


def span_loss(kind: Column, present: Sequence[str]) -> Callable[[Sequence[str]], Fraction]:
    """The loss of one class: by range, or by the leaves below the common ancestor."""
    if kind[0] == "numeric":
        number = {text: exact(text) for text in set(present)}
        spread = max(number.values(), default=0) - min(number.values(), default=0)

        def by_range(texts: Sequence[str]) -> Fraction:
            values = [number[text] for text in texts]
            return (max(values) - min(values)) / spread if spread else Fraction(0)

        return by_range
    nodes = {path[0]: set(enumerate(reversed(path))) for path in kind[1]}
    leaves = Counter(node for above in nodes.values() for node in above)

    def by_leaves(texts: Sequence[str]) -> Fraction:
        ancestor = max(set.intersection(*(nodes[text] for text in texts)))
        below = leaves[ancestor]
        return Fraction(0) if below == 1 else Fraction(below, len(nodes))

    return by_leaves
