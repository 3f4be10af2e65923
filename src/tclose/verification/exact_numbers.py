"""Numbers as the decimals they are written as: integers over one power of ten, never rounded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

MOST_DIGITS = 1500  # beyond any double (a subnormal one has 342 places), and far from using up memory
SURE_DIGITS = 15  # two decimals of at most 15 digits never read as the same double
WRITTEN = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?", re.ASCII)
ExactIntegers = NDArray[Any]  # of int64, or of Python integers where those do not suffice


@dataclass(frozen=True)
class ScaledDecimals:
    """Exact decimals: `integers / 10**places`.

    Attributes
    ----------
    integers
        An int64 array, or an array of Python integers where 64 bits do not suffice.
    places
        The decimal places of all.
    """

    integers: ExactIntegers
    places: int

    def at(self, places: int) -> ScaledDecimals:
        """The same numbers with more decimal places."""
        if places == self.places or not len(self.integers):
            return ScaledDecimals(self.integers, places)
        factor = 10 ** (places - self.places)
        integers = self.integers
        if integers.dtype == object or factor * max(int(np.abs(integers).max()), 1) >= 2**62:
            integers = integers.astype(object)
        return ScaledDecimals(integers * factor, places)


def as_integers(numbers: Sequence[int]) -> ExactIntegers:
    """An int64 array if all fit with a bit to spare, else one of Python integers.

    Examples
    --------
    >>> as_integers([1, 2]).dtype, as_integers([1, 2**70]).dtype
    (dtype('int64'), dtype('O'))
    """
    if all(-(2**62) < number < 2**62 for number in numbers):
        return np.array(numbers, np.int64)
    wide = np.empty(len(numbers), object)
    wide[:] = numbers
    return wide


def fraction_of(given: Decimal | Fraction | int | float | str) -> Fraction:
    """A number of a schema, exactly as written; a float is the decimal it prints as.

    Examples
    --------
    >>> fraction_of(0.1)
    Fraction(1, 10)
    """
    return Fraction(repr(given)) if isinstance(given, float) else Fraction(given)


def scaled_fractions(given: Sequence[Fraction]) -> ScaledDecimals:
    """Decimals of a schema as integers over a power of ten.

    Examples
    --------
    >>> scaled_fractions([Fraction(1, 4), Fraction(3)])
    ScaledDecimals(integers=array([ 25, 300]), places=2)
    """
    places = 0
    while any(10**places % number.denominator for number in given):
        places += 1
        if places > MOST_DIGITS:
            raise ValueError("not decimals")
    return ScaledDecimals(as_integers([int(number * 10**places) for number in given]), places)


def aligned(*several: ScaledDecimals) -> list[ScaledDecimals]:
    """The same numbers, all with as many decimal places, and in 64 bits only if all of them fit.

    Examples
    --------
    >>> [each.integers.dtype for each in aligned(scaled_fractions([Fraction(1)]), scaled_fractions([Fraction(2**70)]))]
    [dtype('O'), dtype('O')]
    """
    places = max(each.places for each in several)
    found = [each.at(places) for each in several]
    if any(each.integers.dtype == object for each in found):
        return [ScaledDecimals(each.integers.astype(object), places) for each in found]
    return found


def read_number(text: str, mark: str = ".", thousands: str = "") -> tuple[int, int] | None:
    """The decimal that a text writes, as (integer, exponent of ten); None if it writes none.

    Where there is a thousands sign, it stands between all groups of three digits or between none.

    Examples
    --------
    >>> read_number(" -1.50e3 "), read_number("1,5", ","), read_number("1.5", ","), read_number("1_0")
    ((-15, 2), (15, -1), None, None)
    >>> read_number("1.234,5", ",", "."), read_number("12.34,5", ",", "."), read_number("1.234,5", ",")
    ((12345, -1), None, None)
    >>> read_number("1e0000005"), read_number("0e9999999"), read_number("1e9999999")
    ((1, 5), (0, 0), None)
    """
    text = text.strip()
    if thousands and thousands in text:
        whole = text.partition(mark)[0].lstrip("+-").split(thousands)
        if len(text) - len(text.lstrip("+-")) > 1 or not _are_groups(whole) or thousands in text.partition(mark)[2]:
            return None
        text = text.replace(thousands, "")
    if mark != ".":
        if "." in text:
            return None
        text = text.replace(mark, ".")
    match = WRITTEN.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        return None
    digits = ((match[2] or "") + (match[3] or "")).lstrip("0")
    short = digits.rstrip("0")
    if not short:
        return 0, 0
    if len((match[4] or "").lstrip("+-").lstrip("0")) > 6:
        return None
    exponent = int(match[4] or 0) - len(match[3] or "") + len(digits) - len(short)
    if len(short) + abs(exponent) > MOST_DIGITS:
        return None
    return int(match[1] + short), exponent


def _are_groups(parts: Sequence[str]) -> bool:
    """Whether the first has one to three digits and begins with none that is 0, and each other one has three."""
    digits = all(part.isascii() and part.isdigit() for part in parts)
    return digits and 1 <= len(parts[0]) <= 3 and parts[0][0] != "0" and all(len(part) == 3 for part in parts[1:])


def read_numbers(
    texts: Sequence[str], mark: str = ".", thousands: str = ""
) -> tuple[ScaledDecimals, NDArray[np.bool_]]:
    """What texts write as decimals, and which of them write one; the others are 0.

    Examples
    --------
    >>> read_numbers(["1.5", "2", "x"])
    (ScaledDecimals(integers=array([15, 20,  0]), places=1), array([ True,  True, False]))
    """
    found = [read_number(text, mark, thousands) for text in texts]
    places = max((-pair[1] for pair in found if pair), default=0)
    places = max(places, 0)
    integers = [pair[0] * 10 ** (pair[1] + places) if pair else 0 for pair in found]
    return ScaledDecimals(as_integers(integers), places), np.array([pair is not None for pair in found], bool)


def read_number_series(
    texts: pl.Series, mark: str = ".", thousands: str = ""
) -> tuple[ScaledDecimals, NDArray[np.bool_]]:
    """The same for a series of many texts: by columns where all are plain and short, else one by one."""
    if len(texts) < 1000 or (thousands and texts.str.contains(thousands, literal=True).any()):
        return read_numbers(texts.to_list(), mark, thousands)
    pattern = r"^\s*([+-]?)0*([0-9]*)(?:" + re.escape(mark) + r"([0-9]*?)0*)?\s*$"
    parts = texts.str.extract_groups(pattern)
    sign, whole, rest = (parts.struct[place] for place in range(3))
    rest = rest.fill_null("")
    places = _longest(rest)
    written = whole.is_not_null() & texts.str.contains("[0-9]")
    longest = _longest(whole)
    if not written.all() or longest + places > 18:
        return read_numbers(texts.to_list(), mark, thousands)
    digits = ("0" + whole + rest.str.pad_end(places, "0")).cast(pl.Int64).to_numpy()
    return ScaledDecimals(np.where((sign == "-").to_numpy(), -digits, digits), places), np.ones(len(texts), bool)


def _longest(texts: pl.Series) -> int:
    lengths = texts.str.len_bytes().drop_nulls().to_numpy()
    return int(lengths.max(initial=0))


def numbers_of(values: pl.Series, mark: str = ".", thousands: str = "") -> tuple[ScaledDecimals, NDArray[np.bool_]]:
    """The exact decimals of distinct values without nulls, and which of them are numbers.

    Times and truth values are not. A float is the shortest decimal that reads as it.

    Examples
    --------
    >>> numbers_of(pl.Series([0.1, 0.25]))[0]
    ScaledDecimals(integers=array([10, 25]), places=2)
    """
    kind = values.dtype
    if kind == pl.String:
        return read_number_series(values, mark, thousands)
    if kind.is_float():
        return _numbers_of_floats(values)
    if isinstance(kind, pl.Decimal):
        integers = as_integers(values.to_physical().to_list())
        return ScaledDecimals(integers, kind.scale), np.ones(len(values), bool)
    if kind.is_integer():
        return ScaledDecimals(as_integers(values.to_list()), 0), np.ones(len(values), bool)
    return ScaledDecimals(np.zeros(len(values), np.int64), 0), np.zeros(len(values), bool)


def _numbers_of_floats(values: pl.Series) -> tuple[ScaledDecimals, NDArray[np.bool_]]:
    """The shortest decimals of floats.

    Let r be an integer below 10^15 and p at most 22. Then r and 10^p are doubles, and their quotient
    is rounded correctly: r / 10^p == x says that the decimal with p places reads as x. No other
    decimal of at most 15 digits does, so it is the shortest. Of a single (32 bits) that holds for
    6 digits only; its texts are read instead.
    """
    numbers = values.to_numpy()
    finite = np.isfinite(numbers)
    if values.dtype == pl.Float64:
        numbers = np.where(finite, numbers, 0.0)
        largest = float(np.abs(numbers).max()) if len(numbers) else 0.0
        for places in range(SURE_DIGITS + 1):
            if largest * 10.0**places >= 10.0**SURE_DIGITS:
                break
            integers = np.rint(numbers * 10.0**places)
            if (integers / 10.0**places == numbers).all():
                return ScaledDecimals(integers.astype(np.int64), places), finite
    texts = values.cast(pl.String)
    found, _ = read_number_series(texts.set(pl.Series(~finite), "0"))
    return found, finite


def plain_text(integer: int, places: int) -> str:
    """A decimal without exponent or trailing zeros.

    Examples
    --------
    >>> plain_text(1250, 2), plain_text(-5, 1), plain_text(100, 0), plain_text(0, 3)
    ('12.5', '-0.5', '100', '0')
    """
    if not places:
        return str(integer)
    digits = str(abs(integer)).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}".rstrip("0").rstrip(".")
    return f"-{text}" if integer < 0 else text
