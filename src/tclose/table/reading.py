"""Reading single columns, by their distinct values: what is missing, numbers, dates, labels.

Errors name lines, but no value.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import isfinite

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError, ValuesError
from tclose.schema.builders import plain
from tclose.schema.decimals import LARGEST, TooManyDigits, scaled
from tclose.table.coded import CodedColumn
from tclose.table.guarding import guarded
from tclose.table.source import Source

MOST_DIGITS = 15  # what every float holds


@dataclass(frozen=True)
class Reader:
    """What reading a column needs to know beside the column.

    Attributes
    ----------
    source
        The table, for the numbers of its lines.
    rows
        The row of the table each row of a column stands in.
    decimal
        The decimal mark of numbers in text.
    show_values
        Let errors quote the values they are about.
    """

    source: Source
    rows: NDArray[np.int64]
    decimal: str = "."
    show_values: bool = False

    def refuse(self, column: CodedColumn, bad: NDArray[np.bool_], what: str, fix: str) -> ValuesError:
        """An error about some values of a column: counts and lines, the values only on request."""
        wrong = column.values.filter(pl.Series(bad))
        rows = self.rows[column.spread(bad)]
        shown = f" Values: {', '.join(map(repr, wrong.head(10).to_list()))}." if self.show_values else ""
        return ValuesError(
            f"Column '{column.name}': {len(wrong)} distinct value{'s' * (len(wrong) > 1)} in {len(rows)} "
            f"row{'s' * (len(rows) > 1)} {what} ({self.source.name_rows(rows)}). {fix}{shown}",
            rows,
            what,
        )

    def numbers(self, column: CodedColumn) -> NDArray[np.float64]:
        """The values as numbers, NaN where missing."""
        given = column.values
        if given.dtype in (pl.String, pl.Null):
            written = given.cast(pl.String).str.strip_chars()
            if self.decimal == ",":  # a point would be read as a decimal mark, and is none
                written = written.set(written.str.contains(".", literal=True), "")
                written = written.str.replace(",", ".", literal=True)
            numbers = written.cast(pl.Float64, strict=False)
            bad = (numbers.is_null() & given.is_not_null()).to_numpy()
            if bad.any():
                raise self.refuse(column, bad, "are not numbers", "Mend them, or give the column another kind.")
            long = (written.str.len_chars() > MOST_DIGITS) & written.str.contains(r"\d").fill_null(False)
            bad = np.zeros(len(given), bool)
            bad[long.arg_true().to_numpy()] = [_is_rounded(text) for text in written.filter(long)]
            if bad.any():
                raise self.refuse(column, bad, f"have more than {MOST_DIGITS} digits", "Round them.")
        elif given.dtype == pl.Float32:
            numbers = given.cast(pl.String).cast(pl.Float64)  # the shortest decimal, not its binary expansion
        elif given.dtype.is_numeric():
            numbers = given.cast(pl.Float64)
        else:
            raise TableError(f"Column '{column.name}' is of type {type_name(given)}, not numbers. Change its kind.")
        values = numbers.to_numpy()
        infinite = np.isinf(values)
        if infinite.any():
            raise self.refuse(column, infinite, "are infinite", "Take them out, or set them to missing.")
        large = np.abs(values) >= LARGEST
        if large.any() and not given.dtype.is_float():
            raise self.refuse(column, large, "are 2^53 or more", "Shorten them, or give the column another kind.")
        return np.where(np.isnan(values), np.nan, values)

    def exact(self, column: CodedColumn, distinct: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
        """Distinct numbers as integers over one power of ten."""
        try:
            return scaled(distinct)
        except TooManyDigits:
            raise TableError(
                f"Column '{column.name}' has numbers of more than 15 digits. Round them, or give it another kind."
            ) from None

    def dates(self, column: CodedColumn, form: str | None) -> pl.Series:
        """The values as dates, null where missing; a time of day is cut off."""
        given = column.values
        if given.dtype == pl.Date:
            return given
        if isinstance(given.dtype, pl.Datetime):
            return given.dt.date()
        if given.dtype not in (pl.String, pl.Null):
            raise TableError(f"Column '{column.name}' is of type {type_name(given)}, not dates. Change its kind.")
        dates = guarded(
            f"Column '{column.name}': the `format` of its dates is not usable",
            lambda: given.cast(pl.String).str.strip_chars().str.to_date(form or "%Y-%m-%d", strict=False),
        )
        bad = (dates.is_null() & given.is_not_null()).to_numpy()
        if bad.any():
            fix = "Write them as 2021-03-31, or set `format` in the schema."
            raise self.refuse(column, bad, "are not dates", fix)
        return dates


def code(column: pl.Series, missing_values: tuple[str, ...], numeric: bool) -> CodedColumn:
    """The column, coded, with all that counts as missing set to null."""
    if not is_flat(column):
        raise TableError(
            f"Column '{column.name}' is of type {type_name(column)}, which has no categories. Flatten it first."
        )
    coded = CodedColumn.of(column)
    return coded.with_values(clean(coded.values, missing_values, numeric))


def texts(values: pl.Series) -> pl.Series:
    """Values as text: numbers without trailing zeros, dates as ISO."""
    if values.dtype == pl.String:
        return values
    if values.dtype.is_float():
        return float_texts(values)
    problem = f"Column '{values.name}' is of type {type_name(values)}, which has no categories"
    return guarded(problem, lambda: values.cast(pl.String))


def _is_rounded(text: str) -> bool:
    """Whether a number in text is another one than the float it reads as."""
    number = float(text)
    return isfinite(number) and Decimal(repr(number)) != Decimal(text)


def float_texts(column: pl.Series) -> pl.Series:
    """Floats as decimals without exponent or trailing zeros."""
    distinct = column.drop_nulls().unique()
    labels = pl.Series([plain(Decimal(value)) for value in distinct.cast(pl.String)], dtype=pl.String)
    return column.replace_strict(distinct, labels, return_dtype=pl.String) if len(distinct) else column.cast(pl.String)


def is_flat(column: pl.Series) -> bool:
    """Whether its values can be told as text: no lists, structs, bytes or objects."""
    return not column.dtype.is_nested() and column.dtype not in (pl.Binary, pl.Object)


def type_name(column: pl.Series) -> str:
    """The type of a column without its parameters, among which may be values."""
    return column.dtype.base_type().__name__


def clean(column: pl.Series, missing_values: tuple[str, ...], numeric: bool) -> pl.Series:
    """The column with all that counts as missing set to null, and categories as plain text."""
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        missing = column.is_in(["", *missing_values])
        if numeric:
            missing |= column.str.strip_chars().str.to_lowercase().is_in(["", "nan", "-nan", "+nan"])
        return column.set(missing, None)
    if column.dtype.is_float():
        column = column.fill_nan(None) + 0.0  # -0.0 is 0
    spelled = pl.Series(missing_values, dtype=pl.String).cast(pl.Float64, strict=False).drop_nulls()
    if column.dtype.is_numeric() and len(spelled):
        return column.set(column.cast(pl.Float64).is_in(spelled.implode()), None)
    return column
