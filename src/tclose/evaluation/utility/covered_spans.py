"""What a released value covers: from its text back to a span of places on an axis.

It understands what `recode` writes and what other tools commonly do. A span of -1 is one that
was not understood, one of -2 covers no value of the original.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from math import inf
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.schema.written_forms import DateForm
from tclose.table.axes import TreeAxis
from tclose.table.times import iso_texts

Places = NDArray[np.int32]
CoveredSpan = tuple[int, int]
ReadPoint = Callable[[str], tuple[float, float]]  # a number or a day as where it begins and ends; raises ValueError

SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")
UNREAD, NOTHING = (-1, -1), (-2, -2)
INTERVAL = re.compile(r"([\[\](])\s*(.*?)\s*([\])\[])", re.DOTALL)
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
DASHED = re.compile(rf"({NUMBER})\s*(?:-|\u2013|\.\.)\s*({NUMBER})")  # also with an en dash
TAILS = {"<=": (False, True), "≤": (False, True), "<": (False, False)}
TAILS |= {">=": (True, True), "≥": (True, True), ">": (True, False)}


@dataclass(frozen=True)
class Stretch:
    """A piece of a line; an open end is not part of it."""

    low: float
    high: float
    low_open: bool = False
    high_open: bool = False


def stretch(label: str, point: ReadPoint, between: str = "/") -> Stretch | None:
    """The numbers or days that a label stands for, None if it is not understood.

    Intervals `[20, 45]`, `[20, 45)`, `[20, 45[`, `]20, 45]`, also with open tails as in `[<20, 45]`;
    `20-45`; tails `<20`, `>=45`; `first/last` of dates, or what else stands between them; sets
    `{20, 25}` from the least to the largest; single values.

    Examples
    --------
    >>> stretch("[20, 45[", lambda text: (float(text), float(text)))
    Stretch(low=20.0, high=45.0, low_open=False, high_open=True)
    """
    label = label.strip()
    try:
        return _stretch(label, point, between)
    except ValueError:
        return None


def _stretch(label: str, point: ReadPoint, between: str) -> Stretch:
    if label.startswith("{") and label.endswith("}"):
        ends = [point(part) for part in _parts(label)]
        return Stretch(min(low for low, _ in ends), max(high for _, high in ends))
    interval = INTERVAL.fullmatch(label)
    if interval:
        opening, inside, closing = interval.groups()
        low, high = _ends(inside, point, (";", ", ", ","))
        return Stretch(low, high, opening != "[", closing != "]")
    if between in label:
        return Stretch(*_ends(label, point, (between,)))
    for sign, (upward, closed) in TAILS.items():
        if label.startswith(sign):
            low, high = point(label[len(sign) :])
            return Stretch(low if closed else high, inf, not closed) if upward else _below(low, high, closed)
    try:
        return Stretch(*point(label))
    except ValueError:
        dashed = DASHED.fullmatch(label)
        if dashed is None:
            raise
        return Stretch(point(dashed[1])[0], point(dashed[2])[1])


def _below(low: float, high: float, closed: bool) -> Stretch:
    return Stretch(-inf, high if closed else low, high_open=not closed)


def _ends(inside: str, point: ReadPoint, separators: tuple[str, ...]) -> tuple[float, float]:
    """Two ends between one of these separators; a tail is open beyond it."""
    for separator in separators:
        first, found, last = inside.partition(separator)
        if found:
            first, last = first.strip(), last.strip()
            low = -inf if first[:1] == "<" or first in ("", "-inf") else point(first)[0]
            high = inf if last[:1] == ">" or last in ("", "inf") else point(last)[1]
            return low, high
    raise ValueError


def _parts(label: str) -> list[str]:
    return [part.strip() for part in label[1:-1].split(",")]


def number_reader(decimal: str, thousands: str = "") -> ReadPoint:
    """Reads a number, with this decimal mark or a point, and perhaps with thousands signs."""

    def point(text: str) -> tuple[float, float]:
        text = text.replace(thousands, "") if thousands else text
        text = text.strip().replace(",", ".") if decimal == "," else text.strip()
        if not re.fullmatch(NUMBER, text):
            raise ValueError
        return float(text), float(text)

    return point


def day_reader(form: str | None) -> ReadPoint:
    """Reads a day (ISO, or in this format), a month, a quarter or a year, as its first and last day since 1970."""
    written = None if form is None else DateForm(form)
    forms = [] if written is None else [DateForm(written.day_format), written] if written.day_format else [written]

    def point(text: str) -> tuple[float, float]:
        text = text.strip()
        for each in forms:
            found = iso_texts(pl.Series([text]), each)
            if found is not None and found[0] is not None:
                return (_day(date.fromisoformat(found[0][:10])),) * 2
        period = re.fullmatch(r"(\d{4})(?:-Q([1-4])|-(\d\d))?", text)
        if period:
            year, quarter, month = (int(part) if part else None for part in period.groups())
            first = month or (3 * quarter - 2 if quarter else 1)
            months = 1 if month else 3 if quarter else 12
            after = first - 1 + months
            end = date((year or 0) + after // 12, after % 12 + 1, 1) - timedelta(1)
            return _day(date(year or 0, first, 1)), _day(end)
        try:
            day = date.fromisoformat(text[:10])
        except ValueError:
            if form is None:
                raise
            day = datetime.strptime(text, form).date()
        return _day(day), _day(day)

    return point


def _day(day: date) -> float:
    return float((day - date(1970, 1, 1)).days)


def line_covers(
    labels: Sequence[str | None], values: NDArray[np.float64], missing: bool, point: ReadPoint, between: str = "/"
) -> Places:
    """The first and last place of each label on a line of these values, ascending, then a place for missing ones.

    Examples
    --------
    >>> line_covers(["[20, 45[", ">50", "?"], np.array([18.0, 20, 40, 45]), False, number_reader(".")).tolist()
    [[1, 2], [-2, -2], [-1, -1]]
    """
    spans = np.full((len(labels), 2), UNREAD, np.int32)
    read: list[tuple[int, Stretch]] = []
    for place, label in enumerate(labels):
        if label is None and missing:
            spans[place] = len(values)
        elif label is None or (label.strip() and not label.strip("* ")):
            spans[place] = 0, len(values) - 1 + missing
        else:
            found = stretch(label, point, between)
            read += [(place, found)] if found else []
    lows = np.array([(found.low, found.low_open) for _, found in read], np.float64).reshape(-1, 2).T
    highs = np.array([(found.high, found.high_open) for _, found in read], np.float64).reshape(-1, 2).T
    first = np.where(lows[1] > 0, *(np.searchsorted(values, lows[0], side) for side in SIDES[::-1]))
    last = np.where(highs[1] > 0, *(np.searchsorted(values, highs[0], side) for side in SIDES)) - 1
    inside = np.column_stack([first, last])
    inside[first > last] = NOTHING
    spans[[place for place, _ in read]] = inside
    return spans


@dataclass(frozen=True, eq=False)
class TreeCovers:
    """Labels of a tree to spans of its leaves.

    A label that stands at several nodes covers the leaves of all of them: more cannot be told from
    it. So does a set; and what is covered is always all that lies below one node.

    Attributes
    ----------
    axis
        The axis of the tree.
    prefixes
        Whether `02*` stands for all leaves that begin with 02.
    """

    axis: TreeAxis
    prefixes: bool = False

    def spans(self, labels: Sequence[str | None]) -> Places:
        """The first and last place of each label."""
        found = np.array([self._span(label) for label in labels], np.int32).reshape(-1, 2)
        inner = (found[:, 0] >= 0) & (found[:, 1] < len(self.axis.leaves))
        nodes = self.axis.cover(found[inner, 0], found[inner, 1])
        found[inner] = np.stack(self.axis.below, axis=1)[nodes]
        return found

    def _span(self, label: str | None) -> CoveredSpan:
        whole = (0, self.axis.size - 1)
        if label is None:
            return (len(self.axis.leaves),) * 2 if self.axis.missing else whole
        if label.strip() == "*":
            return whole
        found = self._places(label) or self._places(label.strip())
        if found is None and label.startswith("{") and label.endswith("}"):
            parts = [self._places(part) for part in _parts(label)]
            known = [part for part in parts if part is not None]
            found = (min(low for low, _ in known), max(high for _, high in known)) if len(known) == len(parts) else None
        if found is None:
            return UNREAD if label.strip("* ") else whole
        return found

    def _places(self, label: str) -> CoveredSpan | None:
        if label in self._by_label or not self.prefixes or not label.endswith("*"):
            return self._by_label.get(label)
        start = label.rstrip("*")
        texts, places = self._sorted
        first, after = bisect_left(texts, start), bisect_right(texts, start, key=lambda text: text[: len(start)])
        return (min(places[first:after]), max(places[first:after])) if first < after else None

    @cached_property
    def _sorted(self) -> tuple[list[str], list[int]]:
        """The leaves by their text, and where each lies."""
        labels = [self.axis.hierarchy.labels[node] for node in self.axis.leaves.tolist()]
        order = sorted(range(len(labels)), key=labels.__getitem__)
        return [labels[place] for place in order], order

    @cached_property
    def _by_label(self) -> dict[str, CoveredSpan]:
        found: dict[str, CoveredSpan] = {}
        ends = (each.tolist() for each in self.axis.below)
        for label, first, last in zip(self.axis.hierarchy.labels, *ends, strict=True):
            low, high = found.get(label, (first, last))
            found[label] = min(low, first), max(high, last)
        return {label: span for label, span in found.items() if span[1] >= 0}
