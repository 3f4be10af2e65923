"""The loss that a released table itself tells: a function of its cells and the schema, and of nothing that they hide.

The loss of a released cell is a share from 0 to 1:

- numbers and dates: the width of the interval over the declared `range`, else over the span from the least to the
  greatest end that the column has in the file. An open end (`<18`, `[65, >90]`) reaches to the end of that range or
  span;
- text: the stars at its end over its length; digits: the stars over the length;
- a hierarchy that the schema gives: the leaves below the node over all leaves, 0 for a node with one leaf. Where nodes
  share a label, the one with most leaves counts;
- a hierarchy that is built from the values: the level over the height;
- a column without hierarchy, and every column under `recode = "suppress"`: 1 for `*`, else 0;
- everywhere 1 for `*`, and 0 for an empty cell, which is a missing value;
- a mean has none.

The loss of a column is the mean over its rows, that of the table the mean over its columns, each counted as often as
its `weight` says. Nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.errors import TableError
from tclose.schema.builders import Builder, Dates, Intervals, Prefixes
from tclose.schema.columns import Quasi
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema
from tclose.table.source import Source
from tclose.verification.calendar_times import EPOCH
from tclose.verification.cell_meanings import names_of
from tclose.verification.covering import HIDDEN, PERIOD, half_open, limits_of
from tclose.verification.exact_numbers import fraction_of
from tclose.verification.released_forms import ReleasedForm
from tclose.verification.released_spans import Span, read_span
from tclose.verification.sensitive_domains import factored_column
from tclose.verification.value_pairs import count_pairs

LONGEST_EXACT = 200  # characters of a fraction that is still written out
LossFraction = tuple[int, int]  # numerator and denominator, which need not be in lowest terms
NOTHING, ALL = (0, 1), (1, 1)
SPANNED = ("numeric", "date")


@dataclass(frozen=True)
class ColumnLoss:
    """What the released cells of one quasi-identifier lose.

    Attributes
    ----------
    value
        The mean over all rows.
    degrees
        How many rows have a loss of 0, of up to a quarter, of more, and of 1. A tail beyond `bottom` or `top` counts
        among those of more, whatever its loss: it shows less than where it begins.
    stars
        How many cells are `*`, each position of digits being one.
    """

    value: Fraction
    degrees: tuple[int, int, int, int]
    stars: int


@dataclass(frozen=True)
class PublishedLoss:
    """What a release loses, by quasi-identifier; None for one that is published as means.

    `weights` are those of the columns, where one is not 1.
    """

    columns: dict[str, ColumnLoss | None]
    weights: dict[str, Fraction] = field(default_factory=dict)

    @property
    def value(self) -> Fraction | None:
        """The mean over all columns by their weights; None if one of them has no loss."""
        known = [(self.weights.get(name, Fraction(1)), found.value) for name, found in self.columns.items() if found]
        if not known or len(known) < len(self.columns):
            return None
        return sum((weight * value for weight, value in known), Fraction(0)) / sum(weight for weight, _ in known)

    @property
    def stars(self) -> int:
        """How many cells are `*`, each position of digits being one."""
        return sum(found.stars for found in self.columns.values() if found is not None)

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it: a fraction of more than 200 characters is given as a float alone."""
        value = self.value
        exact = None if value is None or len(str(value)) > LONGEST_EXACT else str(value)
        columns = {name: None if found is None else float(found.value) for name, found in self.columns.items()}
        return {"exact": exact, "value": None if value is None else float(value), "columns": columns}


def published_loss(source: Source, schema: Schema) -> PublishedLoss:
    """Measure the loss of a released table by its cells, column by column.

    Raises
    ------
    TableError
        A cell is nothing that the schema lets a release say; the message names the column and how many rows have one.

    Examples
    --------
    >>> import polars as pl
    >>> schema = Schema.from_dict({"k": 2, "quasi": {"age": {"kind": "numeric"}, "zip": {"kind": "text"}}})
    >>> table = pl.DataFrame({"age": ["[20, 30]", "[20, 30]", "40"], "zip": ["021**", "021**", "10001"]})
    >>> published_loss(Source.of(table), schema).as_dict()
    {'exact': '3/10', 'value': 0.3, 'columns': {'age': 0.3333333333333333, 'zip': 0.26666666666666666}}
    """
    losses = {quasi.column: loss_of_column(source, quasi, schema) for quasi in schema.quasi}
    return PublishedLoss(losses, column_weights(schema))


def column_weights(schema: Schema) -> dict[str, Fraction]:
    """What quasi-identifiers count in the loss, those that count as one left out."""
    return {quasi.column: Fraction(quasi.weight) for quasi in schema.quasi if quasi.weight != 1}


