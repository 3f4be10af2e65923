"""Exact decimals: numbers as written, scaled to integers by one power of ten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_DIGITS = 15
LARGEST = 2**53
SHORT = 2**61  # integers below are kept in 64 bits: sums of two of them, and steps beyond, still fit
LONGEST = 700  # digits of a common integer: enough for the least beside the largest double
MOST_PLACES = 350  # of a number in a schema: doubles have up to 324
BOUNDED = f"below 1e300 and with at most {MOST_PLACES} decimal places"
_BOUND = Decimal(10) ** 300


class TooManyDigits(ValueError):  # noqa: N818 - it names the finding; callers turn it into an error of theirs
    """The numbers have no common power of ten of a reasonable size."""


@dataclass(frozen=True, eq=False)
class Decimals:
    """Numbers as integers over one power of ten: of 64 bits where all fit, else of any length.

    Attributes
    ----------
    integers
        The numbers times 10^`places`.
    places
        How many decimal places they have.

    Examples
    --------
    >>> found = Decimals.of([Decimal("0.5"), 12, Decimal("3.25")])
    >>> found.integers.tolist(), found.places, found.texts()
    ([50, 1200, 325], 2, ['0.5', '12', '3.25'])
    """

    integers: NDArray[Any]
    places: int

    @classmethod
    def of(cls, numbers: Sequence[Decimal | int]) -> Decimals:
        """Take exact numbers.

        Raises
        ------
        TooManyDigits
            Some are so large and others so small that a common integer has more than 700 digits.
        """
        parts = [_parts(number) for number in numbers]
        places = max((-exponent for digits, exponent in parts if digits and exponent < 0), default=0)
        longest = max((len(str(abs(digits))) + exponent for digits, exponent in parts if digits), default=0)
        if max(longest, 0) + places > LONGEST:  # none may be so small either that its zeros fill the memory
            raise TooManyDigits
        return cls(
            _shortest([digits * 10 ** (exponent + places) if digits else 0 for digits, exponent in parts]), places
        )

    @classmethod
    def of_floats(cls, numbers: NDArray[np.float64]) -> Decimals:
        """Take finite floats, each as the shortest decimal that reads as it."""
        try:
            return cls(*scaled(numbers))
        except TooManyDigits:
            return cls.of([Decimal(repr(number)) for number in numbers.tolist()])

    def with_places(self, places: int) -> Decimals:
        """The same numbers with so many decimal places, at least as many as they have."""
        power = 10 ** (places - self.places)
        if self.integers.dtype == np.int64 and max(int(np.abs(self.integers).max(initial=0)), 1) * power < SHORT:
            return Decimals(self.integers * power, places)
        return Decimals(_shortest(each * power for each in self.integers.tolist()), places)

    def beside(self, limits: Sequence[Any]) -> tuple[Decimals, list[int | None]]:
        """The numbers and some others, None among them, over the same power of ten.

        Numbers are in 64 bits only if the others fit as well: they are added to and divided by each other.

        Examples
        --------
        >>> ages, (top,) = Decimals.of([20, 45]).beside([10**20])
        >>> ages.integers.dtype, top == 10**20
        (dtype('O'), True)
        """
        given = Decimals.of([as_decimal(limit) for limit in limits if limit is not None])
        places = max(self.places, given.places)
        numbers, others = self.with_places(places), given.with_places(places)
        if others.integers.dtype == object:
            numbers = Decimals(numbers.integers.astype(object), places)
        rest = iter(others.integers.tolist())
        return numbers, [None if limit is None else int(next(rest)) for limit in limits]

    def texts(self) -> list[str]:
        """The decimals as text, without exponent or trailing zeros."""
        return [text(number, self.places) for number in self.integers.tolist()]


def as_decimal(number: Any) -> Decimal | int:
    """A number exactly; a float is the shortest decimal that reads as it.

    Examples
    --------
    >>> as_decimal(0.1), as_decimal(3)
    (Decimal('0.1'), 3)
    """
    return number if isinstance(number, Decimal | int) else Decimal(repr(float(number)))


def is_bounded(number: object) -> bool:
    """Whether it is a finite number that is short when written without exponent, as those of a schema must be.

    Examples
    --------
    >>> is_bounded(Decimal("0.05")), is_bounded(5e-324), is_bounded(Decimal("1e-5000")), is_bounded(True)
    (True, True, False, False)
    """
    if not isinstance(number, int | float | Decimal) or isinstance(number, bool):
        return False
    if isinstance(number, int):
        return abs(number) < _BOUND
    exact = Decimal(str(number))
    exponent = exact.as_tuple().exponent
    return isinstance(exponent, int) and abs(exponent) <= MOST_PLACES and abs(exact) < _BOUND


def _parts(number: Decimal | int) -> tuple[int, int]:
    """Digits without trailing zeros, and the power of ten they are to be multiplied with."""
    if isinstance(number, int):
        return number, 0
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    whole = "".join(map(str, digits)).rstrip("0")
    if len(whole) > LONGEST:
        raise TooManyDigits
    return int(whole or "0") * (-1 if sign else 1), exponent + len(digits) - len(whole)


def _shortest(integers: Iterable[int]) -> NDArray[Any]:
    """As 64-bit integers where that is room enough, else as Python's."""
    listed = list(integers)
    fits = all(-SHORT < each < SHORT for each in listed)
    found = np.empty(len(listed), np.int64 if fits else object)
    found[:] = listed
    return found


def scaled(numbers: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
    """The numbers times the least power of ten that makes all of them integers.

    A float stands for the shortest decimal that reads as it. Dividing an integer below 2^53 by
    a power of ten up to 10^22 is correctly rounded, so integer / 10^p == number says exactly
    that the decimal with p places reads as this number.

    Returns
    -------
    :
        The integers, and the number of decimal places.

    Raises
    ------
    TooManyDigits
        No power up to 10^15 does, or an integer would reach 2^53.

    Examples
    --------
    >>> scaled(np.array([0.5, 12.25, 3]))
    (array([  50, 1225,  300]), 2)
    """
    for places in range(MOST_DIGITS + 1):
        power = 10.0**places
        integers = np.rint(numbers * power)
        if len(numbers) and not np.abs(integers).max() < LARGEST:
            break
        if (integers / power == numbers).all():
            return integers.astype(np.int64), places
    raise TooManyDigits


def text(integer: int, places: int) -> str:
    """The decimal `integer / 10**places` without trailing zeros.

    Examples
    --------
    >>> text(1250, 2), text(-5, 1), text(300, 0)
    ('12.5', '-0.5', '300')
    """
    # Python's `str` refuses integers of some thousand digits; a Decimal has no such limit, and is exact.
    written = str(abs(integer)) if abs(integer) < SHORT else format(Decimal(abs(integer)), "f")
    sign = "-" if integer < 0 else ""
    if not places:
        return sign + written
    digits = written.rjust(places + 1, "0")
    return (sign + digits[:-places] + "." + digits[-places:]).rstrip("0").rstrip(".")
