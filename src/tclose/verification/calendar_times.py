"""Dates and timestamps over the whole calendar: days and seconds as integers that do not wrap around."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.verification.exact_numbers import ScaledDecimals, as_integers
from tclose.verification.written_clocks import is_known, read_clock

DAY = re.compile(r"([+-]\d{5,9}|-?\d{4})-(\d\d?)-(\d\d?)", re.ASCII)
MOMENT = re.compile(
    DAY.pattern + r"[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,30}))?)?\s?(Z|z|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?", re.ASCII
)
CLOCK = re.compile(r"(-?)(\d{1,6}):([0-5]\d)(?::([0-5]\d)(?:[.,](\d{1,9}))?)?", re.ASCII)
EPOCH = date(1970, 1, 1).toordinal()
UNIT_PLACES = {"ms": 3, "us": 6, "ns": 9}
SECONDS_A_DAY = 86_400


def day_number(year: int, month: int, day: int) -> int | None:
    """The days from 1970-01-01 to a date of the Gregorian calendar, extended to all years; None if there is none.

    400 years have 146,097 days, so any year is moved into 1 to 400 first.

    Examples
    --------
    >>> day_number(1970, 1, 2), day_number(9999, 12, 31), day_number(2021, 2, 30)
    (1, 2932896, None)
    """
    cycles, place = divmod(year - 1, 400)
    try:
        return date(place + 1, month, day).toordinal() - EPOCH + 146_097 * cycles
    except ValueError:
        return None


def calendar_day(number: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days from 1970-01-01.

    Examples
    --------
    >>> calendar_day(2932897)
    (10000, 1, 1)
    """
    cycles, place = divmod(number + EPOCH - 1, 146_097)
    found = date.fromordinal(place + 1)
    return found.year + 400 * cycles, found.month, found.day


def day_text(number: int) -> str:
    """A number of days from 1970-01-01 as an ISO date.

    Examples
    --------
    >>> day_text(0), day_text(-719162)
    ('1970-01-01', '0001-01-01')
    """
    year, month, day = calendar_day(number)
    shown = f"{year:04}" if 0 <= year <= 9999 else f"{year:+05}"
    return f"{shown}-{month:02}-{day:02}"


def read_day(text: str) -> int | None:
    """The day that an ISO date writes; month and day may lack their leading zero.

    Examples
    --------
    >>> read_day("1970-02-01"), read_day("1970-2-1"), read_day("1.2.1970")
    (31, 31, None)
    """
    match = DAY.fullmatch(text.strip())
    return day_number(int(match[1]), int(match[2]), int(match[3])) if match else None


def read_moment(text: str) -> tuple[int, str, bool] | None:
    """The seconds since 1970 that an ISO timestamp writes, the digits of its fraction, and whether it has a zone.

    Examples
    --------
    >>> read_moment("1970-01-01T01:00:00.5+01:00"), read_moment("1970-01-02 00:00")
    ((0, '5', True), (86400, '', False))
    """
    match = MOMENT.fullmatch(text.strip())
    if match is None:
        return None
    days = day_number(int(match[1]), int(match[2]), int(match[3]))
    hour, minute, second = (int(match[place] or 0) for place in (4, 5, 6))
    if days is None or hour > 23 or minute > 59 or second > 59:
        return None
    offset = _offset(match[8])
    if offset is None:
        return None
    seconds = days * SECONDS_A_DAY + hour * 3600 + minute * 60 + second - offset
    return seconds, (match[7] or "").rstrip("0"), match[8] is not None


def _offset(zone: str | None) -> int | None:
    """The seconds of a zone such as +01:30; None if there is no such zone."""
    if zone is None or zone in "Zz":
        return 0
    digits = zone[1:].replace(":", "")
    hours, minutes, seconds = (int(digits[place : place + 2] or 0) for place in (0, 2, 4))
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    return (hours * 3600 + minutes * 60 + seconds) * (-1 if zone[0] == "-" else 1)


def times_of(values: pl.Series, form: str | None = None) -> ScaledDecimals | None:
    """Distinct values as points in time if all are dates, or all timestamps with a zone, or all without; else None.

    Dates are days; timestamps are seconds, those with a zone in UTC. `form` is the format of texts, if not ISO 8601.

    Examples
    --------
    >>> times_of(pl.Series(["1970-01-02", "9999-12-31"]))
    ScaledDecimals(integers=array([      1, 2932896]), places=0)
    """
    kind = values.dtype
    if kind == pl.Date:
        return ScaledDecimals(values.to_physical().to_numpy().astype(np.int64), 0)
    if isinstance(kind, pl.Datetime):
        return ScaledDecimals(values.to_physical().to_numpy().astype(np.int64), UNIT_PLACES[kind.time_unit])
    if kind != pl.String or not len(values):
        return None
    texts = values.to_list()
    if form is not None:
        return _formatted_times(texts, form)
    if read_day(texts[0]) is not None:
        days = [read_day(text) for text in texts]
        whole = [day for day in days if day is not None]
        return ScaledDecimals(as_integers(whole), 0) if len(whole) == len(days) else None
    return _moments_of(texts)


