"""How far the share of a value in a class is above its share in the table, and whether that is within the caps asked.

Let a class of s rows hold value v in c of them and the table of n rows in N. The rise of v is c/s - N/n, and its
growth c n / (s N) - 1. Both are fractions: floats find the few that may be largest, and fractions decide. Only the
enhanced form of beta-likeness compares with a logarithm: growth <= ln(n / N). The logarithm of a rational number
above 1 is transcendental, so the two are never equal, and rational bounds of the logarithm that draw closer and
closer together decide in the end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.schema.belief_caps import BeliefCaps
from tclose.verification.ground_definitions import Ground, TreeGround
from tclose.verification.released_classes import ClassCounts

MARGIN = 2.0**-44  # far above the few roundings of a quotient of counts
DOUBT = 2.0**-40  # and of a logarithm beside one

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class ReachedRise:
    """How far shares rise in the class where they rise most.

    Attributes
    ----------
    rise
        The largest share of a value in a class less its share in the table.
    beta
        The largest share of a value in a class over its share in the table, less 1.
    meets
        Of each cap asked, whether every class keeps it: `rise`, `beta`, and `enhanced`.
    """

    rise: Fraction
    beta: Fraction
    meets: dict[str, bool] = field(compare=False)


@dataclass
class RiseSearch:
    """The largest rises over the blocks of a table.

    Attributes
    ----------
    asked
        The caps.
    counted
        What is counted: the values, or the nodes of their hierarchy.

    Examples
    --------
    >>> from tclose.verification.class_work import one_class
    >>> from tclose.verification.ground_definitions import StarGround
    >>> search = RiseSearch.of(BeliefCaps(beta=Fraction(1), enhanced=True), StarGround(2), np.array([1, 3]))
    >>> search.look(one_class(2, np.array([0, 1]), np.array([1, 1])))
    >>> search.result()
    ReachedRise(rise=Fraction(1, 4), beta=Fraction(1, 1), meets={'beta': True, 'enhanced': True})
    """

    asked: BeliefCaps
    counted: CountedShares
    rise: Fraction = Fraction(0)
    growth: Fraction = Fraction(0)
    enhanced: bool = True
    judged: set[tuple[Fraction, Fraction]] = field(default_factory=set)

    @classmethod
    def of(cls, asked: BeliefCaps, ground: Ground, reference: Integers) -> RiseSearch:
        """For a table in which the values of a domain occur so often."""
        return cls(asked, CountedShares.of(ground, reference, asked.levels))

    def look(self, block: ClassCounts) -> None:
        """Take in the classes of a block."""
        if not len(block.sizes):
            return
        count, size, whole = self.counted.entries(block)
        n = self.counted.n
        in_class, in_table = count / size, whole / n
        rises, growths = in_class - in_table, in_class / in_table
        for c, s, of in distinct_rows(rises >= rises.max() - MARGIN, count, size, whole):
            self.rise = max(self.rise, Fraction(c, s) - Fraction(of, n))
        for c, s, of in distinct_rows(growths >= growths.max() * (1 - MARGIN), count, size, whole):
            self.growth = max(self.growth, Fraction(c * n, s * of) - 1)
        if self.asked.enhanced and self.enhanced:
            self._compare_logarithms(count, size, whole, growths - 1)

    def _compare_logarithms(self, count: Integers, size: Integers, whole: Integers, growths: NDArray[Any]) -> None:
        """Settle clear values by floats, the others once each."""
        surplus = growths - np.log(self.counted.n / whole)
        doubt = DOUBT * (1 + np.abs(growths))
        if (surplus > doubt).any():
            self.enhanced = False
            return
        for c, s, of in distinct_rows(surplus > -doubt, count, size, whole):
            pair = Fraction(c * self.counted.n, s * of) - 1, Fraction(self.counted.n, of)
            if pair not in self.judged:
                self.judged.add(pair)
                self.enhanced &= is_at_most_log(*pair)

    def result(self) -> ReachedRise:
        """What all classes reach."""
        met: dict[str, bool] = {}
        if self.asked.rise is not None:
            met["rise"] = self.rise <= self.asked.rise
        if self.asked.beta is not None:
            met["beta"] = self.growth <= self.asked.beta
        if self.asked.enhanced:
            met["enhanced"] = met.get("beta", True) and self.enhanced
        return ReachedRise(self.rise, self.growth, met)


@dataclass(frozen=True, eq=False)
class CountedShares:
    """What shares are counted of: the values of a domain, or all nodes below the root of their hierarchy.

    Attributes
    ----------
    whole
        The rows of each in the table.
    n
        The rows of the table.
    above
        For each value its leaf and the nodes above it, filled up with -1; None where values are counted.
    """

    whole: Integers
    n: int
    above: Integers | None

    @classmethod
    def of(cls, ground: Ground, reference: Integers, levels: bool) -> CountedShares:
        """Those of a table in which the values occur so often."""
        n = int(reference.sum())
        if not levels:
            return cls(reference, n, None)
        if not isinstance(ground, TreeGround):
            raise TypeError("only a hierarchy has levels")
        ways = [way[1:] for way in ground.ways]
        above = np.full((len(ways), max(map(len, ways), default=0)), -1, np.int64)
        whole = np.zeros(len(ground.parents), np.int64)
        for place, way in enumerate(ways):
            above[place, : len(way)] = way
            whole[way] += int(reference[place])
        return cls(whole, n, above)

    def entries(self, block: ClassCounts) -> tuple[Integers, Integers, Integers]:
        """Rows in the class, rows of the class and rows in the table, for all that occurs in each class."""
        owner = np.repeat(np.arange(len(block.sizes)), block.kinds)
        if self.above is None:
            return block.counts, block.sizes[owner], self.whole[block.codes]
        nodes = self.above[block.codes]
        present = nodes >= 0
        keys = (owner[:, None] * len(self.whole) + nodes)[present]
        weights = np.broadcast_to(block.counts[:, None], nodes.shape)[present]
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        of_class, node = np.divmod(keys[order][starts], len(self.whole))
        return np.add.reduceat(weights[order], starts), block.sizes[of_class], self.whole[node]


def distinct_rows(chosen: NDArray[np.bool_], *columns: Integers) -> list[list[int]]:
    """Each combination of some columns once, of the rows chosen."""
    found: list[list[int]] = np.unique(np.stack([column[chosen] for column in columns], axis=1), axis=0).tolist()
    return found


def is_at_most_log(number: Fraction, of: Fraction) -> bool:
    """Whether a number is at most the natural logarithm of another, which is 1 or more; exactly.

    Examples
    --------
    >>> is_at_most_log(Fraction(693, 1000), Fraction(2)), is_at_most_log(Fraction(694, 1000), Fraction(2))
    (True, False)
    """
    if of == 1:
        return number <= 0
    terms = 16
    while True:
        low, high = log_bounds(of, terms)
        if number <= low or number >= high:
            return number <= low
        terms *= 2


def log_bounds(of: Fraction, terms: int) -> tuple[Fraction, Fraction]:
    """Rational bounds of a natural logarithm: ln(2^e m) = e ln 2 + ln m, with m from 1 up to 2.

    Examples
    --------
    >>> low, high = log_bounds(Fraction(10), 12)
    >>> round(float(low), 9), low < high
    (2.302585093, True)
    """
    doublings = of.numerator.bit_length() - of.denominator.bit_length()
    doublings -= of < Fraction(2) ** doublings
    mantissa = of / Fraction(2) ** doublings
    two, rest = _series(Fraction(1, 3), terms), _series((mantissa - 1) / (mantissa + 1), terms)
    return doublings * two[0] + rest[0], doublings * two[1] + rest[1]


def _series(z: Fraction, terms: int) -> tuple[Fraction, Fraction]:
    """ln((1 + z) / (1 - z)) = 2 (z + z^3/3 + z^5/5 + ...): the first terms, and these with all that can follow."""
    total, power = Fraction(0), z
    for place in range(terms):
        total += power / (2 * place + 1)
        power *= z * z
    return 2 * total, 2 * (total + power / ((2 * terms + 1) * (1 - z * z)))
