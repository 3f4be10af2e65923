"""How varied the sensitive values of each class are (004 section 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.schema.columns import Diversity
from tclose.table.classes import Tally

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Reached:
    """The diversity of the least diverse classes.

    Attributes
    ----------
    distinct
        The fewest distinct values in a class.
    entropy
        The least exp(entropy) of a class.
    frequency
        The least of rows over rows with the most frequent value.
    recursive
        (c, l): recursive (c', l)-diversity holds for every c' above c; c is None if it holds for none.
    """

    distinct: int
    entropy: float
    frequency: Fraction
    recursive: tuple[Fraction | None, int]

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        factor, place = self.recursive
        return {
            "distinct": self.distinct,
            "entropy": self.entropy,
            "frequency": float(self.frequency),
            "recursive": {"l": place, "c_above": None if factor is None else float(factor)},
        }


def diversity(tally: Tally, place: int = 2) -> Reached:
    """Measure the classes of a tally; `place` is the l of recursive (c, l)-diversity."""
    most, rest = tally.by_class(lambda piece: np.stack(_most_and_rest(piece, place)))
    ratio = tally.sizes / most
    least = np.flatnonzero(ratio <= ratio.min() * (1 + 1e-12))
    frequency = min(Fraction(int(tally.sizes[c]), int(most[c])) for c in least[:1000])
    factor = None
    if rest.min() > 0:
        share = most / rest
        near = np.flatnonzero(share >= share.max() * (1 - 1e-12))
        factor = max(Fraction(int(most[c]), int(rest[c])) for c in near[:1000])
    return Reached(
        int(_distinct(tally).min()), float(np.exp(tally.by_class(_entropy).min())), frequency, (factor, place)
    )


def first_failure(tally: Tally, asked: Diversity) -> str | None:
    """What a class fails to be, in words, or None if all are as diverse as asked; decided in integers."""
    if asked.distinct is not None and _distinct(tally).min() < asked.distinct:
        return f"a class has {int(_distinct(tally).min())} distinct values, asked are {asked.distinct}"
    place = asked.recursive[1] if asked.recursive else 1
    most, rest = tally.by_class(lambda piece: np.stack(_most_and_rest(piece, place)))
    if asked.frequency is not None:
        over, under = asked.frequency.numerator, asked.frequency.denominator
        if any(int(m) * over > int(s) * under for m, s in zip(most, tally.sizes, strict=True)):
            return f"in a class one value is in more than one of {float(asked.frequency):g} rows"
    if asked.recursive is not None:
        factor = asked.recursive[0]
        if any(int(m) * factor.denominator >= int(r) * factor.numerator for m, r in zip(most, rest, strict=True)):
            return f"a class is not recursive ({float(factor):g}, {asked.recursive[1]})-diverse"
    if asked.entropy is not None and not _entropy_holds(tally, asked.entropy):
        return f"the entropy of a class is below log {float(asked.entropy):g}"
    return None


def _distinct(tally: Tally) -> Integers:
    return np.diff(tally.start, append=len(tally.code))


def _ascending(tally: Tally) -> Integers:
    """The counts of each class in ascending order, one class after the other."""
    return np.sort(tally.owner << 32 | tally.count) & (2**32 - 1)


def _entropy(tally: Tally) -> NDArray[np.float64]:
    count = _ascending(tally)  # so that the last bit does not depend on the order of the values
    sums = np.add.reduceat(count * np.log(count), tally.start)
    # The sum of logarithms of a single value may differ in the last bit from that of its size.
    return np.maximum(np.log(tally.sizes) - sums / tally.sizes, 0.0)


def _most_and_rest(tally: Tally, place: int) -> tuple[Integers, Integers]:
    """The largest count of each class, and the sum of its counts from the `place`-th largest on."""
    count = _ascending(tally)
    last = np.append(tally.start[1:], len(count)) - 1
    larger = last[tally.owner] - np.arange(len(count))
    return count[last], np.add.reduceat(np.where(larger >= place - 1, count, 0), tally.start)


def _entropy_holds(tally: Tally, asked: Fraction) -> bool:
    surplus = tally.by_class(_entropy) - math.log(asked)
    if surplus.min() < -1e-9:
        return False
    ends = np.append(tally.start[1:], len(tally.count))
    return all(
        entropy_at_least(tally.count[tally.start[near] : ends[near]].tolist(), asked)
        for near in np.flatnonzero(surplus < 1e-9)
    )


def entropy_at_least(counts: Sequence[int], bound: Fraction) -> bool:
    """Whether the entropy of these counts, none of them 0, is at least the logarithm of `bound`.

    With s their sum and bound = a / b, that is (s b)^s >= a^s times the product of c^c. Dividing
    all counts by their greatest common divisor g takes the g-th root of both sides.
    """
    s = sum(counts)
    surplus = math.log(s) - sum(count * math.log(count) for count in counts) / s - math.log(bound)
    if abs(surplus) > 1e-9:
        return surplus > 0
    common = math.gcd(*counts)
    small = [count // common for count in counts]
    s //= common
    return bool((s * bound.denominator) ** s >= bound.numerator**s * math.prod(count**count for count in small))
