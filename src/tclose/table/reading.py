"""Reading single columns, by their distinct values: what is missing, numbers, dates, labels.

Errors name lines, but no value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError, ValuesError
from tclose.schema.builders import plain
from tclose.schema.decimals import SHORT, Decimals, TooManyDigits
from tclose.schema.guarding import guarded
from tclose.schema.schema import Schema
from tclose.schema.written_forms import DateForm
from tclose.table.coded import CodedColumn
from tclose.table.source import Source
from tclose.table.times import iso_texts, rank_times

MOST_DIGITS = 15  # what every float holds
TICKS = {"ms": 10**3, "us": 10**6, "ns": 10**9}  # in a second
LONGEST = 10**6  # hours of a duration, all nanoseconds of which 64 bits count
SIGNED_ZERO = r"^-(0+(?:[.,]0*)?(?:[eE][+-]?[0-9]+)?)$"
HOUR = r"([01]\d|2[0-3])"
TIMESTAMP = (  # ISO 8601, but for the end of a day as 24:00 and seconds that leap
    rf"^\d{{4}}-\d\d-\d\d[T ]{HOUR}:[0-5]\d(:[0-5]\d([.,]\d+)?)?\s?(Z|z|[+-]{HOUR}(:?[0-5]\d)?)?$"
)


@dataclass(frozen=True, eq=False)
class Numbers:
    """Values as exact numbers.

    Attributes
    ----------
    known
        Those that are not missing, one after the other.
    missing
        Which values are missing.
    """

    known: Decimals
    missing: NDArray[np.bool_]

    def texts(self) -> pl.Series:
        """Every value as a decimal without exponent or trailing zeros, null where missing."""
        told: list[str | None] = [None] * len(self.missing)
        for place, number in zip(np.flatnonzero(~self.missing).tolist(), self.known.texts(), strict=True):
            told[place] = number
        return pl.Series(told, dtype=pl.String)


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
    thousands
        The sign between groups of three digits of numbers in text; empty if there is none.
    """

    source: Source
    rows: NDArray[np.int64]
    decimal: str = "."
    show_values: bool = False
    thousands: str = ""

    @classmethod
    def of(cls, source: Source, rows: NDArray[np.int64], schema: Schema, show_values: bool = False) -> Reader:
        """The reader of a table by its schema."""
        return cls(source, rows, schema.decimal, show_values, schema.thousands)

    def refuse(self, column: CodedColumn, bad: NDArray[np.bool_], what: str, fix: str) -> ValuesError:
        """An error about some values of a column: counts and lines, the values only on request."""
        wrong = column.values.filter(pl.Series(bad))
        is_whole = column.times is None
        rows = self.rows[column.spread(bad)] if is_whole else np.zeros(0, np.int64)
        n_rows = len(rows) if is_whole else int(column.counts[bad].sum())
        where = f" ({self.source.name_rows(rows)})" if is_whole else ""  # a table in pieces has no numbers of rows
        shown = f" Values: {', '.join(map(repr, wrong.head(10).to_list()))}." if self.show_values else ""
        return ValuesError(
            f"Column '{column.name}': {len(wrong)} distinct value{'s' * (len(wrong) > 1)} in {n_rows} "
            f"row{'s' * (n_rows > 1)} {what}{where}. {fix}{shown}",
            rows,
            what,
        )

    def numbers(self, column: CodedColumn) -> Numbers:
        """The values as exact numbers: a text as it is written, a float as the shortest decimal that reads as it."""
        given = column.values
        if given.dtype in (pl.String, pl.Null):
            written = self.plain_texts(given)
            floats = written.cast(pl.Float64, strict=False)
            self._check_numbers(column, (floats.is_null() & given.is_not_null()).to_numpy(), floats)
            # Up to 15 digits a double tells apart; with an exponent it may be none, or no longer all of them.
            is_short = not written.str.contains("[eE]").any() and (written.str.len_chars().max() or 0) <= MOST_DIGITS  # type: ignore[operator]
            known = floats.drop_nulls().to_numpy() if is_short else None
            exact = self._common(column, known, lambda: [Decimal(each) for each in written.drop_nulls()])
        elif given.dtype.is_float():
            given = given.fill_nan(None)
            self._check_numbers(column, np.zeros(len(given), bool), given)
            known = given.drop_nulls().to_numpy() if given.dtype == pl.Float64 else None
            # Float32 has its own shortest decimal, not that of its binary expansion.
            exact = self._common(column, known, lambda: [Decimal(each) for each in given.cast(pl.String).drop_nulls()])
        elif given.dtype.is_integer() and (small := _short(given)) is not None:
            exact = Decimals(small, 0)
        elif given.dtype.is_numeric():
            exact = self._common(column, None, lambda: given.drop_nulls().to_list())
        else:
            raise TableError(f"Column '{column.name}' is of type {type_name(given)}, not numbers. Change its kind.")
        return Numbers(exact, given.is_null().to_numpy())

    def plain_texts(self, given: pl.Series) -> pl.Series:
        """Texts as Python writes numbers; empty where the signs between their digits are not those of numbers."""
        written = given.cast(pl.String).str.strip_chars()
        if self.thousands:
            sign, mark = re.escape(self.thousands), re.escape(self.decimal)
            grouped = rf"^[+-]?[1-9][0-9]{{0,2}}(?:{sign}[0-9]{{3}})+(?:{mark}[0-9]*)?$".replace(r"\ ", " ")
            has_sign = written.str.contains(self.thousands, literal=True)
            written = written.set((has_sign & ~written.str.contains(grouped)).fill_null(False), "")
            written = written.str.replace_all(self.thousands, "", literal=True)
        if self.decimal != ",":
            return written
        # A point would be read as a decimal mark, and is none.
        written = written.set(written.str.contains(".", literal=True), "")
        return written.str.replace(",", ".", literal=True)

    def _check_numbers(self, column: CodedColumn, bad: NDArray[np.bool_], floats: pl.Series) -> None:
        if bad.any():
            raise self.refuse(column, bad, "are not numbers", "Fix them, or give the column another kind.")
        infinite = floats.is_infinite().fill_null(False).to_numpy()
        if infinite.any():
            raise self.refuse(column, infinite, "are infinite", "Take them out, or set them to missing.")

    def _common(
        self, column: CodedColumn, floats: NDArray[np.float64] | None, exact: Callable[[], list[Decimal | int]]
    ) -> Decimals:
        try:
            return Decimals.of_floats(floats) if floats is not None else Decimals.of(exact())
        except TooManyDigits:
            raise TableError(
                f"Column '{column.name}' mixes numbers so large and so small that they have no common unit. Round them."
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
        written = given.cast(pl.String).str.strip_chars()
        known = None if form is None else iso_texts(written, DateForm(form))
        written = written if known is None else known
        if form is None or known is not None:  # a time of day is cut off: the day is the one written
            written = written.str.slice(0, 10).zip_with(written.str.contains(TIMESTAMP).fill_null(False), written)
        dates = guarded(
            f"Column '{column.name}': the `format` of its dates is not usable",
            lambda: written.str.to_date("%Y-%m-%d" if known is not None else form or "%Y-%m-%d", strict=False),
        )
        bad = (dates.is_null() & given.is_not_null()).to_numpy()
        if bad.any():
            raise self._not_dates(column, bad, form)
        return dates

    def _not_dates(self, column: CodedColumn, bad: NDArray[np.bool_], form: str | None) -> ValuesError:
        fix = "Write them as 2021-03-31, or set `format` in the schema."
        if form is not None:
            fix = f'The schema says `format = "{form}"`: change that, or fix them.'
        return self.refuse(column, bad, "are not dates", fix)

    def time_ranks(self, column: CodedColumn, form: str) -> pl.Series | None:
        """The rank of each date or time in a format, null where missing; None if the column is of another type.

        Raises
        ------
        TableError
            Their texts are not in the format.
        """
        given = column.values
        if given.dtype != pl.String:
            return rank_times(given)
        known = iso_texts(given, DateForm(form))
        if known is None:
            raise TableError(
                f"Column '{column.name}': `format` may hold %Y %y %m %d %b %B %H %I %p %M %S %f and %z. Write it so."
            )
        ranks = rank_times(known)
        if ranks is None or ranks.null_count() > given.null_count():
            bad = self._dates_by_one(known).is_null() & given.is_not_null()
            bad = bad if bad.any() else given.is_not_null()
            raise self._not_dates(column, bad.to_numpy(), form)
        return ranks

    def _dates_by_one(self, texts: pl.Series) -> pl.Series:
        return texts.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)


