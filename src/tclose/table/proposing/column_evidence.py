"""What is known of a column before anybody says what it is: its values' form, how many differ, and its name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.table.coded import CodedColumn
from tclose.table.date_formats import compact_formats, find_formats, fits
from tclose.table.proposing.column_topics import CODED, COUNTED, NUMBERED, Topic, says, topics_of, words_of
from tclose.table.reading import MOST_DIGITS, Reader, clean, is_flat, texts, type_name
from tclose.table.source import Source
from tclose.table.times import rank_times

FEW = 20  # distinct whole numbers below which nothing but a name says that they have an order
LONG = 40  # characters on average from which on a text is no category
FEW_ODD = 3  # distinct texts among numbers that may be mistakes
NONE: NDArray[np.int64] = np.zeros(0, np.int64)
BARS = 12  # of the histogram in which an order shows
DENSE = 0.25  # of all whole numbers between the least and the largest
DIGITS, DIGIT = re.compile(r"\d+", re.ASCII), re.compile(r"\d", re.ASCII)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
DATED = re.compile(r"(?i)date|datum|fecha|day|tag|birth|geburt|dob|jour|dia")
SIGN = r"(?:[%‰€$£¥₹]|EUR|USD|GBP|CHF)"
UNSIGNED = re.compile(r"\s*[+\u2212-]?\s*\d[\d.,'\u2019\u00a0\u202f ]*")
SIGNED = re.compile(rf"\s*{SIGN}?{UNSIGNED.pattern}{SIGN}?\s*|\s*[+-]?{SIGN}{UNSIGNED.pattern}\s*")
NO_AMOUNT = re.compile(r"\s*(\d+|\d+(\.\d+){2,}|\d+( \d+)+)\s*", re.ASCII)  # codes, versions, telephone numbers
LIKE_DAYS = re.compile(r"\s*(\d{4}[./-]\d{1,2}[./-]\d{1,2}|\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d\d))(?!\d)", re.ASCII)
DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
FORMS = {  # values that point at one person, whatever their column is called
    "e-mail addresses": re.compile(r"^[^@\s]+@[^@\s]+\.[^@\s]+$"),
    "web addresses": re.compile(r"^(https?|ftp)://"),
    "IP addresses": re.compile(r"^(\d{1,3}\.){3}\d{1,3}$"),
    "universal identifiers": re.compile(r"^\{?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\}?$"),
}


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known of one column.

    Attributes
    ----------
    column
        Its name.
    coded
        Its values, null where missing; None where they cannot be told apart at all.
    form
        whole, fractions, dates, codes (digits with leading zeros, or texts of one length), texts, prose, empty or
        unusable.
    problem
        Why it is unusable.
    formats
        Of its dates, where they are not those of ISO 8601: one, or several where nothing says which.
    order_of
        The column whose dates say whether its own have the day or the month first; empty if its own do.
    """

    column: str
    coded: CodedColumn | None
    form: str
    reader: Reader
    problem: str = ""
    formats: tuple[str, ...] = ()
    order_of: str = ""

    @classmethod
    def of(
        cls,
        source: Source,
        column: pl.Series,
        missing_values: tuple[str, ...],
        decimal: str = ".",
        thousands: str = "",
    ) -> Evidence:
        """Look at a column."""
        reader = Reader(source, np.arange(len(column)), decimal, thousands=thousands)
        if not is_flat(column):
            return cls(column.name, None, "unusable", reader, f"values of type {type_name(column)} are not released")
        return cls.of_coded(reader, CodedColumn.of(column), missing_values)

    @classmethod
    def of_coded(
        cls, reader: Reader, coded: CodedColumn, missing_values: tuple[str, ...], formats: Sequence[str] = ()
    ) -> Evidence:
        """Look at a column that is coded already; `formats` are those that someone said dates have."""
        if coded.values.dtype != pl.String or not {"", *missing_values}.isdisjoint(coded.values.to_list()):
            coded = coded.with_values(clean(coded.values, missing_values, numeric=False))
        try:
            form = _form(reader, coded)
        except TableError:
            problem = f"values of type {type_name(coded.values)} are not released"
            return cls(coded.name, coded, "unusable", reader, problem)
        evidence = cls(coded.name, coded, form, reader)
        if form not in ("texts", "codes", "prose", "whole") or coded.values.dtype != pl.String:
            return evidence
        found = _date_formats(evidence, formats)
        return replace(evidence, form="dates" if len(found) == 1 else form, formats=found)

    def in_order(self, order: str, column: str) -> Evidence:
        """The same, where the dates of another column say whether the day or the month comes first."""
        found = [form for form in self.formats if order_of(form) == order]
        return replace(self, form="dates", formats=tuple(found), order_of=column) if len(found) == 1 else self

    @property
    def format(self) -> str | None:
        """How its dates are written, if not as ISO 8601 has it."""
        return self.formats[0] if len(self.formats) == 1 else None

    @cached_property
    def is_grouped(self) -> bool:
        """Whether some of its numbers have a thousands sign."""
        if not self.reader.thousands or self.coded is None or self.coded.values.dtype != pl.String:
            return False
        return bool(self.coded.values.str.contains(self.reader.thousands, literal=True).any())

    @property
    def n_rows(self) -> int:
        """All rows."""
        return len(self.reader.rows)

    @cached_property
    def n_missing(self) -> int:
        """Rows without a value."""
        if self.coded is None or not self.coded.values.null_count():
            return 0
        return int(self.coded.counts[-1])

    @property
    def n_filled(self) -> int:
        """Rows with a value."""
        return self.n_rows - self.n_missing

    @cached_property
    def n_distinct(self) -> int:
        """Different values."""
        return 0 if self.coded is None else len(self.coded.values) - self.coded.values.null_count()

    @property
    def share_distinct(self) -> float:
        """Different values a row that has one."""
        return self.n_distinct / max(self.n_filled, 1)

    @cached_property
    def topics(self) -> tuple[Topic, ...]:
        """What its name says."""
        return topics_of(self.column)

    def says(self, topic: Topic) -> bool:
        """Whether its name has words of a topic."""
        return says(topic, self._words)

    @cached_property
    def _words(self) -> list[str]:
        return words_of(self.column)

    @cached_property
    def is_clock(self) -> bool:
        """Whether its values are times of day, or durations in hours and minutes: they have an order."""
        if self.coded is None or self.form not in ("texts", "codes"):
            return False
        if self.coded.values.dtype not in (pl.String, pl.Time, pl.Duration):
            return False
        return self.n_distinct > 2 and rank_times(self.coded.values) is not None

    @cached_property
    def has_signs(self) -> bool:
        """Whether its values are numbers that are read as text: with signs of money, or two decimal signs."""
        if self.coded is None or self.form not in ("texts", "codes") or self.coded.values.dtype != pl.String:
            return False
        values = self.coded.values.drop_nulls().to_list()
        return all(map(SIGNED.fullmatch, values)) and not all(map(NO_AMOUNT.fullmatch, values))

    @cached_property
    def odd_rows(self) -> NDArray[np.int64]:
        """The rows whose few values keep a column from being numbers, such as `Total` below them; else none."""
        if self.coded is None or self.form not in ("texts", "codes") or self.coded.values.dtype != pl.String:
            return NONE
        values = self.coded.values.drop_nulls()
        written = self.reader.plain_texts(values).to_list()
        odd = np.array([NUMBER.fullmatch(each) is None for each in written], bool)
        counts = self.coded.counts[: len(values)]
        is_few = odd.sum() <= FEW_ODD and counts[odd].sum() * 10 <= counts.sum()
        if not odd.any() or not is_few or len(values) - odd.sum() < FEW:
            return NONE
        return np.flatnonzero(np.isin(self.coded.codes, np.flatnonzero(odd)))

    @cached_property
    def has_mixed_dates(self) -> bool:
        """Whether its values look like days, and are read as text, as they are written in several ways."""
        if self.coded is None or self.form not in ("texts", "codes") or self.coded.values.dtype != pl.String:
            return False
        return not self.formats and all(map(LIKE_DAYS.match, self.coded.values.drop_nulls().to_list()))

    @property
    def is_numbered(self) -> bool:
        """Whether its name is that of a number for someone or something."""
        return self.says(NUMBERED)

    @cached_property
    def is_measure(self) -> bool:
        """Whether its numbers have an order that something speaks for: fractions, its name, or how often they occur."""
        if self.form == "fractions":
            return True
        if self.form != "whole":
            return False
        natures = [topic.nature for topic in self.topics if topic.nature]
        if "measure" in natures or self.says(COUNTED):
            return not self.says(CODED)
        if natures or self.says(CODED) or self.n_distinct <= FEW:
            return False
        many = self.n_filled >= 100 and self.share_distinct >= 0.2
        return many or self._has_ordered_counts

    @property
    def _has_ordered_counts(self) -> bool:
        """Whether whole numbers lie close, and neighbours occur about as often: measures do, codes do not.

        By von Neumann's ratio of the mean square of successive differences to the variance, which is about 2 for
        counts in no order.
        """
        known = self.numbers
        width = float(known.max() - known.min())
        if not BARS <= width < np.inf or self.n_distinct < DENSE * (width + 1):
            return False
        assert self.coded is not None
        bars = np.histogram(known, BARS, weights=self.coded.counts[: len(known)])[0]
        spread = float(((bars - bars.mean()) ** 2).sum())
        return spread > 0 and float((np.diff(bars) ** 2).sum()) < spread

    @property
    def has_short_numbers(self) -> bool:
        """Whether its numbers are such that every kind of numbers reads them."""
        assert self.coded is not None
        values = self.coded.values
        if values.dtype == pl.String:
            return all(len(each) <= MOST_DIGITS and "e" not in each.lower() for each in values.drop_nulls().to_list())
        return values.dtype.is_integer() and values.dtype not in (pl.Int128, pl.UInt128)

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """Its distinct values as floats, for proposals that need not be exact; not in order where they are text."""
        assert self.coded is not None
        return _floats(self.reader, self.coded.values.drop_nulls()).to_numpy()

    @cached_property
    def dates(self) -> tuple[date, date, timedelta]:
        """The first and the last day, and the time between."""
        assert self.coded is not None
        known = self.reader.dates(self.coded, self.format).drop_nulls()
        low, high = known.min(), known.max()
        assert isinstance(low, date)
        assert isinstance(high, date)
        return low, high, high - low

    @property
    def about(self) -> str:
        """What can be said of it without its values."""
        word = {"whole": "whole numbers", "fractions": "numbers", "dates": "dates"}.get(self.form, "values")
        told = f"{self.n_distinct:,} distinct {word}, {self.n_missing:,} missing"
        return f"{told}, days and months in the order of '{self.order_of}'" if self.order_of else told


