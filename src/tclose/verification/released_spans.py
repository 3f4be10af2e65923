"""Released intervals as spans of numbers or days: what `[20, 45]`, `<18` and `2021-03-02/>2021-03-09` cover."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tclose.schema.columns import Quasi
from tclose.verification.calendar_times import period_ends
from tclose.verification.exact_numbers import ExactIntegers, ScaledDecimals, aligned, fraction_of, scaled_fractions
from tclose.verification.released_forms import ReleasedForm

PLAIN = ReleasedForm()


@dataclass(frozen=True)
class Span:
    """The values that a released text covers.

    Attributes
    ----------
    low, high
        The ends; None where it is open.
    below, above
        What it says to be beyond, in `<18` and `[65, >90]`.
    strict
        Whether the end itself is not covered, as in `<18` alone.
    """

    low: Fraction | None
    high: Fraction | None
    below: Fraction | None = None
    above: Fraction | None = None
    strict: bool = False

    @property
    def is_single(self) -> bool:
        """Whether it is one value."""
        return self.low is not None and self.low == self.high


@lru_cache(maxsize=1 << 14)  # a stream shows the same intervals again and again
def read_span(text: str, dates: bool, form: ReleasedForm = PLAIN) -> Span | None:
    """What a released text says; None if it is neither a value nor an interval in this form.

    Examples
    --------
    >>> read_span("[<18, 40]", dates=False)
    Span(low=None, high=Fraction(40, 1), below=Fraction(18, 1), above=None, strict=False)
    >>> read_span("1970-01-02/>1970-01-05", dates=True)
    Span(low=Fraction(1, 1), high=None, below=None, above=Fraction(4, 1), strict=False)
    >>> read_span("[1,5; 2]", False, ReleasedForm(",")) == Span(Fraction(3, 2), Fraction(2))
    True
    """
    read = form.day if dates else form.number
    ends = form.ends(text, dates)
    if ends is not None:
        first, last = ends
    elif text[:1] in "<>" and text:
        end = read(text[1:])
        if end is None:
            return None
        return Span(None, end, below=end, strict=True) if text[0] == "<" else Span(end, None, above=end, strict=True)
    else:
        one = read(text)
        return None if one is None else Span(one, one)
    low, high = read(first.removeprefix("<")), read(last.removeprefix(">"))
    if low is None or high is None:
        return None
    span = Span(
        None if first.startswith("<") else low,
        None if last.startswith(">") else high,
        low if first.startswith("<") else None,
        high if last.startswith(">") else None,
    )
    return span if span.low is None or span.high is None or span.low < span.high else None


def is_as_declared(span: Span, quasi: Quasi, limits: tuple[Fraction | None, Fraction | None]) -> bool:
    """Whether its ends are what step, bottom and top of the schema allow.

    Ends beyond bottom and top are only said to be beyond; the others are multiples of the step, or where something
    ends: at bottom and top, at the declared range, or with the calendar of the years 1 to 9999.

    Examples
    --------
    >>> age = Quasi("age", "numeric", step=5, top=90)
    >>> [is_as_declared(read_span(text, False), age, (None, Fraction(90))) for text in ("[65, >90]", "[64, 70]", "95")]
    [True, False, False]
    """
    bottom, top = limits
    if (span.below is not None and span.below != bottom) or (span.above is not None and span.above != top):
        return False
    for end, is_low in ((span.low, True), (span.high, False)):
        if end is None or end in (bottom, top, *_outermost(quasi)):
            continue
        if (bottom is not None and end < bottom) or (top is not None and end > top):
            return False
        if quasi.step is not None and not _is_snapped(end, quasi, is_low):
            return False
    return True


def _outermost(quasi: Quasi) -> tuple[Fraction, ...]:
    """The ends of the declared range, and for dates of the calendar."""
    if quasi.kind != "date":
        return tuple(fraction_of(limit) for limit in quasi.range or ())
    days = (*(quasi.range or ()), date.min, date.max)
    return tuple(Fraction(day.toordinal() - date(1970, 1, 1).toordinal()) for day in days)


def _is_snapped(end: Fraction, quasi: Quasi, is_low: bool) -> bool:
    step = quasi.step
    if quasi.kind == "date":
        assert isinstance(step, int | str)
        return int(end) == period_ends(int(end), step)[0 if is_low else 1]
    assert step is not None
    return (end / fraction_of(step)).denominator == 1


def within(
    spans: Sequence[Span | None], at: NDArray[np.int64], values: ScaledDecimals, which: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether span number `at` covers value number `which`, pair by pair.

    Examples
    --------
    >>> spans = [Span(Fraction(20), Fraction(45)), Span(None, Fraction(18), strict=True)]
    >>> within(spans, np.array([0, 1, 1]), ScaledDecimals(np.array([45, 18, 17]), 0), np.array([0, 1, 2])).tolist()
    [True, False, True]
    """
    known = np.array([span is not None for span in spans], bool)
    low = _ends(spans, values, lambda span: span.low)
    high = _ends(spans, values, lambda span: span.high)
    found = known[at]
    for (has, ends, numbers), side in ((low, 1), (high, -1)):
        found &= ~has[at] | np.asarray(numbers[which] * side >= ends[at] * side, bool)
    strict = np.array([span is not None and span.strict for span in spans], bool)
    if strict.any():
        _, ends, numbers = _ends(spans, values, lambda span: span.high if span.low is None else span.low)
        found &= ~(strict[at] & np.asarray(numbers[which] == ends[at], bool))
    return found


def _ends(
    spans: Sequence[Span | None], values: ScaledDecimals, pick: Callable[[Span], Fraction | None]
) -> tuple[NDArray[np.bool_], ExactIntegers, ExactIntegers]:
    """Which spans have an end on that side, the ends, and the values over the same power of ten."""
    ends = [pick(span) if span is not None else None for span in spans]
    scaled, numbers = aligned(scaled_fractions([end or Fraction(0) for end in ends]), values)
    return np.array([end is not None for end in ends], bool), scaled.integers, numbers.integers