def code(column: pl.Series, missing_values: tuple[str, ...], numeric: bool, decimal: str = ".") -> CodedColumn:
    """The column, coded, with all that counts as missing set to null."""
    check_type(column)
    coded = CodedColumn.of(column)
    return coded.with_values(clean(coded.values, missing_values, numeric, decimal))


def texts(values: pl.Series) -> pl.Series:
    """Values as text: numbers without trailing zeros, dates and times as ISO 8601 has them, durations as 36:05:00."""
    if values.dtype == pl.String:
        return values
    if values.dtype.is_float():
        return float_texts(values)
    if values.dtype.is_decimal():
        return pl.Series(values.name, [None if each is None else plain(each) for each in values], dtype=pl.String)
    if isinstance(values.dtype, pl.Datetime):
        return _moment_texts(values)
    if values.dtype == pl.Time:  # a cast would leave out the fraction
        return _without_zeros(values.dt.to_string("%H:%M:%S%.f"))
    if isinstance(values.dtype, pl.Duration):
        return _length_texts(values, TICKS[values.dtype.time_unit])
    problem = f"Column '{values.name}' is of type {type_name(values)}, which has no categories"
    return guarded(problem, lambda: values.cast(pl.String))


def _moment_texts(values: pl.Series) -> pl.Series:
    """Times as ISO 8601 has them, those with a zone in UTC, without trailing zeros: the same in every unit."""
    zone = getattr(values.dtype, "time_zone", None)
    plain_times = values.dt.convert_time_zone("UTC").dt.replace_time_zone(None) if zone else values
    written = _without_zeros(plain_times.dt.to_string("%Y-%m-%dT%H:%M:%S%.f"))
    return written + "+00:00" if zone else written