def _form(reader: Reader, coded: CodedColumn) -> str:
    values = coded.values.drop_nulls()
    if not len(values):
        return "empty"
    if values.dtype == pl.Date or isinstance(values.dtype, pl.Datetime):
        return "dates"
    if values.dtype.is_integer():
        return "whole"
    if values.dtype.is_numeric():
        floats = values.cast(pl.Float64)
        return "whole" if (floats == floats.floor()).all() and floats.is_finite().all() else "fractions"
    if values.dtype != pl.String:
        texts(values)  # raises where they have none
        return "texts"
    return _text_form(reader, coded, values)


def _text_form(reader: Reader, coded: CodedColumn, values: pl.Series) -> str:
    written = [value.strip() for value in values.to_list()]
    if all(map(DIGITS.fullmatch, written)) and any(len(each) > 1 and each[0] == "0" for each in written):
        return "codes"
    marked = reader.plain_texts(values).to_list()
    if all(map(NUMBER.fullmatch, marked)):
        numbers = np.array([float(each) for each in marked])
        if np.isfinite(numbers).all():
            return "whole" if (numbers == np.floor(numbers)).all() else "fractions"
    if all(map(DAY.match, written)):
        try:
            reader.dates(coded, None)
            return "dates"
        except TableError:
            pass
    lengths = np.array([len(each) for each in written])
    if len(written) > 50 and lengths.min() == lengths.max() and all(map(DIGIT.search, written)):
        return "codes"
    counts = coded.counts[: len(written)]
    return "prose" if len(written) > FEW and (counts * lengths).sum() >= LONG * counts.sum() else "texts"


