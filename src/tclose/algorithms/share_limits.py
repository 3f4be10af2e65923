"""Caps on belief in integers: the largest share of each value that a class may have, as one short fraction.

A cap says that a class of s rows has at most q s rows of a value, where q depends on the table alone: p + rise,
(1 + beta) p, or (1 - ln p) p, which is irrational. A class has at most S rows, so its shares have denominators of at
most S. Let f be the largest such fraction that is not above q. Then no share lies between f and q, and c / s <= q
says the same as c / s <= f. With S = 2^31 all products of counts with the parts of f fit 64 bits, whatever was asked.

For a rational p between 0 and 1 the logarithm is transcendental (Lindemann and Weierstrass), so (1 - ln p) p equals no
fraction: an enclosure of enough digits has no fraction of such a denominator inside, and both its ends give the same f.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.distances import Form, Tree
from tclose.errors import SizeError
from tclose.schema.belief_caps import BeliefCaps
from tclose.table.class_rises import pairs_by_node, rows_by_node

Integers = NDArray[np.int64]
LARGEST_CLASS = 2**31  # rows; a product of two such numbers fits 64 bits
FIRST_DIGITS = 40  # of the first enclosure of a logarithm


@dataclass(frozen=True, eq=False)
class ShareLimits:
    """The largest shares that a class may have.

    Attributes
    ----------
    over, under
        Of each value the largest share is over / under; of each node of the hierarchy where inner nodes are capped.
    paths
        The nodes of each value, filled up with -1; None where only values are capped.

    Examples
    --------
    >>> from tclose.distances import Equal
    >>> limits = ShareLimits.of(BeliefCaps(rise=Fraction(1, 4)), Equal().form(2), np.array([1, 3]))
    >>> limits.shares, limits.hold(np.array([1, 1])), limits.hold(np.array([2, 1]))
    ([Fraction(1, 2), Fraction(1, 1)], True, False)
    """

    over: Integers
    under: Integers
    paths: NDArray[np.int32] | None

    @classmethod
    def of(cls, caps: BeliefCaps, form: Form, reference: Integers, largest: int = LARGEST_CLASS) -> ShareLimits:
        """What caps mean beside a reference, for classes of up to `largest` rows.

        Raises
        ------
        SizeError
            The reference has more rows than 64 bits can decide about.
        """
        n = int(reference.sum())
        if max(n, largest) > LARGEST_CLASS:
            raise SizeError(
                f"Caps on belief (rise, beta) are decided for tables of up to {LARGEST_CLASS:,} rows, and this one "
                f"has {n:,}. Take a part of it."
            )
        paths = form.paths if caps.levels and isinstance(form, Tree) else None
        rows = reference if paths is None else rows_by_node(paths, reference)
        return cls(*limits_of_counts(caps, rows, n, largest), paths)

    @cached_property
    def shares(self) -> list[Fraction]:
        """The largest share of each value, or of each node."""
        return [Fraction(over, under) for over, under in zip(self.over.tolist(), self.under.tolist(), strict=True)]

    def hold(self, counts: Integers) -> bool:
        """Whether a class with these counts of the values keeps every cap."""
        own = counts if self.paths is None else rows_by_node(self.paths, counts)
        return bool((own * self.under <= self.over * counts.sum()).all())

    def broken(self, owner: Integers, code: Integers, count: Integers, sizes: Integers) -> NDArray[np.bool_]:
        """Which of some classes break a cap, from the count of each value that occurs in each of them."""
        if self.paths is not None:
            owner, code, count = pairs_by_node(self.paths, owner, code, count)
        above = count * self.under[code] > self.over[code] * sizes[owner]
        found = np.zeros(len(sizes), bool)
        found[owner[above]] = True
        return found

    def sets(self) -> Iterator[tuple[NDArray[np.bool_], Fraction]]:
        """Which values each cap below 1 is about, and the largest share of them together."""
        for place, share in enumerate(self.shares):
            if share < 1:
                inside = np.arange(len(self.over)) == place
                yield inside if self.paths is None else (self.paths == place).any(axis=1), share


def limits_of_counts(caps: BeliefCaps, counts: Integers, n: int, largest: int) -> tuple[Integers, Integers]:
    """Numerators and denominators of the largest shares of what has so many of n in the reference."""
    known = {count: _limit(caps, count, n, largest) for count in set(counts.tolist())}
    shares = [known[count] for count in counts.tolist()]
    over, under = (np.array([part(share) for share in shares], np.int64) for part in (_over, _under))
    return over, under


def _over(share: Fraction) -> int:
    return share.numerator


def _under(share: Fraction) -> int:
    return share.denominator


def _limit(caps: BeliefCaps, count: int, n: int, largest: int) -> Fraction:
    """The largest share, at most 1, of what has so many of n rows in the reference."""
    if n == 0:
        return Fraction(1)
    p, found = Fraction(count, n), [Fraction(1)]
    if caps.rise is not None:
        found.append(p + caps.rise)
    if caps.beta is not None:
        found.append(p + caps.beta * p)
    limit = largest_at_most(min(found), largest)
    return min(limit, _enhanced_limit(count, n, largest)) if caps.enhanced and 0 < count < n else limit


def _enhanced_limit(count: int, n: int, largest: int) -> Fraction:
    """The same for (1 - ln p) p, from enclosures of rising precision."""
    p, digits = Fraction(count, n), FIRST_DIGITS
    while True:
        with localcontext() as context:
            context.prec = digits
            logarithm = Fraction(Decimal(n).ln() - Decimal(count).ln())
        error = Fraction(1, 10 ** (digits - 5))  # three roundings of numbers below 100
        low, high = (largest_at_most(p * (1 + logarithm + sign * error), largest) for sign in (-1, 1))
        if low == high:
            return low
        digits *= 2


def largest_at_most(number: Fraction, largest: int) -> Fraction:
    """The largest fraction that is not above a number, with a denominator of at most `largest`.

    With low < number < high two neighbours among the fractions of small denominators, the next one between them is
    (numerators added) / (denominators added). Many steps to one side are one division.

    Examples
    --------
    >>> largest_at_most(Fraction(314159, 100000), 100), largest_at_most(Fraction(1, 3), 3)
    (Fraction(311, 99), Fraction(1, 3))
    """
    if number.denominator <= largest:
        return number
    over, under = number.as_integer_ratio()
    low, high = (over // under, 1), (over // under + 1, 1)
    to_low, to_high = over * low[1] - under * low[0], under * high[0] - over * high[1]
    while True:
        up = min(to_low // to_high, (largest - low[1]) // high[1])
        low, to_low = (low[0] + up * high[0], low[1] + up * high[1]), to_low - up * to_high
        down = min(to_high // to_low, (largest - high[1]) // low[1])
        high, to_high = (high[0] + down * low[0], high[1] + down * low[1]), to_high - down * to_low
        if up == down == 0:
            return Fraction(*low)
