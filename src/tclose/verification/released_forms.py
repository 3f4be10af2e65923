"""How released texts write numbers and days: the judge's own reading of decimal and thousands signs and of formats."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import polars as pl

from tclose.schema.builders import Dates
from tclose.schema.columns import Quasi
from tclose.schema.schema import Schema
from tclose.verification.calendar_times import read_day
from tclose.verification.exact_numbers import read_number
from tclose.verification.written_clocks import day_part, read_clock


@dataclass(frozen=True)
class ReleasedForm:
    """How the texts of a released column write numbers or days.

    Attributes
    ----------
    mark, thousands
        The decimal sign, and that between groups of three digits.
    format
        Of days; None for ISO 8601.

    Examples
    --------
    >>> ReleasedForm(",", ".").number("1.234,5"), ReleasedForm(format="%d/%m/%Y").day("02/01/1970")
    (Fraction(2469, 2), Fraction(1, 1))
    """

    mark: str = "."
    thousands: str = ""
    format: str | None = None

    @classmethod
    def of(cls, values: pl.Series, quasi: Quasi, schema: Schema) -> ReleasedForm:
        """That of a released column: texts are in the form of the schema, and names of typed values are plain."""
        if values.dtype not in (pl.String, pl.Enum, pl.Categorical):
            return cls()
        format = day_part(quasi.format) if quasi.kind == "date" or isinstance(quasi.hierarchy, Dates) else None
        return cls(schema.decimal, schema.thousands if quasi.grouped else "", format)

    def number(self, text: str) -> Fraction | None:
        """The number that a text writes, without a blank before or behind it."""
        pair = read_number(text, self.mark, self.thousands)
        if pair is None or text != text.strip():
            return None
        integer, exponent = pair
        return Fraction(integer * 10**exponent) if exponent >= 0 else Fraction(integer, 10**-exponent)

    def day(self, text: str) -> Fraction | None:
        """The day since 1970 that a text writes."""
        if text != text.strip():
            return None
        if self.format is not None:
            found = read_clock(text, self.format)
            return None if found is None else Fraction(found.day)
        day = read_day(text)
        return None if day is None else Fraction(day)

    def ends(self, text: str, dates: bool, closing: str = "]") -> tuple[str, str] | None:
        """The two ends of an interval; None if it is none."""
        if dates:
            parts = text.split(" - " if "/" in (self.format or "") else "/")
        elif text.startswith("[") and text.endswith(closing):
            inside = text[1 : -len(closing)]
            parts = inside.split("; ") if "; " in inside else inside.split(", ")
            if ("," in "".join(parts)) != ("; " in inside):  # a semicolon stands between numbers with commas alone
                return None
        else:
            return None
        return (parts[0], parts[1]) if len(parts) == 2 else None
