"""Whether a released value covers an original one, for every kind of quasi-identifier and recoding."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tclose.schema.builders import Dates, Intervals, Prefixes
from tclose.schema.columns import Quasi
from tclose.schema.hierarchy import Hierarchy
from tclose.schema.schema import Schema
from tclose.verification.calendar_times import EPOCH, calendar_day, days_of
from tclose.verification.cell_meanings import missing_among, names_of
from tclose.verification.exact_numbers import ScaledDecimals, fraction_of, numbers_of
from tclose.verification.released_forms import ReleasedForm
from tclose.verification.released_spans import PLAIN, Span, is_as_declared, read_span, within

HIDDEN = "*"
PERIOD = re.compile(r"(\d{4})(?:-Q([1-4])|-(\d\d)(?:-(\d\d))?)?", re.ASCII)


@dataclass(frozen=True)
class Originals:
    """The distinct original values of a quasi-identifier, read by its kind.

    Attributes
    ----------
    names
        What each is called.
    missing
        Which stand for no value.
    points
        Numbers or days, of kinds that have them; 0 where there is none.
    readable
        Which are values of the kind.
    typed
        Whether they are categories that are numbers by their type.
    """

    names: list[str]
    missing: NDArray[np.bool_]
    points: ScaledDecimals
    readable: NDArray[np.bool_]
    typed: bool = False


def read_originals(values: pl.Series, quasi: Quasi, schema: Schema) -> Originals:
    """Read distinct original values without nulls.

    Examples
    --------
    >>> schema = Schema.from_dict({"k": 1, "quasi": {"age": {"kind": "numeric"}}})
    >>> read_originals(pl.Series(["20", "nan"]), schema.quasi[0], schema).missing.tolist()
    [False, True]
    """
    missing = missing_among(values, schema.missing_values, quasi.is_measured, schema.decimal)
    points, readable = read_points(values, missing, quasi, schema)
    typed = quasi.kind == "categorical" and values.dtype.is_numeric()
    return Originals(names_of(values), missing, points, readable, typed)


def read_points(
    values: pl.Series, missing: NDArray[np.bool_], quasi: Quasi, schema: Schema
) -> tuple[ScaledDecimals, NDArray[np.bool_]]:
    """Numbers or days of distinct values, of kinds that have them, and which of the values are readable as such."""
    if quasi.kind == "date" or isinstance(quasi.hierarchy, Dates):
        days, readable = days_of(values, quasi.format)
        return ScaledDecimals(days, 0), readable
    if quasi.kind == "numeric" or isinstance(quasi.hierarchy, Intervals):
        if values.dtype == pl.String:
            values = pl.Series(np.where(missing, "0", values.to_numpy()), dtype=pl.String)
        return numbers_of(values, schema.decimal, schema.thousands)
    return ScaledDecimals(np.zeros(len(values), np.int64), 0), np.ones(len(values), bool)


def limits_of(quasi: Quasi) -> tuple[Fraction | None, Fraction | None]:
    """Bottom and top as numbers; days from 1970 for dates."""
    found: list[Fraction | None] = []
    for limit in (quasi.bottom, quasi.top):
        if isinstance(limit, date):
            found.append(Fraction(limit.toordinal() - EPOCH))
        else:
            found.append(None if limit is None else fraction_of(limit))
    return found[0], found[1]


def covered(
    released: list[str],
    at: NDArray[np.int64],
    originals: Originals,
    which: NDArray[np.int64],
    quasi: Quasi,
    recode: str,
    form: ReleasedForm,
) -> NDArray[np.bool_]:
    """Whether released value number `at` covers original number `which`, pair by pair; a `*` covers all.

    Not for `publish` as bounds or mean. A cell without value has number -1 on either side: only a missing
    original is released as one. `form` says how released texts write numbers and days.
    """
    hidden = np.array([*(_is_hidden(text, quasi, recode) for text in released), False], bool)
    no_original = np.append(originals.missing, True)[which]
    found: NDArray[np.bool_] = hidden[at] | ((at == -1) & no_original)
    rest = np.flatnonzero(~found & (at >= 0) & ~no_original)
    found[rest] = _by_kind(released, at[rest], originals, which[rest], quasi, recode, form)
    return found


def _is_hidden(text: str, quasi: Quasi, recode: str) -> bool:
    """Whether a text says nothing: a star, or nothing but stars where each stands for a character."""
    if quasi.kind == "digits" or (quasi.kind == "text" and recode == "generalize"):
        return bool(text) and set(text) == {HIDDEN}
    return text == HIDDEN


def _by_kind(
    released: list[str],
    at: NDArray[np.int64],
    originals: Originals,
    which: NDArray[np.int64],
    quasi: Quasi,
    recode: str,
    form: ReleasedForm,
) -> NDArray[np.bool_]:
    if quasi.kind in ("numeric", "date"):
        spans = [declared_span(text, quasi, recode, form) for text in released]
        return within(spans, at, originals.points, which) & originals.readable[which]
    covers = _cover_of(originals, quasi, recode, form)
    return np.array(
        [covers(released[one], other) for one, other in zip(at.tolist(), which.tolist(), strict=True)], bool
    )


def declared_span(text: str, quasi: Quasi, recode: str, form: ReleasedForm) -> Span | None:
    """What a released text covers, if it is one that the schema allows."""
    span = read_span(text, quasi.kind == "date", form)
    if span is None or not is_as_declared(span, quasi, limits_of(quasi)):
        return None
    return span if recode == "generalize" or span.is_single else None


def _cover_of(originals: Originals, quasi: Quasi, recode: str, form: ReleasedForm) -> Callable[[str, int], bool]:
    """The rule of a kind without numbers: takes a released text and the number of an original."""
    names = originals.names
    if quasi.kind == "digits":
        return lambda text, which: covers_digits(text, names[which])
    if recode == "suppress":
        return lambda text, which: (
            _is_name(text, originals, which, form) or _same_value(text, originals, which, quasi, form)
        )
    if quasi.kind == "text":
        return lambda text, which: covers_prefix(text, names[which])
    if isinstance(quasi.hierarchy, Hierarchy):
        above = labels_above(quasi.hierarchy)
        return lambda text, which: (
            text in above.get(names[which], ()) or (names[which] in above and _is_name(text, originals, which, form))
        )
    if isinstance(quasi.hierarchy, Prefixes):
        return lambda text, which: (
            text == names[which] or (text.endswith(HIDDEN) and names[which].startswith(text.rstrip(HIDDEN)))
        )
    if isinstance(quasi.hierarchy, Dates):
        return lambda text, which: covers_period(text, int(originals.points.integers[which]), form)
    if isinstance(quasi.hierarchy, Intervals):
        return lambda text, which: (
            _covers_half_open(text, originals, which, form) or _same_value(text, originals, which, quasi, form)
        )
    return lambda text, which: _is_name(text, originals, which, form)


def covers_digits(text: str, name: str) -> bool:
    """Whether two texts of one length agree wherever the first has no star.

    Examples
    --------
    >>> covers_digits("4*7*1", "42701"), covers_digits("4*7*1", "42702"), covers_digits("4*", "421")
    (True, False, False)
    """
    return len(text) == len(name) and all(one in (other, HIDDEN) for one, other in zip(text, name, strict=True))


def covers_prefix(text: str, name: str) -> bool:
    """Whether a beginning with stars is that of a value: as many stars as characters, or one for any number.

    Examples
    --------
    >>> [covers_prefix(text, "02139") for text in ("021**", "0213*", "02*", "021***", "022**", "02139")]
    [True, True, True, False, False, True]
    """
    if text == name:
        return True
    stars = len(text) - len(text.rstrip(HIDDEN))
    return any(
        name.startswith(text[: len(text) - hidden]) and (hidden == 1 or len(text) == len(name))
        for hidden in range(1, stars + 1)
    )


def labels_above(hierarchy: Hierarchy) -> dict[str, set[str]]:
    """The labels from each leaf of a hierarchy up to the root.

    Examples
    --------
    >>> sorted(labels_above(Hierarchy.from_nested({"lung": ["flu"]}))["flu"])
    ['*', 'flu', 'lung']
    """
    parents = hierarchy.parents.tolist()
    inner = set(parents)
    found: dict[str, set[str]] = {}
    for node, label in enumerate(hierarchy.labels):
        if node not in inner:
            above, up = {label}, parents[node]
            while up >= 0:
                above.add(hierarchy.labels[up])
                up = parents[up]
            found[label] = above
    return found


def covers_period(text: str, day: int, form: ReleasedForm = PLAIN) -> bool:
    """Whether a day is in a year, quarter or month, or is that day.

    Examples
    --------
    >>> [covers_period(text, 40) for text in ("1970", "1970-Q1", "1970-02", "1970-02-10", "1970-03")]
    [True, True, True, True, False]
    """
    if form.format is not None and form.day(text) is not None:
        return form.day(text) == day
    match = PERIOD.fullmatch(text)
    if match is None:
        return False
    year, month, number = calendar_day(day)
    quarter = (month + 2) // 3
    parts = ((match[1], year), (match[2], quarter), (match[3], month), (match[4], number))
    return all(written is None or int(written) == own for written, own in parts)


def _value(originals: Originals, which: int) -> Fraction:
    return Fraction(int(originals.points.integers[which]), 10**originals.points.places)


def _is_name(text: str, originals: Originals, which: int, form: ReleasedForm) -> bool:
    """Whether a text is what a category is called; one that is a number by its type, with the decimal sign."""
    name = originals.names[which]
    return text == (name.replace(".", form.mark) if originals.typed else name)


def _same_value(text: str, originals: Originals, which: int, quasi: Quasi, form: ReleasedForm) -> bool:
    """Whether a text writes the number or the day that an original is, of a hierarchy of intervals or of dates."""
    if isinstance(quasi.hierarchy, Dates):
        match = PERIOD.fullmatch(text)
        return match is not None and match[4] is not None and covers_period(text, int(originals.points.integers[which]))
    if not isinstance(quasi.hierarchy, Intervals):
        return False
    return bool(originals.readable[which]) and form.number(text) == _value(originals, which)


def _covers_half_open(text: str, originals: Originals, which: int, form: ReleasedForm) -> bool:
    """Whether a number is in `[low, high)`."""
    ends = half_open(text, form)
    return ends is not None and ends[0] <= _value(originals, which) < ends[1]


def half_open(text: str, form: ReleasedForm) -> tuple[Fraction, Fraction] | None:
    """The ends of `[low, high)`.

    Examples
    --------
    >>> half_open("[2,5; 5)", ReleasedForm(","))
    (Fraction(5, 2), Fraction(5, 1))
    """
    written = form.ends(text, dates=False, closing=")")
    low, high = (None, None) if written is None else map(form.number, written)
    return None if low is None or high is None else (low, high)
