"""What distinct values are called, and which of them stand for a missing cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.verification.calendar_times import SECONDS_A_DAY, UNIT_PLACES, day_text
from tclose.verification.exact_numbers import numbers_of, plain_text, read_number


def names_of(values: pl.Series) -> list[str]:
    """What distinct values without nulls are called: texts as they are, numbers without trailing zeros or exponent.

    Examples
    --------
    >>> names_of(pl.Series([1.0, 1e20])), names_of(pl.Series([False, True]))
    (['1', '100000000000000000000'], ['false', 'true'])
    """
    kind = values.dtype
    if kind == pl.String:
        return [str(value) for value in values.to_list()]
    if kind == pl.Boolean:
        return ["true" if value else "false" for value in values.to_list()]
    if kind == pl.Date:
        return [day_text(number) for number in values.to_physical().to_list()]
    if isinstance(kind, pl.Datetime):
        mark = "" if kind.time_zone is None else "+00:00"
        return [_moment_name(ticks, UNIT_PLACES[kind.time_unit]) + mark for ticks in values.to_physical().to_list()]
    if kind == pl.Time:
        return [_clock_name(ticks) for ticks in values.to_physical().to_list()]
    if isinstance(kind, pl.Duration):
        finer = 10 ** (9 - UNIT_PLACES[kind.time_unit])
        lengths = [ticks * finer for ticks in values.to_physical().to_list()]
        return [_clock_name(length) if length >= 0 else "-" + _clock_name(-length) for length in lengths]
    if kind.is_numeric() or kind.is_decimal():
        numbers, finite = numbers_of(values)
        shown = [plain_text(int(number), numbers.places) for number in numbers.integers]
        if finite.all():
            return shown
        spelled = values.cast(pl.String).to_list()
        return [name if known else str(text) for name, known, text in zip(shown, finite, spelled, strict=True)]
    return [str(value) for value in values.cast(pl.String).to_list()]


def _clock_name(ticks: int) -> str:
    """A time of day, or a duration, in nanoseconds, without trailing zeros; polars would leave out its fraction."""
    seconds, part = divmod(ticks, 10**9)
    fraction = f".{part:09}".rstrip("0").rstrip(".")
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}"


def _moment_name(ticks: int, places: int) -> str:
    seconds, part = divmod(ticks, 10**places)
    day, clock = divmod(seconds, SECONDS_A_DAY)
    fraction = f".{part:0{places}}".rstrip("0").rstrip(".")
    return f"{day_text(day)}T{clock // 3600:02}:{clock // 60 % 60:02}:{clock % 60:02}{fraction}"


def missing_among(values: pl.Series, spellings: Sequence[str], measured: bool, mark: str = ".") -> NDArray[np.bool_]:
    """Which distinct values stand for a missing cell.

    Empty text does, and the spellings of the schema. A spelling that is a number also names every cell
    of that value where cells are numbers: in typed columns, and in texts that are read as numbers.

    Parameters
    ----------
    measured
        Whether the column is read as numbers or dates: then `nan` and blanks are no value either.
    mark
        The decimal mark of texts.

    Examples
    --------
    >>> missing_among(pl.Series(["", "NaN", "-9.0", "5"]), ["-9"], measured=True).tolist()
    [True, True, True, False]
    >>> missing_among(pl.Series([-9.0, 5.0]), ["-9"], measured=False).tolist()
    [True, False]
    """
    texts = values.dtype == pl.String
    if texts and measured:
        values = values.str.strip_chars()
    gone = np.zeros(len(values), bool)
    if texts:
        gone |= (values == "").to_numpy()
        if measured:
            gone |= values.str.contains(r"(?i)^[+-]?nan$").to_numpy()
    if not spellings or not len(values):
        return gone
    if texts:
        zeros = {each for each in spellings if each.startswith("-") and read_number(each) == (0, 0)}
        gone |= values.is_in([*spellings, *(each[1:] for each in zeros)]).to_numpy()
    elif not values.dtype.is_numeric():
        gone |= np.isin(np.array(names_of(values), object), np.array(spellings, object))
    if (texts and measured) or (values.dtype.is_numeric() and not texts):
        gone |= _same_numbers(values, spellings, mark)
    return gone


def _same_numbers(values: pl.Series, spellings: Sequence[str], mark: str) -> NDArray[np.bool_]:
    """Which values are a number that one of the spellings writes, with the mark of the schema or a point."""
    written = {read_number(spelling, each) for spelling in spellings for each in {mark, "."}} - {None}
    gone = np.zeros(len(values), bool)
    if not written:
        return gone
    numbers, known = numbers_of(values, mark)
    for pair in written:
        assert pair is not None
        if pair[1] + numbers.places >= 0:
            gone |= known & np.asarray(numbers.integers == pair[0] * 10 ** (pair[1] + numbers.places), bool)
    return gone