def loss_of_column(
    source: Source, quasi: Quasi, schema: Schema, times: NDArray[np.int64] | None = None
) -> ColumnLoss | None:
    """The loss of one quasi-identifier, each row of which may stand for several (`times`) of a larger release."""
    if quasi.publish == "mean":
        return None
    if quasi.publish == "bounds":
        return _of_bounds(source, quasi, schema, times)
    found = factored_column(source.column(quasi.column))
    counts = found.counts_of(times).tolist()
    names, form = names_of(found.values), ReleasedForm.of(found.values, quasi, schema)
    tails: list[bool] = []
    if quasi.kind in SPANNED and schema.recode == "generalize":
        spans = [span_of(name, quasi, form) for name in names]
        shares = [NOTHING, *widths(spans, *_outermost(spans, quasi))]
        tails = [False, *map(_is_tail, spans)]
    else:
        shares = [NOTHING, *_shares_of(names, quasi, schema, form)]
    by_position = quasi.kind == "digits"
    stars = [0, *(name.count(HIDDEN) if by_position else int(name == HIDDEN) for name in names)]
    return _summed(shares, counts, [many * count for many, count in zip(stars, counts, strict=True)], tails, quasi)


def _is_tail(span: Span | str | None) -> bool:
    """Whether it is open, as `>90` and `[65, >90]` are."""
    return isinstance(span, Span) and (span.low is None or span.high is None)


def _summed(
    shares: Sequence[LossFraction | None],
    counts: Sequence[int],
    stars: Sequence[int],
    tails: Sequence[bool],
    quasi: Quasi,
) -> ColumnLoss:
    """The mean of shares that occur so often; shares of one denominator are added as integers first."""
    unread = sum(count for share, count in zip(shares, counts, strict=True) if share is None)
    if unread:
        many = "1 row has a value" if unread == 1 else f"{unread} rows have values"
        raise TableError(f"Column '{quasi.column}': {many} that no release by this schema has.")
    sums: dict[int, int] = {}
    degrees = [0, 0, 0, 0]
    for share, count, is_tail in zip(shares, counts, tails or [False] * len(counts), strict=True):
        assert share is not None
        lost, whole = share
        sums[whole] = sums.get(whole, 0) + lost * count
        degree = 0 if not lost else 1 if 4 * lost <= whole else 2 if lost < whole else 3
        degrees[max(degree, 2) if is_tail else degree] += count
    total = sum((Fraction(lost, whole) for whole, lost in sums.items()), Fraction(0))
    rows = sum(counts)
    return ColumnLoss(total / rows if rows else Fraction(0), (*degrees,), sum(stars))  # type: ignore[arg-type]


def _shares_of(names: list[str], quasi: Quasi, schema: Schema, form: ReleasedForm) -> list[LossFraction | None]:
    """What each distinct released text loses; None where it is nothing that a release says."""
    if quasi.kind == "digits":
        return [(name.count(HIDDEN), len(name)) for name in names]
    if schema.recode == "suppress":
        return [ALL if name == HIDDEN else NOTHING for name in names]
    if quasi.kind == "text":
        return [(len(name) - len(name.rstrip(HIDDEN)), len(name)) for name in names]
    share_of = _in_tree(quasi.hierarchy, form)
    return [ALL if name == HIDDEN else share_of(name) for name in names]


def span_of(name: str, quasi: Quasi, form: ReleasedForm) -> Span | str | None:
    """What a text covers; a star as it is."""
    return name if name == HIDDEN else read_span(name, quasi.kind == "date", form)


def _outermost(spans: Sequence[Span | str | None], quasi: Quasi) -> tuple[Fraction, Fraction]:
    """The declared range, or the span of all ends."""
    if quasi.range is not None:
        return declared_range(quasi.range)
    ends = [end for span in spans if isinstance(span, Span) for end in _ends_of(span)]
    return (min(ends), max(ends)) if ends else (Fraction(0), Fraction(0))


def _ends_of(span: Span) -> Iterator[Fraction]:
    """All that it says of where it ends."""
    return (end for end in (span.low, span.high, span.below, span.above) if end is not None)


