"""What whole rows add to closeness: the hull of the integers, where a line alone would let parts of rows through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from math import lcm

import numpy as np
from numpy.typing import NDArray

from tclose.algorithms.milp.grounds import CappedSets, Edges, ProgramGround, exact_costs, ground_of
from tclose.algorithms.milp.patterns import Integers, Patterns, RowTypes
from tclose.algorithms.milp.program import Floats, Program
from tclose.algorithms.requirement import Attribute

ALL_SETS = 5  # values of which every set is looked at; of more, single ones and what lies beyond an edge
LONGEST = 5_000  # steps of the hull; beyond, it is as good as the line
ENOUGH = 1e-4  # of a row, by which a point must miss what it is cut off by

Facet = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class CountLimit:
    """A class cannot have too many rows with one of these values: inside <= ratio outside.

    Attributes
    ----------
    place
        Of the attribute, among those asked.
    inside
        Which codes are meant.
    ratio
        Exact.
    """

    place: int
    inside: NDArray[np.bool_]
    ratio: Fraction


def count_limits(place: int, attribute: Attribute, stop: Callable[[], bool]) -> list[CountLimit]:
    """The limits of an attribute, one for each set of values looked at; fewer where it was stopped."""
    limits: list[CountLimit] = []
    if stop() or attribute.t is None or attribute.t >= 1:
        return limits
    costs = exact_costs(attribute)
    for inside in _sets(attribute):
        if stop():
            break
        share = largest_share(costs, attribute.reference, inside, attribute.t)
        if share < 1:
            limits.append(CountLimit(place, inside, share / (1 - share)))
    return limits


def cap_limits(place: int, caps: CappedSets) -> list[CountLimit]:
    """The limits that caps on shares are."""
    return [
        CountLimit(place, inside, share / (1 - share)) for inside, share in zip(caps.inside, caps.shares, strict=True)
    ]


def largest_share(costs: list[list[Fraction]], reference: Integers, inside: NDArray[np.bool_], t: Fraction) -> Fraction:
    """How much of a class within t of the reference can lie inside a set of values.

    Of the reference's mass outside, the nearest is moved in first, while t lasts.

    Examples
    --------
    >>> equal = [[Fraction(i != j) for j in range(3)] for i in range(3)]
    >>> largest_share(equal, np.array([1, 1, 2]), np.array([True, False, False]), Fraction(1, 8))
    Fraction(3, 8)
    """
    n, members = int(reference.sum()), np.flatnonzero(inside).tolist()
    share = Fraction(int(reference[inside].sum()), n)
    outside = [code for code in np.flatnonzero(~inside).tolist() if reference[code]]
    for far, mass in sorted((min(costs[code][to] for to in members), int(reference[code])) for code in outside):
        moved = Fraction(mass, n) if far * mass <= t * n else t / far
        share, t = share + moved, t - moved * far
    return share


def least_work(costs: list[list[int]], reference: Integers, present: Sequence[int]) -> int:
    """What it takes to bring the reference to these values alone: all mass goes to the nearest of them."""
    return sum(mass * min(costs[code][to] for to in present) for code, mass in enumerate(reference.tolist()) if mass)


def weigher(
    types: RowTypes, k: int, attributes: Sequence[Attribute], grounds: Sequence[ProgramGround]
) -> Callable[[Integers], int]:
    """Tells how many unknowns a pattern needs at most, by the vectors that it covers.

    That is 0 if no class can have it: there are too few rows, or their values cannot be mixed to be close.
    """
    firsts = np.searchsorted(types.vector, np.arange(len(types.vectors) + 1))
    rows = np.bincount(types.vector, types.counts, len(types.vectors))
    costs = [_in_units(exact_costs(attribute)) for attribute in attributes]
    of_class = 2 + sum(ground.most_columns for ground in grounds)

    @cache
    def can_be_close(place: int, present: tuple[int, ...]) -> bool:
        attribute, (own, units) = attributes[place], costs[place]
        limits = attribute.limits
        if limits is not None and limits.paths is None and sum(limits.shares[code] for code in present) < 1:
            return False  # these values cannot fill a class
        if attribute.t is None or attribute.t >= 1:
            return True
        return least_work(own, attribute.reference, present) <= attribute.t * units * int(attribute.reference.sum())

    def weigh(vectors: Integers) -> int:
        if rows[vectors].sum() < k:
            return 0
        codes = types.codes[np.concatenate([np.arange(firsts[each], firsts[each + 1]) for each in vectors])]
        if all(can_be_close(place, tuple(np.unique(column).tolist())) for place, column in enumerate(codes.T)):
            return len(codes) + of_class
        return 0

    return weigh


def _in_units(costs: list[list[Fraction]]) -> tuple[list[list[int]], int]:
    """Costs in whole units, and how many of these are 1: whole numbers are added up faster."""
    units = lcm(*(cost.denominator for row in costs for cost in row))
    return [[int(cost * units) for cost in row] for row in costs], units


def _sets(attribute: Attribute) -> list[NDArray[np.bool_]]:
    """Sets of values, each neither empty nor all."""
    m = attribute.domain.size
    if m <= ALL_SETS:
        return [np.array(flags, np.bool_) for flags in product((0, 1), repeat=m) if 0 < sum(flags) < m]
    ground = ground_of(attribute)
    sets = [*np.eye(m, dtype=np.bool_), *(ground.beyond if isinstance(ground, Edges) else ())]
    both = np.unique(np.array([*sets, *(~each for each in sets)]), axis=0)
    return [each for each in both if 0 < each.sum() < m]


@cache
def hull(over: int, under: int, outside: int, inside: int) -> tuple[Facet, ...]:
    """The upper sides of the hull of all whole (x, y) with y <= x over / under, x <= outside, y <= inside.

    Each (a, b, c) says a y - b x <= c; y <= inside itself is left out.

    Examples
    --------
    >>> hull(1, 2, 3, 9)  # (0, 0), (2, 1), (3, 1)
    ((2, 1, 0), (1, 0, 1))
    """
    corners = [(0, 0)]
    for x in [-(-y * under // over) for y in range(1, min(inside, outside * over // under) + 1)] + [outside]:
        y = min(x * over // under, inside)
        while len(corners) > 1 and _turns_up(corners[-2], corners[-1], (x, y)):
            corners.pop()
        if x > corners[-1][0]:
            corners.append((x, y))
    sides = ((right[0] - left[0], right[1] - left[1], left) for left, right in pairwise(corners))
    return tuple((a, b, a * left[1] - b * left[0]) for a, b, left in sides if b or left[1] < inside)


def _turns_up(first: tuple[int, int], second: tuple[int, int], third: tuple[int, int]) -> bool:
    """Whether the second of three corners is not above the line between the others."""
    rise = (second[1] - first[1]) * (third[0] - first[0])
    return rise <= (third[1] - first[1]) * (second[0] - first[0])


@dataclass(frozen=True, eq=False)
class Separator:
    """Finds what a point breaks that no partition does."""

    program: Program
    types: RowTypes
    patterns: Patterns
    limits: list[CountLimit]

    def cut_off(self, point: Floats) -> Iterator[tuple[Integers, Floats, float]]:
        """The rows (columns, values, largest) that this point breaks, one a pattern and limit at most."""
        taken = point[: len(self.program.pattern)]
        counts = self.types.counts[self.program.type]
        n_patterns = len(self.patterns)
        begins = np.searchsorted(self.program.pattern, np.arange(n_patterns + 1))
        for limit in self.limits:
            inside = limit.inside[self.types.codes[self.program.type, limit.place]]
            (high, low), (most, room) = (
                [
                    np.bincount(self.program.pattern, np.where(side, values, 0.0), n_patterns)
                    for side in (inside, ~inside)
                ]
                for values in (taken, counts)
            )
            ratio = float(limit.ratio)
            near = (high > ENOUGH) & (high > low * ratio - 1) & (np.minimum(most, room * ratio) <= LONGEST)
            for each in np.flatnonzero(near).tolist():
                facets = hull(*limit.ratio.as_integer_ratio(), int(room[each]), int(most[each]))
                broken = [((a * high[each] - b * low[each] - c) / (a + b), (a, b, c)) for a, b, c in facets]
                miss, (a, b, c) = max(broken, default=(0.0, (0, 0, 0)))
                if miss > ENOUGH:
                    own = np.arange(begins[each], begins[each + 1])
                    yield own, np.where(inside[own], float(a), -float(b)), float(c)
