"""How numbers and days are written in texts: with which decimal and thousands sign, and in which format.

A form is a parameter of the schema. A release writes numbers and days of quasi-identifiers in it, so that they look as
they came.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import cached_property

import numpy as np

EPOCH = date(1970, 1, 1).toordinal()
THOUSANDS = (",", ".", " ", "'", "\u2019", "\u00a0", "\u202f")  # the last two are spaces that break no line
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DIRECTIVE = re.compile(r"%(-?[A-Za-z%])")
SHORTHANDS = {"%F": "%Y-%m-%d", "%D": "%m/%d/%y", "%T": "%H:%M:%S", "%R": "%H:%M"}
PATTERNS = {
    "Y": r"(?P<year>[0-9]{4})",
    "y": r"(?P<short>[0-9]{2})",
    "m": r"(?P<month>[0-9]{1,2})",
    "d": r"(?P<day>[0-9]{1,2})",
    "b": r"(?P<name>[A-Za-z]{3})",
    "B": r"(?P<name>[A-Za-z]{3,9})",
    "H": r"(?P<hour>[0-9]{1,2})",
    "I": r"(?P<hour>[0-9]{1,2})",
    "p": r"(?P<half>[AaPp])[Mm]",
    "M": r"(?P<minute>[0-9]{2})",
    "S": r"(?P<second>[0-9]{2})",
    "f": r"(?P<fraction>[0-9]{1,30})",
    "z": r"(?P<zone>[+-][0-9]{2}:?[0-9]{2}|Z)",
    "%": "%",
}
OF_DAYS = frozenset("YymdbB")
LATEST_SHORT, EARLIEST_SHORT = 2068, 1969  # the years that two digits stand for, as POSIX has it


@dataclass(frozen=True)
class NumberForm:
    """How numbers are written.

    Attributes
    ----------
    decimal
        The decimal sign.
    thousands
        The sign between groups of three digits; empty if there is none.

    Examples
    --------
    >>> NumberForm(",", ".").write("-1234567.25"), NumberForm(",").interval("1,5", "2")
    ('-1.234.567,25', '[1,5; 2]')
    """

    decimal: str = "."
    thousands: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written with a point and nothing else."""
        return self.decimal == "." and not self.thousands

    def write(self, plain: str) -> str:
        """A plain decimal, perhaps behind `<` or `>`, in this form; anything else as it is."""
        match = re.fullmatch(r"([<>]?-?)([0-9]+)(?:\.([0-9]+))?", plain)
        if match is None or self.is_plain:
            return plain
        whole = f"{int(match[2]):,}".replace(",", self.thousands) if self.thousands else match[2]
        return f"{match[1]}{whole}{self.decimal + match[3] if match[3] else ''}"

    def plain(self, written: str) -> str | None:
        """The plain decimal that is written so in this form; None if none is.

        Examples
        --------
        >>> NumberForm(",", ".").plain("1.234,5"), NumberForm(",", ".").plain("1234,5")
        ('1234.5', None)
        """
        bare = written.replace(self.thousands, "") if self.thousands else written
        plain = bare if self.decimal == "." else "" if "." in bare else bare.replace(self.decimal, ".")
        return plain if plain and self.write(plain) == written else None

    def interval(self, low: str, high: str, closing: str = "]") -> str:
        """The interval between two numbers as they are written; a semicolon parts numbers with commas."""
        return f"[{low}{'; ' if ',' in low + high else ', '}{high}{closing}"

    def relabel(self, label: str) -> str:
        """A label of a hierarchy of numbers in this form: a number, or `[low, high)`.

        Examples
        --------
        >>> NumberForm(",").relabel("[2.5, 5)"), NumberForm(",").relabel("*")
        ('[2,5; 5)', '*')
        """
        match = re.fullmatch(r"\[(\S+), (\S+)\)", label)
        return self.interval(self.write(match[1]), self.write(match[2]), ")") if match else self.write(label)


