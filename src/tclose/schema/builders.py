"""Hierarchies built from the values themselves: numeric intervals, text prefixes, dates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from decimal import Decimal, localcontext
from itertools import pairwise
from typing import Any, ClassVar

from tclose.errors import SchemaError
from tclose.schema.decimals import BOUNDED, is_bounded
from tclose.schema.hierarchy import Hierarchy

PRECISION = 1500  # digits: more than the quotient of any two numbers that are let in has, so that none is rounded
PERIODS = ("day", "month", "quarter", "year")


@dataclass(frozen=True)
class Intervals:
    """Numeric values below ever wider half-open intervals.

    Examples
    --------
    >>> Intervals((5, 10), origin=0).build(["3", "7"]).labels
    ('*', '[0, 10)', '[0, 5)', '3', '[5, 10)', '7')
    """

    name: ClassVar[str] = "intervals"
    widths: Sequence[Decimal | int | float]
    origin: Decimal | int | float = 0

    def __post_init__(self) -> None:
        widths = [_decimal(width) for width in self.widths]
        if not widths or not all(is_bounded(width) and width > 0 for width in widths):
            raise SchemaError(f"hierarchy: 'widths' must be a list of positive numbers {BOUNDED}, as in [5, 10, 20].")
        if not is_bounded(_decimal(self.origin)):
            raise SchemaError(f"hierarchy: 'origin' must be a number {BOUNDED}.")
        with localcontext(prec=PRECISION):
            if any(wide % narrow for narrow, wide in pairwise(widths)):
                raise SchemaError("hierarchy: each of 'widths' must be a multiple of the one before it.")

    def build(self, values: Sequence[str]) -> Hierarchy:
        """The tree over these values."""
        origin = _decimal(self.origin)

        def interval(value: Decimal, width: Decimal) -> str:
            low = origin + (value - origin) // width * width
            low -= width if low > value else 0  # Decimal's // rounds towards zero
            return f"[{plain(low)}, {plain(low + width)})"

        ordered = sorted(values, key=Decimal)
        widths = [_decimal(width) for width in self.widths]
        with localcontext(prec=PRECISION):
            return Hierarchy.from_paths(
                [(value, *(interval(Decimal(value), width) for width in widths), "*") for value in ordered]
            )


@dataclass(frozen=True)
class Prefixes:
    """Text values below ever shorter beginnings of these lengths.

    Examples
    --------
    >>> Prefixes((3, 1)).build(["02139", "02142"]).labels
    ('*', '0****', '021**', '02139', '02142')
    """

    name: ClassVar[str] = "prefixes"
    lengths: Sequence[int]

    def __post_init__(self) -> None:
        falling = all(longer > shorter for longer, shorter in pairwise(self.lengths))
        whole = all(type(length) is int for length in self.lengths)
        if not self.lengths or not whole or not falling or self.lengths[-1] < 1:
            raise SchemaError("hierarchy: 'lengths' must be falling whole numbers from 1 up, as in [4, 3, 2].")

    def build(self, values: Sequence[str]) -> Hierarchy:
        """The tree over these values."""
        width = max(map(len, values), default=0)
        return Hierarchy.from_paths(
            [
                (value, *(value[:length] + "*" * (width - min(length, len(value))) for length in self.lengths), "*")
                for value in sorted(values)
            ]
        )


@dataclass(frozen=True)
class Dates:
    """ISO dates below months, quarters and years.

    Examples
    --------
    >>> Dates(("month", "year")).build(["2021-03-02"]).labels
    ('*', '2021', '2021-03', '2021-03-02')
    """

    name: ClassVar[str] = "dates"
    levels: Sequence[str] = PERIODS[1:]

    def __post_init__(self) -> None:
        known = [PERIODS.index(level) for level in self.levels if level in PERIODS[1:]]
        if not known or len(known) != len(self.levels) or known != sorted(set(known)):
            raise SchemaError("hierarchy: 'levels' must be some of month, quarter, year, in this order.")

    def build(self, values: Sequence[str]) -> Hierarchy:
        """The tree over these values."""
        return Hierarchy.from_paths(
            [
                (value, *(_period(date.fromisoformat(value), level) for level in self.levels), "*")
                for value in sorted(values)
            ]
        )


Builder = Intervals | Prefixes | Dates
BUILDERS: dict[str, type[Builder]] = {kind.name: kind for kind in (Intervals, Prefixes, Dates)}


def builder_from_dict(keys: Mapping[str, Any], where: str) -> Builder:
    """A builder from `{build = "intervals", widths = [5, 10]}`."""
    kind = BUILDERS.get(keys["build"])
    if kind is None:
        raise SchemaError(f"{where}: unknown build. Known: {', '.join(BUILDERS)}.")
    rest: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in keys.items() if key != "build"
    }
    allowed = list(kind.__dataclass_fields__)
    for key in rest:
        if key not in allowed:
            raise SchemaError(f"{where}: unknown key '{key}'. Allowed with '{kind.name}': {', '.join(allowed)}.")
    try:
        return kind(**rest)
    except (TypeError, ArithmeticError):
        raise SchemaError(f"{where}: '{kind.name}' needs {', '.join(allowed)} as lists or numbers.") from None


def builder_as_dict(builder: Builder) -> dict[str, Any]:
    """The inverse of `builder_from_dict`."""
    keys = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(builder).items()}
    return {"build": builder.name, **keys}


def plain(value: Decimal) -> str:
    """A decimal without exponent or trailing zeros."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _decimal(value: Decimal | int | float) -> Decimal:
    return Decimal(value) if type(value) is int else Decimal(str(value))  # `str` refuses an int of 4,300 digits


def _period(day: date, level: str) -> str:
    if level == "month":
        return f"{day.year:04}-{day.month:02}"
    return f"{day.year:04}-Q{(day.month + 2) // 3}" if level == "quarter" else f"{day.year:04}"
