"""What caps on belief allow and what is reached, in words and in percentage points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tclose.algorithms.share_limits import LARGEST_CLASS, limits_of_counts
from tclose.evaluation.attacks.allowed_rise import most_allowed
from tclose.schema.columns import Sensitive
from tclose.schema.schema import Schema
from tclose.verification.measure_release import Measured
from tclose.verification.share_changes import share_changes

ENHANCED = ", and frequent values less: at most 1 - ln p times for a share of p in the table"
NONE_COUNTED: Mapping[str, Any] = {}


def cap_sentences(schema: Schema, measured: Measured, persons: Mapping[str, Any] = NONE_COUNTED) -> Iterator[str]:
    """What someone may come to believe of a person at most, and what is reached.

    Parameters
    ----------
    persons
        What the record says was counted in persons; a release alone does not show it.
    """
    if schema.counts_persons:
        yield from _in_persons(schema, persons)
        return
    for each in schema.sensitive:
        reached = measured.rises.get(each.column)
        if reached is None:
            continue
        what = _what(each)
        if each.rise is not None:
            yield (
                f"Whoever knows someone's class believes in {what} of '{each.column}' at most "
                f"{float(100 * each.rise):g} percentage points more than from the whole table; the most reached is "
                f"{float(100 * reached.rise):.1f} points."
            )
        if each.beta is not None:
            times, most = f"{float(1 + each.beta):g} times", f"{float(1 + reached.beta):.3g} times"
            rise, _ = share_changes(*measured.counts(each.column))
            yield (
                f"No class has {what} of '{each.column}' more than {times} as often as the table"
                f"{ENHANCED if each.enhanced else ''}; the most reached is {most}. In points, the share of a single "
                f"{_single(each)} rises by at most {_points(each, measured)}, and the most reached is "
                f"{rise.points:.1f}."
            )


def _in_persons(schema: Schema, persons: Mapping[str, Any]) -> Iterator[str]:
    """The same where persons are counted, whom the release does not show."""
    for each in schema.sensitive:
        what = "a value in one bin" if is_binned(each) else _what(each)
        who = f"Of the persons of a class, those who have {what} of '{each.column}' are"
        whole = "of all persons of the table"
        if each.rise is not None:
            points = f"at most {float(100 * each.rise):g} percentage points more than {whole}"
            most = f"; the most reached is {100 * persons['rise'][each.column]['value']:.1f} points" if persons else ""
            yield f"{who} {points}{most}."
        if each.beta is not None:
            times = f"at most {float(1 + each.beta):g} times as many, by share, as {whole}"
            most = f"; the most reached is {1 + persons['beta'][each.column]['value']:.3g} times" if persons else ""
            yield f"{who} {times}{ENHANCED if each.enhanced else ''}{most}."


def allowed_rise(sensitive: Sensitive, measured: Measured, in_persons: bool = False) -> str:
    """By how many points the share of a single value, or bin, may rise by its caps, for a table of these shares."""
    if sensitive.caps is None:
        return "no limit" if sensitive.t is None else "by t alone"
    if not in_persons:
        return f"+{_points(sensitive, measured)} points"
    words = [] if sensitive.rise is None else [f"+{float(100 * sensitive.rise):g} points"]
    words += [] if sensitive.beta is None else [f"{float(1 + sensitive.beta):g} times"]
    words += ["frequent values less"] if sensitive.enhanced else []
    return f"{', '.join(words)} (of persons)"


def is_binned(sensitive: Sensitive) -> bool:
    """Whether what is promised is promised of bins of values."""
    return sensitive.bins is not None or sensitive.edges is not None


def _points(sensitive: Sensitive, measured: Measured) -> str:
    """The most that any value may rise by. Nodes above a value allow it no less than it is allowed itself."""
    assert sensitive.caps is not None
    counts, _ = measured.counts(sensitive.column)
    n = int(counts.sum())
    over, under = limits_of_counts(sensitive.caps, counts, n, LARGEST_CLASS)
    return f"{float(100 * most_allowed(over, under, counts, n)[0]):.1f}"


def _single(sensitive: Sensitive) -> str:
    return "bin" if is_binned(sensitive) else "value"


def _what(sensitive: Sensitive) -> str:
    if is_binned(sensitive):
        return "a bin of values"
    return "a value, or a group of values of its hierarchy," if sensitive.levels else "a value"
