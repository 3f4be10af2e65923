"""The loss of a release measured with its original at hand, by the definitions and not by what methods go by.

It is the general loss metric of 004 section 3.2: of a row the mean over its quasi-identifiers by their weights, of the
table the mean over its rows; a row that is left out loses 1. A released cell loses

- numbers and dates: its width over the declared `range`, else over that from the lowest to the highest end that a value
  of the original can have in a release: snapped to `step`, within `bottom` and `top`. An open end reaches to the end of
  that. Nothing where the original has a single value and no range is declared;
- a mean: what the interval of its class would lose;
- text, and hierarchies that are built from the values: the share of the distinct values of the original below it;
- a hierarchy that the schema gives: the leaves below the node over all leaves;
- digits: the share of its positions that are stars;
- one that covers a single value nothing, and a star everything.

Where all is kept or hidden (`recode = "suppress"`) it is the share of hidden cells, each position of digits being one.

A released text may stand for several things: a label that a hierarchy has at two places, a star that is itself a value.
So what is found is the least and the most that the release can lose. They are the same unless there are such texts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.schema.builders import Dates, Intervals, Prefixes
from tclose.schema.columns import Quasi
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.calendar_times import EPOCH, day_number, period_ends
from tclose.verification.cell_meanings import missing_among, names_of
from tclose.verification.covering import HIDDEN, PERIOD, half_open, limits_of, read_points
from tclose.verification.distinct_values import FactoredColumn, factorize
from tclose.verification.exact_numbers import ScaledDecimals, aligned, fraction_of, scaled_fractions
from tclose.verification.published_loss import SPANNED, declared_range, read_bounds, span_of, widths
from tclose.verification.released_forms import ReleasedForm
from tclose.verification.released_spans import Span
from tclose.verification.sensitive_domains import factored_column

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
CellLoss = tuple[float, float]  # the least and the most that a cell loses
NOTHING, ALL, ANY = (0.0, 0.0), (1.0, 1.0), (0.0, 1.0)
ROUNDING = 1e-9  # sums of doubles in another order; what is wrong by less than that is of no account
FIRST_DAY, LAST_DAY = date.min.toordinal() - EPOCH, date.max.toordinal() - EPOCH


@dataclass(frozen=True)
class LossRange:
    """The least and the most that a release can lose.

    Examples
    --------
    >>> LossRange(0.25, 0.25).holds(0.25), LossRange(0.25, 0.5).holds(0.6)
    (True, False)
    """

    least: float
    most: float

    def holds(self, loss: float) -> bool:
        """Whether a loss is within it, but for rounding."""
        return bool(self.least - ROUNDING <= loss <= self.most + ROUNDING)


@dataclass(frozen=True, eq=False)
class ReleasedRows:
    """Which rows of an original a release has, and in what classes.

    Attributes
    ----------
    rows
        The row of the original that each released row came from.
    whole
        Those that the release was made of; of these the rest is left out. In ascending order.
    classes
        The class of each released row.
    """

    rows: Integers
    whole: Integers
    classes: Integers


def exact_loss(
    original: Source,
    released: Source,
    schema: Schema,
    taken: ReleasedRows,
    whole: Mapping[str, pl.Series] | None = None,
) -> LossRange:
    """Measure what a release loses, column by column.

    Where the original is a part of a table, `whole` has the values of that table, each once: losses are shares of them.

    Examples
    --------
    >>> schema = Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}, "zip": {"kind": "text"}}})
    >>> original = pl.DataFrame({"age": [20, 30, 60], "zip": ["02139", "02142", "10001"]})
    >>> shown = pl.DataFrame({"age": ["[20, 30]", "[20, 30]", "60"], "zip": ["021**", "021**", "10001"]})
    >>> rows = ReleasedRows(np.arange(3), np.arange(3), np.array([0, 0, 1]))
    >>> exact_loss(Source.of(original), Source.of(shown), schema, rows)  # (1/4 + 2/3) / 2 in two of three rows
    LossRange(least=0.3055555555555555, most=0.3055555555555555)
    """
    totals, weights = np.zeros(2), 0.0
    for quasi in schema.quasi:
        known = None if whole is None else whole[quasi.column]
        column = _LossColumn.of(original, released, quasi, schema, taken, known)
        weight = float(quasi.weight) * (column.n_cells if schema.recode == "suppress" else 1)
        totals += weight * column.total()
        weights += weight
    n_left_out, n_whole = len(taken.whole) - len(taken.rows), max(len(taken.whole), 1)
    least, most = ((totals / weights + n_left_out) / n_whole).tolist()
    return LossRange(least, most)


@dataclass(frozen=True, eq=False)
class _LossColumn:
    """A quasi-identifier, as it was and as it is released.

    Attributes
    ----------
    values
        What the rows that the release was made of have; but for means, each value once.
    known
        Which of the distinct values are not missing.
    """

    quasi: Quasi
    schema: Schema
    released: Source
    taken: ReleasedRows
    values: FactoredColumn
    known: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        original: Source,
        released: Source,
        quasi: Quasi,
        schema: Schema,
        taken: ReleasedRows,
        whole: pl.Series | None = None,
    ) -> _LossColumn:
        column = original.column(quasi.column)
        if len(taken.whole) < original.n_rows:
            column = column.gather(pl.Series(taken.whole))
        if whole is not None:  # the rows come first, so that their codes do
            column = pl.concat([column, whole.cast(column.dtype)])
        values = factorize(column if quasi.publish == "mean" else column.unique())
        missing = missing_among(values.values, schema.missing_values, quasi.is_measured, schema.decimal)
        return cls(quasi, schema, released, taken, values, ~missing)

    @cached_property
    def names(self) -> list[str]:
        """What the distinct values are called, in order."""
        return sorted(set(names_of(self.values.values.filter(pl.Series(self.known)))))

    @cached_property
    def has_stars(self) -> bool:
        """Whether a star of a release may be one of a value."""
        return any(HIDDEN in name for name in self.names)

    @property
    def n_cells(self) -> int:
        """Of how many cells a value consists: one, or its positions."""
        return max(map(len, self.names), default=1) if self.quasi.kind == "digits" else 1

    @cached_property
    def numbers(self) -> ScaledDecimals:
        """The number or day of each distinct value; any for a missing one."""
        return read_points(self.values.values, ~self.known, self.quasi, self.schema)[0]

    @cached_property
    def points(self) -> list[Fraction]:
        """The distinct numbers or days, in order."""
        return [self._as_number(each) for each in sorted({*self.numbers.integers[self.known].tolist()})]

    @cached_property
    def outermost(self) -> tuple[Fraction, Fraction] | None:
        """The lowest and the highest number or day; None if there is none."""
        known = self.numbers.integers[self.known]
        return (self._as_number(known.min()), self._as_number(known.max())) if len(known) else None

    def _as_number(self, integer: int) -> Fraction:
        return Fraction(int(integer), 10**self.numbers.places)

    def total(self) -> Floats:
        """The least and the most that all released cells lose together."""
        is_spanned = self.quasi.kind in SPANNED and self.schema.recode == "generalize"
        if is_spanned and self.quasi.publish == "mean":
            return self._of_means()
        shown, times = _each_once(self.released, self.quasi.released)
        if is_spanned and self.quasi.publish == "bounds":
            spans, counts, missing = read_bounds(shown, self.quasi, self.schema, times)
            found = [NOTHING if gone else each for each, gone in zip(self._in_range(spans), missing, strict=True)]
            return _summed(found, np.array(counts))
        cells = factored_column(shown.column(self.quasi.column))
        names, form = names_of(cells.values), ReleasedForm.of(cells.values, self.quasi, self.schema)
        if is_spanned:
            shares = self._in_range([span_of(name, self.quasi, form) for name in names])
        else:
            shares = [*map(self._share_of(form), names)]
        return _summed([NOTHING, *shares], cells.counts_of(times))

    def _share_of(self, form: ReleasedForm) -> Callable[[str], CellLoss]:
        """What a released text loses, of kinds without intervals."""
        hierarchy = self.quasi.hierarchy
        if self.quasi.kind == "digits":
            return lambda name: self._may_be_value(name.count(HIDDEN) / max(len(name), 1))
        if self.schema.recode == "suppress":
            return self._hidden_or_kept
        if self.quasi.kind == "text":
            return self._below_beginning
        if isinstance(hierarchy, Hierarchy):
            return _below_label(hierarchy, form)
        if isinstance(hierarchy, Prefixes):
            return self._below_prefix
        if isinstance(hierarchy, Dates):
            return lambda name: self._among_points(_period(name, form), name)
        if isinstance(hierarchy, Intervals):
            return lambda name: self._among_points(half_open(name, form), name)
        return self._hidden_or_kept

    def _hidden_or_kept(self, name: str) -> CellLoss:
        if name != HIDDEN:
            return NOTHING
        return ANY if self.has_stars else ALL

    def _may_be_value(self, most: float) -> CellLoss:
        return 0.0 if self.has_stars else most, most

    def _below_beginning(self, name: str) -> CellLoss:
        """The share of values that begin like it."""
        if not name.endswith(HIDDEN):
            return NOTHING
        if name == HIDDEN:  # mixed with missing values, if there is but one
            return self._may_be_value(1.0)
        return self._may_be_value(self._of_all(_n_beginning(self.names, name.rstrip(HIDDEN))))

    def _below_prefix(self, name: str) -> CellLoss:
        """The same; a value that is shorter than a prefix is that prefix by itself, which others may begin with."""
        least, most = self._below_beginning(name)
        shown = name.rstrip(HIDDEN)
        is_value = self.quasi.finest is not None and shown in self.names[bisect_left(self.names, shown) :][:1]
        return (0.0, most) if is_value else (least, most)

    def _among_points(self, ends: tuple[Fraction, Fraction] | None, name: str) -> CellLoss:
        """The share of numbers or days from the first end up to before the other."""
        if ends is None:
            return ALL if name == HIDDEN else NOTHING
        low, high = (bisect_left(self.points, end) for end in ends)
        share = 0.0 if high - low == 1 else (high - low) / max(len(self.points), 1)
        return share, share

    def _of_all(self, count: int) -> float:
        return 0.0 if count == 1 else count / max(len(self.names), 1)

    @cached_property
    def _range(self) -> tuple[Fraction, Fraction]:
        """Between what ends a released interval can lie; the same twice if one value tells all."""
        if self.quasi.range is not None:
            return declared_range(self.quasi.range)
        if self.outermost is None or self.outermost[0] == self.outermost[1]:
            return Fraction(0), Fraction(0)
        low, high = self.outermost
        return _snapped(low, self.quasi)[0], _snapped(high, self.quasi)[1]

    def _in_range(self, spans: Sequence[Span | str | None]) -> list[CellLoss]:
        """What intervals lose; one that no release by this schema has may lose anything."""
        if self._range[0] == self._range[1]:
            return [ALL if span == HIDDEN else NOTHING for span in spans]
        return [ANY if each is None else (each[0] / each[1],) * 2 for each in widths(spans, *self._range)]

    def _of_means(self) -> Floats:
        """By class: from the lowest to the highest end of its values, which have no `step`."""
        shown = factored_column(self.released.column(self.quasi.column))
        hidden = np.array([*(name == HIDDEN for name in names_of(shown.values)), False])[shown.codes]
        total = float(hidden.sum())
        if self._range[0] < self._range[1]:
            codes = self.values.codes[: len(self.taken.whole)]
            if len(self.taken.rows) < len(self.taken.whole):
                codes = codes[np.searchsorted(self.taken.whole, self.taken.rows)]
            rows = np.flatnonzero(~hidden & (shown.codes >= 0))
            ends, classes = self._tails(), self.taken.classes[rows]
            low, high = np.full(int(classes.max(initial=-1)) + 1, np.inf), np.zeros(int(classes.max(initial=-1)) + 1)
            np.minimum.at(low, classes, ends[0][codes[rows]])
            np.maximum.at(high, classes, ends[1][codes[rows]])
            total += float((high - low)[classes].sum())
        return np.array([total, total])

    def _tails(self) -> tuple[Floats, Floats]:
        """Where each value begins and ends, as shares of the range: beyond bottom and top it is the whole tail."""
        bottom, top = limits_of(self.quasi)
        given = [each for each in (bottom, top) if each is not None]
        numbers, limits = aligned(self.numbers, scaled_fractions([*self._range, *given]))
        least, most = limits.integers[:2].tolist()
        low = high = np.where(self.known, numbers.integers, least)
        if bottom is not None:
            low, high = np.where(low < limits.integers[2], least, low), np.maximum(high, limits.integers[2])
        if top is not None:
            low, high = np.minimum(low, limits.integers[-1]), np.where(high > limits.integers[-1], most, high)
        lows, highs = (((ends - least) / (most - least)).astype(np.float64) for ends in (low, high))
        return lows, highs


def _each_once(source: Source, names: Sequence[str]) -> tuple[Source, Integers]:
    """The distinct rows of some columns, and how often each is there."""
    counted = pl.DataFrame([source.column(name).alias(str(place)) for place, name in enumerate(names)])
    counted = counted.group_by(pl.all()).len("n")
    shown = pl.DataFrame([counted[str(place)].alias(name) for place, name in enumerate(names)])
    return Source.of(shown), counted["n"].to_numpy().astype(np.int64)


def _summed(shares: Sequence[CellLoss], counts: NDArray[np.int64]) -> Floats:
    """The sum of shares that occur so often."""
    total: Floats = counts @ np.array(shares, float).reshape(-1, 2)
    return total


def _n_beginning(names: Sequence[str], beginning: str) -> int:
    """How many of some texts in order begin with this one."""
    return bisect_right(names, beginning, key=lambda name: name[: len(beginning)]) - bisect_left(names, beginning)


def _below_label(hierarchy: Hierarchy, form: ReleasedForm) -> Callable[[str], CellLoss]:
    """What a label loses: one that stands at several places may be any of these."""
    leaves = hierarchy.leaf_counts.tolist()
    found: dict[str, tuple[float, float]] = {HIDDEN: ALL}  # mixed with missing values
    for label, count in zip(hierarchy.labels, leaves, strict=True):
        share = 0.0 if count == 1 else count / leaves[0]
        least, most = found.get(label, (share, share))
        found[label] = min(least, share), max(most, share)
    return lambda name: found.get(name, found.get(name.replace(form.mark, "."), ANY))


def _period(name: str, form: ReleasedForm) -> tuple[Fraction, Fraction] | None:
    """The first day of a year, quarter or month, and that after its last; None for a day, or for what is neither."""
    match = PERIOD.fullmatch(name)
    if match is None or match[4] or (form.format is not None and form.day(name) is not None):
        return None
    length = "quarter" if match[2] else "month" if match[3] else "year"
    first = day_number(int(match[1]), 3 * int(match[2]) - 2 if match[2] else int(match[3] or 1), 1)
    return None if first is None else (Fraction(first), Fraction(period_ends(first, length)[1] + 1))


def _snapped(value: Fraction, quasi: Quasi) -> tuple[Fraction, Fraction]:
    """Where an interval begins and ends that is as narrow as a value allows: at steps, within bottom, top and range."""
    low = high = value
    if quasi.step is not None and quasi.kind == "date":
        assert isinstance(quasi.step, int | str)
        first, last = period_ends(int(value), quasi.step)
        low, high = min(value, Fraction(max(first, FIRST_DAY))), max(value, Fraction(min(last, LAST_DAY)))
    elif quasi.step is not None:
        step = fraction_of(quasi.step)
        low, high = value // step * step, -(-value // step) * step
    bottom, top = limits_of(quasi)
    for limit in (bottom, declared_range(quasi.range)[0] if quasi.range else None):
        low, high = (low, high) if limit is None else (max(low, limit), max(high, limit))
    for limit in (top, declared_range(quasi.range)[1] if quasi.range else None):
        low, high = (low, high) if limit is None else (min(low, limit), min(high, limit))
    return low, high
