"""Formats of dates, found from the texts of a column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import polars as pl

from tclose.schema.written_forms import DateForm
from tclose.table.times import iso_texts

PARTED = re.compile(r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})(.*)", re.ASCII | re.DOTALL)
NAMED_MONTH = re.compile(
    r"(?:(\d{1,2})(\.? |-)([A-Za-z]{3,9})([ -])|([A-Za-z]{3,9}) (\d{1,2}), ?)(\d{4}|\d{2})(.*)", re.ASCII | re.DOTALL
)
CLOCK = re.compile(r"([ T]+)(\d{1,2}):\d\d(:\d\d)?(?:(\.)\d+)?( ?)([AaPp][Mm])?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
COMPACT = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])[0-3]\d", re.ASCII)
ISO = "%Y-%m-%d"


def find_formats(values: pl.Series) -> list[str]:
    """The formats in which all of these texts are dates, other than that of ISO 8601.

    Where days and months cannot be told apart there are several, but for points between them: there the day is first.

    Examples
    --------
    >>> find_formats(pl.Series(["31.12.2024", "01.02.2025"])), find_formats(pl.Series(["1/2/2024"]))
    (['%d.%m.%Y'], ['%-m/%-d/%Y', '%-d/%-m/%Y'])
    >>> find_formats(pl.Series(["12/31/2024 8:05 PM"])), find_formats(pl.Series(["12/2024"]))
    (['%m/%d/%Y %-I:%M %p'], [])
    """
    known = values.drop_nulls().str.strip_chars()
    if not len(known):
        return []
    fitting = [form for form in _candidates(known[0]) if fits(known, form)]
    fitting = [_as_padded(form, known) for form in fitting]
    by_day = [form for form in fitting if re.match("%-?d", form)]
    return by_day if by_day and "." in fitting[0][:6] else fitting


def fits(values: pl.Series, form: str) -> bool:
    """Whether all texts are dates of the calendar in a format."""
    found = iso_texts(values, DateForm(form))
    if found is None or found.null_count() > values.null_count():
        return False
    days = found.str.slice(0, 10).str.to_date(ISO, strict=False)
    return days.null_count() == values.null_count()


def compact_formats(values: Sequence[str]) -> tuple[str, ...]:
    """The format of dates such as 20241231, perhaps with a time of day behind it, all of them between 1900 and 2099.

    Examples
    --------
    >>> compact_formats(["20241231", "20240101"]), compact_formats(["20241231235959"]), compact_formats(["20241331"])
    (('%Y%m%d',), ('%Y%m%d%H%M%S',), ())
    """
    for form, digits in (("%Y%m%d", 0), ("%Y%m%d%H%M", 4), ("%Y%m%d%H%M%S", 6)):
        written = [value for value in values if len(value) == 8 + digits and COMPACT.match(value)]
        if written and len(written) == len(values) and fits(pl.Series(values), form):
            return (form,)
    return ()


def _candidates(sample: str) -> Iterator[str]:
    """The formats that a text may be in."""
    if match := PARTED.fullmatch(sample):
        first, sign, _, last, rest = match.groups()
        clock = _clock(rest)
        if clock is None or (len(first) == 4 and sign == "-"):  # ISO 8601, which needs no format
            return
        if len(first) == 4:
            yield f"%Y{sign}%m{sign}%d{clock}"
        elif len(first) <= 2 and len(last) in (2, 4):
            year = "%Y" if len(last) == 4 else "%y"
            yield f"%m{sign}%d{sign}{year}{clock}"
            yield f"%d{sign}%m{sign}{year}{clock}"
            if len(last) == 2 and len(first) == 2:
                yield f"%y{sign}%m{sign}%d{clock}"
    elif match := NAMED_MONTH.fullmatch(sample):
        day, before, name, behind, leading, _, year, rest = match.groups()
        clock = _clock(rest)
        month = "%b" if len(name or leading) == 3 else "%B"
        full = "%Y" if len(year) == 4 else "%y"
        if clock is not None:
            comma = ", " if ", " in sample else ","
            yield f"%d{before}{month}{behind}{full}{clock}" if day else f"{month} %d{comma}{full}{clock}"
            if month == "%b":  # as May is both
                yield f"%d{before}%B{behind}{full}{clock}" if day else f"%B %d{comma}{full}{clock}"


def _clock(rest: str) -> str | None:
    """The format of a time of day behind a date; empty if there is none, None if it is something else."""
    if not rest:
        return ""
    match = CLOCK.fullmatch(rest)
    if match is None:
        return None
    before, _, seconds, fraction, blank, half, zone = match.groups()
    hour = "%I" if half else "%H"
    parts = (":%S" if seconds else "", ".%f" if fraction else "", blank, "%p" if half else "", "%z" if zone else "")
    return f"{before}{hour}:%M{''.join(parts)}"


def _as_padded(form: str, values: pl.Series) -> str:
    """The format as days, months and hours are written: without a leading zero where one lacks it."""
    for letter, name in (("d", "day"), ("m", "month"), ("H", "hour"), ("I", "hour")):
        if f"%{letter}" in form:
            pattern = DateForm(form).pattern
            assert pattern is not None
            part = values.str.extract_groups(pattern).struct[name]
            if (part.str.len_chars() == 1).any():
                form = form.replace(f"%{letter}", f"%-{letter}")
    return form