def moments_of(values: pl.Series, form: str | None = None) -> tuple[ScaledDecimals, bool] | None:
    """What `times_of` reads as seconds since 1970, a day as its midnight, and whether they have a zone.

    Examples
    --------
    >>> moments_of(pl.Series(["1970-01-02"])), moments_of(pl.Series(["1970-01-01T01:00:00.5+01:00"]))
    ((ScaledDecimals(integers=array([86400]), places=0), False), (ScaledDecimals(integers=array([5]), places=1), True))
    """
    times = times_of(values, form)
    if times is None:
        return None
    if isinstance(values.dtype, pl.Datetime):
        return times, values.dtype.time_zone is not None
    if values.dtype == pl.String and form is not None:
        are_days, zoned = not _has_clock(form), "%z" in form
    else:
        moment = read_moment(values[0]) if values.dtype == pl.String and read_day(values[0]) is None else None
        are_days, zoned = moment is None, moment is not None and moment[2]
    return (ScaledDecimals(times.integers * SECONDS_A_DAY, 0) if are_days else times), zoned


def _has_clock(form: str) -> bool:
    return any(directive in form for directive in ("%H", "%I", "%T", "%R"))


def _formatted_times(texts: Sequence[str], form: str) -> ScaledDecimals | None:
    """Days if the format has no time of day, else seconds since 1970 with as many places as a fraction needs."""
    found = [read_clock(text, form) for text in texts]
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    if not _has_clock(form):
        return ScaledDecimals(as_integers([each.day for each in known]), 0)
    places = max(len(each.digits) for each in known)
    ticks = [
        (each.day * SECONDS_A_DAY + each.seconds) * 10**places + int(each.digits.ljust(places, "0") or 0)
        for each in known
    ]
    return ScaledDecimals(as_integers(ticks), places)


def clocks_of(values: pl.Series) -> ScaledDecimals | None:
    """Distinct values as nanoseconds if all are times of day, or durations of hours and minutes; else None.

    Examples
    --------
    >>> clocks_of(pl.Series(["00:00:01.500000"]))
    ScaledDecimals(integers=array([1500000000]), places=9)
    """
    if values.dtype == pl.Time:
        return ScaledDecimals(values.to_physical().to_numpy().astype(np.int64), 9)
    if isinstance(values.dtype, pl.Duration):
        return ScaledDecimals(values.to_physical().to_numpy().astype(np.int64), UNIT_PLACES[values.dtype.time_unit])
    if values.dtype != pl.String or not len(values):
        return None
    found = [CLOCK.fullmatch(text) for text in values.to_list()]
    known = [match for match in found if match is not None]
    if len(known) < len(found) or len({match[4] is None for match in known}) > 1:
        return None
    return ScaledDecimals(as_integers([_length(match) for match in known]), 9)


def _length(match: re.Match[str]) -> int:
    """Nanoseconds of hours, minutes, seconds and a fraction, before midnight or less than nothing if signed."""
    seconds = int(match[2]) * 3600 + int(match[3]) * 60 + int(match[4] or 0)
    length = seconds * 10**9 + int((match[5] or "").ljust(9, "0"))
    return -length if match[1] else length


def _moments_of(texts: Sequence[str]) -> ScaledDecimals | None:
    moments: list[tuple[int, str, bool]] = []
    for text in texts:
        moment = read_moment(text)
        if moment is None or (moments and moment[2] != moments[0][2]):
            return None
        moments.append(moment)
    places = max(len(moment[1]) for moment in moments)
    ticks = [seconds * 10**places + int(digits.ljust(places, "0") or 0) for seconds, digits, _ in moments]
    return ScaledDecimals(as_integers(ticks), places)


def days_of(values: pl.Series, form: str | None) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The day of each distinct value of a column of kind date, and which of them have one; a time of day is cut off.

    Examples
    --------
    >>> days_of(pl.Series(["02.01.1970"]), "%d.%m.%Y")
    (array([1]), array([ True]))
    """
    kind = values.dtype
    if kind == pl.Date or isinstance(kind, pl.Datetime):
        local = values.dt.replace_time_zone(None) if isinstance(kind, pl.Datetime) else values
        day = local.to_physical().to_numpy().astype(np.int64)
        ticks = SECONDS_A_DAY * 10 ** UNIT_PLACES[kind.time_unit] if isinstance(kind, pl.Datetime) else 1
        return day // ticks, np.ones(len(values), bool)
    if kind != pl.String:
        return np.zeros(len(values), np.int64), np.zeros(len(values), bool)
    found = [read_formatted(text, form) for text in values.to_list()]
    return np.array([day or 0 for day in found], np.int64), np.array([day is not None for day in found], bool)


def read_formatted(text: str, form: str | None) -> int | None:
    """The day that a text writes in a format of `strptime`, or as ISO date or timestamp if there is none."""
    if form is None:
        day = read_day(text)
        if day is not None or MOMENT.fullmatch(text.strip()) is None or read_moment(text) is None:
            return day
        return read_day(text.strip()[: re.search("[T ]", text.strip()).start()])  # type: ignore[union-attr]
    if is_known(form):
        found = read_clock(text, form)
        return None if found is None else found.day
    try:
        return datetime.strptime(text.strip(), form).toordinal() - EPOCH
    except ValueError:
        return None


def period_ends(day: int, step: int | str) -> tuple[int, int]:
    """First and last day of the period a day is in: a number of days counted from 1970, or a part of the calendar.

    Examples
    --------
    >>> [day_text(end) for end in period_ends(40, "quarter")], period_ends(-1, 7)
    (['1970-01-01', '1970-03-31'], (-7, -1))
    """
    if isinstance(step, int):
        first = day // step * step
        return first, first + step - 1
    if step == "day":
        return day, day
    year, month, _ = calendar_day(day)
    length = {"month": 1, "quarter": 3, "year": 12}[step]
    start = (month - 1) // length * length + 1
    after = (year, start + length) if start + length <= 12 else (year + 1, start + length - 12)
    first_day, next_first = day_number(year, start, 1), day_number(*after, 1)
    assert first_day is not None
    assert next_first is not None
    return first_day, next_first - 1
