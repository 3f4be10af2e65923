"""Dates and times in a format: the judge's own reading, directive by directive."""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache
from typing import NamedTuple

MONTH_NAMES = [
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
]
EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
LONG_FORMS = {"%F": "%Y-%m-%d", "%D": "%m/%d/%y", "%T": "%H:%M:%S", "%R": "%H:%M"}


class Clock(NamedTuple):
    """A day in a format, and what follows it.

    Attributes
    ----------
    day
        Days since 1970.
    seconds
        Since midnight; in UTC where there is a zone.
    digits
        Those of the fraction of a second.
    has_zone
        Whether it says its zone.
    """

    day: int
    seconds: int
    digits: str
    has_zone: bool


def day_part(format: str | None) -> str | None:
    """The part of a format in which a release writes days; None for ISO 8601.

    Examples
    --------
    >>> day_part("%H:%M %d.%m.%y"), day_part("%Y-%j"), day_part(None)
    ('%d.%m.%y', None, None)
    """
    if format is None:
        return None
    for short, long in LONG_FORMS.items():
        format = format.replace(short, long)
    parts = re.findall(r"%-?[A-Za-z%]|[^%]+", format)
    places = [place for place, part in enumerate(parts) if re.fullmatch("%-?[YymdbB]", part)]
    chosen = parts[places[0] : places[-1] + 1] if places else []
    letters = [part[-1] for part in chosen if part.startswith("%")]
    whole = [sum(letter in group for letter in letters) for group in ("Yy", "mbB", "d")]
    return "".join(chosen) if whole == [1, 1, 1] and len(letters) == 3 else None


@lru_cache(maxsize=256)
def _compiled(format: str) -> re.Pattern[str] | None:
    """A pattern whose groups are named after the directives; None if one of them is not known."""
    for short, long in LONG_FORMS.items():
        format = format.replace(short, long)
    parts = re.findall(r"%-?[A-Za-z%]|[^%]+", format)
    if "".join(parts) != format:
        return None
    digits = "YymdHIMSf"
    pattern = ""
    for place, part in enumerate(parts):
        letter = part[-1] if part.startswith("%") else ""
        if not letter or part == "%%":
            pattern += re.escape("%" if part == "%%" else part)
            continue
        touches = any(
            0 <= other < len(parts) and parts[other].startswith("%") and parts[other][-1] in digits
            for other in (place - 1, place + 1)
        )
        few = "{2}" if touches else "{1,2}"
        known = {"Y": r"\d{4}", "y": r"\d{2}", "m": rf"\d{few}", "d": rf"\d{few}", "H": rf"\d{few}", "I": rf"\d{few}"}
        known |= {"M": r"\d{2}", "S": r"\d{2}", "f": r"\d{1,30}", "p": "[AaPp][Mm]", "b": "[A-Za-z]{3}"}
        known |= {"B": "[A-Za-z]{3,9}", "z": r"[+-]\d{2}:?\d{2}|Z"}
        if letter not in known or f"(?P<{letter}>" in pattern:
            return None
        pattern += f"(?P<{letter}>{known[letter]})"
    return re.compile(pattern, re.ASCII)


def is_known(format: str) -> bool:
    """Whether a format writes a whole day, and every directive of it is one that is read here."""
    return day_part(format) is not None and _compiled(format) is not None


def read_clock(text: str, format: str) -> Clock | None:
    """What a text writes in a format; None if it is not in it, or no day of the calendar.

    Examples
    --------
    >>> read_clock("31.12.1969 23:00 ", "%d.%m.%Y %H:%M"), read_clock("30.02.2021", "%d.%m.%Y")
    (Clock(day=-1, seconds=82800, digits='', has_zone=False), None)
    """
    pattern = _compiled(format)
    match = None if pattern is None else pattern.fullmatch(text.strip())
    if match is None:
        return None
    found = match.groupdict()
    day, clock = _day_of(found), _seconds_of(found)
    if day is None or clock is None:
        return None
    return Clock(day, clock, (found.get("f") or "").rstrip("0"), "z" in found)


def _day_of(found: dict[str, str]) -> int | None:
    if "Y" in found:
        year = int(found["Y"])
    elif "y" in found:
        year = int(found["y"]) + (2000 if int(found["y"]) < 69 else 1900)
    else:
        return None
    if "m" in found:
        month = int(found["m"])
    else:
        name = (found.get("b") or found.get("B") or "").lower()
        names = [each[:3] for each in MONTH_NAMES] if "b" in found else MONTH_NAMES
        month = names.index(name) + 1 if name in names else 0
    try:
        return date(year, month, int(found.get("d", "0"))).toordinal() - EPOCH_ORDINAL
    except ValueError:
        return None


def _seconds_of(found: dict[str, str]) -> int | None:
    hour, minute, second = int(found.get("H", "0")), int(found.get("M", "0")), int(found.get("S", "0"))
    if "I" in found:
        if not 1 <= int(found["I"]) <= 12:
            return None
        hour = int(found["I"]) % 12 + (12 if found.get("p", "a")[0] in "pP" else 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    zone = found.get("z", "Z")
    offset = 0
    if zone != "Z":
        hours, minutes = int(zone[1:3]), int(zone[-2:])
        if hours > 23 or minutes > 59:
            return None
        offset = (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)
    return hour * 3600 + minute * 60 + second - offset
