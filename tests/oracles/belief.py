"""Caps on belief from their definitions, in fractions; logarithms by decimals of many digits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from math import log

DIGITS = 400  # enough for any two numbers that tests compare: equality cannot occur


def share(rows: Sequence[Hashable], value: Hashable) -> Fraction:
    return Fraction(sum(row == value for row in rows), len(rows))


def largest_rise(table: Sequence[Hashable], classes: Iterable[Sequence[Hashable]]) -> Fraction:
    return max(share(rows, value) - share(table, value) for rows in classes for value in set(table))


def largest_beta(table: Sequence[Hashable], classes: Iterable[Sequence[Hashable]]) -> Fraction:
    return max(share(rows, value) / share(table, value) - 1 for rows in classes for value in set(table))


def is_enhanced(table: Sequence[Hashable], classes: Iterable[Sequence[Hashable]]) -> bool:
    """Whether no share q is above (1 - ln p) p."""
    return all(
        is_below_log(share(rows, value) / share(table, value) - 1, 1 / share(table, value))
        for rows in classes
        for value in set(table)
    )


def is_below_log(number: Fraction, of: Fraction) -> bool:
    if of == 1:
        return number <= 0
    with localcontext() as context:
        context.prec = DIGITS
        exact = (Decimal(of.numerator) / Decimal(of.denominator)).ln()
        return Decimal(number.numerator) / Decimal(number.denominator) < exact


def holds(
    table: Sequence[Hashable],
    classes: Sequence[Sequence[Hashable]],
    rise: Fraction | None,
    beta: Fraction | None,
    enhanced: bool,
) -> bool:
    """Whether every class keeps the caps."""
    return (
        (rise is None or largest_rise(table, classes) <= rise)
        and (beta is None or largest_beta(table, classes) <= beta)
        and (not enhanced or is_enhanced(table, classes))
    )


def alpha(classes: Iterable[Sequence[Hashable]]) -> Fraction:
    return max(Fraction(max(Counter(rows).values()), len(rows)) for rows in classes)


def log_ratio(table: Sequence[Hashable], classes: Iterable[Sequence[Hashable]]) -> float:
    """The largest |ln(q / p)| of the values that a class has."""
    return max(abs(log(share(rows, value) / share(table, value))) for rows in classes for value in set(rows))


def delta(table: Sequence[Hashable], classes: Sequence[Sequence[Hashable]]) -> float | None:
    """The same of all values; None where it is infinite."""
    if any(set(rows) != set(table) for rows in classes):
        return None
    return log_ratio(table, classes)
