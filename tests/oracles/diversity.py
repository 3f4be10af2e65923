"""The four readings of l-diversity (004, section 2), for the values of one class."""

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from math import exp, log, prod


def distinct(values: Sequence[Hashable]) -> int:
    """How many different values there are."""
    return len(set(values))


def entropy(values: Sequence[Hashable]) -> float:
    """The exponential of the entropy: the largest l of entropy l-diversity."""
    shares = [count / len(values) for count in Counter(values).values()]
    return exp(-sum(share * log(share) for share in shares))


def entropy_at_least(counts: Sequence[int], wanted: int | Fraction) -> bool:
    """Whether the entropy is at least log(l), l as wanted, decided in integers.

    With s = sum(c):  -sum(c/s log(c/s)) >= log(l)  <=>  s^s >= l^s prod(c^c).
    """
    size = sum(counts)
    bound = Fraction(wanted)
    own: int = prod(pow(count, count) for count in counts if count)
    evenly: int = pow(size * bound.denominator, size)
    asked: int = pow(bound.numerator, size)
    return evenly >= asked * own


def frequency(values: Sequence[Hashable]) -> Fraction:
    """Rows over rows of the most frequent value: it occurs in at most 1/l of them."""
    return Fraction(len(values), max(Counter(values).values()))


def recursive_holds(counts: Sequence[int], c: int | Fraction, wanted: int) -> bool:
    """r_1 < c (r_l + r_(l+1) + ... + r_m), r_i the i-th largest count, l as wanted."""
    ranked = sorted((count for count in counts if count > 0), reverse=True)
    return ranked[0] < c * sum(ranked[wanted - 1 :])
