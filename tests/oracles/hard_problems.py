"""The problems behind paper 002's reductions, solved by trying everything."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

Edge = tuple[int, int]
Triple = tuple[int, int, int]


def least_cut(edges: Sequence[Edge], n: int) -> int:
    """The fewest edges between two halves of the vertices."""
    return min(sum((a in half) != (b in half) for a, b in edges) for half in combinations(range(n), n // 2))


def has_half_clique(edges: Sequence[Edge], n: int) -> bool:
    """Whether half of the vertices are all joined."""
    joined = {frozenset(edge) for edge in edges}
    return any(
        all(frozenset(pair) in joined for pair in combinations(half, 2)) for half in combinations(range(n), n // 2)
    )


def most_disjoint(triples: Sequence[Triple]) -> int:
    """The largest number of triples no two of which share an element."""
    for size in range(len(triples), 0, -1):
        for chosen in combinations(triples, size):
            if all(len(set(column)) == size for column in zip(*chosen, strict=True)):
                return size
    return 0
