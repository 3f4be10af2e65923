"""Released columns in the types of their originals, where each released value still is such a value."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from tclose.schema.schema import Schema
from tclose.table.coded import as_text
from tclose.table.reading import texts
from tclose.table.source import Source


@dataclass(frozen=True)
class ColumnTypes:
    """What released columns become when they are given away.

    Attributes
    ----------
    numbers
        Sensitive columns that a text file held as text, though they are read as numbers.
    categories
        Columns that were categories.
    """

    numbers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: Source, schema: Schema) -> ColumnTypes:
        """What a table says of its columns."""
        numbers = tuple(s.column for s in schema.sensitive if s.is_measured) if source.is_text else ()
        released = {name for name, role in schema.columns.items() if role not in ("identifier", "unit")}
        return cls(numbers, tuple(name for name in source.categorical if name in released))

    def with_numbers(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Numbers in text as numbers, if every value of the column is one."""
        found = {name: as_before(frame[name], pl.String(), "numeric", exact=False) for name in self.numbers}
        return frame.with_columns(**found)

    def given(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame as a dataframe: text as text, what was numbers or categories as such."""
        kept = [name for name in self.categories if isinstance(frame.schema.get(name), pl.Enum)]
        told = as_text(self.with_numbers(frame))
        return told.with_columns(frame[name] for name in kept)


def as_before(column: pl.Series, original: pl.DataType, kind: str, *, exact: bool = True) -> pl.Series:
    """A column of text in the type its original had, if every text is just such a value; else as it is.

    Parameters
    ----------
    column
        Text, or an Enum.
    original
        The type of the column it was made of; where that was text, `kind` says what it was read as.
    kind
        Of the quasi-identifier.
    exact
        Whether the text must be how the value is written, or may be any way to write it.

    Examples
    --------
    >>> as_before(pl.Series(["20", "45"]), pl.Int64(), "numeric").to_list()
    [20, 45]
    >>> as_before(pl.Series(["20", "[20, 45]"]), pl.Int64(), "numeric").to_list()
    ['20', '[20, 45]']
    """
    known = column.dtype.categories if isinstance(column.dtype, pl.Enum) else column.drop_nulls().unique()
    if column.dtype not in (pl.String, pl.Enum) or not len(known):
        return column
    for target in _targets(original, kind):
        typed = _typed(known, target)
        if typed is not None and (not exact or (texts(typed) == known).all()):
            if isinstance(column.dtype, pl.Enum):
                return typed.gather(column.to_physical()).alias(column.name)
            return column.replace_strict(known, typed, return_dtype=typed.dtype)
    return column


def _targets(original: pl.DataType, kind: str) -> list[pl.DataType]:
    """Types to try, the first that holds all values is taken."""
    if original == pl.Boolean or original.is_integer() or original == pl.Date:
        return [original]
    if original.is_float() or original.is_decimal():
        return [original]
    if kind == "numeric":
        return [pl.Int64(), pl.Float64()]
    return [pl.Date()] if kind == "date" else []


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
    if typed.null_count():
        return None
    plain = known.str.replace(r"(\.\d*?)0+$", "${1}").str.replace(r"\.$", "").str.replace(r"^(-?)0+(\d)", "${1}${2}")
    return typed if (texts(typed) == plain.str.replace("^-0$", "0")).all() else None
