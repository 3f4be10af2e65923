"""Columns of a state and of a new table in common types: the number 7 and the text 7.0 are the same value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.schema.builders import plain
from tclose.schema.columns import Quasi, Sensitive
from tclose.schema.schema import Schema
from tclose.table.reading import texts

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class CommonTypes:
    """Brings two columns into one type, in which values that are the same are spelled the same.

    Attributes
    ----------
    decimal, thousands
        The signs of numbers in text.
    measured
        The columns whose texts are read as numbers: 7 and 7.0 are the same there.
    """

    decimal: str = "."
    thousands: str = ""
    measured: frozenset[str] = frozenset()

    @classmethod
    def by(cls, schema: Schema) -> CommonTypes:
        """As a schema reads columns."""
        columns: list[Quasi | Sensitive] = [*schema.quasi, *schema.sensitive]
        measured = frozenset(each.column for each in columns if each.is_measured)
        return cls(schema.decimal, schema.thousands, measured)

    def named(self, column: pl.Series) -> pl.Series:
        """Values as text; numbers without trailing zeros or exponent, with a point as their sign."""
        if column.dtype != pl.String or column.name not in self.measured:
            return texts(column)
        return _renamed(column, lambda each: self._plain(each) or each)

    def differ(self, before: pl.DataFrame, after: pl.DataFrame) -> Flags:
        """Which rows differ in some column; missing is a value like others."""
        found = np.zeros(len(before), bool)
        for one, other in zip(before.get_columns(), after.select(before.columns).get_columns(), strict=True):
            if one.dtype == pl.String:
                one, other = self.named(one), self.named(other)
            found |= one.ne_missing(other).to_numpy()
        return found

    def of(self, before: pl.Series, after: pl.Series) -> tuple[pl.Series, pl.Series]:
        """A column of the state and one of the table in a common type."""
        if before.dtype == after.dtype:
            is_spelled = before.dtype == pl.String and before.name in self.measured
            return (self._spelled_as(before, after) if is_spelled else before), after
        if before.null_count() == len(before):
            return before.cast(after.dtype, strict=False), after
        if after.null_count() == len(after):
            return before, after.cast(before.dtype, strict=False)
        if after.dtype == pl.String:
            return self._spelled_as(before, after), after
        if before.dtype.is_numeric() and after.dtype.is_numeric():
            floats = before.cast(pl.Float64), after.cast(pl.Float64)
            if all(_is_same(one, other) for one, other in zip(floats, (before, after), strict=True)):
                return floats
        if before.dtype == pl.String:
            return self._read_as(before, after)
        return texts(before), texts(after)

    def _spelled_as(self, typed: pl.Series, written: pl.Series) -> pl.Series:
        """Values as text, spelled as another column spells the same numbers: 0 as 0.0, if that is there."""
        named = texts(typed)
        if not typed.dtype.is_numeric() and typed.name not in self.measured:
            return named
        known = written.drop_nulls().unique().sort()
        spellings = {number: spelled for spelled in known if (number := self._plain(spelled))}
        plain_text = (lambda each: each) if typed.dtype.is_numeric() else self._plain
        return _renamed(named, lambda each: spellings.get(plain_text(each) or "", each))

    def _read_as(self, written: pl.Series, typed: pl.Series) -> tuple[pl.Series, pl.Series]:
        """Texts in the type of another column, or of a wider one that holds both; else both as text."""
        if not typed.dtype.is_numeric():
            values = _looked_up(written, typed)
            return (texts(written), texts(typed)) if values is None else (values, typed)
        numbers = _renamed(written, lambda each: self._plain(each) or each)
        floats = typed.cast(pl.Float64)
        for wider in (typed, floats) if _is_same(floats, typed) else (typed,):
            values = numbers.cast(wider.dtype, strict=False)
            if values.null_count() == written.null_count() and _is_same(values, numbers):
                return values, wider
        return numbers, texts(typed)

    def _plain(self, written: str) -> str | None:
        """A number in text without trailing zeros or exponent; None if it is none."""
        bare = written.strip()
        bare = bare.replace(self.thousands, "") if self.thousands else bare
        try:
            number = Decimal(bare.replace(self.decimal, "."))
        except InvalidOperation:
            return None
        return plain(number) if number.is_finite() else None


def _is_same(one: pl.Series, other: pl.Series) -> bool:
    """Whether two columns hold the same values, whatever their types."""
    return bool((texts(one) == texts(other)).all())


def _renamed(written: pl.Series, rename: Callable[[str], str]) -> pl.Series:
    """Texts with each distinct one renamed."""
    known = written.drop_nulls().unique()
    own = pl.Series([rename(each) for each in known], dtype=pl.String)
    return written.replace_strict(known, own, return_dtype=pl.String)


def _looked_up(written: pl.Series, typed: pl.Series) -> pl.Series | None:
    """Texts as the values of another column that are written so; None if it does not have one of them."""
    known = texts(typed)
    if not written.drop_nulls().unique().is_in(known.implode()).all():
        return None
    pairs = pl.DataFrame({"text": known, "value": typed}).unique("text").drop_nulls()
    return written.replace_strict(pairs["text"], pairs["value"], default=None, return_dtype=typed.dtype)
