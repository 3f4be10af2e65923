"""What a cell means: missing, a number, a day, an instant or a label, in plain Python and exactly.

Nothing here is taken from the package: the fuzzer's judge must not repeat a misreading of its.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

Cell = None | bool | int | float | Decimal | str | date | datetime | timedelta
Rows = list[dict[str, Cell]]

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_DAY = re.compile(r"(-?\d{4,6})-(\d\d)-(\d\d)")
_MONTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class NoMeaning(ValueError):  # noqa: N818 - it names the finding, and the judge turns it into an answer
    """The cell is not what its column should hold."""


def is_missing(cell: Cell, spellings: Sequence[str] = (), measured: bool = False) -> bool:
    """Whether a cell is empty, null, NaN (as text too where numbers or dates are read) or spelled as missing."""
    if cell is None or cell == "":
        return True
    if isinstance(cell, float | Decimal) and cell != cell:
        return True
    if isinstance(cell, str) and measured and cell.lower() == "nan":
        return True
    return label(cell) in spellings


def number(cell: Cell, decimal: str = ".") -> Fraction:
    """A text is the decimal it is written as, a float the shortest decimal that it prints as."""
    if isinstance(cell, bool) or cell is None or cell != cell or isinstance(cell, date | timedelta):
        raise NoMeaning("not a number")
    if isinstance(cell, int | Decimal):
        return Fraction(cell)
    if isinstance(cell, float):
        return Fraction(repr(cell))
    text = cell.replace(decimal, ".") if decimal != "." and "." not in cell else cell
    if (decimal != "." and "." in cell) or not _NUMBER.fullmatch(text):
        raise NoMeaning("not a number")
    return Fraction(text)


def day_number(text: str) -> int:
    """The days since 0001-01-01 of an ISO date, of any year: ends of intervals may lie outside Python's."""
    found = _DAY.fullmatch(text)
    if not found:
        raise NoMeaning("not a date")
    year, month, day = map(int, found.groups())
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = list(_MONTHS)
    days[1] += leap
    if not 1 <= month <= 12 or not 1 <= day <= days[month - 1]:
        raise NoMeaning("not a date")
    before = year - 1
    return before * 365 + before // 4 - before // 100 + before // 400 + sum(days[: month - 1]) + day - 1


def day(cell: Cell, written: str | None = None) -> int:
    """The day of a date, the time of day cut off; `written` is the format of a text."""
    if isinstance(cell, date):
        return cell.toordinal() - 1
    if not isinstance(cell, str):
        raise NoMeaning("not a date")
    if written is not None:
        try:
            return datetime.strptime(cell, written).toordinal() - 1
        except ValueError:
            raise NoMeaning("not a date") from None
    head, rest = cell[:10], cell[10:]
    if rest and rest[0] not in "T ":
        raise NoMeaning("not a date")
    return day_number(head)


def instant(cell: Cell) -> tuple[bool, Fraction]:
    """Whether it has a zone, and the seconds since 0001-01-01 (in UTC if it has one)."""
    if isinstance(cell, str):
        if not re.match(r"\d{4}-\d\d-\d\d($|[T ])", cell):
            raise NoMeaning("not a date")
        try:
            cell = datetime.fromisoformat(cell)
        except ValueError:
            raise NoMeaning("not a date") from None
    if isinstance(cell, datetime):
        zoned = cell.tzinfo is not None
        start = datetime(1, 1, 1, tzinfo=UTC if zoned else None)
        gone = cell - start
        return zoned, Fraction(gone.days * 86400 + gone.seconds) + Fraction(gone.microseconds, 10**6)
    if isinstance(cell, date):
        return False, Fraction((cell.toordinal() - 1) * 86400)
    raise NoMeaning("not a date")


def length(cell: Cell) -> Fraction:
    """The seconds of a duration; a text has hours, minutes and perhaps seconds."""
    if isinstance(cell, timedelta):
        return Fraction(cell // timedelta(microseconds=1), 10**6)
    if not isinstance(cell, str) or not re.fullmatch(r"-?\d+:[0-5]\d(:[0-5]\d(\.\d+)?)?", cell):
        raise NoMeaning("not a duration")
    parts = [*map(Fraction, cell.removeprefix("-").split(":")), Fraction(0)]
    seconds = 3600 * parts[0] + 60 * parts[1] + parts[2]
    return -seconds if cell.startswith("-") else seconds


def ranks_of(cells: Sequence[Cell], decimal: str = ".") -> list[Fraction]:
    """Numbers if all are, else durations or dates and times: what an ordered attribute without `order` is ranked by."""
    try:
        return [number(cell, decimal) for cell in cells]
    except NoMeaning:
        if cells and (isinstance(cells[0], timedelta) or re.match(r"-?\d+:", str(cells[0]))):
            return [length(cell) for cell in cells]
        instants = [instant(cell) for cell in cells]
    if len({zoned for zoned, _ in instants}) > 1:
        raise NoMeaning("some have a zone and some have none")
    return [seconds for _, seconds in instants]


def label(cell: Cell) -> str:
    """The text that stands for a value wherever labels are compared: 1.0 is `1`, true is `true`."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float | Decimal):
        if cell != cell or cell in (float("inf"), float("-inf")):
            return str(cell)
        return plain(Decimal(repr(cell)) if isinstance(cell, float) else cell)
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        seconds = abs(length(cell))
        whole = int(seconds)
        fraction = f"{int((seconds - whole) * 10**6):06}".rstrip("0")
        sign, dot = "-" * (length(cell) < 0), "." * bool(fraction)
        return f"{sign}{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}{dot}{fraction}"
    return re.sub(r"^-(?=0+([.,]0*)?([eE][+-]?\d+)?$)", "", str(cell))


def plain(value: Decimal) -> str:
    """A decimal without exponent or trailing zeros, and zero without a sign."""
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text
