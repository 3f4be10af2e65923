"""How diverse the sensitive values of each class are, from the definitions (004 section 2), decided in integers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from math import gcd, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.schema.columns import Diversity
from tclose.verification.released_classes import ClassCounts

DOUBT = 2.0**-40  # floats of entropy are this near at least, for classes of up to 2^32 rows


@dataclass(frozen=True)
class LeastDiversity:
    """How diverse the least diverse classes are.

    Attributes
    ----------
    distinct
        The fewest distinct values of a class.
    entropy
        e to the least entropy of a class.
    frequency
        The fewest rows of a class for each row with its most frequent value.
    recursive
        (c, l): the least c that no class is above (None: there is none), at the l that is asked, or 2.
    meets
        Of each asked diversity, whether every class has it.
    """

    distinct: int
    entropy: float
    frequency: Fraction
    recursive: tuple[Fraction | None, int]
    meets: dict[str, bool] = field(compare=False)

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        factor, place = self.recursive
        return {
            "distinct": self.distinct,
            "entropy": self.entropy,
            "frequency": float(self.frequency),
            "recursive": {"l": place, "c_above": None if factor is None else float(factor)},
        }


@dataclass
class DiversitySearch:
    """The least diversity over the blocks of a table.

    Examples
    --------
    >>> from tclose.verification.class_work import one_class
    >>> search = DiversitySearch(Diversity(entropy=Fraction(2)))
    >>> search.look(one_class(4, np.array([0, 1]), np.array([2, 2])))
    >>> found = search.result()
    >>> found.distinct, found.frequency, found.meets
    (2, Fraction(2, 1), {'entropy': True})
    """

    asked: Diversity
    distinct: int | None = None
    entropy: float = float("inf")
    frequency: Fraction | None = None
    recursive: Fraction | None = Fraction(0)
    entropic: bool = True
    judged: set[tuple[int, ...]] = field(default_factory=set)

    @property
    def first_counted(self) -> int:
        """The l of recursive (c, l)-diversity."""
        return self.asked.recursive[1] if self.asked.recursive else 2

    def look(self, block: ClassCounts) -> None:
        """Take in the classes of a block."""
        if not len(block.sizes):
            return
        fewest = int(block.kinds.min())
        self.distinct = fewest if self.distinct is None else min(self.distinct, fewest)
        rarest = least_frequency(block)
        self.frequency = rarest if self.frequency is None else min(self.frequency, rarest)
        self._look_at_entropy(block)
        if self.recursive is not None:
            largest = largest_recursive(block, self.first_counted)
            self.recursive = None if largest is None else max(self.recursive, largest)

    def _look_at_entropy(self, block: ClassCounts) -> None:
        """Settle clear classes by floats, the others once for each multiset of counts."""
        ascending = _ascending(block)  # so that the last bit does not depend on the order of values
        sums = np.add.reduceat(ascending * np.log(ascending), block.starts)
        entropies = np.log(block.sizes) - sums / block.sizes
        self.entropy = min(self.entropy, float(entropies.min()))
        asked = self.asked.entropy
        if asked is None or not self.entropic:
            return
        threshold = log(asked.numerator) - log(asked.denominator)
        doubt = DOUBT * (1 + abs(threshold))
        if (entropies < threshold - doubt).any():
            self.entropic = False
            return
        for place in np.flatnonzero(entropies < threshold + doubt).tolist():
            counts = tuple(sorted(block.of(place)[1].tolist()))
            if counts not in self.judged:
                self.judged.add(counts)
                self.entropic &= has_entropy(counts, asked)

    def result(self) -> LeastDiversity:
        """What all classes reach; a table without rows has every diversity."""
        distinct, frequency = self.distinct or 0, self.frequency or Fraction(0)
        empty = self.distinct is None
        met: dict[str, bool] = {}
        for name, asked in self.asked.items():
            if name == "distinct":
                met[name] = empty or distinct >= asked
            elif name == "entropy":
                met[name] = self.entropic
            elif name == "frequency":
                met[name] = empty or frequency >= asked
            else:
                met[name] = self.recursive is not None and (empty or self.recursive < asked[0])
        entropy = 0.0 if empty else float(np.exp(max(self.entropy, 0.0)))
        return LeastDiversity(distinct, entropy, frequency, (self.recursive, self.first_counted), met)


def _ascending(block: ClassCounts) -> NDArray[np.int64]:
    """The counts of each class in ascending order, one class after the other; no class has 2^32 rows."""
    owner = np.repeat(np.arange(len(block.sizes)), block.kinds)
    return np.asarray(np.sort(owner << 32 | block.counts) & (2**32 - 1), np.int64)


def least_frequency(block: ClassCounts) -> Fraction:
    """The least rows of a class over its most frequent value's, of all classes of a block."""
    most = np.maximum.reduceat(block.counts, block.starts)
    return _extreme(block.sizes, most, least=True)