@dataclass(frozen=True)
class DateForm:
    """How days are written: by a format of `strptime`, or as ISO 8601 has it.

    Attributes
    ----------
    format
        None for ISO 8601.

    Examples
    --------
    >>> form = DateForm("%d/%m/%Y %H:%M")
    >>> form.day_format, form.interval(*form.write([0, 31]))
    ('%d/%m/%Y', '01/01/1970 - 01/02/1970')
    """

    format: str | None = None

    @cached_property
    def long_format(self) -> str | None:
        """The format with its shorthands written out."""
        if self.format is None:
            return None
        return re.sub("%[FDTR]", lambda match: SHORTHANDS[match[0]], self.format)

    @cached_property
    def day_format(self) -> str | None:
        """The part of the format that writes the day; None where there is none that does, and days are ISO dates."""
        found = list(DIRECTIVE.finditer(self.long_format or ""))
        days = [match for match in found if match[1].lstrip("-") in OF_DAYS]
        if not days or self.long_format is None:
            return None
        part = self.long_format[days[0].start() : days[-1].end()]
        parts = sorted(match[1].lstrip("-") for match in DIRECTIVE.finditer(part))
        kinds = sorted("Y" if each in "Yy" else "m" if each in "mbB" else each for each in parts)
        return part if kinds == ["Y", "d", "m"] else None

    @property
    def between(self) -> str:
        """What stands between the ends of an interval."""
        return " - " if "/" in (self.day_format or "") else "/"

    @property
    def problem(self) -> str | None:
        """Why a release could not be written in this format; None if it can."""
        part = self.day_format or ""
        if "/" in part and " - " in part:
            return "it holds both '/' and ' - ', one of which must part the ends of an interval"
        if set(DIRECTIVE.sub("", part)) & set("<>*[]"):
            return "between year, month and day it must not hold <, >, *, [ or ]"
        return None

    @cached_property
    def pattern(self) -> str | None:
        """What a text in this format looks like, its parts named; None if it is not known here, or has no whole day."""
        if self.long_format is None or self.day_format is None:
            return None
        names = [match[1].lstrip("-") for match in DIRECTIVE.finditer(self.long_format)]
        groups = [re.search(r"\?P<(\w+)>", PATTERNS.get(name, "")) for name in names]
        known = [group[1] for group in groups if group]
        if not set(names) <= set(PATTERNS) or len(set(known)) < len(known):
            return None
        pieces = DIRECTIVE.split(self.long_format)
        # Digits that touch must be two, or where one number ends and the next begins would be a guess.
        written = [
            re.escape(each) if place % 2 == 0 else _piece(each, pieces[place - 1], pieces[place + 1], place)
            for place, each in enumerate(pieces)
        ]
        return "^" + "".join(written).replace(r"\ ", " ") + "$"

    def write(self, days: Iterable[int]) -> list[str]:
        """Days since 1970 in this form.

        Raises
        ------
        ValueError
            The format has years of two digits, and a day lies outside of those that these stand for.

        Examples
        --------
        >>> DateForm("%-d. %B %Y").write([0]), DateForm().write([-719162])
        (['1. January 1970'], ['0001-01-01'])
        """
        form = self.day_format
        return [_written(day, form) for day in days]

    def interval(self, low: str, high: str) -> str:
        """The interval between two days as they are written."""
        return f"{low}{self.between}{high}"

    def relabel(self, label: str) -> str:
        """A label of a hierarchy of dates: days in this form, and months, quarters and years as they are."""
        if self.day_format is None or not re.fullmatch(r"\d{4}-\d\d-\d\d", label):
            return label
        return self.write([date.fromisoformat(label).toordinal() - EPOCH])[0]


def _piece(directive: str, before: str, after: str, place: int) -> str:
    """The pattern of a directive between these texts; the first one stands at place 1."""
    found = PATTERNS[directive.lstrip("-")]
    return found.replace("{1,2}", "{2}") if (not before and place > 1) or not after else found


def _written(number: int, form: str | None) -> str:
    if not 1 <= number + EPOCH <= date.max.toordinal():  # which only a typed column has
        return str(np.datetime64(number, "D"))
    day = date.fromordinal(number + EPOCH)
    if form is None:
        return f"{day.year:04}-{day.month:02}-{day.day:02}"
    if "%y" in form and not EARLIEST_SHORT <= day.year <= LATEST_SHORT:
        raise ValueError("two digits do not write this year")
    parts = {
        "Y": f"{day.year:04}",
        "y": f"{day.year % 100:02}",
        "m": f"{day.month:02}",
        "d": f"{day.day:02}",
        "-m": str(day.month),
        "-d": str(day.day),
        "b": MONTHS[day.month - 1][:3],
        "B": MONTHS[day.month - 1],
    }
    return DIRECTIVE.sub(lambda match: parts[match[1]], form)