def _floats(reader: Reader, values: pl.Series) -> pl.Series:
    if values.dtype != pl.String:
        return values.cast(pl.Float64)
    return reader.plain_texts(values).cast(pl.Float64, strict=False)


def _date_formats(evidence: Evidence, given: Sequence[str]) -> tuple[str, ...]:
    """The formats in which all values are dates: one that was given, or those that are found.

    Whole numbers such as 20241231 are dates only where they are many, or their name says so.
    """
    assert evidence.coded is not None
    values = evidence.coded.values.drop_nulls()
    for form in given:
        if fits(values, form):
            return (form,)
    if evidence.form == "whole":
        dated = DATED.search(evidence.column) is not None
        enough = dated or len(values) >= 10
        return compact_formats([each.strip() for each in values.to_list()]) if enough else ()
    return tuple(find_formats(values))


def order_of(form: str) -> str:
    """Which comes first in a format, the day, the month or the year.

    Examples
    --------
    >>> order_of("%-m/%-d/%Y"), order_of("%d.%m.%y")
    ('m', 'd')
    """
    return form.lstrip("%-")[:1].lower()


def points_at_a_person(evidence: Evidence) -> str | None:
    """What its values are if they are of a form that only one person has: e-mail addresses and the like."""
    if (
        evidence.coded is None
        or evidence.coded.values.dtype != pl.String
        or evidence.form not in ("texts", "prose", "codes")
    ):
        return None
    values = [value.strip() for value in evidence.coded.values.drop_nulls().to_list()]
    for name, pattern in FORMS.items():
        if all(map(pattern.search, values[:20])) and sum(map(bool, map(pattern.search, values))) > 0.9 * len(values):
            return name
    return None