def largest_recursive(block: ClassCounts, first: int) -> Fraction | None:
    """The largest r1 / (r_l + ... + r_m) of a class, r being its counts from the most frequent on; None if by 0."""
    if (block.kinds < first).any():
        return None
    if first <= 2:  # all rows, or all without the most frequent value
        most = np.maximum.reduceat(block.counts, block.starts)
        return _extreme(most, block.sizes - (most if first == 2 else 0), least=False)
    owners = np.repeat(np.arange(len(block.sizes)), block.kinds)
    falling = block.counts[np.lexsort((-block.counts, owners))]
    rank = np.arange(len(falling)) - np.repeat(block.starts, block.kinds)
    tails = np.add.reduceat(np.where(rank >= first - 1, falling, 0), block.starts)
    return _extreme(falling[block.starts], tails, least=False)


def _extreme(numerators: NDArray[np.int64], denominators: NDArray[np.int64], least: bool) -> Fraction:
    """The least or largest quotient; integers below 2^53 divide with one rounding, ties are settled by fractions."""
    shares = numerators / denominators
    near = shares <= shares.min() * (1 + 2.0**-50) if least else shares >= shares.max() * (1 - 2.0**-50)
    pairs = np.unique(np.stack([numerators[near], denominators[near]]), axis=1)
    quotients = [Fraction(int(one), int(other)) for one, other in pairs.T]
    return min(quotients) if least else max(quotients)


def has_entropy(counts: Iterable[int], asked: Fraction) -> bool:
    """Whether the entropy of a class is at least the logarithm of `asked`, exactly.

    With s rows, that is s^s / product of c^c >= asked^s. Both sides are products of powers of whole numbers:
    whether they are equal is told by their exponents over a base of coprime numbers, and if they are not,
    logarithms of enough digits tell them apart.

    Examples
    --------
    >>> has_entropy([2, 2, 2], Fraction(3)), has_entropy([3, 2, 1], Fraction(3))
    (True, False)
    """
    counts = list(counts)
    rows = sum(counts)
    powers = [(rows, rows), (asked.denominator, rows), (asked.numerator, -rows), *((c, -c) for c in counts)]
    if _is_one(powers):
        return True
    digits = 40
    while True:
        with localcontext() as context:
            context.prec = digits
            terms = [Decimal(exponent) * Decimal(number).ln() for number, exponent in powers]
            total = sum(terms, Decimal(0))
            size = sum((abs(term) for term in terms), Decimal(1))
            error = size * (len(powers) + 4) * Decimal(10) ** (2 - digits)
        if abs(total) > error:
            return total > 0
        digits *= 2


def _is_one(powers: list[tuple[int, int]]) -> bool:
    """Whether a product of powers is 1: it is if every number of a coprime base has exponent 0."""
    base: list[int] = []
    for number, _ in powers:
        base = _refined(base, number)
    for part in base:
        total = 0
        for number, exponent in powers:
            while number % part == 0:
                number //= part
                total += exponent
        if total:
            return False
    return True


def _refined(base: list[int], number: int) -> list[int]:
    """Coprime numbers above 1, of powers of which `number` and all in `base` are products."""
    waiting, found = [number], list(base)
    while waiting:
        fresh = waiting.pop()
        if fresh == 1 or fresh in found:
            continue
        for place, known in enumerate(found):
            common = gcd(known, fresh)
            if common > 1:
                del found[place]
                waiting += [common, known // common, fresh // common]
                break
        else:
            found.append(fresh)
    return found