def widths(spans: Sequence[Span | str | None], least: Fraction, most: Fraction) -> list[LossFraction | None]:
    """The width of each span over that from `least` to `most`, 1 for a star; None for what is not within."""
    ends = {end.denominator for span in spans if isinstance(span, Span) for end in _ends_of(span)}
    unit = lcm(least.denominator, most.denominator, *ends)
    floor, ceiling = int(least * unit), int(most * unit)
    whole = max(ceiling - floor, 1)

    def share(span: Span | str | None) -> LossFraction | None:
        if not isinstance(span, Span):
            return None if span is None else ALL
        low = floor if span.low is None else span.low.numerator * (unit // span.low.denominator)
        high = ceiling if span.high is None else span.high.numerator * (unit // span.high.denominator)
        return (high - low, whole) if floor <= low <= high <= ceiling else None

    return [share(span) for span in spans]


def declared_range(limits: tuple[Any, Any]) -> tuple[Fraction, Fraction]:
    """A range of a schema; days from 1970 for dates."""
    low, high = (
        Fraction(limit.toordinal() - EPOCH) if isinstance(limit, date) else fraction_of(limit) for limit in limits
    )
    return low, high


def _of_bounds(source: Source, quasi: Quasi, schema: Schema, times: NDArray[np.int64] | None) -> ColumnLoss:
    """By distinct pairs of bounds; a row without either has no value."""
    spans, counts, missing = read_bounds(source, quasi, schema, times)
    found = widths(spans, *_outermost(spans, quasi))
    shares = [NOTHING if gone else share for share, gone in zip(found, missing, strict=True)]
    stars = [count if span == HIDDEN else 0 for span, count in zip(spans, counts, strict=True)]
    tails = [_is_tail(span) and not gone for span, gone in zip(spans, missing, strict=True)]
    return _summed(shares, counts, stars, tails, quasi)


def read_bounds(
    source: Source, quasi: Quasi, schema: Schema, times: NDArray[np.int64] | None = None
) -> tuple[list[Span | str | None], list[int], list[bool]]:
    """What each distinct pair of bounds covers, how many rows have it, and whether it is that of a missing value."""
    low, high = (factored_column(source.column(name)) for name in quasi.released)
    at, which, counted = count_pairs(low, high, times)
    counts, missing = counted.tolist(), ((at == -1) & (which == -1)).tolist()
    forms = [ReleasedForm.of(each.values, quasi, schema) for each in (low, high)]
    ends = [
        [*(_end(name, quasi, form) for name in names_of(each.values)), None]
        for each, form in zip((low, high), forms, strict=True)
    ]
    pairs = zip(at.tolist(), which.tolist(), strict=True)
    return [_between(ends[0][one], ends[1][other], quasi) for one, other in pairs], counts, missing


def _end(name: str, quasi: Quasi, form: ReleasedForm) -> Fraction | str:
    """A bound as a number; a star as it is, and empty text for what is neither."""
    span = span_of(name, quasi, form)
    if isinstance(span, str):
        return span
    return span.low if span is not None and span.is_single and span.low is not None else ""


def _between(low: Fraction | str | None, high: Fraction | str | None, quasi: Quasi) -> Span | str | None:
    """What two bounds cover: only a declared end is open, and two stars hide everything."""
    if low == high == HIDDEN:
        return HIDDEN
    if isinstance(low, str) or isinstance(high, str):
        return None
    bottom, top = limits_of(quasi)
    if (low is None and bottom is None) or (high is None and top is None):
        return None
    return Span(low, high, bottom if low is None else None, top if high is None else None)


def _in_tree(hierarchy: Hierarchy | Builder | None, form: ReleasedForm) -> Callable[[str], LossFraction | None]:
    """What a label loses; a column without hierarchy has its values alone."""
    if isinstance(hierarchy, Hierarchy):
        return _label_share(hierarchy, form)
    if isinstance(hierarchy, Prefixes):
        return _prefix_level(hierarchy)
    if isinstance(hierarchy, Dates):
        return _period_level(hierarchy, form)
    return _interval_level(hierarchy, form) if isinstance(hierarchy, Intervals) else lambda _name: NOTHING


def _label_share(hierarchy: Hierarchy, form: ReleasedForm) -> Callable[[str], LossFraction | None]:
    """What a label loses; a leaf that is a number may be written with the decimal sign of the schema."""
    shares = _leaf_shares(hierarchy)

    def share(name: str) -> LossFraction | None:
        found = shares.get(name)
        if found is None and form.mark != "." and form.number(name) is not None:
            return shares.get(name.replace(form.mark, "."))
        return found

    return share


def _leaf_shares(hierarchy: Hierarchy) -> dict[str, LossFraction | None]:
    leaves = hierarchy.leaf_counts.tolist()
    most: dict[str, int] = {}
    for label, count in zip(hierarchy.labels, leaves, strict=True):
        most[label] = max(most.get(label, 0), count)
    return {label: (count, leaves[0]) if count > 1 else NOTHING for label, count in most.items()}


def _prefix_level(builder: Prefixes) -> Callable[[str], LossFraction | None]:
    """A beginning of n characters is at the level of the shortest declared length that is n or more."""

    def level(name: str) -> LossFraction:
        shown = name.rstrip(HIDDEN)
        above = sum(length >= len(shown) for length in builder.lengths)
        return (above, len(builder.lengths) + 1) if len(shown) < len(name) else NOTHING

    return level


def _period_level(builder: Dates, form: ReleasedForm) -> Callable[[str], LossFraction | None]:
    def level(name: str) -> LossFraction | None:
        if form.format is not None and form.day(name) is not None:
            return NOTHING
        match = PERIOD.fullmatch(name)
        if match is None:
            return None
        period = "day" if match[4] else "month" if match[3] else "quarter" if match[2] else "year"
        if period == "day":
            return NOTHING
        return (builder.levels.index(period) + 1, len(builder.levels) + 1) if period in builder.levels else None

    return level


def _interval_level(builder: Intervals, form: ReleasedForm) -> Callable[[str], LossFraction | None]:
    widths = [fraction_of(width) for width in builder.widths]

    def level(name: str) -> LossFraction | None:
        ends = half_open(name, form)
        if ends is None:
            return None if form.number(name) is None else NOTHING
        width = ends[1] - ends[0]
        return (widths.index(width) + 1, len(widths) + 1) if width in widths else None

    return level
