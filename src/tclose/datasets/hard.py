"""Instances on which no method can be fast and best at once: the reductions of paper 002.

Each maker turns a graph, or triples, into a table of which the least number of suppressed
cells answers a question that is NP-hard. Small ones, with a known answer, test a method that
claims to be optimal; large ones show where it gives up. Vertices and elements count from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from tclose.schema.schema import Schema

Edge: TypeAlias = tuple[int, int]
Triple: TypeAlias = tuple[int, int, int]
Rows: TypeAlias = list[list[str]]

OTHER = "0"  # what a cell holds that has no value of its own
SENSITIVE = "value"
CENTRE = "none"
SETS = ("x", "y", "z")
THIRD, HALF = Fraction(1, 3), Fraction(1, 2)


@dataclass(frozen=True, eq=False)
class Instance:
    """A table, what is asked of it, and what is known about the best answer.

    Attributes
    ----------
    frame
        The table.
    schema
        Its schema, with `recode = "suppress"`.
    about
        What it was made of.
    optimum
        The least number of suppressed cells, None where it is not known.
    threshold
        What the instance was made from has a solution if and only if the optimum is at most this.

    Examples
    --------
    >>> square = bisection([(0, 1), (1, 2), (2, 3), (3, 0)], 4, cut=2)
    >>> square.frame.shape, square.schema.k, square.optimum
    ((4, 4), 2, 12)
    """

    frame: pl.DataFrame
    schema: Schema
    about: str
    optimum: int | None = None
    threshold: int | None = None

    def as_closeness(self) -> Instance:
        """The same question asked by t instead of k (lemma 1); itself, if it asks t already.

        Examples
        --------
        >>> square = bisection([(0, 1), (1, 2), (2, 3), (3, 0)], 4, cut=2)
        >>> close = square.as_closeness()
        >>> close.schema.k, close.schema.sensitive[0].t, close.optimum == square.optimum
        (1, Fraction(1, 2), True)
        """
        if self.schema.sensitive:
            return self
        made = k_to_t(self.frame, self.schema.k)
        return replace(self, frame=made.frame, schema=made.schema, about=f"{self.about} {made.about}")


def k_to_t(frame: pl.DataFrame, k: int) -> Instance:
    """Ask k-anonymity of a table as t-closeness (lemma 1).

    Every row gets a sensitive value of its own. By the equal distance a class of r rows is then
    1 - r/n away from the table, so that t = 1 - k/n asks for k rows.

    Parameters
    ----------
    frame
        A table of quasi-identifiers alone.
    k
        The least number of rows in a class, from 1 to the number of rows.

    Examples
    --------
    >>> close = k_to_t(pl.DataFrame({"zip": ["1", "1", "2"]}), 2)
    >>> close.schema.sensitive[0].t
    Fraction(1, 3)
    """
    n = frame.height
    _require(1 <= k <= n, f"k must be from 1 to the number of rows, {n}.")
    _require(SENSITIVE not in frame.columns, f"A column is called '{SENSITIVE}' already. Rename it.")
    own = pl.Series(SENSITIVE, [f"v{row}" for row in range(n)])
    schema = _schema(frame.columns, 1, {SENSITIVE: {"distance": "equal", "t": 1 - Fraction(k, n)}})
    return Instance(frame.with_columns(own), schema, f"k = {k} of {n} rows is asked as t = {1 - Fraction(k, n)}.")


def bisection(edges: Sequence[Edge], n: int, cut: int | None = None) -> Instance:
    """Minimum bisection as n/2-anonymity (theorem 3).

    A row a vertex, a column an edge: a cell holds the vertex if it is an end of the edge, else 0.
    A half with c edges inside or leaving suppresses these c columns, so the best two halves
    cost n (edges + cut) / 2, where cut is the least number of edges between two halves.

    Parameters
    ----------
    edges
        Pairs of different vertices, each pair once.
    n
        The number of vertices: even, from 4 up.
    cut
        The least cut, if it is known; the optimum then is.

    Examples
    --------
    >>> bisection([(0, 1), (2, 3)], 4, cut=0).optimum
    4
    """
    _check_graph(edges, n)
    optimum = None if cut is None else n * (len(edges) + cut) // 2
    frame = _frame(_ends(edges, n))
    return Instance(frame, _schema(frame.columns, n // 2), f"Bisect {n} vertices and {len(edges)} edges.", optimum)


def padded(instance: Instance, c: Fraction) -> Instance:
    """The same optimum with k a smaller share of the rows (theorem 4).

    Rows that are all alike are added until n/2 rows are the share c of all, and columns that
    tell them from the rest, so many that no good class mixes the two.

    Parameters
    ----------
    instance
        One that asks k = n/2 and no t, such as `bisection` makes.
    c
        The share, above 0 and at most 1/3, such that n / 2c is whole.

    Examples
    --------
    >>> small = bisection([(0, 1), (2, 3)], 4, cut=0)
    >>> larger = padded(small, Fraction(1, 3))
    >>> larger.frame.shape, larger.schema.k, larger.optimum
    ((6, 10), 2, 4)
    """
    frame, n = instance.frame, instance.frame.height
    _require(0 < c <= THIRD, "c must be above 0 and at most 1/3.")
    _require(not instance.schema.sensitive and 2 * instance.schema.k == n, "The instance must ask k = n/2 and no t.")
    n_all = _whole(n / (2 * c), "n / 2c")
    first, second = _fresh(frame)
    old = [[*map(str, row), *[first] * (n * frame.width)] for row in frame.iter_rows()]
    new = [[second] * (frame.width * (n + 1)) for _ in range(n_all - n)]
    made = _frame(old + new)
    about = f"{instance.about} Padded to {n_all} rows, of which k are the share {c}."
    return Instance(made, _schema(made.columns, n // 2), about, instance.optimum, instance.threshold)


def half_clique(edges: Sequence[Edge], n: int, c: Fraction, clique: bool | None = None) -> Instance:
    """Whether half of the vertices are all joined, as cn-anonymity (theorem 5).

    The table of `bisection`, and rows that share no cell with any other. There is a clique of
    n/2 vertices if and only if the optimum is at most rows * edges - n/2 * C(n/2, 2).

    Parameters
    ----------
    edges, n
        The graph, as for `bisection`.
    c
        The share of the rows that k is: above 1/3, below 1/2, such that n / 2c is whole.
    clique
        Whether there is a clique, if it is known; if there is, the optimum is the threshold.

    Examples
    --------
    >>> made = half_clique([(0, 1), (0, 2), (1, 2), (3, 4)], 6, Fraction(3, 8), clique=True)
    >>> made.frame.shape, made.schema.k, made.threshold
    ((8, 4), 3, 23)
    """
    _check_graph(edges, n)
    _require(THIRD < c < HALF, "c must be above 1/3 and below 1/2.")
    n_all = _whole(n / (2 * c), "n / 2c")
    frame = _frame(_ends(edges, n) + [[f"v{row}"] * len(edges) for row in range(n, n_all)])
    threshold = n_all * len(edges) - n // 2 * comb(n // 2, 2)
    about = f"Find {n // 2} vertices all joined among {n}, with {len(edges)} edges."
    return Instance(frame, _schema(frame.columns, n // 2), about, threshold if clique else None, threshold)


def matching(triples: Sequence[Triple], n: int, t: Fraction = Fraction(0), disjoint: int | None = None) -> Instance:
    """Three-dimensional matching as t-closeness with three sensitive values (theorem 6).

    A row an element of X, Y or Z, which is its sensitive value; a column a triple: a cell holds
    0 if the triple has the element, else the element. Only a class of the three rows of a triple
    keeps a column, so n disjoint triples exist if and only if the optimum is at most
    3n (triples - 1). The optimum is 3 (n * triples - d) for at most d disjoint triples.

    Parameters
    ----------
    triples
        Elements of X, Y and Z, each from 0 to n - 1; no triple twice.
    n
        The number of elements of X, of Y and of Z.
    t
        From 0 to below 1/3.
    disjoint
        The largest number of disjoint triples, if it is known; the optimum then is.

    Examples
    --------
    >>> made = matching([(0, 0, 0), (1, 1, 1), (0, 1, 1)], 2, disjoint=2)
    >>> made.frame.shape, made.threshold, made.optimum
    ((6, 4), 12, 12)
    """
    _check_triples(triples, n)
    _require(0 <= t < THIRD, "t must be from 0 to below 1/3.")
    frame = _frame(_apart(triples, n)).with_columns(pl.Series(SENSITIVE, _sets(n)))
    schema = _schema(frame.columns[:-1], 1, {SENSITIVE: {"distance": "equal", "t": t}})
    return _matched(frame, schema, triples, n, disjoint)


def matching_padded(
    triples: Sequence[Triple],
    n: int,
    t: Fraction,
    disjoint: int | None = None,
    distance: Literal["matrix", "joint"] = "matrix",
) -> Instance:
    """Three-dimensional matching as t-closeness with four sensitive values (theorem 7).

    The table of `matching`, and rows like no other with a fourth value, half as far from the
    other three as these are from each other. So many are added that a class of one row of each
    set is exactly t away; any fewer of them are at least (1 - 2t)/3 farther.

    The distance is given as a matrix, or with `distance="joint"` as a joint: three columns say
    whether a row is of X, of Y, of Z. By the mean of their distances two sets are 2/3 apart and the
    fourth value 1/3, so the joint asks 2t/3.

    Parameters
    ----------
    triples, n, disjoint
        As for `matching`.
    t
        From 1/3 to below 1/2, such that 3n / (1 - 2t) is whole.
    distance
        How the sensitive values are told apart.

    Examples
    --------
    >>> made = matching_padded([(0, 0, 0), (1, 1, 1), (0, 1, 1)], 2, Fraction(1, 3), disjoint=2)
    >>> made.frame.height, made.optimum, made.schema.sensitive[0].t
    (18, 12, Fraction(1, 3))
    """
    _check_triples(triples, n)
    _require(THIRD <= t < HALF, "t must be from 1/3 to below 1/2.")
    n_all = _whole(3 * n / (1 - 2 * t), "3n / (1 - 2t)")
    frame = _frame(_apart(triples, n) + [[f"v{row}"] * len(triples) for row in range(3 * n, n_all)])
    values = [*_sets(n), *[CENTRE] * (n_all - 3 * n)]
    joint: dict[str, Any] = {}
    if distance == "matrix":
        told = [pl.Series(SENSITIVE, values)]
        costs = [[0 if i == j else 0.5 if 3 in (i, j) else 1 for j in range(4)] for i in range(4)]
        matrix = {"values": [*SETS, CENTRE], "costs": costs}
        sensitive = {SENSITIVE: {"distance": "matrix", "matrix": matrix, "t": t}}
    else:
        told = [pl.Series(f"in_{one}", [int(value == one) for value in values]) for one in SETS]
        sensitive = {column.name: {"distance": "numeric"} for column in told}
        joint = {SENSITIVE: {"columns": list(sensitive), "t": 2 * t / 3}}
    schema = _schema(frame.columns, 1, sensitive, joint)
    return _matched(frame.with_columns(told), schema, triples, n, disjoint)


def random_graph(n: int, n_edges: int, seed: int = 0) -> list[Edge]:
    """Draw this many random edges between n vertices.

    Examples
    --------
    >>> len(random_graph(6, 9, seed=1))
    9
    """
    pairs = list(combinations(range(n), 2))
    _require(1 <= n_edges <= len(pairs), f"n_edges must be from 1 to {len(pairs)}.")
    chosen = np.random.default_rng(seed).permutation(len(pairs))[:n_edges]
    return [pairs[place] for place in sorted(chosen.tolist())]


def planted_bisection(n: int, cut: int, seed: int = 0) -> Instance:
    """A `bisection` whose least cut is known: two complete halves with this many edges between.

    Any two other halves part j vertices from each side, and cut 2 j (n/2 - j) >= n - 2 edges.

    Parameters
    ----------
    n
        The number of vertices: even, from 4 up.
    cut
        The edges between the halves, at most n - 2.

    Examples
    --------
    >>> planted_bisection(8, 3, seed=1).optimum
    72
    """
    _require(0 <= cut <= n - 2, "cut must be from 0 to n - 2, or another bisection could be better.")
    rng = np.random.default_rng(seed)
    order = rng.permutation(n).tolist()
    sides = order[: n // 2], order[n // 2 :]
    between = [(left, right) for left in sides[0] for right in sides[1]]
    chosen = [between[place] for place in rng.permutation(len(between))[:cut].tolist()]
    return bisection([*combinations(sides[0], 2), *combinations(sides[1], 2), *chosen], n, cut)


def planted_clique(n: int, c: Fraction, more: int, seed: int = 0) -> Instance:
    """A `half_clique` that has a clique, and this many other edges.

    Examples
    --------
    >>> made = planted_clique(6, Fraction(3, 8), 4, seed=1)
    >>> made.optimum == made.threshold
    True
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(n).tolist()
    inside = set(order[: n // 2])
    others = [pair for pair in combinations(range(n), 2) if not inside.issuperset(pair)]
    _require(0 <= more <= len(others), f"more must be from 0 to {len(others)}.")
    chosen = [others[place] for place in rng.permutation(len(others))[:more].tolist()]
    return half_clique([*combinations(sorted(inside), 2), *chosen], n, c, clique=True)


def planted_triples(n: int, more: int, seed: int = 0) -> list[Triple]:
    """Draw n triples that cover everything, and more that may not; hand them on with `disjoint=n`.

    Examples
    --------
    >>> made = matching(planted_triples(3, 4, seed=1), 3, disjoint=3)
    >>> made.optimum == made.threshold
    True
    """
    _require(0 <= more <= n**3 - n, f"more must be from 0 to {n**3 - n}.")
    rng = np.random.default_rng(seed)
    planted = list(zip(range(n), rng.permutation(n).tolist(), rng.permutation(n).tolist(), strict=True))
    triples = set(planted)
    while len(triples) < n + more:
        triples.add(tuple(rng.integers(0, n, 3).tolist()))
    shuffled = sorted(triples)
    return [shuffled[place] for place in rng.permutation(len(shuffled)).tolist()]


def _matched(frame: pl.DataFrame, schema: Schema, triples: Sequence[Triple], n: int, disjoint: int | None) -> Instance:
    optimum = None if disjoint is None else 3 * (n * len(triples) - disjoint)
    about = f"Match three sets of {n} by {len(triples)} triples."
    return Instance(frame, schema, about, optimum, 3 * n * (len(triples) - 1))


def _ends(edges: Sequence[Edge], n: int) -> Rows:
    """A row a vertex: its own value where it is an end of the edge."""
    return [[f"v{vertex}" if vertex in edge else OTHER for edge in edges] for vertex in range(n)]


def _apart(triples: Sequence[Triple], n: int) -> Rows:
    """A row an element, those of X first: its own value where it is not in the triple."""
    elements = [(place, element) for place in range(3) for element in range(n)]
    return [
        [OTHER if triple[place] == element else f"v{row}" for triple in triples]
        for row, (place, element) in enumerate(elements)
    ]


def _sets(n: int) -> list[str]:
    return [one for one in SETS for _ in range(n)]


def _frame(rows: Rows) -> pl.DataFrame:
    columns = [f"q{place}" for place in range(len(rows[0]))]
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def _schema(quasi: Sequence[str], k: int, sensitive: Any = None, joint: Any = None) -> Schema:
    columns = {column: {"kind": "categorical"} for column in quasi}
    asked = {"k": k, "recode": "suppress", "quasi": columns, "sensitive": sensitive or {}, "joint": joint or {}}
    return Schema.from_dict(asked)


def _fresh(frame: pl.DataFrame) -> tuple[str, str]:
    """Two values that no cell has."""
    taken = {str(cell) for row in frame.iter_rows() for cell in row}
    free = (f"s{number}" for number in range(len(taken) + 2))
    first, second, *_ = (value for value in free if value not in taken)
    return first, second


def _check_graph(edges: Sequence[Edge], n: int) -> None:
    _require(n >= 4 and n % 2 == 0, "n must be even, from 4 up.")
    _require(len(edges) > 0, "There must be an edge: it becomes a column.")
    _require(all(0 <= end < n for edge in edges for end in edge), f"Vertices must be from 0 to {n - 1}.")
    _require(all(a != b for a, b in edges), "An edge must join two vertices.")
    _require(len({frozenset(edge) for edge in edges}) == len(edges), "An edge is given twice.")


def _check_triples(triples: Sequence[Triple], n: int) -> None:
    _require(len(triples) > 0, "There must be a triple: it becomes a column.")
    _require(all(0 <= element < n for triple in triples for element in triple), f"Elements must be from 0 to {n - 1}.")
    _require(len(set(triples)) == len(triples), "A triple is given twice.")


def _whole(given: Fraction, name: str) -> int:
    _require(given.denominator == 1, f"{name} must be whole, and is {given}.")
    return int(given)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
