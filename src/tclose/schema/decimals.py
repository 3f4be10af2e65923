"""Exact decimals: numbers as written, scaled to integers by one power of ten."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST_DIGITS = 15
LARGEST = 2**53


class TooManyDigits(ValueError):  # noqa: N818 - it names the finding; callers turn it into an error of theirs
    """The numbers do not fit integers of 53 bits at any common power of ten."""


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
    if not places:
        return str(integer)
    sign, digits = "-" if integer < 0 else "", str(abs(integer)).rjust(places + 1, "0")
    return (sign + digits[:-places] + "." + digits[-places:]).rstrip("0").rstrip(".")