def _length_texts(values: pl.Series, ticks: int) -> pl.Series:
    """Durations as hours, minutes and seconds, with a sign where they are negative: the same in every unit."""
    length = values.to_physical().abs().alias("length")
    whole = pl.col("length") // ticks
    hours, minutes, seconds = (
        part.cast(pl.String).str.zfill(2) for part in (whole // 3600, whole // 60 % 60, whole % 60)
    )
    fraction = (pl.col("length") % ticks).cast(pl.String).str.zfill(len(str(ticks)) - 1)
    sign = pl.when(pl.lit(values.to_physical()) < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    written = length.to_frame().select(sign + hours + ":" + minutes + ":" + seconds + "." + fraction).to_series()
    return _without_zeros(written.alias(values.name))


def _without_zeros(written: pl.Series) -> pl.Series:
    return written.str.replace(r"(\.\d*?)0+$", "${1}").str.replace(r"\.$", "")


def _short(given: pl.Series) -> NDArray[np.int64] | None:
    """Whole numbers that 64 bits hold with room to spare."""
    integers = given.drop_nulls().cast(pl.Int64, strict=False)
    if integers.null_count():
        return None
    small: NDArray[np.int64] = integers.to_numpy()
    return small if not len(small) or -SHORT < int(small.min()) <= int(small.max()) < SHORT else None


def float_texts(column: pl.Series) -> pl.Series:
    """Floats as decimals without exponent or trailing zeros."""
    distinct = column.drop_nulls().unique()
    labels = pl.Series([plain(Decimal(value)) for value in distinct.cast(pl.String)], dtype=pl.String)
    return column.replace_strict(distinct, labels, return_dtype=pl.String) if len(distinct) else column.cast(pl.String)


def check_type(column: pl.Series) -> None:
    """Refuse a column that cannot be released in every format.

    Raises
    ------
    TableError
        It holds lists, records, bytes or objects, or durations of a million hours.
    """
    if not is_flat(column):
        fix = "Flatten it first" if column.dtype.is_nested() else "Cast it to text first"
        raise TableError(f"Column '{column.name}' is of type {type_name(column)}, which has no categories. {fix}.")
    if isinstance(column.dtype, pl.Duration) and _is_too_long(column, TICKS[column.dtype.time_unit]):
        raise TableError(
            f"Column '{column.name}' has durations of {LONGEST:,} hours or more, which are not read. "
            f"Cast it to a number, such as that of its days."
        )


def _is_too_long(column: pl.Series, ticks: int) -> bool:
    """Whether some duration has more hours than its text may have."""
    lengths = column.to_physical()
    most = LONGEST * 3600 * ticks
    return bool(((lengths <= -most) | (lengths >= most)).any())


def is_flat(column: pl.Series) -> bool:
    """Whether its values can be told as text: no lists, structs, bytes or objects."""
    return not column.dtype.is_nested() and column.dtype not in (pl.Binary, pl.Object)


def type_name(column: pl.Series) -> str:
    """The type of a column without its parameters, among which may be values."""
    return column.dtype.base_type().__name__


def one_spelling(column: pl.Series) -> pl.Series:
    """The column with one spelling of nothing (empty text and NaN are null) and of zero: -0.0 is 0.0, as text too.

    Who reads a file can tell them apart, and no check of a release does.

    Examples
    --------
    >>> one_spelling(pl.Series(["", None, "a"])).to_list(), one_spelling(pl.Series([-0.0, float("nan")])).to_list()
    ([None, None, 'a'], [0.0, None])
    """
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        empty = (column == "").fill_null(False)
        return unsigned_zeros(column.set(empty, None) if empty.any() else column)
    if column.dtype.is_float():
        column = column.fill_nan(None)
        return column.set((column == 0).fill_null(False), 0.0)  # polars leaves -0.0 + 0.0 as it is
    return column


def unsigned_zeros(column: pl.Series) -> pl.Series:
    """Texts, those that write a zero with a minus sign without it: typed, both are one number.

    Examples
    --------
    >>> unsigned_zeros(pl.Series(["-0.0", "0.0", "-0", "-0.5", "-01", None])).to_list()
    ['0.0', '0.0', '0', '-0.5', '-01', None]
    """
    if not column.str.starts_with("-0").any():
        return column
    return column.str.replace(SIGNED_ZERO, "${1}")


def clean(column: pl.Series, missing_values: tuple[str, ...], numeric: bool, decimal: str = ".") -> pl.Series:
    """The column with all that counts as missing set to null, and categories as plain text.

    Numbers in text have this decimal sign, and spellings of missing this one or a point.

    Examples
    --------
    >>> clean(pl.Series(["-9,0", "5"]), ("-9",), True, ",").to_list()
    [None, '5']
    """
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        column = unsigned_zeros(column)
        missing = column.is_in(["", *unsigned_zeros(pl.Series(missing_values, dtype=pl.String))])
        if numeric:
            written = column.str.strip_chars()
            missing |= written.str.to_lowercase().is_in(["", "nan", "-nan", "+nan"])
            spelled = missing_values
            if decimal == ",":
                spelled = (*spelled, *(each.replace(",", ".") for each in spelled if "." not in each))
                written = written.set(written.str.contains(".", literal=True).fill_null(False), "")
                written = written.str.replace(",", ".", literal=True)
            missing |= _is_spelled(written.cast(pl.Float64, strict=False), written, spelled)
        return column.set(missing, None)
    column = one_spelling(column)
    if column.dtype.is_numeric():
        return column.set(_is_spelled(column.cast(pl.Float64), column, missing_values), None)
    if missing_values and column.dtype != pl.Null:
        return column.set(texts(column).is_in(list(missing_values)).fill_null(False), None)
    return column


def _is_spelled(floats: pl.Series, column: pl.Series, missing_values: tuple[str, ...]) -> pl.Series:
    """Which numbers are those that stand for missing values: floats find them, and decimals decide."""
    spelled = {number for each in missing_values if (number := _decimal(each)) is not None}
    if not spelled:
        return pl.repeat(False, len(column), eager=True)
    near = floats.is_in([float(number) for number in spelled]).fill_null(False)
    exact = [_decimal(str(each)) in spelled for each in column.filter(near).cast(pl.String)]
    return near.scatter(near.arg_true(), pl.Series(exact, dtype=pl.Boolean)) if exact else near


def _decimal(written: str) -> Decimal | None:
    try:
        number = Decimal(written.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
