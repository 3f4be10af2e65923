"""Released columns in the types of their originals, where each released value still is such a value."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import polars as pl

from tclose.schema.builders import plain
from tclose.schema.schema import Schema
from tclose.schema.written_forms import DateForm, NumberForm
from tclose.table.coded import as_text
from tclose.table.reading import Reader, texts
from tclose.table.source import Categories, Source
from tclose.table.times import iso_texts

BY_TEXTS: list[pl.DataType] = [pl.Int64(), pl.Float64(), pl.Boolean(), pl.Date()]
MOST_DIGITS = 38  # of a decimal number


@dataclass(frozen=True)
class ColumnTypes:
    """What released columns become when they are given away.

    Attributes
    ----------
    numbers
        Sensitive columns that a text file held as text, though they are read as numbers.
    decimal, thousands
        Their decimal and thousands signs.
    categories
        Columns that were categories.
    loose
        Columns whose type may be that of a row which is not released.
    """

    numbers: tuple[str, ...] = ()
    decimal: str = "."
    categories: tuple[Categories, ...] = ()
    thousands: str = ""
    loose: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: Source, schema: Schema) -> ColumnTypes:
        """What a table says of its columns."""
        numbers = tuple(s.column for s in schema.sensitive if s.is_measured) if source.is_text else ()
        released = {name for name, role in schema.columns.items() if role not in ("identifier", "unit")}
        categories = tuple(each for each in source.categorical if each.column in released)
        loose = tuple(sorted(released)) if source.is_loose and schema.may_leave_rows_out else ()
        return cls(numbers, schema.decimal, categories, schema.thousands, loose)

    def with_numbers(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Numbers in text as numbers, if every value of the column is one."""
        reader = Reader(Source.of(frame), np.arange(len(frame)), self.decimal, thousands=self.thousands)
        frame = frame.with_columns(_as_numbers(frame[name], reader) for name in self.numbers)
        return frame.with_columns(_as_first(frame[name], BY_TEXTS, None) for name in self.loose if name in frame)

    def given(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame as a dataframe: text as text, what was numbers or categories as such."""
        told = as_text(self.with_numbers(frame))
        kept = [each for each in self.categories if told.schema.get(each.column) == pl.String]
        return told.with_columns(_as_categories(told[each.column], each.order) for each in kept)


def _as_categories(column: pl.Series, order: tuple[str, ...] | None) -> pl.Series:
    """Categories, in the order they had if they had one, those that generalizing made last; none that no row has."""
    if order is None:
        own = pl.Categories.random("released", pl.UInt32)  # which nothing else is in: others are shared by all columns
        return column.cast(pl.Categorical(own))
    present = set(column.drop_nulls().unique().to_list())
    ordered = [each for each in order if each in present]
    return column.cast(pl.Enum([*ordered, *sorted(present - set(ordered))]))


def _as_numbers(column: pl.Series, reader: Reader) -> pl.Series:
    """A column of text as the numbers it is read as, if a type holds them all exactly; else as it is."""
    known = column.dtype.categories if isinstance(column.dtype, pl.Enum) else column.drop_nulls().unique()
    if column.dtype not in (pl.String, pl.Enum) or not len(known):
        return column
    written = reader.plain_texts(known)
    floats = written.cast(pl.Float64, strict=False)
    if floats.null_count() or not floats.is_finite().all():
        return column
    exact = pl.Series([plain(Decimal(each)) for each in written], dtype=pl.String)
    for typed in (exact.cast(pl.Int64, strict=False), floats):
        if not typed.null_count() and (texts(typed) == exact).all():
            places = column.to_physical() if isinstance(column.dtype, pl.Enum) else None
            if places is not None:
                return typed.gather(places).alias(column.name)
            return column.replace_strict(known, typed, return_dtype=typed.dtype)
    return column


def as_before(
    column: pl.Series, original: pl.DataType, kind: str, form: NumberForm | DateForm | None = None
) -> pl.Series:
    """A column of text in the type its original had, if every text is just such a value; else as it is.

    Only for columns whose values are all shown: else the type would tell of those that are not.

    Parameters
    ----------
    column
        Text, or an Enum.
    original
        The type of the column it was made of; where that was text, `kind` says what it was read as.
    kind
        Of the quasi-identifier.
    form
        How its numbers or days are written.

    Examples
    --------
    >>> as_before(pl.Series(["20", "45"]), pl.Int16(), "numeric").dtype
    Int16
    >>> as_before(pl.Series(["20", "[20, 45]"]), pl.Int64(), "numeric").to_list()
    ['20', '[20, 45]']
    """
    typed = original == pl.Boolean or original == pl.Date or original.is_numeric()
    return _as_first(column, [original] if typed else _by_kind(kind), form)


def as_released(column: pl.Series, kind: str, form: NumberForm | DateForm | None = None) -> pl.Series:
    """A column of text in a type that follows from its texts and the schema alone.

    Numbers are Int64 if all are whole, else Float64; dates are dates; what no such type holds exactly stays text.

    Parameters
    ----------
    column
        Text, or an Enum.
    kind
        Of the quasi-identifier.
    form
        How its numbers or days are written.

    Examples
    --------
    >>> as_released(pl.Series(["20", "45"]), "numeric").dtype, as_released(pl.Series(["20", "4.5"]), "numeric").dtype
    (Int64, Float64)
    """
    return _as_first(column, _by_kind(kind), form)


def by_values(column: pl.Series) -> pl.Series:
    """Numbers as Int64 if all are whole and it holds them, and broken ones as they are; what are no numbers too.

    Decimal numbers have no more places than one of them needs.

    Examples
    --------
    >>> by_values(pl.Series([1.0, 2.0])).dtype, by_values(pl.Series([1], dtype=pl.Int8)).dtype
    (Int64, Int64)
    >>> by_values(pl.Series(["1.50", "2.00"]).cast(pl.Decimal(10, 2))).dtype
    Decimal(precision=38, scale=1)
    """
    if isinstance(column.dtype, pl.Decimal):
        return _with_fewest_places(column, column.dtype.scale)
    if column.dtype.is_integer():
        typed = column.cast(pl.Int64, strict=False)
        return column if typed.null_count() > column.null_count() else typed
    if not column.dtype.is_float():
        return column
    whole = column.is_null() | ((column == column.floor()) & (column.abs() < float(2**53)))
    return column.cast(pl.Int64) if whole.all() else column


def _with_fewest_places(column: pl.Series, places: int) -> pl.Series:
    """Decimal numbers with as many places as the longest of them needs; whole ones as integers."""
    for fewer in range(places + 1):
        shorter = column.cast(pl.Decimal(MOST_DIGITS, fewer), strict=False)
        if shorter.null_count() == column.null_count() and (shorter == column).all():
            whole = shorter.cast(pl.Int64, strict=False) if not fewer else None
            return shorter if whole is None or whole.null_count() > column.null_count() else whole
    return column


def _by_kind(kind: str) -> list[pl.DataType]:
    """Types to try, the first that holds all values is taken."""
    if kind == "numeric":
        return [pl.Int64(), pl.Float64()]
    return [pl.Date()] if kind == "date" else []


def _as_first(column: pl.Series, targets: list[pl.DataType], form: NumberForm | DateForm | None) -> pl.Series:
    """A column of text in the first type that holds every text exactly; as it is if none does."""
    known = column.dtype.categories if isinstance(column.dtype, pl.Enum) else column.drop_nulls().unique()
    if column.dtype not in (pl.String, pl.Enum) or not len(known):
        return column
    plain = _plain_texts(known, form)
    for target in targets if plain is not None else ():
        assert plain is not None
        typed = _typed(plain, target)
        if typed is not None and (texts(typed) == plain).all():
            if isinstance(column.dtype, pl.Enum):
                return typed.gather(column.to_physical()).alias(column.name)
            return column.replace_strict(known, typed, return_dtype=typed.dtype)
    return column


def _plain_texts(known: pl.Series, form: NumberForm | DateForm | None) -> pl.Series | None:
    """Texts of a form as plain decimals or ISO dates; None if one of them is neither."""
    if form is None:
        return known
    if isinstance(form, NumberForm):
        plain = known if form.is_plain else pl.Series([form.plain(each) for each in known], dtype=pl.String)
        return None if plain.null_count() else plain
    if form.day_format is None:
        return known
    found = iso_texts(known, DateForm(form.day_format))
    if found is None or found.null_count():
        return None
    days = found.str.to_date("%Y-%m-%d", strict=False)
    same = not days.null_count() and form.write(days.to_physical().to_list()) == known.to_list()
    return found if same else None


def _typed(known: pl.Series, target: pl.DataType) -> pl.Series | None:
    """All texts as values of a type that are the same numbers, or None."""
    if target == pl.Boolean:
        return known == "true" if known.is_in(["true", "false"]).all() else None
    if target == pl.Date:
        typed = known.str.to_date("%Y-%m-%d", strict=False)
        in_calendar = not typed.null_count() and typed.dt.year().is_between(1, 9999).all()  # which every library has
        return typed if in_calendar else None
    if not known.str.contains(r"^-?\d+(\.\d+)?$").all():
        return None
    typed = known.cast(target, strict=False)
    return None if typed.null_count() else typed
